//! The values of secrets, sorted: there may be many thousands, and every position of every output is searched. So the
//! values at a position are found byte by byte, each time among those that are left.

use crate::forms::{FORM_STARTS, encoded_at_start};
use crate::values::{LONG, SHORTEST, is_word};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::ops::Range;

/// So few values are compared one by one.
const FEW: usize = 4;

/// Values to search for, in any form.
#[derive(Clone)]
pub(crate) struct SecretIndex {
    /// What names of headers and metrics may contain: long values in the form of names, sorted.
    in_names: Vec<String>,
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
        // Many servers read bytes of headers as Latin-1.
        let misread: Vec<String> =
            values.iter().filter(|value| !value.is_ascii()).map(|v| v.bytes().map(char::from).collect()).collect();
        values.extend(misread);
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
        let mut in_names: Vec<String> =
            values.iter().filter(|value| value.len() >= LONG && value.is_ascii()).map(|value| as_name(value)).collect();
        in_names.sort_unstable();
        in_names.dedup();
        Self { in_names, values, groups }
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

    /// The longest value in a name, and where it is. The name is in the form of names.
    pub(crate) fn find_in_name(&self, name: &str) -> Option<Range<usize>> {
        let longest_at = |at: usize| {
            let (mut values, mut length) = (&self.in_names[..], 0);
            for (place, byte) in name.as_bytes()[at..].iter().enumerate() {
                values = with_byte(values, place, *byte);
                match values.first() {
                    Some(value) if value.len() == place + 1 => length = place + 1,
                    Some(_) => {}
                    None => break,
                }
            }
            (length > 0).then_some((length, at))
        };
        (0..name.len()).filter_map(longest_at).max().map(|(length, at)| at..at + length)
    }

    /// The longest value of at least so many bytes that a text has at this position.
    pub(crate) fn find_at(&self, text: &str, at: usize, least: usize) -> Option<FoundSecret> {
        let rest = &text[at..];
        let plain = rest.bytes().take_while(|byte| !FORM_STARTS.contains(byte)).enumerate();
        let (mut values, mut found) = (&self.values[..], None);
        let mut is_plain = false;
        for (place, byte) in plain {
            is_plain = true;
            values = with_byte(values, place, byte);
            match values {
                [] => break,
                // A value that ends here: it is found even if those that go on are not.
                [value, ..] if value.len() == place + 1 => {
                    found = found.max(longest(&values[..1], text, at, least));
                }
                _ if values.len() <= FEW => break,
                _ => {}
            }
        }
        if is_plain {
            return found.max(longest(values, text, at, least));
        }
        let groups = self.groups.iter().filter(|(first, _)| encoded_at_start(rest, first).is_some());
        groups.filter_map(|(_, range)| longest(&self.values[range.clone()], text, at, least)).max()
    }
}

/// Of sorted values that are equal before this place, those that have this byte at it.
fn with_byte(values: &[String], place: usize, byte: u8) -> &[String] {
    let at_place = |value: &String| value.as_bytes().get(place).copied();
    let from = values.partition_point(|value| at_place(value) < Some(byte));
    let after = &values[from..];
    &after[..after.partition_point(|value| at_place(value) == Some(byte))]
}

/// A text in the form of names: in lower case, with `_` for everything but letters and digits.
pub(crate) fn as_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii() && !c.is_ascii_alphanumeric() { '_' } else { c.to_ascii_lowercase() };
    text.chars().map(plain).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Few letters, so that values share beginnings and contain each other; in texts also encoded.
    fn word(letters: &'static str, lengths: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(letters.chars().collect::<Vec<_>>()), lengths)
            .prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn the_secret_at_a_position_is_that_of_a_comparison_with_all(
            values in prop::collection::vec(word("ab&", 4..14), 0..40),
            parts in prop::collection::vec(word("ab", 0..6), 1..6),
            between in prop::sample::select(vec!["&", "%26", "&amp;", "%", "\\u0026", " "]),
            inside in any::<prop::sample::Index>(),
        ) {
            let index = SecretIndex::of_forms(values.clone());
            let value = if values.is_empty() { "" } else { &values[inside.index(values.len())] };
            let text = format!("{} {value} {}", parts.join(between), value.replace('&', between));
            for least in [SHORTEST, LONG] {
                for at in 0..text.len() {
                    let found = index.find_at(&text, at, least);
                    prop_assert!(found == longest(&index.values, &text, at, least), "{values:?} in {text:?} at {at}");
                }
            }
        }

        #[test]
        fn the_secret_in_a_name_is_the_longest(
            values in prop::collection::vec(word("aB-", 1..14), 0..20),
            name in word("ab_", 0..30),
        ) {
            let index = SecretIndex::of_forms(values);
            let length = index.in_names.iter().filter(|value| name.contains(*value)).map(String::len).max();
            let found = index.find_in_name(&name);
            prop_assert_eq!(found.as_ref().map(Range::len), length);
            prop_assert!(found.is_none_or(|found| index.in_names.contains(&name[found].to_owned())));
        }
    }
}
