//! The builtin vocabularies against the definition of their encodings.

use aiperf_testkit::encoding::{CL100K, O200K};
use aiperf_tokenize::{Lookup, Tokenizer};
use proptest::prelude::*;

fn agrees(text: &str) {
    for (name, definition) in [("o200k_base", &O200K), ("cl100k_base", &CL100K)] {
        let ours = Tokenizer::load(name, &Lookup::default()).expect("it is built in");
        let ids = definition.encode(text);
        assert_eq!(ours.encode(text), ids, "{name}: {text:?}");
        assert_eq!(ours.count(text), ids.len(), "{name}: {text:?}");
        assert_eq!(ours.decode(&ids), text, "{name}");
    }
}

/// What the patterns distinguish, in short runs: most rules concern neighbours.
fn snippet() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[a-z]{1,9}",
        2 => "[A-Z]{1,4}",
        2 => "[A-Z][a-z]{1,6}",
        2 => "[0-9]{1,5}",
        4 => " {1,3}",
        2 => "[\r\n\t\u{b}\u{c} ]{1,4}",
        3 => "[!-/:-@\\[-`{-~]{1,4}",
        2 => "'[sStTmMdD]|'[rRvV][eE]|'[lL][lL]|'[lrvx]|'\u{17f}",
        1 => "[\u{0}-\u{1f}\u{7f}]{1,2}",
        2 => "[à-ÿÀ-ß]{1,4}",
        1 => "[ǅʰªº\u{300}\u{345}\u{5b0}]{1,3}",
        1 => "[\u{a0}\u{2003}\u{85}\u{3000}\u{2028}]{1,2}",
        1 => "[½²٣५Ⅷ]{1,4}",
        2 => "[一-龥ぁ-ん가-힣]{1,8}",
        1 => "[😀-😏🦀\u{200d}\u{fe0f}—“”…™]{1,3}",
        1 => "\\PC{1,6}",
    ];
    proptest::collection::vec(part, 1..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn mixed_text_has_the_same_tokens(text in snippet()) {
        prop_assume!(!text.contains("<|"));
        agrees(&text);
    }

    #[test]
    fn any_text_has_the_same_tokens(text: String) {
        prop_assume!(!text.contains("<|"));
        agrees(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn long_pieces_have_the_same_tokens(piece in "[a-e]{50,400}|[a-zA-Z]{60,300}|[=\\-*]{60,200}|[一-丿]{20,200}| {60,200}") {
        agrees(&piece);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// More than one window of merging, from any place on.
    #[test]
    fn very_long_pieces_have_the_same_tokens(
        before in "[a-zA-Z]{0,40}",
        piece in "[ab]{4000,9000}|[a-z]{4000,9000}|a{4000,9000}|[一-丿]{1400,3000}|[ \n]{4000,9000}|={4000,9000}",
    ) {
        agrees(&format!("{before}{piece}"));
    }
}

#[test]
fn a_long_text_without_a_space_is_counted_as_a_whole() {
    let tokenizer = Tokenizer::builtin();
    // The first is longer than merging keeps at once.
    for (unit, kilobytes) in [("a", 300), (" ", 64), ("\n", 64), ("中文字符串测试", 64)] {
        let text = format!("xyz{}", unit.repeat((kilobytes << 10) / unit.len()));
        assert_eq!(tokenizer.count(&text), O200K.encode(&text).len(), "{unit:?}");
    }
}
