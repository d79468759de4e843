//! JSON as servers write it: everything that Python's parser accepts is accepted here too, because servers are tested
//! with it.
//!
//! `NaN`, `Infinity` and numbers that are too large become null: they are neither counts nor texts. Half of a surrogate
//! pair becomes the replacement character, like bytes that are not UTF-8.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

/// Reads JSON, repaired if necessary; `None` if that does not help.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&mended(text)?).ok())
}

/// Reads an object: what is derived takes a list of values for one, too.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    if text.trim_start().starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

/// Whether a value is truthy in Python.
pub(crate) fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Bool(true)) => true,
    }
}

/// Whether it is empty JSON: `{}`, `[]`, `0`, `""`, `false`, `null`.
pub(crate) fn holds_nothing(text: &str) -> bool {
    // However they are written, none of them is longer; what is may be large.
    let text = text.trim();
    text.len() <= 16 && serde_json::from_str::<Value>(text).is_ok_and(|value| !is_truthy(Some(&value)))
}

/// Whether it is an object or a list that is cut off: its content is right, and its end is missing.
pub(crate) fn is_cut(text: &str) -> bool {
    let mended = mended(text);
    let text = mended.as_deref().unwrap_or(text);
    text.starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_err_and(|fault| fault.is_eof())
}

/// The part of it that a message shows.
pub(crate) fn shown(text: &str) -> &str {
    text.char_indices().nth(200).map_or(text, |(end, _)| &text[..end])
}

/// The text with everything replaced that only lenient parsers accept; `None` if there is nothing to replace.
pub(crate) fn mended(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (mut out, mut at, mut kept) = (String::new(), 0, 0);
    let mut in_string = false;
    while let Some(byte) = bytes.get(at) {
        let (len, instead) = match byte {
            b'"' => {
                in_string = !in_string;
                (1, None)
            }
            b'\\' if in_string => escape(&bytes[at..]),
            _ if in_string => (1, None),
            b'N' | b'I' | b'-' | b'0'..=b'9' => number(&text[at..]),
            _ => (1, None),
        };
        if let Some(instead) = instead {
            out.push_str(text.get(kept..at)?);
            out.push_str(instead);
            kept = at + len;
        }
        at += len;
    }
    (kept > 0).then(|| out + &text[kept..])
}

/// Bytes of an escape, and what to put in its place.
fn escape(bytes: &[u8]) -> (usize, Option<&'static str>) {
    match (code_unit(bytes), bytes.get(6..).and_then(code_unit)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
        (Some(0xd800..=0xdfff), _) => (6, Some("\\ufffd")),
        (Some(_), _) => (6, None),
        (None, _) => (2, None),
    }
}

/// The number of `\u` and four digits.
fn code_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | (*digit as char).to_digit(16)? as u16))
}

/// Bytes of a number or of a name for one, and its replacement.
fn number(text: &str) -> (usize, Option<&'static str>) {
    for name in ["NaN", "Infinity", "-Infinity"] {
        if text.starts_with(name) {
            return (name.len(), Some("null"));
        }
    }
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    let len = text.bytes().take_while(|byte| is_part(byte)).count().max(1);
    let is_too_large = text[..len].parse::<f64>().is_ok_and(f64::is_infinite);
    (len, is_too_large.then_some("null"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_pythons_reader_takes_is_read() {
        for (text, meaning) in [
            (r#"{"a":NaN,"b":[Infinity,-Infinity],"c":-1.5e3}"#, json!({"a": null, "b": [null, null], "c": -1500.0})),
            (r#"{"a":1e999,"b":-1E+400}"#, json!({"a": null, "b": null})),
            (r#""\ud83d!""#, json!("\u{fffd}!")),
            (r#""\udE00""#, json!("\u{fffd}")),
            (r#""\ud83d\ud83d\ude00""#, json!("\u{fffd}\u{1f600}")),
            (r#"["NaN Infinity 1e999 \\ud83d", NaN]"#, json!(["NaN Infinity 1e999 \\ud83d", null])),
            ("{\"\u{e9}\":\"\u{1f600}\",\"n\":NaN}", json!({"\u{e9}": "\u{1f600}", "n": null})),
        ] {
            assert_eq!(read::<Value>(text), Some(meaning), "{text}");
        }
    }

    #[test]
    fn what_python_does_not_read_stays_unread() {
        for text in ["{nope", "NaNNaN", "{NaN:1}", "{\"a\":Nan}", "\"\\ud83", "\\", "\"\\", "-", "-Inf", "1e999x", ""] {
            assert_eq!(read::<Value>(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_is_no_object() {
        #[derive(Deserialize)]
        struct Member {
            text: String,
        }
        assert_eq!(object::<Member>(r#" {"text":"a"}"#).map(|member| member.text).as_deref(), Some("a"));
        assert!(object::<Member>(r#"["a"]"#).is_none());
    }

    #[test]
    fn json_of_nothing_is_known_however_it_is_written() {
        for text in ["{}", " [ ]\n", "0", "-0.0", "\"\"", "false", "null"] {
            assert!(holds_nothing(text), "{text}");
        }
        for text in ["", "{nope", "1", "[0]", "{\"a\":0}", "\" \"", "true"] {
            assert!(!holds_nothing(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn good_json_is_left_alone(text in r#"[a-zNI0-9"\\\\ud8e\\-{}:.]{0,40}"#) {
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(mended(&text), None);
            }
        }
    }
}
