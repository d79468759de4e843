//! Bytes, tokens and merges.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

use super::alphabet::push_bytes;
use crate::bpe::layout;
use crate::bpe::merge::{self, Joins};

const EMPTY: u64 = u64::MAX;

/// Whether merging the bytes of a token gives that token.
const NOT_KNOWN: u8 = 0;
const WHOLE: u8 = 1;
const IN_PARTS: u8 = 2;

/// Tokens by their bytes and by their ids, and which may be merged.
pub(super) struct Vocabulary {
    arena: Vec<u8>,
    /// Where the bytes of each id lie.
    spans: Vec<Option<(u32, u32)>>,
    len: usize,
    /// Hash table from bytes to id: upper half of the hash and id.
    slots: Vec<u64>,
    /// Hash table from two ids to rank and id of the merge.
    pairs: Vec<(u64, u32, u32)>,
    single_bytes: [u32; 256],
    /// Tokens that are not written in bytes: no text leads to them.
    written_out: HashMap<Vec<u8>, u32>,
    ignores_merges: bool,
    whole: Box<[AtomicU8]>,
}

/// A token as the file gives it: where its bytes lie, its id, and whether it is written in bytes.
pub(super) struct Entry {
    pub(super) bytes: Range<usize>,
    pub(super) id: u32,
    pub(super) is_bytes: bool,
}

impl Vocabulary {
    /// `None` when a byte that text may have is no token, or ids are absurdly large.
    pub(super) fn new(arena: Vec<u8>, entries: &[Entry], ignores_merges: bool) -> Option<Self> {
        let highest = entries.iter().map(|entry| entry.id).max()? as usize;
        if highest > entries.len() * 4 + 1024 {
            return None;
        }
        let mut vocabulary = Self {
            spans: vec![None; highest + 1],
            len: entries.len(),
            slots: vec![EMPTY; (entries.len() * 2).next_power_of_two()],
            pairs: Vec::new(),
            single_bytes: [u32::MAX; 256],
            written_out: HashMap::new(),
            ignores_merges,
            whole: (0..=highest).map(|_| AtomicU8::new(NOT_KNOWN)).collect(),
            arena,
        };
        for entry in entries {
            let bytes = entry.bytes.clone();
            vocabulary.spans[entry.id as usize] = Some((bytes.start as u32, bytes.end as u32));
            if entry.is_bytes {
                vocabulary.insert(bytes, entry.id);
            } else {
                vocabulary.written_out.insert(vocabulary.arena[bytes].to_vec(), entry.id);
            }
        }
        for byte in 0..=u8::MAX {
            match vocabulary.find(&[byte]) {
                Some(id) => vocabulary.single_bytes[byte as usize] = id,
                None if matches!(byte, 0xc0 | 0xc1 | 0xf5..) => {}
                None => return None,
            }
        }
        Some(vocabulary)
    }

    fn insert(&mut self, bytes: Range<usize>, id: u32) {
        let hash = layout::hash(&self.arena[bytes]);
        let mut at = layout::first_slot(hash, self.slots.len());
        while self.slots[at] != EMPTY {
            at = layout::next_slot(at, self.slots.len());
        }
        self.slots[at] = tagged(hash, id);
    }

    /// Takes the merges in order of rank, each as bytes and where its left part ends; `false` when one is of no tokens.
    pub(super) fn set_merges(&mut self, arena: &[u8], merges: &[(Range<usize>, usize)]) -> bool {
        self.pairs = vec![(EMPTY, 0, 0); (merges.len() * 2).next_power_of_two()];
        for (rank, (bytes, middle)) in (0..).zip(merges) {
            let left = self.find(&arena[bytes.start..*middle]);
            let right = self.find(&arena[*middle..bytes.end]);
            let merged = self.find(&arena[bytes.clone()]);
            let (Some(left), Some(right), Some(merged)) = (left, right, merged) else { return false };
            let key = pair_key(left, right);
            let mut at = self.pair_slot(key);
            while self.pairs[at].0 != EMPTY && self.pairs[at].0 != key {
                at = layout::next_slot(at, self.pairs.len());
            }
            self.pairs[at] = (key, rank, merged);
        }
        true
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn token(&self, id: u32) -> Option<&[u8]> {
        let (begin, end) = (*self.spans.get(id as usize)?)?;
        Some(&self.arena[begin as usize..end as usize])
    }

    /// The id of a token as the file writes it.
    pub(super) fn id_of(&self, token: &str) -> Option<u32> {
        let mut bytes = Vec::new();
        match push_bytes(token, &mut bytes) {
            true => self.find(&bytes),
            false => self.written_out.get(&bytes).copied(),
        }
    }

    pub(super) fn count(&self, piece: &[u8]) -> usize {
        if self.find(piece).is_some_and(|id| self.is_whole(id, piece)) {
            return 1;
        }
        let mut count = 0;
        self.merge(piece, |_| count += 1);
        count
    }

    pub(super) fn encode_into(&self, piece: &[u8], ids: &mut Vec<u32>) {
        match self.find(piece) {
            Some(id) if self.is_whole(id, piece) => ids.push(id),
            _ => self.merge(piece, |id| ids.push(id)),
        }
    }

    /// Whether a piece that is a token becomes that token: its merges may not lead there.
    fn is_whole(&self, id: u32, piece: &[u8]) -> bool {
        if self.ignores_merges {
            return true;
        }
        let known = &self.whole[id as usize];
        match known.load(Ordering::Relaxed) {
            NOT_KNOWN => {
                let mut count = 0;
                self.merge(piece, |_| count += 1);
                known.store(if count == 1 { WHOLE } else { IN_PARTS }, Ordering::Relaxed);
                count == 1
            }
            state => state == WHOLE,
        }
    }

    fn merge(&self, piece: &[u8], each: impl FnMut(u32)) {
        merge::merge(self, piece.len(), |at| self.single_bytes[piece[at] as usize], each);
    }

    fn find(&self, bytes: &[u8]) -> Option<u32> {
        let hash = layout::hash(bytes);
        let mut at = layout::first_slot(hash, self.slots.len());
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return None;
            }
            let id = slot as u32;
            if slot == tagged(hash, id) && self.token(id) == Some(bytes) {
                return Some(id);
            }
            at = layout::next_slot(at, self.slots.len());
        }
    }

    fn pair_slot(&self, key: u64) -> usize {
        layout::first_slot(layout::mix(key), self.pairs.len())
    }
}

impl Joins for Vocabulary {
    type Part = u32;

    fn join(&self, left: u32, right: u32) -> Option<(u32, u32)> {
        let key = pair_key(left, right);
        let mut at = self.pair_slot(key);
        loop {
            match self.pairs[at] {
                (found, rank, merged) if found == key => return Some((rank, merged)),
                (EMPTY, ..) => return None,
                _ => at = layout::next_slot(at, self.pairs.len()),
            }
        }
    }
}

fn tagged(hash: u64, id: u32) -> u64 {
    hash << 32 | u64::from(id)
}

fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
