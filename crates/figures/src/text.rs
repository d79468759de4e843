//! Texts in a picture: escaped, short and cut to the room that they have.

/// Width of a letter: wide enough for most fonts at 11 pixels.
const LETTER: f64 = 6.6;

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

/// A number without insignificant digits.
pub fn number(of: f64) -> String {
    let decimals = match of.abs() {
        large if large >= 100.0 => 1,
        middle if middle >= 1.0 => 2,
        _ => 4,
    };
    let text = format!("{of:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number in at most five characters.
pub(crate) fn short(value: f64) -> String {
    let units = [(1e9, "G"), (1e6, "M"), (1e4, "k")];
    match units.into_iter().find(|(least, _)| value >= *least) {
        Some((_, "k")) => format!("{}k", number(value / 1e3)),
        Some((least, unit)) => format!("{}{unit}", number(value / least)),
        None if value > 0.0 && value < 0.001 => format!("{value:.0e}"),
        None => number(value),
    }
}

/// The width of a text, in pixels.
pub fn width(text: &str) -> f64 {
    let wide = |c: char| if c < '\u{1100}' { LETTER } else { 2.0 * LETTER };
    text.chars().map(wide).sum()
}

/// As much of a text as fits; empty if the rest would be meaningless.
pub fn cut(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept) + LETTER > room {
            kept.pop();
            break;
        }
    }
    if kept.chars().count() < 2 { String::new() } else { kept + "\u{2026}" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_of_users_is_escaped() {
        assert_eq!(escape_markup("a<b>&\"\u{1b}\u{9b}\u{ffff}"), "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn labels_are_short_for_any_value() {
        let labels = [0.0, 0.25, 7.5, 2500.0, 20_000.0, 1_500_000.0, 2e9, 2e-5].map(short);
        assert_eq!(labels, ["0", "0.25", "7.5", "2500", "20k", "1.5M", "2G", "2e-5"]);
    }

    #[test]
    fn names_that_do_not_fit_are_cut() {
        assert_eq!([cut("warmup", 44.0), cut("a long name", 44.0), cut("long", 9.0)], ["warmup", "a lon\u{2026}", ""]);
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
