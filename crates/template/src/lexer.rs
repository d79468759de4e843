//! What a template has between its braces, found as the engine finds it: an end within a quote or a bracket is none, and
//! nothing in a comment or a raw block is a tag.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    Text,
    Sign,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    pub(crate) text: &'s str,
    /// Where it begins in the template.
    pub(crate) start: usize,
}

impl Token<'_> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text == word
    }

    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text == sign
    }

    pub(crate) fn opens(&self) -> bool {
        self.kind == TokenKind::Sign && matches!(self.text, "(" | "[" | "{")
    }

    pub(crate) fn closes(&self) -> bool {
        self.kind == TokenKind::Sign && matches!(self.text, ")" | "]" | "}")
    }
}

/// The code between `{{ }}` or `{% %}`.
pub(crate) struct Tag<'s> {
    pub(crate) is_statement: bool,
    pub(crate) start: usize,
    pub(crate) tokens: Vec<Token<'s>>,
    /// Where the text after it begins; none where the tag has no end.
    pub(crate) end: Option<usize>,
    /// The sign before its end: `-`, `+` or none.
    pub(crate) trim: &'s str,
    /// Bytes of plain text between this tag and the one before.
    pub(crate) text_before: usize,
}

/// The tags of a template. What follows a tag without an end, or a sign that the engine does not know, is left out: the
/// engine reads no further either.
pub(crate) fn tags(source: &str) -> Vec<Tag<'_>> {
    let mut out = Vec::new();
    let (mut at, mut text_before) = (0, 0);
    while let Some(found) = source[at..].find('{') {
        text_before += found;
        let start = at + found;
        let rest = &source[start + 1..];
        let sign = rest.get(1..2).filter(|sign| matches!(*sign, "-" | "+")).unwrap_or("");
        let inside = start + 2 + sign.len();
        let raw = if rest.starts_with('%') { basic_tag(&source[inside..], "raw") } else { None };
        at = match (rest.bytes().next(), raw) {
            (Some(b'#'), _) => match source[inside..].find("#}") {
                Some(end) => inside + end + 2,
                None => return out,
            },
            (_, Some(raw)) => {
                let (length, after) = raw_block(&source[inside + raw..]);
                text_before += length;
                inside + raw + after
            }
            (Some(opening @ (b'{' | b'%')), None) => {
                let is_statement = opening == b'%';
                let end = if is_statement { "%}" } else { "}}" };
                let (tokens, closed) = tokens(source, inside, end);
                let (end, trim) = closed.map_or((None, ""), |(end, trim)| (Some(end), trim));
                out.push(Tag { is_statement, start, tokens, end, trim, text_before: std::mem::take(&mut text_before) });
                match end {
                    Some(end) => end,
                    None => return out,
                }
            }
            _ => {
                text_before += 1;
                start + 1
            }
        };
    }
    out
}

/// The length of a tag that is only a word, from after its opening to after its end.
fn basic_tag(text: &str, word: &str) -> Option<usize> {
    let blank = |c: char| c.is_ascii_whitespace();
    let rest = text.trim_start_matches(blank).strip_prefix(word)?.trim_start_matches(blank);
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest).strip_prefix("%}")?;
    Some(text.len() - rest.len())
}

/// The length of a raw block's text, and where its end tag ends.
fn raw_block(text: &str) -> (usize, usize) {
    let mut at = 0;
    while let Some(found) = text[at..].find("{%") {
        let (begin, inside) = (at + found, at + found + 2);
        let signed = text[inside..].strip_prefix(['-', '+']).map_or(inside, |_| inside + 1);
        if let Some(length) = basic_tag(&text[signed..], "endraw") {
            return (begin, signed + length);
        }
        at = inside;
    }
    (text.len(), text.len())
}

/// The tokens of a tag, and where it ends, with the sign before its end.
fn tokens<'s>(source: &'s str, from: usize, end: &str) -> (Vec<Token<'s>>, Option<(usize, &'s str)>) {
    let mut out: Vec<Token<'s>> = Vec::new();
    let (mut at, mut depth) = (from, 0i64);
    loop {
        at += source[at..].find(|c: char| !c.is_ascii_whitespace()).unwrap_or(source.len() - at);
        let rest = &source[at..];
        if depth == 0 {
            let trim = rest.get(..1).filter(|sign| matches!(*sign, "-" | "+")).unwrap_or("");
            for trim in [trim, ""] {
                if rest[trim.len()..].starts_with(end) {
                    return (out, Some((at + trim.len() + end.len(), trim)));
                }
            }
        }
        let Some(first) = rest.bytes().next() else { return (out, None) };
        let (kind, length) = match first {
            b'\'' | b'"' => (TokenKind::Text, quoted(rest)),
            b'0'..=b'9' => (TokenKind::Number, number(rest, out.last().is_some_and(|last| last.is_sign(".")))),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                (TokenKind::Word, rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()))
            }
            _ => {
                let pair = rest.get(..2).is_some_and(|pair| ["//", "**", "==", "!=", ">=", "<="].contains(&pair));
                let known = pair || b"+-*/%.,:~|=><()[]{}".contains(&first);
                (TokenKind::Sign, if pair { 2 } else { usize::from(known) })
            }
        };
        if length == 0 {
            return (out, None);
        }
        let token = Token { kind, text: &rest[..length], start: at };
        depth += i64::from(token.opens()) - i64::from(token.closes());
        out.push(token);
        at += length;
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The length of a quoted text; 0 where it has no end.
fn quoted(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    0
}

/// The length of a number. After a dot it is an index, which has no fraction.
fn number(text: &str, is_index: bool) -> usize {
    let bytes = text.as_bytes();
    let is_radix = matches!(bytes, [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..]);
    let is_hex = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut at = if is_radix { 2 } else { 0 };
    let (mut has_fraction, mut has_exponent) = (is_radix || is_index, is_radix);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' | b'_' => {}
            b'a'..=b'f' | b'A'..=b'F' if is_hex => {}
            b'.' if !has_fraction && !has_exponent => {
                let rest = &bytes[at + 1..];
                let is_exponent = matches!(rest, [b'e' | b'E', b'+' | b'-' | b'0'..=b'9', ..]);
                if !is_exponent && rest.first().is_some_and(|next| next.is_ascii_alphabetic() || *next == b'_') {
                    break;
                }
                has_fraction = true;
            }
            b'e' | b'E' if !has_exponent => {
                has_exponent = true;
                at += usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            }
            _ => break,
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<Vec<&str>> {
        tags(source).iter().map(|tag| tag.tokens.iter().map(|token| token.text).collect()).collect()
    }

    #[test]
    fn tags_are_cut_into_the_tokens_that_the_engine_sees() {
        for (source, wanted) in [
            ("a{{ '}}' ~ b }}c", vec![vec!["'}}'", "~", "b"]]),
            (
                "{%- set a = {'b': {'c': 1}} -%}",
                vec![vec!["set", "a", "=", "{", "'b'", ":", "{", "'c'", ":", "1", "}", "}"]],
            ),
            ("{# {{ a }} #}{{ a.0.1 }}", vec![vec!["a", ".", "0", ".", "1"]]),
            ("{% raw %}{{ a {%- endraw %}{{ 1.5e+3+0x1e+5 }}", vec![vec!["1.5e+3", "+", "0x1e", "+", "5"]]),
            ("{{ \"a\\\"\"==b//2 }}{ {a", vec![vec!["\"a\\\"\"", "==", "b", "//", "2"]]),
            ("{{ a ? b }}{{ c }}", vec![vec!["a"]]),
            ("{{ (a }} b }}", vec![vec!["(", "a", "}", "}", "b", "}", "}"]]),
        ] {
            assert_eq!(texts(source), wanted, "{source}");
        }
    }

    #[test]
    fn text_between_tags_is_counted_that_of_raw_blocks_too() {
        let lengths: Vec<usize> =
            tags("abc{{ a }}{% raw %}{{x{% endraw %}d{# e #}{{ b }}").iter().map(|tag| tag.text_before).collect();
        assert_eq!(lengths, [3, 4]);
    }
}
