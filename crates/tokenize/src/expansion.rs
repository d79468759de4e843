//! How much longer a `tokenizer.json` makes a text before it is cut into tokens, or after: the library does whatever its
//! steps ask for, and a few replacements one after the other fill any memory.

use serde::Deserialize;
use serde_json::Value;
use unicode_normalization_alignments::char::{decompose_canonical, decompose_compatible};

use crate::charsmap;

/// How many times as long a text may become. Blanks that are written as U+2581 take three times the bytes.
const MOST: usize = 64;
/// The text that is looked at, in bytes.
const TEXT: usize = 1024;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    decoder: Value,
}

/// How much longer a text becomes before it is cut into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expansion {
    /// How many times as long the steps may make any text, but for its decomposition.
    pub times: usize,
    /// Whether characters are decomposed: one may become eighteen (U+FDFA), and most stay what they are.
    pub decomposes: bool,
}

impl Expansion {
    /// Whether a text may have more than so many bytes after the steps.
    pub(crate) fn exceeds(self, text: &str, most: usize) -> bool {
        let longest = most / self.times.max(1);
        if text.len() > longest || !self.decomposes {
            return text.len() > longest;
        }
        // Only a long text can become too long.
        text.len().saturating_mul(DECOMPOSED) > longest && text.chars().map(decomposed).sum::<usize>() > longest
    }
}

/// How many times as long the decomposition of a character may be, in bytes.
const DECOMPOSED: usize = 11;

/// Bytes of a character, or of its longest decomposition.
fn decomposed(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    let (mut canonical, mut compatible) = (0, 0);
    decompose_canonical(c, |part| canonical += part.len_utf8());
    decompose_compatible(c, |part| compatible += part.len_utf8());
    canonical.max(compatible).max(c.len_utf8())
}

/// How much longer a text may become before it is cut into tokens. Fails if the steps of a file make too much of a text,
/// or have rules that cannot be read.
pub(crate) fn check(json: &[u8]) -> Result<Expansion, String> {
    // The library reads a member that is there twice, and both must be known here.
    let File { normalizer, pre_tokenizer, decoder } =
        serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let made = made_of(made_of(TEXT, &normalizer), &pre_tokenizer);
    let decomposes = decomposes(&normalizer);
    for (name, steps) in [("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer), ("decoder", decoder)] {
        check_rules(&steps).map_err(|reason| format!("its {name} has a bad precompiled_charsmap: {reason}"))?;
        if made_of(TEXT, &steps) > TEXT * MOST {
            return Err(format!("its {name} makes texts more than {MOST} times as long"));
        }
    }
    Ok(Expansion { times: made.div_ceil(TEXT), decomposes })
}

/// Whether a step, or one within it, decomposes characters.
fn decomposes(step: &Value) -> bool {
    match step {
        Value::Object(members) => {
            let kind = members.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| ["NFD", "NFKC", "NFKD", "BertNormalizer"].contains(&kind))
                || members.values().any(decomposes)
        }
        Value::Array(steps) => steps.iter().any(decomposes),
        _ => false,
    }
}

/// Checks the rules of every `Precompiled` step, wherever it is and also where its type is left out.
fn check_rules(step: &Value) -> Result<(), String> {
    match step {
        Value::Object(members) => members.iter().try_for_each(|(name, member)| match (name.as_str(), member) {
            ("precompiled_charsmap", Value::String(rules)) => charsmap::expansion(rules).map(drop),
            _ => check_rules(member),
        }),
        Value::Array(steps) => steps.iter().try_for_each(check_rules),
        _ => Ok(()),
    }
}

/// The longest that steps make of a text of so many bytes.
fn made_of(length: usize, step: &Value) -> usize {
    // A later step may decompose what is put in.
    let length_of = |text: &str| text.chars().map(decomposed).sum();
    let text = |member: &str| step.get(member).and_then(Value::as_str).map_or(0, length_of);
    match step.get("type").and_then(Value::as_str) {
        Some("Sequence") => {
            let lists =
                ["normalizers", "pretokenizers", "decoders"].iter().filter_map(|list| step.get(*list)?.as_array());
            lists.flatten().fold(length, made_of)
        }
        Some("Prepend") => length.saturating_add(text("prepend")),
        Some("Replace") => {
            // An expression may match a byte, or nothing between two.
            let pattern = step.get("pattern").and_then(|pattern| pattern.get("String")?.as_str()).map_or(1, str::len);
            let times = (length / pattern.max(1)).saturating_add(1);
            length.saturating_add(times.saturating_mul(text("content")))
        }
        Some("Precompiled") => {
            let rules = step.get("precompiled_charsmap").and_then(Value::as_str);
            let times = rules.map_or(1, |rules| charsmap::expansion(rules).unwrap_or(1));
            length.saturating_mul(times)
        }
        Some("Metaspace") => length.saturating_mul(text("replacement").max(1)).saturating_add(text("replacement")),
        Some("BPEDecoder") | Some("WordPiece") | Some("CTC") => {
            let added = text("suffix").saturating_add(text("prefix")).saturating_add(text("word_delimiter_token"));
            length.saturating_add(added)
        }
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(normalizer: &Value) -> Result<usize, String> {
        expansion(normalizer).map(|expansion| expansion.times)
    }

    fn expansion(normalizer: &Value) -> Result<Expansion, String> {
        check(json!({"normalizer": normalizer, "model": {"vocab": {}}}).to_string().as_bytes())
    }

    #[test]
    fn steps_that_make_much_of_a_text_are_refused() {
        let replace = |from: &str, to: &str| json!({"type": "Replace", "pattern": {"String": from}, "content": to});
        let stacked = json!({"type": "Sequence", "normalizers": vec![replace("a", "aa"); 40]});
        let nested = (0..40).fold(
            json!({"type": "NFC"}),
            |inner, _| json!({"type": "Sequence", "normalizers": [inner, replace("a", "aa")]}),
        );
        let prepended = json!({"type": "Prepend", "prepend": "x".repeat(1 << 20)});
        let regex = json!({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "y".repeat(100)});
        for steps in [stacked, nested, prepended, regex] {
            assert_eq!(checked(&steps), Err("its normalizer makes texts more than 64 times as long".to_owned()));
        }
    }

    #[test]
    fn bad_rules_of_a_precompiled_step_are_refused_wherever_it_is() {
        let bad = json!({"type": "Precompiled", "precompiled_charsmap": "/////w=="});
        let untyped = json!({"precompiled_charsmap": "/////w=="});
        let nested = json!({"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [bad.clone()]}]});
        for step in [&bad, &untyped, &nested] {
            let error = checked(step).unwrap_err();
            assert!(error.starts_with("its normalizer has a bad precompiled_charsmap"), "{error}");
        }
        let twice = format!(r#"{{"normalizer": {bad}, "normalizer": null, "model": {{}}}}"#);
        assert!(check(twice.as_bytes()).unwrap_err().contains("duplicate field"));
    }

    #[test]
    fn the_steps_of_known_tokenizers_are_fine() {
        let llama = json!({"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u{2581}"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"},
        ]});
        let albert = json!({"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"String": "``"}, "content": "\""},
            {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u{2581}"},
        ]});
        assert_eq!((checked(&llama), checked(&albert), checked(&Value::Null)), (Ok(5), Ok(7), Ok(1)));
    }

    #[test]
    fn a_text_is_as_long_as_its_characters_decomposed() {
        let exceeds = |normalizer: Value, text: &str| expansion(&normalizer).unwrap().exceeds(text, 1000);
        let (ligatures, words) = ("\u{fdfa}".repeat(100), "a".repeat(1000));
        for kind in ["NFKC", "NFKD", "NFD"] {
            let nested = json!({"type": "Sequence", "normalizers": [{"type": kind}, {"type": "Lowercase"}]});
            for steps in [json!({"type": kind}), nested] {
                assert!(exceeds(steps.clone(), &ligatures), "{steps}");
                assert!(!exceeds(steps.clone(), &words) && exceeds(steps, &"a".repeat(1001)));
            }
        }
        assert!(!exceeds(json!({"type": "NFC"}), &ligatures));
        let longest = ('\0'..=char::MAX).map(|c| decomposed(c).div_ceil(c.len_utf8())).max();
        assert_eq!(longest, Some(DECOMPOSED));
    }
}
