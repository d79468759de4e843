//! JSON as Python writes it for HTML: keys in order of their names, a space after `,` and `:`, ASCII alone, and none of
//! the characters that HTML gives a meaning.

use serde_json::Value;
use std::fmt::Write;

/// `indent`: each item on a line of its own, so many spaces further in than what holds it.
pub(super) fn dump(value: &Value, indent: Option<usize>) -> String {
    let mut out = String::new();
    write(&mut out, value, indent, 1);
    out
}

fn write(out: &mut String, value: &Value, indent: Option<usize>, depth: usize) {
    match value {
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            write_items(out, ['[', ']'], items.len(), indent, depth, |out, at| {
                write(out, &items[at], indent, depth + 1)
            });
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            write_items(out, ['{', '}'], members.len(), indent, depth, |out, at| {
                let (name, value) = members[at];
                write_text(out, name);
                out.push_str(": ");
                write(out, value, indent, depth + 1);
            });
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn write_items(
    out: &mut String,
    [open, close]: [char; 2],
    len: usize,
    indent: Option<usize>,
    depth: usize,
    mut item: impl FnMut(&mut String, usize),
) {
    out.push(open);
    for at in 0..len {
        if at > 0 {
            out.push_str(if indent.is_some() { "," } else { ", " });
        }
        write_line(out, indent, depth);
        item(out, at);
    }
    if len > 0 {
        write_line(out, indent, depth - 1);
    }
    out.push(close);
}

fn write_line(out: &mut String, indent: Option<usize>, depth: usize) {
    if let Some(indent) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent.saturating_mul(depth).min(1000)));
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\'' => push_escape(out, char),
            ' '..='~' => out.push(char),
            _ => push_escape(out, char),
        }
    }
    out.push('"');
}

fn push_escape(out: &mut String, char: char) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_as_python_writes_it() {
        let value = json!({"b": [1, 2.0, null, true], "a": "<'&'>\"\\\n\u{1}\u{7f}\u{e9}\u{1f600}", "c": {}, "d": []});
        let text = r#""a": "\u003c\u0027\u0026\u0027\u003e\"\\\n\u0001\u007f\u00e9\ud83d\ude00""#;
        let wanted = format!(r#"{{{text}, "b": [1, 2.0, null, true], "c": {{}}, "d": []}}"#);
        assert_eq!(dump(&value, None), wanted);
        assert_eq!(serde_json::from_str::<Value>(&wanted).unwrap(), value);
        assert_eq!(dump(&json!({"a": [1, {}]}), Some(2)), "{\n  \"a\": [\n    1,\n    {}\n  ]\n}");
    }
}
