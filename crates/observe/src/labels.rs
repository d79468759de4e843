//! Labels as text: what series of a metric are sorted by.

use crate::scrape::Labels;
use std::fmt::Write as _;

/// As Python shows a dictionary, `{'k': 'v'}`, or nothing without labels: the order of series in the exports is the
/// order of these texts.
pub fn label_text(labels: &Labels) -> String {
    let mut text = String::new();
    for (at, (name, value)) in labels.iter().enumerate() {
        text.push_str(if at == 0 { "{" } else { ", " });
        quote(name, &mut text);
        text.push_str(": ");
        quote(value, &mut text);
    }
    if !labels.is_empty() {
        text.push('}');
    }
    text
}

fn quote(value: &str, text: &mut String) {
    let mark = if value.contains('\'') && !value.contains('"') { '"' } else { '\'' };
    text.push(mark);
    for c in value.chars() {
        match c {
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\\' => text.push_str("\\\\"),
            _ if c == mark => text.extend(['\\', c]),
            _ if is_printable(c) => text.push(c),
            // Writing to a string does not fail.
            '\0'..='\u{ff}' => _ = write!(text, "\\x{:02x}", u32::from(c)),
            '\u{100}'..='\u{ffff}' => _ = write!(text, "\\u{:04x}", u32::from(c)),
            _ => _ = write!(text, "\\U{:08x}", u32::from(c)),
        }
    }
    text.push(mark);
}

/// Neither a control nor a space of another kind nor one of the common marks without a shape of their own.
fn is_printable(c: char) -> bool {
    let is_blank = c.is_control() || (c.is_whitespace() && c != ' ');
    let is_shapeless = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e000}'..='\u{f8ff}');
    !is_blank && !is_shapeless
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn labels_read_as_python_shows_them() {
        let text = |value: &str| label_text(&vec![(Arc::from("k"), Arc::from(value))]);
        assert_eq!(label_text(&Vec::new()), "");
        assert_eq!(text("v"), "{'k': 'v'}");
        assert_eq!(text("it's"), r#"{'k': "it's"}"#);
        assert_eq!(text(r#"it's "it""#), r#"{'k': 'it\'s "it"'}"#);
        assert_eq!(text("a\\b\n\u{1}é\u{a0}\u{200b}"), r"{'k': 'a\\b\n\x01é\xa0\u200b'}");
    }
}
