//! How much longer a `tokenizer.json` makes a text before it is cut into tokens, or after: the library does whatever its
//! steps ask for, and a few replacements one after the other fill any memory.

use serde::Deserialize;
use serde_json::Value;

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

/// Why a file is not used: its steps make too much of a text.
pub(crate) fn check(json: &[u8]) -> Result<(), String> {
    // What is wrong otherwise, the library reports.
    let Ok(File { normalizer, pre_tokenizer, decoder }) = serde_json::from_slice(json) else { return Ok(()) };
    for (name, steps) in [("normalizer", normalizer), ("pre_tokenizer", pre_tokenizer), ("decoder", decoder)] {
        if made_of(TEXT, &steps) > TEXT * MOST {
            return Err(format!("its {name} makes texts more than {MOST} times as long"));
        }
    }
    Ok(())
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

    fn checked(normalizer: &Value) -> Result<(), String> {
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
        assert_eq!((checked(&llama), checked(&albert), checked(&Value::Null)), (Ok(()), Ok(()), Ok(())));
    }
}
