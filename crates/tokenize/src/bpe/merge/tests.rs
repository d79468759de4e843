//! Windows give the same result as the whole, in time proportional to the text.

use std::cell::Cell;

use proptest::prelude::*;

use super::super::{Bpe, CL100K, O200K, Piece};
use super::{Heap, Joins, Windows, merge};

/// Counts how often merging asks whether two parts may be joined: what merging costs.
struct Counted<J>(J, Cell<u64>);

impl<J: Joins> Joins for Counted<J> {
    type Part = J::Part;

    fn join(&self, left: J::Part, right: J::Part) -> Option<(u32, J::Part)> {
        self.1.set(self.1.get() + 1);
        self.0.join(left, right)
    }
}

fn byte(at: usize) -> (u32, u32) {
    (at as u32, at as u32 + 1)
}

/// By searching through all pairs for the lowest, every time: the definition.
fn by_definition(piece: &Piece<'_>) -> Vec<(u32, u32)> {
    let mut parts: Vec<_> = (0..piece.bytes.len()).map(byte).collect();
    let mut pairs: Vec<_> = parts.windows(2).map(|pair| piece.join(pair[0], pair[1])).collect();
    loop {
        let ranks = pairs.iter().enumerate().filter_map(|(at, pair)| Some((pair.as_ref()?.0, at)));
        let Some((_, at)) = ranks.min() else { return parts };
        parts[at] = (parts[at].0, parts[at + 1].1);
        parts.remove(at + 1);
        pairs.remove(at);
        for left in [at.wrapping_sub(1), at] {
            if left < pairs.len() {
                pairs[left] = piece.join(parts[left], parts[left + 1]);
            }
        }
    }
}

fn in_heap(piece: &Piece<'_>) -> Vec<(u32, u32)> {
    let mut tokens = Vec::new();
    Heap::default().merge(piece, (0..piece.bytes.len()).map(byte), |part| tokens.push(part));
    tokens
}

fn in_windows(piece: &Piece<'_>, window: usize, margin: usize) -> Vec<(u32, u32)> {
    let mut tokens = Vec::new();
    let length = piece.bytes.len();
    Windows { joins: piece, length, part: byte, window, margin }.merge(|part| tokens.push(part));
    tokens
}

/// What pieces are made of: runs of one thing, few letters that may be joined in many ways, and anything.
fn piece() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "a{1,300}|b{1,9}",
        " {1,300}|\n{1,200}|[\r\n\t ]{1,60}",
        "[ab]{1,100}|[a-e]{1,100}|[a-zA-Z]{1,200}",
        "[=*#-]{1,100}",
        "[一-龥]{1,100}|[一-三]{1,60}|中{1,60}",
        "\\PC{1,30}",
    ];
    proptest::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_way_of_merging_gives_the_same(text in piece()) {
        for bpe in [&O200K, &CL100K] {
            let piece = Piece { bpe, bytes: text.as_bytes() };
            let tokens = by_definition(&piece);
            prop_assert_eq!(&in_heap(&piece), &tokens);
            // The margin is shorter than many tokens: windows that do not fit have to grow.
            for (window, margin) in [(8, 1), (32, 4), (256, 64)] {
                prop_assert_eq!(&in_windows(&piece, window, margin), &tokens, "windows of {}", window);
            }
        }
    }
}

#[test]
fn a_window_whose_first_token_depends_on_what_comes_much_later_begins_earlier() {
    let text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaababaaabaabaaababaaabaababbbbababbbab";
    let piece = Piece { bpe: &O200K, bytes: text.as_bytes() };
    assert_eq!(in_windows(&piece, 8, 1), by_definition(&piece));
}

/// How many tokens a text of one piece has, and how often a join was asked for.
fn cost(bpe: &Bpe, text: &str) -> (usize, u64) {
    let piece = Counted(Piece { bpe, bytes: text.as_bytes() }, Cell::new(0));
    let mut count = 0;
    merge(&piece, text.len(), byte, |_| count += 1);
    (count, piece.1.get())
}

#[test]
fn eight_times_the_text_costs_eight_times_the_joins() {
    for unit in ["a", " ", "\n", "中文字符串测试", "abcdefghij"] {
        let text = unit.repeat((64 << 10) / unit.len());
        let eighth = unit.repeat((8 << 10) / unit.len());
        let ((_, of_eighth), (_, of_all)) = (cost(&O200K, &eighth), cost(&O200K, &text));
        assert!(of_all <= 9 * of_eighth, "{unit:?}: {of_eighth} joins, and {of_all}");
        assert!(of_all <= 6 * text.len() as u64, "{unit:?}: {of_all} joins");
    }
}
