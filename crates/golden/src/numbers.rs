//! Numbers in texts: every shortest form is right, and printers differ in when they write an exponent.

/// A text with one spelling for each number with a fraction or an exponent: `7.9e-05` and `0.000079` become the same.
pub fn respelled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let is_part_of_word = rest[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        let end = rest[start..].find(|c: char| !is_of_token(c)).map_or(rest.len(), |at| start + at);
        let token = &rest[start..end];
        let is_padded = token.starts_with('0') && token[1..].starts_with(|c: char| c.is_ascii_digit());
        let is_number = !is_part_of_word && !is_padded && token.contains(['.', 'e', 'E']);
        let number = token.parse::<f64>().ok().filter(|_| is_number);
        out.push_str(&rest[..start]);
        match number {
            Some(number) => out.push_str(&format!("{number:?}")),
            None => out.push_str(token),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Whether a character may follow the first digit of a number, or of a word that begins with a digit.
fn is_of_token(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '+' | '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_have_one_spelling() {
        assert_eq!(respelled(r#"{"a":7.9e-05,"b":-1E2}"#), respelled(r#"{"a":0.000079,"b":-100.0}"#));
        assert_ne!(respelled("1.5"), respelled("1.25"));
        assert_ne!(respelled("15"), respelled("15.0"));
    }

    #[test]
    fn other_texts_are_unchanged() {
        for text in ["0.13.0", "2026-11-17T20:00:00.5", "run_0001", "1,234", "x1.50", "", "5 tokens/sec"] {
            assert_eq!(respelled(text), text);
        }
    }
}
