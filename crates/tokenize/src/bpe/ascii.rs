//! The patterns of [`super::split`] for ASCII alone: most text, and many times faster.

/// What distinguishes patterns, in the order in which they try things.
#[derive(Debug)]
pub(crate) struct Rules {
    contractions: Contractions,
    /// Whether any mark may precede letters, or only a space.
    mark_before_letters: bool,
    /// Whether a capital after a small letter begins a new piece.
    cased: bool,
    /// Whether a space may precede digits.
    space_before_digits: bool,
    most_digits: usize,
    /// What may follow marks.
    after_marks: &'static [u8],
    /// Whether white space is cut after its last line break.
    cuts_lines: bool,
}

/// Where `'s`, `'re` and the like are cut.
#[derive(Debug, PartialEq, Eq)]
enum Contractions {
    /// Nowhere.
    No,
    /// As pieces of their own, in small letters.
    ApartSmall,
    /// As pieces of their own.
    Apart,
    /// Behind a word, as part of it.
    Behind,
}

const O200K_RULES: Rules = Rules {
    contractions: Contractions::Behind,
    mark_before_letters: true,
    cased: true,
    space_before_digits: false,
    most_digits: 3,
    after_marks: b"\r\n/",
    cuts_lines: true,
};

const CL100K_RULES: Rules = Rules {
    contractions: Contractions::Apart,
    mark_before_letters: true,
    cased: false,
    space_before_digits: false,
    most_digits: 3,
    after_marks: b"\r\n",
    cuts_lines: true,
};

pub(super) static O200K: Rules = O200K_RULES;
pub(super) static CL100K: Rules = CL100K_RULES;
pub(super) static QWEN: Rules = Rules { most_digits: 1, ..CL100K_RULES };
pub(super) static TEKKEN: Rules = Rules { contractions: Contractions::No, most_digits: 1, ..O200K_RULES };

pub(super) static KIMI: Rules = Rules { after_marks: b"\r\n", ..O200K_RULES };

pub(super) static GPT2: Rules = Rules {
    contractions: Contractions::ApartSmall,
    mark_before_letters: false,
    cased: false,
    space_before_digits: true,
    most_digits: usize::MAX,
    after_marks: b"",
    cuts_lines: false,
};

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

impl Rules {
    /// The length of the first piece of a text that is not empty; `None` where another character than ASCII may decide.
    pub(super) fn first_piece(&self, text: &[u8]) -> Option<usize> {
        match self.contractions {
            Contractions::Apart if text[0] == b'\'' => match contraction(text, 0)? {
                0 => {}
                length => return Some(length),
            },
            Contractions::ApartSmall if text[0] == b'\'' => match contraction(text, 0)? {
                length if length > 0 && text[1..length].iter().all(u8::is_ascii_lowercase) => return Some(length),
                _ => {}
            },
            _ => {}
        }
        let space = usize::from(text[0] == b' ');
        let prefix =
            if self.mark_before_letters { usize::from(matches!(class(text, 0), Space | Other)) } else { space };
        let letters = if self.cased {
            let uppers = run(text, prefix, |class| class == Upper);
            run(text, uppers, |class| class == Lower)
        } else {
            run(text, prefix, |class| matches!(class, Upper | Lower))
        };
        if class(text, letters) == NotAscii {
            return None;
        }
        if letters > prefix {
            return match self.contractions {
                Contractions::Behind => contraction(text, letters).map(|length| letters + length),
                _ => Some(letters),
            };
        }
        let prefix = if self.space_before_digits { space } else { 0 };
        if class(text, prefix) == Digit {
            return self.digits(text, prefix);
        }
        let marks = run(text, space, |class| class == Other);
        if class(text, marks) == NotAscii {
            return None;
        }
        if marks > space {
            let after = text[marks..].iter().take_while(|byte| self.after_marks.contains(byte)).count();
            return Some(marks + after);
        }
        self.space(text)
    }

    fn digits(&self, text: &[u8], from: usize) -> Option<usize> {
        let most = from.saturating_add(self.most_digits);
        let end = run(&text[..text.len().min(most)], from, |class| class == Digit);
        (end == most || class(text, end) != NotAscii).then_some(end)
    }

    fn space(&self, text: &[u8]) -> Option<usize> {
        let end = run(text, 0, |class| matches!(class, Space | Newline));
        if class(text, end) == NotAscii {
            return None;
        }
        let newline = || text[..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
        match self.cuts_lines.then(newline).flatten() {
            Some(newline) => Some(newline + 1),
            None if end == text.len() || end == 1 => Some(end),
            None => Some(end - 1),
        }
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
