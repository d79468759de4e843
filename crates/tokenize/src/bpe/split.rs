//! Text to pieces, as the pattern of a vocabulary cuts it.
//!
//! Such patterns end alike, in two alternatives for white space that need to look ahead; those are written out here,
//! and the rest is a plain regular expression. For the patterns most vocabularies use, what needs only ASCII is written
//! out as well: the expression is then built only when a text has anything else.

use std::borrow::Cow;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

use super::ascii::{self, Rules};

/// White space at the end of the text, or all of it but what belongs to the next word.
const SPACE: &str = r"|\s+(?!\S)|\s+";

/// Cuts text by one pattern.
#[derive(Debug)]
pub(crate) struct Splitter {
    /// The pattern without [`SPACE`].
    words: Cow<'static, str>,
    cuts_space: bool,
    ascii: Option<&'static Rules>,
    compiled: OnceLock<Regex>,
}

/// What OpenAI's newer models use.
pub(crate) static O200K: Splitter = Splitter::known(
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+",
    ),
    &ascii::O200K,
);

/// What OpenAI's older models and Llama 3 use.
pub(crate) static CL100K: Splitter = Splitter::known(
    concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+",
    ),
    &ascii::CL100K,
);

/// What Qwen uses.
pub(crate) static QWEN: Splitter = Splitter::known(
    concat!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+", r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+",),
    &ascii::QWEN,
);

/// The pattern of GPT-2 and its successors.
pub(crate) static GPT2: Splitter =
    Splitter::known(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+", &ascii::GPT2);

/// What Mistral's newer models use.
static TEKKEN: Splitter = Splitter::known(
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
        r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+",
    ),
    &ascii::TEKKEN,
);

/// The characters of the script Han, for a class of a pattern: of scripts, the library of patterns has no tables here.
macro_rules! han {
    () => {
        concat!(
            r"\x{2E80}-\x{2E99}\x{2E9B}-\x{2EF3}\x{2F00}-\x{2FD5}\x{3005}\x{3007}\x{3021}-\x{3029}",
            r"\x{3038}-\x{303B}\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{F900}-\x{FA6D}\x{FA70}-\x{FAD9}",
            r"\x{16FE2}-\x{16FE3}\x{16FF0}-\x{16FF1}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B739}\x{2B740}-\x{2B81D}",
            r"\x{2B820}-\x{2CEA1}\x{2CEB0}-\x{2EBE0}\x{2EBF0}-\x{2EE5D}\x{2F800}-\x{2FA1D}\x{30000}-\x{3134A}",
            r"\x{31350}-\x{323AF}",
        )
    };
}

/// What Kimi uses: as [`O200K`], but Han apart from other letters.
pub(crate) static KIMI: Splitter = Splitter::known(
    concat!(
        r"[",
        han!(),
        r"]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^",
        han!(),
        r"]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^",
        han!(),
        r"]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^",
        han!(),
        r"]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^",
        han!(),
        r"]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+",
    ),
    &ascii::KIMI,
);

static KNOWN: [&Splitter; 5] = [&O200K, &CL100K, &QWEN, &GPT2, &TEKKEN];

impl Splitter {
    const fn known(words: &'static str, ascii: &'static Rules) -> Self {
        Self { words: Cow::Borrowed(words), cuts_space: true, ascii: Some(ascii), compiled: OnceLock::new() }
    }

    /// The splitter of a pattern, unless that needs more than a regular expression can do.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let (words, cuts_space) = pattern.strip_suffix(SPACE).map_or((pattern, false), |words| (words, true));
        if let Some(known) = KNOWN.iter().find(|known| cuts_space && known.words == words) {
            return Some(Self {
                words: known.words.clone(),
                cuts_space,
                ascii: known.ascii,
                compiled: OnceLock::new(),
            });
        }
        let compiled = Regex::new(words).ok()?;
        let progresses = compiled.find(Input::new("").anchored(Anchored::Yes)).is_none();
        progresses.then(|| Self {
            words: Cow::Owned(words.to_owned()),
            cuts_space,
            ascii: None,
            compiled: OnceLock::from(compiled),
        })
    }

    /// The splitter of GPT-2, for tokenizers that name it without its pattern.
    pub(crate) fn gpt2() -> Self {
        Self { words: GPT2.words.clone(), cuts_space: true, ascii: GPT2.ascii, compiled: OnceLock::new() }
    }

    /// Whether no piece has a blank after anything but white space: so it is in all patterns that are known here. What
    /// begins with a word, a number or a sign ends before any blank.
    pub(crate) fn cuts_before_blanks(&self) -> bool {
        self.ascii.is_some()
    }

    /// The pieces of a text, which together are the text.
    pub(crate) fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let ascii = self.ascii.and_then(|rules| rules.first_piece(rest.as_bytes()));
            let (piece, after) = rest.split_at(ascii.unwrap_or_else(|| self.first_piece(rest)));
            rest = after;
            Some(piece)
        })
    }

    /// The length of what matches at the beginning, or of what comes before the first match.
    fn first_piece(&self, text: &str) -> usize {
        self.first_match(text).unwrap_or_else(|| {
            let later = text.char_indices().skip(1).find(|(at, _)| self.first_match(&text[*at..]).is_some());
            later.map_or(text.len(), |(at, _)| at)
        })
    }

    fn first_match(&self, text: &str) -> Option<usize> {
        let words = self.compiled.get_or_init(|| Regex::new(&self.words).expect("known patterns are valid"));
        match words.find(Input::new(text).anchored(Anchored::Yes)) {
            Some(word) => Some(word.end()),
            None => self.cuts_space.then(|| space(text)).flatten(),
        }
    }
}

/// What [`SPACE`] matches at the beginning of a text.
fn space(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    let last = text[..end].chars().next_back()?.len_utf8();
    Some(if end == text.len() || end == last { end } else { end - last })
}
