//! Texts of exactly so many tokens, whatever the tokenizer.
//!
//! The tokens of each piece of prose are measured once; pieces are then put together until their sum is the length
//! asked for. Most tokenizers split at spaces, so the sum is the count of the whole; that is checked on every text, and
//! where it is not so the text is corrected until it is.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use aiperf_tokenize::Tokenizer;
use rand::{Rng, RngExt};

use super::prose::{self, Piece};
use crate::courtesy;
use crate::error::DatasetError;

/// What a piece is measured behind: its cost is what it adds to a text.
const CONTEXT: &str = "so";

/// Corrections tried before the text is extended by trial.
const ROUNDS: usize = 12;

/// Endings tried, each of which counts the whole text again.
const TRIALS: usize = 1024;

/// Attempts with tokens of the tokenizer's own vocabulary.
const OWN_TOKEN_ROUNDS: usize = 64;

/// Writes texts to length.
#[derive(Debug)]
pub(crate) struct Writer {
    tokenizer: Tokenizer,
    /// Tokens of each piece, plus one; 0 is not measured yet.
    costs: Box<[AtomicU16]>,
    context_cost: OnceLock<usize>,
    fillers: OnceLock<Vec<Piece>>,
    first_fillers: OnceLock<Vec<Piece>>,
    own_tokens: OnceLock<Vec<u32>>,
}

/// A text under construction and where each of its pieces ends.
#[derive(Default)]
struct Draft {
    text: String,
    pieces: Vec<(Piece, usize)>,
}

impl Draft {
    fn push(&mut self, piece: Piece) {
        piece.write(&mut self.text);
        self.pieces.push((piece, self.text.len()));
    }

    fn pop(&mut self) -> Option<Piece> {
        let (piece, _) = self.pieces.pop()?;
        self.text.truncate(self.pieces.last().map_or(0, |(_, end)| *end));
        Some(piece)
    }
}

impl Writer {
    pub(crate) fn new(tokenizer: &Tokenizer) -> Self {
        Self {
            tokenizer: tokenizer.clone(),
            costs: (0..Piece::kinds()).map(|_| AtomicU16::new(0)).collect(),
            context_cost: OnceLock::new(),
            fillers: OnceLock::new(),
            first_fillers: OnceLock::new(),
            own_tokens: OnceLock::new(),
        }
    }

    /// A text of exactly so many tokens, at least one.
    pub(crate) fn write(&self, tokens: usize, rng: &mut impl Rng) -> Result<String, DatasetError> {
        self.try_write(tokens, rng)
            .map_err(|_| DatasetError::LengthOutOfReach { tokenizer: self.tokenizer.name().to_owned(), tokens })
    }

    /// The same, or the nearest that was found.
    pub(crate) fn write_nearest(&self, tokens: usize, rng: &mut impl Rng) -> String {
        self.try_write(tokens, rng).unwrap_or_else(|nearest| nearest)
    }

    fn try_write(&self, tokens: usize, rng: &mut impl Rng) -> Result<String, String> {
        if self.fillers().is_empty()
            && let Ok(text) = self.write_own_tokens(tokens, rng)
        {
            return Ok(text);
        }
        let mut draft = self.draft(tokens, rng);
        if self.tokenizer.count(&draft.text) == tokens || self.correct(&mut draft, tokens, rng) {
            return Ok(draft.text);
        }
        self.write_own_tokens(tokens, rng)
    }

    /// Prose whose pieces sum up to the length.
    fn draft(&self, tokens: usize, rng: &mut impl Rng) -> Draft {
        // A tokenizer that drops what it does not know counts some words as nothing; they must not go on for ever.
        let most_pieces = 4 * tokens + 64;
        let mut draft = Draft { text: String::with_capacity(tokens * 5 + 8), pieces: Vec::with_capacity(tokens + 1) };
        let mut left = tokens;
        let mut sentence = Vec::with_capacity(32);
        'prose: while left > 0 {
            sentence.clear();
            courtesy::step();
            prose::sentence(rng, draft.pieces.is_empty(), &mut sentence);
            for &piece in &sentence {
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
        let fillers = self.fillers();
        for left in (1..=tokens).rev() {
            let after_word = draft.pieces.last().is_some_and(|(piece, _)| *piece != Piece::PERIOD);
            if draft.pieces.is_empty() && !self.first_fillers().is_empty() {
                draft.push(pick(self.first_fillers(), rng));
            } else if left == 1 && after_word && self.cost(Piece::PERIOD) == 1 {
                draft.push(Piece::PERIOD);
            } else if !fillers.is_empty() {
                draft.push(pick(fillers, rng));
            }
        }
    }

    /// Drops and adds pieces by the difference between sum and count, then by trial.
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
        self.extend_by_trial(&mut draft.text, count, tokens)
    }

    /// Drops pieces from the end until their sum covers an excess; at least one.
    fn drop_last(&self, draft: &mut Draft, excess: usize) {
        let mut dropped = 0;
        while let Some(piece) = draft.pop() {
            dropped += self.cost(piece);
            if dropped >= excess {
                break;
            }
        }
    }

    /// Appends whatever brings the count nearer to the length without passing it.
    fn extend_by_trial(&self, text: &mut String, mut count: usize, tokens: usize) -> bool {
        let endings = prose::fillers().map(|piece| {
            let mut text = String::new();
            piece.write(&mut text);
            text
        });
        let marks = (' '..='~').flat_map(|mark| [mark.to_string(), format!(" {mark}")]);
        let endings: Vec<String> = endings.chain(marks).collect();
        let mut tries = endings.iter().cycle().take(TRIALS);
        while count < tokens {
            let Some(ending) = tries.next() else { return false };
            let length = text.len();
            text.push_str(ending);
            let with_ending = self.tokenizer.count(text);
            if (count + 1..=tokens).contains(&with_ending) {
                count = with_ending;
            } else {
                text.truncate(length);
            }
        }
        true
    }

    /// For vocabularies that know no English: tokens of their own, decoded and encoded until the count holds.
    fn write_own_tokens(&self, tokens: usize, rng: &mut impl Rng) -> Result<String, String> {
        let pool = self.own_tokens.get_or_init(|| self.tokenizer.ordinary_ids());
        let mut nearest = (usize::MAX, String::new());
        let mut ids: Vec<u32> = Vec::new();
        for round in 0..OWN_TOKEN_ROUNDS {
            if pool.is_empty() {
                break;
            }
            // What has been tried long enough is given up: its end may be a token that nothing can follow.
            if round % 8 == 7 {
                ids.truncate(ids.len() / 2);
            }
            let missing = tokens.saturating_sub(ids.len());
            ids.truncate(tokens);
            ids.extend((0..missing).map(|_| pick(pool, rng)));
            let text = self.tokenizer.decode(&ids);
            ids = self.tokenizer.encode(&text);
            if ids.len() == tokens {
                return Ok(text);
            }
            let distance = ids.len().abs_diff(tokens);
            if distance < nearest.0 {
                nearest = (distance, text);
            }
        }
        Err(nearest.1)
    }

    /// How many tokens a piece adds to a text.
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
        self.fillers.get_or_init(|| prose::fillers().filter(|piece| self.cost(*piece) == 1).collect())
    }

    fn first_fillers(&self) -> &[Piece] {
        self.first_fillers.get_or_init(|| prose::first_fillers().filter(|piece| self.cost(*piece) == 1).collect())
    }
}

fn pick<T: Copy>(from: &[T], rng: &mut impl Rng) -> T {
    from[rng.random_range(0..from.len() as u32) as usize]
}
