//! Tokens of what sessions say, counted by what each request adds.

use aiperf_dialect::{Dialect, inputs};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{SaidCount, SaidSoFar, SaidState};
use std::sync::Arc;

/// Tokens of all texts up to a request, joined by blanks: the same as of the whole. `None` where the tokenizer or
/// somebody else at work leaves no other way than to count the whole, or where nothing is said.
pub(crate) fn count(said: &Arc<SaidSoFar>, dialect: &Dialect, tokenizer: &Tokenizer) -> Option<u64> {
    if !tokenizer.cuts_before_blanks() {
        return None;
    }
    let (mut uncounted, mut count) = (Vec::new(), SaidCount::default());
    let mut next = Some(said.clone());
    while let Some(said) = next {
        match said.state()? {
            SaidState::Counted(known) => {
                count = known;
                break;
            }
            SaidState::Uncounted(before, items) => {
                uncounted.push((said, items));
                next = before;
            }
        }
    }
    for (said, items) in uncounted.into_iter().rev() {
        for text in inputs::texts_of_items(dialect, &items)? {
            add(&mut count, &text, tokenizer);
        }
        said.set(count.clone());
    }
    count.says_anything.then(|| count.tokens + tokenizer.count(&count.open) as u64)
}

/// Adds a text, after a blank. What ends in white space may share a token with what follows.
fn add(count: &mut SaidCount, text: &str, tokenizer: &Tokenizer) {
    if count.says_anything {
        count.open.push(' ');
    }
    count.says_anything = true;
    count.open.push_str(text);
    if !count.open.ends_with(char::is_whitespace) && !count.open.is_empty() {
        count.tokens += tokenizer.count(&count.open) as u64;
        count.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_dialect::kinds::chat;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_counted_by_turns_is_what_the_whole_has(
            turns in prop::collection::vec(prop::collection::vec("[ a-zA-Z0-9'\\n\\t.,!/\u{e9}\u{301}\u{4e2d}\u{a0}]{0,12}", 0..3), 1..6),
            looks in prop::collection::vec(any::<bool>(), 6),
            name in prop::sample::select(vec!["builtin", "cl100k_base", "o200k_harmony"]),
        ) {
            let tokenizer = Tokenizer::load(name, &Default::default()).unwrap();
            let mut said: Option<Arc<SaidSoFar>> = None;
            let mut texts: Vec<String> = Vec::new();
            for (turn, look) in turns.iter().zip(looks) {
                let item = |text: &String| format!(",{}", serde_json::json!({"role": "user", "content": text})).into();
                let now = Arc::new(SaidSoFar::new(said.take(), turn.iter().map(item).collect()));
                texts.extend(turn.iter().cloned());
                if look {
                    let wanted = (!texts.is_empty()).then(|| tokenizer.count(&texts.join(" ")) as u64);
                    prop_assert_eq!(count(&now, &chat::DIALECT, &tokenizer), wanted, "{:?}", &texts);
                }
                said = Some(now);
            }
        }
    }
}
