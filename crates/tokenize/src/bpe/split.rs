//! Text to pieces, as the patterns of tiktoken cut it.
//!
//! Rules that need only ASCII are written out; a piece that touches any other character goes to a regular expression, which
//! is built when the first such piece comes.

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

/// How one family of vocabularies cuts text.
pub(crate) struct Splitter {
    /// The length of the first piece, if only ASCII has a say in it.
    ascii: fn(&[u8]) -> Option<usize>,
    /// Everything but white space, which follows the same rules in all families.
    words: LazyLock<Regex>,
}

pub(crate) static O200K: Splitter = Splitter {
    ascii: o200k_ascii,
    words: LazyLock::new(|| {
        compile(concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
        ))
    }),
};

pub(crate) static CL100K: Splitter = Splitter {
    ascii: cl100k_ascii,
    words: LazyLock::new(|| {
        compile(concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
            r"|[^\r\n\p{L}\p{N}]?\p{L}+",
            r"|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*",
        ))
    }),
};

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

impl Splitter {
    /// The pieces of a text, which together are the text.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let length = (self.ascii)(rest.as_bytes()).unwrap_or_else(|| self.any(rest));
            let (piece, after) = rest.split_at(length);
            rest = after;
            Some(piece)
        })
    }

    /// The length of the first piece of any text.
    fn any(&self, text: &str) -> usize {
        match self.words.find(Input::new(text).anchored(Anchored::Yes)) {
            Some(word) => word.end(),
            None => space(text),
        }
    }
}

/// The length of the white space that makes a piece: up to its last line break, else all of it at the end of the text, else
/// all but the last character, which belongs to what follows.
fn space(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    let run = &text[..end];
    if let Some(newline) = run.rfind(['\r', '\n']) {
        return newline + 1;
    }
    let last = run.chars().next_back().map_or(0, char::len_utf8);
    if end == text.len() || end == last { end } else { end - last }
}

/// What a byte is to the patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    Newline,
    Space,
    Other,
    NotAscii,
    End,
}

use Class::{Digit, End, Lower, Newline, NotAscii, Other, Space, Upper};

static CLASSES: [Class; 256] = {
    let mut classes = [NotAscii; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' => Upper,
            b'a'..=b'z' => Lower,
            b'0'..=b'9' => Digit,
            b'\r' | b'\n' => Newline,
            b' ' | b'\t' | 0x0b | 0x0c => Space,
            _ => Other,
        };
        byte += 1;
    }
    classes
};

fn class(text: &[u8], at: usize) -> Class {
    text.get(at).map_or(End, |byte| CLASSES[*byte as usize])
}

/// Where a run of bytes of some classes ends.
fn run(text: &[u8], from: usize, member: impl Fn(Class) -> bool) -> usize {
    let mut at = from;
    while member(class(text, at)) {
        at += 1;
    }
    at
}

fn o200k_ascii(text: &[u8]) -> Option<usize> {
    let prefix = usize::from(matches!(class(text, 0), Space | Other));
    let uppers = run(text, prefix, |class| class == Upper);
    let letters = run(text, uppers, |class| class == Lower);
    match class(text, letters) {
        NotAscii => None,
        _ if letters > prefix => contraction(text, letters).map(|length| letters + length),
        _ => number_or_marks(text, b"\r\n/"),
    }
}

fn cl100k_ascii(text: &[u8]) -> Option<usize> {
    match contraction(text, 0)? {
        0 => {}
        length => return Some(length),
    }
    let prefix = usize::from(matches!(class(text, 0), Space | Other));
    let letters = run(text, prefix, |class| matches!(class, Upper | Lower));
    match class(text, letters) {
        NotAscii => None,
        _ if letters > prefix => Some(letters),
        _ => number_or_marks(text, b"\r\n"),
    }
}

/// The length of `'s`, `'re` and the like, in any case; 0 when there is none.
fn contraction(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return Some(0);
    }
    let letter = |offset: usize| text.get(at + offset).map_or(0, u8::to_ascii_lowercase);
    match letter(1) {
        // The long s, for one, is an s to a pattern that ignores case.
        128.. => None,
        b's' | b't' | b'm' | b'd' => Some(2),
        b'r' | b'v' if letter(2) == b'e' => Some(3),
        b'l' if letter(2) == b'l' => Some(3),
        _ => Some(0),
    }
}

/// A piece that has no letters.
fn number_or_marks(text: &[u8], after_marks: &[u8]) -> Option<usize> {
    if class(text, 0) == Digit {
        let end = run(&text[..text.len().min(3)], 0, |class| class == Digit);
        return (end == 3 || class(text, end) != NotAscii).then_some(end);
    }
    let space_before = usize::from(text[0] == b' ');
    let marks = run(text, space_before, |class| class == Other);
    if class(text, marks) == NotAscii {
        return None;
    }
    if marks > space_before {
        let tail = text[marks..].iter().take_while(|byte| after_marks.contains(byte)).count();
        return Some(marks + tail);
    }
    let end = run(text, 0, |class| matches!(class, Space | Newline));
    if class(text, end) == NotAscii {
        return None;
    }
    let newline = text[..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    Some(match newline {
        Some(newline) => newline + 1,
        None if end == text.len() || end == 1 => end,
        None => end - 1,
    })
}
