//! How much longer a `tokenizer.json` makes a text before it is cut into tokens, or after: the library does whatever its
//! steps ask for, and a few replacements one after the other fill any memory.

use serde::Deserialize;
use serde_json::Value;

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

/// How many times as long a text may become before it is cut into tokens. Fails if the steps of a file make too much of
/// a text, or have rules that cannot be read.
pub(crate) fn check(json: &[u8]) -> Result<usize, String> {
    // The library reads a member that is there twice, and both must be known here.
    let File { normalizer, pre_tokenizer, decoder } =
        serde_json::from_slice(json).map_err(|error| error.to_string())?;
    let made = made_of(made_of(TEXT, &normalizer), &pre_tokenizer);
    for (name, steps) in [("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer), ("decoder", decoder)] {
        check_rules(&steps).map_err(|reason| format!("its {name} has a bad precompiled_charsmap: {reason}"))?;
        if made_of(TEXT, &steps) > TEXT * MOST {
            return Err(format!("its {name} makes texts more than {MOST} times as long"));
        }
    }
    Ok(made.div_ceil(TEXT))
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
    let text = |member: &str| step.get(member).and_then(Value::as_str).map_or(0, str::len);
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
}
