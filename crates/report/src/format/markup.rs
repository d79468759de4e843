//! Text in XML and HTML.

/// Text escaped for an element or an attribute. Characters that XML does not allow, and others that act on a terminal,
/// are replaced.
pub fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_of_users_is_escaped() {
        assert_eq!(escape_markup("a<b>&\"\u{1b}\u{9b}\u{ffff}"), "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn no_text_breaks_a_document(text in any::<String>()) {
            let out = escape_markup(&text);
            prop_assert!(!out.contains(['<', '>', '"']) && !out.contains(char::is_control));
            for rest in out.split('&').skip(1) {
                let (name, _) = rest.split_once(';').unwrap_or_default();
                prop_assert!(["amp", "lt", "gt", "quot", "#9", "#10", "#13"].contains(&name));
            }
        }
    }
}
