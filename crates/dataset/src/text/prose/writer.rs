//! Prose of an exact number of tokens.
//!
//! The tokens of each piece of prose are measured once. Pieces are then added until their sum is the wanted length.
//! Most tokenizers split at spaces, so the sum is the count of the whole text. Where that is not certain, the text is
//! counted, and corrected if its count differs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use aiperf_tokenize::Tokenizer;
use rand::{Rng, RngExt};

use super::{Piece, fillers, first_fillers, sentence};
use crate::courtesy;
use crate::text::fit::extend_by_trial;

/// The text before a piece when it is measured: its cost is what it adds to this.
const CONTEXT: &str = "so";

/// Corrections to try before the text is extended by trial.
const ROUNDS: usize = 12;

/// Writes prose to length.
#[derive(Debug)]
pub(crate) struct ProseWriter {
    tokenizer: Tokenizer,
    /// Tokens of each piece, plus one; 0 means not measured yet.
    costs: Box<[AtomicU16]>,
    /// Of each piece, two bits per mark: whether it was tried after the piece, and whether their tokens add up.
    with_marks: Box<[AtomicU8]>,
    context_cost: OnceLock<usize>,
    fillers: OnceLock<Vec<Piece>>,
    first_fillers: OnceLock<Vec<Piece>>,
}

/// A text under construction, and where each of its pieces ends.
#[derive(Default)]
struct Draft {
    text: String,
    /// Bytes of the given beginning, which stays.
    begin: usize,
    pieces: Vec<(Piece, usize)>,
}

impl Draft {
    fn push(&mut self, piece: Piece) {
        piece.write(&mut self.text);
        self.pieces.push((piece, self.text.len()));
    }

    fn pop(&mut self) -> Option<Piece> {
        let (piece, _) = self.pieces.pop()?;
        self.text.truncate(self.pieces.last().map_or(self.begin, |(_, end)| *end));
        Some(piece)
    }
}

impl ProseWriter {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        Self {
            tokenizer: tokenizer.clone(),
            costs: (0..Piece::kinds()).map(|_| AtomicU16::new(0)).collect(),
            with_marks: (0..Piece::kinds()).map(|_| AtomicU8::new(0)).collect(),
            context_cost: OnceLock::new(),
            fillers: OnceLock::new(),
            first_fillers: OnceLock::new(),
        }
    }

    /// Whether its words are tokens of the vocabulary.
    pub(crate) fn knows_words(&self) -> bool {
        !self.fillers().is_empty()
    }

    /// A text that begins with `after` and has exactly `tokens` tokens. The error is the nearest text found.
    pub(crate) fn try_write(&self, after: &str, tokens: usize, rng: &mut impl Rng) -> Result<String, String> {
        let mut draft = self.draft(after, tokens, rng);
        if self.certain_count(&draft) == Some(tokens) {
            debug_assert_eq!(self.tokenizer.count(&draft.text), tokens, "{}", draft.text);
            return Ok(draft.text);
        }
        if self.tokenizer.count(&draft.text) == tokens || self.correct(&mut draft, tokens, rng) {
            return Ok(draft.text);
        }
        Err(draft.text)
    }

    /// The tokens of a text, if they are certainly the sum of those of its pieces: no token goes on over a space, and
    /// each mark adds up with the word before it.
    fn certain_count(&self, draft: &Draft) -> Option<usize> {
        if draft.begin > 0 || !self.tokenizer.cuts_before_blanks() {
            return None;
        }
        let (mut count, mut before) = (0, None);
        for &(piece, _) in &draft.pieces {
            if piece.is_mark() && !self.adds_up(before?, piece) {
                return None;
            }
            count += self.cost(piece);
            before = (!piece.is_mark()).then_some(piece);
        }
        Some(count)
    }

    /// Whether a word and the mark after it have as many tokens together as each of them adds to a text.
    fn adds_up(&self, word: Piece, mark: Piece) -> bool {
        let cell = &self.with_marks[word.index()];
        let (tried, result) = (1_u8 << (2 * mark.index()), 2_u8 << (2 * mark.index()));
        let known = cell.load(Ordering::Relaxed);
        if known & tried != 0 {
            return known & result != 0;
        }
        let mut text = String::with_capacity(24);
        word.write(&mut text);
        mark.write(&mut text);
        let adds_up = self.tokenizer.count(&text) == self.cost(word) + self.cost(mark);
        cell.fetch_or(if adds_up { tried | result } else { tried }, Ordering::Relaxed);
        adds_up
    }

    /// Prose whose pieces sum up to the length.
    fn draft(&self, after: &str, tokens: usize, rng: &mut impl Rng) -> Draft {
        // A tokenizer that drops unknown words counts some words as 0 tokens; the loop must still end.
        let most_pieces = 4 * tokens + 64;
        let mut text = String::with_capacity(tokens * 5 + 8);
        text.push_str(after);
        let mut draft = Draft { text, begin: after.len(), pieces: Vec::with_capacity(tokens + 1) };
        let mut left = if after.is_empty() { tokens } else { tokens.saturating_sub(self.tokenizer.count(after)) };
        let mut clause = Vec::with_capacity(32);
        'prose: while left > 0 {
            clause.clear();
            courtesy::step();
            sentence(rng, draft.text.is_empty(), &mut clause);
            for &piece in &clause {
                match left.checked_sub(self.cost(piece)) {
                    Some(rest) if draft.pieces.len() < most_pieces => left = rest,
                    _ => break 'prose,
                }
                draft.push(piece);
                if left == 0 {
                    break 'prose;
                }
            }
        }
        self.fill(&mut draft, left, rng);
        draft
    }

    /// Adds pieces of one token each.
    fn fill(&self, draft: &mut Draft, tokens: usize, rng: &mut impl Rng) {
        let known = self.fillers();
        for left in (1..=tokens).rev() {
            let after_word = draft.pieces.last().is_some_and(|(piece, _)| *piece != Piece::PERIOD);
            if draft.text.is_empty() && !self.first_fillers().is_empty() {
                draft.push(pick(self.first_fillers(), rng));
            } else if left == 1 && after_word && self.cost(Piece::PERIOD) == 1 {
                draft.push(Piece::PERIOD);
            } else if !known.is_empty() {
                draft.push(pick(known, rng));
            }
        }
    }

    /// Drops and adds pieces by the difference between sum and count, then extends by trial.
    fn correct(&self, draft: &mut Draft, tokens: usize, rng: &mut impl Rng) -> bool {
        let mut count = self.tokenizer.count(&draft.text);
        for _ in 0..ROUNDS {
            if count > tokens {
                self.drop_last(draft, count - tokens);
            } else {
                self.fill(draft, tokens - count, rng);
            }
            count = self.tokenizer.count(&draft.text);
            if count == tokens {
                return true;
            }
        }
        while count >= tokens {
            let excess = count - tokens + 1;
            if draft.pieces.is_empty() {
                return false;
            }
            self.drop_last(draft, excess);
            count = self.tokenizer.count(&draft.text);
        }
        extend_by_trial(&self.tokenizer, &mut draft.text, count, tokens)
    }

    /// Drops pieces from the end until their sum covers the excess; at least one.
    fn drop_last(&self, draft: &mut Draft, excess: usize) {
        let mut dropped = 0;
        while let Some(piece) = draft.pop() {
            dropped += self.cost(piece);
            if dropped >= excess {
                break;
            }
        }
    }

    /// The number of tokens that a piece adds to a text.
    fn cost(&self, piece: Piece) -> usize {
        let cell = &self.costs[piece.index()];
        match cell.load(Ordering::Relaxed) {
            0 => {
                let cost = self.measure(piece);
                cell.store(u16::try_from(cost + 1).unwrap_or(u16::MAX), Ordering::Relaxed);
                cost
            }
            known => usize::from(known) - 1,
        }
    }

    fn measure(&self, piece: Piece) -> usize {
        let mut text = String::with_capacity(24);
        if piece.is_first() {
            piece.write(&mut text);
            return self.tokenizer.count(&text);
        }
        text.push_str(CONTEXT);
        piece.write(&mut text);
        let context = *self.context_cost.get_or_init(|| self.tokenizer.count(CONTEXT));
        self.tokenizer.count(&text).saturating_sub(context)
    }

    fn fillers(&self) -> &[Piece] {
        self.fillers.get_or_init(|| fillers().filter(|piece| self.cost(*piece) == 1).collect())
    }

    fn first_fillers(&self) -> &[Piece] {
        self.first_fillers.get_or_init(|| first_fillers().filter(|piece| self.cost(*piece) == 1).collect())
    }
}

fn pick<T: Copy>(from: &[T], rng: &mut impl Rng) -> T {
    from[rng.random_range(0..from.len() as u32) as usize]
}
