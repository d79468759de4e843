//! The values of secrets, sorted: there may be thousands, and every position of every output is searched.

use crate::forms::{FORM_STARTS, encoded_at_start};
use crate::values::{LONG, SHORTEST, is_word};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::ops::Range;

/// Bytes by which values are looked up. Every value is longer.
const LOOKED_UP: usize = 3;

/// Values to search for, in any form.
#[derive(Clone)]
pub(crate) struct SecretIndex {
    /// Sorted, so that values with the same beginning are next to each other.
    values: Vec<String>,
    /// The values by their first character.
    groups: Vec<(String, Range<usize>)>,
}

/// A value that was found in a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundSecret {
    /// The length of the value. The longest goes first, so that a secret within a secret does not leave the rest
    /// visible.
    value: usize,
    /// Its length in the text.
    pub(crate) length: usize,
}

impl SecretIndex {
    /// With the forms in Base64. Values that are too short to be searched for are left out.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.chars().count() >= SHORTEST).collect();
        let encoded: Vec<String> =
            values.iter().filter(|value| value.len() >= LONG).flat_map(|v| in_base64(v)).collect();
        values.extend(encoded);
        Self::of_forms(values)
    }

    /// These values and those of another index.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        Self::of_forms(self.values.iter().chain(&other.values).cloned().collect())
    }

    /// Values that already include their forms.
    fn of_forms(mut values: Vec<String>) -> Self {
        values.sort_unstable();
        values.dedup();
        let (mut groups, mut from) = (Vec::new(), 0);
        for group in values.chunk_by(|a, b| a.chars().next() == b.chars().next()) {
            let first = group.iter().flat_map(|value| value.chars().next()).take(1).collect();
            groups.push((first, from..from + group.len()));
            from += group.len();
        }
        Self { values, groups }
    }

    /// Bytes with which a value may begin, in any form.
    pub(crate) fn starts(&self) -> [bool; 256] {
        let mut starts = [false; 256];
        let first = self.groups.iter().filter_map(|(first, _)| first.bytes().next());
        first.chain(FORM_STARTS.iter().copied()).for_each(|byte| starts[usize::from(byte)] = !self.values.is_empty());
        starts
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn contains(&self, value: &str) -> bool {
        self.values.binary_search_by(|known| known.as_str().cmp(value)).is_ok()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &String> {
        self.values.iter()
    }

    /// The longest value of at least so many bytes that a text has at this position.
    pub(crate) fn find_at(&self, text: &str, at: usize, least: usize) -> Option<FoundSecret> {
        let rest = &text[at..];
        let plain = rest.bytes().take(LOOKED_UP).take_while(|byte| !FORM_STARTS.contains(byte)).count();
        if plain > 0 {
            return longest(self.beginning_with(&rest.as_bytes()[..plain]), text, at, least);
        }
        let groups = self.groups.iter().filter(|(first, _)| encoded_at_start(rest, first).is_some());
        groups.filter_map(|(_, range)| longest(&self.values[range.clone()], text, at, least)).max()
    }

    /// The values that begin with these bytes.
    fn beginning_with(&self, beginning: &[u8]) -> &[String] {
        let from = self.values.partition_point(|value| value.as_bytes() < beginning);
        let after = &self.values[from..];
        &after[..after.partition_point(|value| value.as_bytes().starts_with(beginning))]
    }
}

fn longest(values: &[String], text: &str, at: usize, least: usize) -> Option<FoundSecret> {
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let found = values.iter().filter(|value| value.len() >= least).filter_map(|value| {
        let length = encoded_at_start(&text[at..], value)?;
        let is_part = in_word(text[..at].chars().next_back()) || in_word(text[at + length..].chars().next());
        (value.len() >= LONG || !is_word(value) || !is_part).then_some(FoundSecret { value: value.len(), length })
    });
    found.max()
}

/// A value in Base64, alone or within other encoded bytes. Three bytes are four characters, so there are three
/// alignments, each without the characters that also depend on the bytes around it.
fn in_base64(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        for before in 0..3 {
            let encoded = engine.encode([&[0; 2][..before], value.as_bytes()].concat());
            let is_even = (before + value.len()).is_multiple_of(3);
            let inner = &encoded[[0, 2, 3][before]..encoded.len() - usize::from(!is_even)];
            out.push(inner.to_owned());
        }
        out.push(engine.encode(value));
    }
    out.push(STANDARD.encode(value));
    out
}
