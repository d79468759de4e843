//! The forms in which a text may contain a value: as it is, percent-encoded, escaped as in JSON (once or more often),
//! as in HTML or as a literal of a programming language, in any mixture.

/// The names of characters in HTML. All characters also have numbers.
const HTML: &[(char, &[&str])] = &[('<', &["lt;"]), ('>', &["gt;"]), ('"', &["quot;"]), ('\'', &["apos;"])];

/// The letters that stand for control characters after a backslash.
const LETTERS: &[(char, char)] =
    &[('\n', 'n'), ('\r', 'r'), ('\t', 't'), ('\x08', 'b'), ('\x0c', 'f'), ('\x0b', 'v'), ('\x07', 'a'), ('\x1b', 'e')];

/// Encoded forms of a backslash.
const BACKSLASHES: &[&str] = &["%5C", "%5c", "&#92;", "&#x5c;", "&#x5C;", "&bsol;"];

/// The most bytes of a character's number in HTML, with zeros before it.
const LONGEST_NUMBER: usize = 10;

/// The most backslashes before a character: six escapings in each other have 63.
const MOST_BACKSLASHES: usize = 64;

/// Bytes with which an encoded form may begin.
pub(crate) const FORM_STARTS: &[u8] = b"%\\&+";

/// The number of bytes at the start of `text` that encode `value`; `None` if the start is something else.
pub(crate) fn encoded_at_start(text: &str, value: &str) -> Option<usize> {
    let (first, wanted) = (*text.as_bytes().first()?, *value.as_bytes().first()?);
    if first != wanted && !FORM_STARTS.contains(&first) {
        return None;
    }
    // A character that begins a form may also be itself: `%25` is `%`, or `%` and `25`. Nearly always there is one way,
    // and the list stays empty.
    let (mut ways, mut next) = (Vec::new(), Some((text, value, false)));
    while let Some((rest, wanted, is_after_backslash)) = next.take().or_else(|| ways.pop()) {
        let Some(c) = wanted.chars().next() else { return Some(text.len() - rest.len()) };
        // Each escaping doubles backslashes, so a run of them matches any run. Its last may begin the next escape.
        let is_backslash = c == '\\';
        let wanted = if is_backslash { wanted.trim_start_matches(c) } else { &wanted[c.len_utf8()..] };
        let itself = if is_backslash { after_run(rest, c) } else { rest.strip_prefix(c) };
        let escaped = escaped(rest, c).or_else(|| is_after_backslash.then(|| after_name(rest, c)).flatten());
        let ways_on = itself.into_iter().chain(escaped).chain(percent_encoded(rest, c));
        // The longest form first: it is the last.
        for way in ways_on.map(|rest| (rest, wanted, is_backslash)) {
            ways.extend(next.replace(way));
        }
    }
    None
}

fn after_run(rest: &str, c: char) -> Option<&str> {
    let after = rest.trim_start_matches(c);
    (after.len() < rest.len()).then_some(after)
}

/// What follows one escaped character.
fn escaped(rest: &str, c: char) -> Option<&str> {
    if let Some(after) = after_backslashes(rest) {
        let is_literal = c.is_ascii_punctuation() && c != '\\';
        let literal = || after.strip_prefix(c).or_else(|| after_entity(after, c)).or_else(|| after_percent(after, c));
        let escaped = is_literal.then(literal).flatten().or_else(|| after_name(after, c));
        if escaped.is_some() {
            return escaped;
        }
    }
    match rest.as_bytes().first()? {
        b'&' => after_entity(rest, c),
        b'+' if c == ' ' => Some(&rest[1..]),
        // A text on one line.
        b' ' if matches!(c, '\n' | '\r' | '\t') => Some(&rest[1..]),
        _ => None,
    }
}

/// How many bytes at the start of `text` need no search, if no secret was found at the first of them: in a run of equal
/// backslashes, those before the last [`MOST_BACKSLASHES`], and then those before the last one. A match at one of them
/// would include all that follow. The last one is searched alone: a word that a letter precedes is no secret there.
pub(crate) fn backslashes_to_pass(text: &str) -> usize {
    let Some(length) = after_backslash(text) else { return 0 };
    let first = &text[..length];
    let count = text.as_bytes().chunks_exact(length).take_while(|chunk| *chunk == first.as_bytes()).count();
    length * if count > MOST_BACKSLASHES { count - MOST_BACKSLASHES } else { (count - 1).max(1) }
}

/// The length of one backslash in any form.
fn after_backslash(rest: &str) -> Option<usize> {
    match rest.as_bytes().first()? {
        b'\\' => Some(1),
        b'%' | b'&' => BACKSLASHES.iter().find(|form| rest.starts_with(**form)).map(|form| form.len()),
        _ => None,
    }
}

/// What follows a run of backslashes in any form.
fn after_backslashes(rest: &str) -> Option<&str> {
    let mut after = &rest[after_backslash(rest)?..];
    for _ in 1..MOST_BACKSLASHES {
        let Some(length) = after_backslash(after) else { break };
        after = &after[length..];
    }
    Some(after)
}

/// A character in HTML, by its name or its number; the ampersand may be escaped again.
fn after_entity(rest: &str, c: char) -> Option<&str> {
    let name = rest.strip_prefix('&')?;
    let inner = name.trim_start_matches("amp;");
    if c == '&' {
        return (inner.len() < name.len()).then_some(inner);
    }
    let names = HTML.iter().find(|(known, _)| *known == c).map_or(&[][..], |(_, names)| *names);
    names.iter().find_map(|name| inner.strip_prefix(name)).or_else(|| after_reference(inner, c))
}

/// What follows the letter or the number of a character; the backslash is already consumed.
fn after_name(rest: &str, c: char) -> Option<&str> {
    let letter = LETTERS.iter().find(|(known, _)| *known == c).map(|(_, letter)| *letter);
    let after_letter = letter.and_then(|letter| rest.strip_prefix(letter));
    after_letter.or_else(|| after_unicode(rest, c)).or_else(|| after_bytes(rest, c)).or_else(|| after_code(rest, c))
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

/// `#90;` or `#x5a;`; the ampersand is already consumed.
fn after_reference(rest: &str, c: char) -> Option<&str> {
    let number = rest.strip_prefix('#')?;
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
        rest = if at > 0 { after_backslashes(rest).unwrap_or(rest) } else { rest };
        let code = rest.strip_prefix('u')?.get(..4)?;
        rest = (u16::from_str_radix(code, 16).ok()? == *unit).then(|| &rest[5..])?;
    }
    Some(rest)
}

/// `u{e9}`, `xe9` or `U000000e9`.
fn after_code(rest: &str, c: char) -> Option<&str> {
    let (digits, after) = match rest.as_bytes().first()? {
        b'u' => {
            let digits = rest.strip_prefix("u{")?;
            let end = digits.bytes().take(LONGEST_NUMBER).position(|byte| byte == b'}')?;
            (&digits[..end], &digits[end + 1..])
        }
        b'x' => rest[1..].split_at_checked(2)?,
        b'U' => rest[1..].split_at_checked(8)?,
        _ => return None,
    };
    let is_number = digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_number)?;
    (code == u32::from(c)).then_some(after)
}

/// `xc3\xa9` or `303\251`: the bytes of a character.
fn after_bytes(rest: &str, c: char) -> Option<&str> {
    let mut rest = rest;
    for (at, byte) in c.encode_utf8(&mut [0; 4]).bytes().enumerate() {
        rest = if at > 0 { after_backslashes(rest)? } else { rest };
        let hex = rest.strip_prefix('x').filter(|digits| hex_byte(digits) == Some(byte));
        let octal = || rest.get(..3).is_some_and(|digits| u8::from_str_radix(digits, 8) == Ok(byte));
        rest = match hex {
            Some(digits) => digits.get(2..)?,
            None => octal().then(|| &rest[3..])?,
        };
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
            (r"a\nb\r\tc", "a\nb\r\tc"),
            (r"a\\nb\\\\tc", "a\nb\tc"),
            (r"a\u000ab\x09c\x0a", "a\nb\tc\n"),
            (r"p\/q", "p/q"),
            (r"\xe9\u{e9}\U000000e9\xc3\xa9\xc3\x83", "ééééÃ"),
            ("%5Cud83d%5Cude00%5Cxc3%5Cxa9", "😀é"),
            (r"a\042b\303\251\011", "a\"bé\t"),
            ("a b", "a\nb"),
            ("&amp;quot;&amp;amp;#x27;&amp;amp;b&amp;", "\"'&b&"),
            (r#"\\\u00e9\\\"x"#, "\\é\\\"x"),
            (r#"\\\\\\\u00e9\\\\\\\"x"#, "\\é\\\"x"),
            (r"\\\nx\\", "\\\nx\\"),
            ("a%5C%22b%5Cnc%5cu00e9", "a\"b\ncé"),
            (r"a\&quot;b\&#x22;", "a\"b\""),
            ("a&#92;nb", "a\nb"),
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
    fn a_letter_is_a_control_character_only_after_a_backslash() {
        for (text, value) in [("anb", "a\nb"), (r"a\nb", "anb"), (r"a\sb", "asb"), (r"\nb", "nb"), (r"\x6", "f")] {
            assert_eq!(encoded_at_start(text, value), None, "{text}");
        }
    }

    #[test]
    fn of_a_long_run_of_backslashes_only_the_last_are_searched() {
        let pass = |text: &str| backslashes_to_pass(text);
        assert_eq!([pass("x"), pass(r"\\x"), pass("%5C%5C%5cx"), pass("%6")], [0, 1, 3, 0]);
        let long = "\\".repeat(1_000_000);
        assert_eq!(pass(&long), 1_000_000 - MOST_BACKSLASHES);
        assert_eq!(pass(&long[..MOST_BACKSLASHES]), MOST_BACKSLASHES - 1);
        assert_eq!(pass(&long[..1]), 1);
    }

    #[test]
    fn another_text_is_not_recognised() {
        for text in ["", "a", "ac", "%6", "%é", r"\u00", r"\", "&am", "a%2", "&#", "&#x;", "&#+97;b", "&#97", "a&#99;"]
        {
            assert_eq!(encoded_at_start(text, "ab"), None, "{text}");
        }
    }
}
