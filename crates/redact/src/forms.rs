//! The forms in which a text may contain a value: as it is, percent-encoded, escaped as in JSON (once or more often) or
//! as in HTML, in any mixture.

/// The names of characters in HTML. All characters also have numbers.
const HTML: &[(char, &[&str])] =
    &[('&', &["&amp;"]), ('<', &["&lt;"]), ('>', &["&gt;"]), ('"', &["&quot;"]), ('\'', &["&apos;"])];

/// The most bytes of a character's number in HTML, with zeros before it.
const LONGEST_NUMBER: usize = 10;

/// Bytes with which an encoded form may begin.
pub(crate) const FORM_STARTS: &[u8] = b"%\\&+";

/// The number of bytes at the start of `text` that encode `value`; `None` if the start is something else.
pub(crate) fn encoded_at_start(text: &str, value: &str) -> Option<usize> {
    let (first, wanted) = (*text.as_bytes().first()?, *value.as_bytes().first()?);
    if first != wanted && !FORM_STARTS.contains(&first) {
        return None;
    }
    // A character that begins a form may also be itself: `%25` is `%`, or `%` and `25`.
    let mut ways = vec![(text, value)];
    while let Some((rest, wanted)) = ways.pop() {
        let Some(c) = wanted.chars().next() else { return Some(text.len() - rest.len()) };
        // Each escaping doubles backslashes, so a run of them matches any run.
        let wanted = if c == '\\' { wanted.trim_start_matches(c) } else { &wanted[c.len_utf8()..] };
        let itself = if c == '\\' { after_run(rest, c) } else { rest.strip_prefix(c) };
        let ways_on = itself.into_iter().chain(escaped(rest, c)).chain(percent_encoded(rest, c));
        ways.extend(ways_on.map(|rest| (rest, wanted)));
    }
    None
}

fn after_run(rest: &str, c: char) -> Option<&str> {
    let after = rest.trim_start_matches(c);
    (after.len() < rest.len()).then_some(after)
}

/// What follows one escaped character.
fn escaped(rest: &str, c: char) -> Option<&str> {
    match rest.as_bytes().first()? {
        b'\\' => {
            let after = rest.trim_start_matches('\\');
            after.strip_prefix(c).filter(|_| "\"'/".contains(c)).or_else(|| after_unicode(after, c))
        }
        b'&' => {
            let forms = HTML.iter().find(|(known, _)| *known == c).map_or(&[][..], |(_, forms)| *forms);
            forms.iter().find_map(|form| rest.strip_prefix(form)).or_else(|| after_reference(rest, c))
        }
        b'+' if c == ' ' => Some(&rest[1..]),
        _ => None,
    }
}

/// What may follow a percent-encoded character. A percent sign that is encoded repeatedly may end at several places,
/// and backslashes may be a run.
fn percent_encoded(rest: &str, c: char) -> impl Iterator<Item = &str> {
    std::iter::successors(after_percent(rest, c), move |rest| match c {
        '%' => rest.strip_prefix("25"),
        '\\' => after_percent(rest, c),
        _ => None,
    })
}

/// `%XX` for each byte of a character; the percent sign itself may be encoded again.
fn after_percent(rest: &str, c: char) -> Option<&str> {
    let mut rest = rest;
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        rest = rest.strip_prefix('%')?;
        while hex_byte(rest)? != byte {
            rest = rest.strip_prefix("25")?;
        }
        rest = &rest[2..];
    }
    Some(rest)
}

/// `&#90;` or `&#x5a;`; the ampersand may be escaped again.
fn after_reference(rest: &str, c: char) -> Option<&str> {
    let number = rest.strip_prefix("&amp;#").or_else(|| rest.strip_prefix("&#"))?;
    let end = number.bytes().take(LONGEST_NUMBER).position(|byte| byte == b';')?;
    let (digits, radix) = match number[..end].strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (&number[..end], 10),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, radix).ok().filter(|_| is_number)?;
    (code == u32::from(c)).then(|| &number[end + 1..])
}

fn hex_byte(text: &str) -> Option<u8> {
    text.get(..2)
        .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|hex| u8::from_str_radix(hex, 16).ok())
}

/// `u` and four digits for each half of a character; the backslash is already consumed.
fn after_unicode(rest: &str, c: char) -> Option<&str> {
    let mut rest = rest;
    for (at, unit) in c.encode_utf16(&mut [0; 2]).iter().enumerate() {
        rest = if at > 0 { rest.trim_start_matches('\\') } else { rest };
        let code = rest.strip_prefix('u')?.get(..4)?;
        rest = (u16::from_str_radix(code, 16).ok()? == *unit).then(|| &rest[5..])?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_recognised_in_every_form() {
        for (text, value) in [
            ("a b&c", "a b&c"),
            ("a+b%26c", "a b&c"),
            ("a%20b%26c", "a b&c"),
            ("a%2520b&amp;c", "a b&c"),
            (r"a b\u0026c", "a b&c"),
            (r#"x\"y"#, "x\"y"),
            (r#"x\\\"y"#, "x\"y"),
            (r"p\\q", r"p\q"),
            ("p%5Cq", r"p\q"),
            (r"\u00e9t\u00e9", "été"),
            ("%C3%A9t%c3%a9", "été"),
            (r"\ud83d\ude00!", "😀!"),
            ("&#90;&#113;-&#0049;", "Zq-1"),
            ("&#x5A;&#X71;&#x2d;1", "Zq-1"),
            ("&amp;#90;q&amp;#x2d;1", "Zq-1"),
            ("&#233;t&#xe9;&#x1F600;", "été😀"),
            ("a%25b", "a%b"),
            ("a%b", "a%b"),
            ("a%25bc", "a%bc"),
            ("a%25b", "a%25b"),
            ("a%2525b", "a%25b"),
        ] {
            assert_eq!(encoded_at_start(text, value), Some(text.len()), "{text}");
            assert_eq!(encoded_at_start(&format!("{text}é more"), value), Some(text.len()), "{text}");
        }
    }

    #[test]
    fn another_text_is_not_recognised() {
        for text in ["", "a", "ac", "%6", "%é", r"\u00", r"\", "&am", "a%2", "&#", "&#x;", "&#+97;b", "&#97", "a&#99;"]
        {
            assert_eq!(encoded_at_start(text, "ab"), None, "{text}");
        }
    }
}
