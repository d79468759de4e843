//! Percent-encoded texts.

/// `%XX` as the bytes they encode. Broken escapes stay, and invalid UTF-8 is replaced.
pub fn percent_decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_decoded_bytes(text).0).into_owned()
}

/// The same, if every percent sign begins an escape and the result is text.
pub fn strictly_percent_decoded(text: &str) -> Option<String> {
    let (bytes, is_whole) = percent_decoded_bytes(text);
    String::from_utf8(bytes).ok().filter(|_| is_whole)
}

/// `%XX` for every byte but RFC 3986's unreserved characters, for one part of a path or a query.
pub fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if is_plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") }).collect()
}

/// The bytes of a text with percent escapes, and whether every percent sign began one.
fn percent_decoded_bytes(text: &str) -> (Vec<u8>, bool) {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut is_whole) = (text.as_bytes(), true);
    while let [first, after @ ..] = rest {
        let code = match rest {
            [b'%', high, low, ..] => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        is_whole &= *first != b'%' || code.is_some();
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    (out, is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plus_or_minus_is_no_digit_of_an_escape() {
        assert_eq!(percent_decoded("a%2Bb%+5%-1%4%\u{e9}%c3%A9"), "a+b%+5%-1%4%\u{e9}\u{e9}");
        assert_eq!(strictly_percent_decoded("a%+5"), None);
    }
}
