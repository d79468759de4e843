//! The builtin encodings by their definition: tiktoken's original patterns and its rank files. Ours and the simulator's text
//! must agree with them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs;
use std::io::Read;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fancy_regex::Regex;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tokenize/vocabulary");

/// The tokens of a builtin encoding in order of their ids. The entry of a special token is empty. The file must be the
/// published one, whose digest is in the README beside it.
pub fn tokens_of(encoding: &str) -> Vec<Vec<u8>> {
    let file = fs::File::open(format!("{FOLDER}/{encoding}.tiktoken.gz")).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let readme = fs::read_to_string(format!("{FOLDER}/README.md")).unwrap();
    assert!(readme.contains(&digest), "{encoding}: the file has the digest {digest}");
    let mut tokens = Vec::new();
    for (token, id) in text.lines().map(|line| line.split_once(' ').unwrap()) {
        let id = id.parse().unwrap();
        assert!(id >= tokens.len(), "{encoding}: ids must ascend");
        tokens.resize(id, Vec::new());
        tokens.push(STANDARD.decode(token).unwrap());
    }
    tokens
}

/// An encoding by its definition: a pattern cuts the text into pieces; in each piece the two neighbours with the lowest
/// rank merge, the leftmost first, until none do.
pub struct Definition {
    ids: HashMap<Vec<u8>, u32>,
    pattern: Regex,
}

impl Definition {
    fn new(encoding: &str, pattern: &str) -> Self {
        let ids = tokens_of(encoding).into_iter().zip(0..).filter(|(token, _)| !token.is_empty()).collect();
        Self { ids, pattern: Regex::new(pattern).unwrap() }
    }

    /// The ids of a text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.pattern.find_iter(text).flat_map(|piece| self.merge(piece.unwrap().as_str().as_bytes())).collect()
    }

    fn merge(&self, piece: &[u8]) -> Vec<u32> {
        // `ends[start]` is the end of the part that starts there, 0 if none does. `starts[end]` is its start.
        let mut ends: Vec<usize> = (1..=piece.len()).collect();
        let mut starts: Vec<usize> = (0..=piece.len()).map(|end| end.saturating_sub(1)).collect();
        let mut pairs = BinaryHeap::new();
        let offer = |pairs: &mut BinaryHeap<_>, start: usize, middle: usize, end: usize| {
            if let Some(rank) = self.ids.get(&piece[start..end]) {
                pairs.push(Reverse((*rank, start, middle, end)));
            }
        };
        for middle in 1..piece.len() {
            offer(&mut pairs, middle - 1, middle, middle + 1);
        }
        while let Some(Reverse((_, start, middle, end))) = pairs.pop() {
            if (ends[start], ends[middle]) != (middle, end) {
                continue;
            }
            (ends[start], ends[middle], starts[end]) = (end, 0, start);
            if start > 0 {
                offer(&mut pairs, starts[start], start, end);
            }
            if end < piece.len() {
                offer(&mut pairs, start, end, ends[end]);
            }
        }
        let parts = ends.iter().enumerate().filter(|(_, end)| **end > 0);
        parts.map(|(start, end)| self.ids[&piece[start..*end]]).collect()
    }
}

/// The default encoding.
pub static O200K: LazyLock<Definition> = LazyLock::new(|| {
    Definition::new(
        "o200k_base",
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    )
});

/// The encoding of GPT-4.
pub static CL100K: LazyLock<Definition> = LazyLock::new(|| {
    Definition::new(
        "cl100k_base",
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        ),
    )
});
