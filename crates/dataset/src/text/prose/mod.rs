//! Synthetic prose: sentences drawn from a lexicon and a few clause patterns, without end.
//!
//! Text is generated for each prompt instead of being cut from one corpus. So two prompts of a run never begin alike,
//! and a server's prefix cache is hit because the plan asks for it, not because a corpus is small.

mod words;
mod writer;

pub(super) use writer::ProseWriter;

use std::ops::Range;
use std::sync::LazyLock;

use rand::{Rng, RngExt};

/// A part of a clause for which a word is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Determiner,
    Noun,
    Plural,
    Adjective,
    Transitive,
    Intransitive,
    Adverb,
    Preposition,
    Conjunction,
    Opener,
    Name,
    Filler,
}

use Slot::{
    Adjective, Adverb, Conjunction, Determiner, Filler, Intransitive, Name, Noun, Opener, Plural, Preposition,
    Transitive,
};

/// The words of each slot, in the order of [`Slot`].
const LISTS: [&str; 12] = [
    words::DETERMINERS,
    words::NOUNS,
    words::PLURALS,
    words::ADJECTIVES,
    words::TRANSITIVE,
    words::INTRANSITIVE,
    words::ADVERBS,
    words::PREPOSITIONS,
    words::CONJUNCTIONS,
    words::OPENERS,
    words::NAMES,
    words::FILLERS,
];

/// Clauses; any two may be joined by a conjunction.
const CLAUSES: &[&[Slot]] = &[
    &[Determiner, Noun, Transitive, Determiner, Noun],
    &[Determiner, Adjective, Noun, Transitive, Determiner, Noun],
    &[Determiner, Noun, Transitive, Determiner, Adjective, Noun],
    &[Determiner, Adjective, Noun, Transitive, Adjective, Plural],
    &[Determiner, Noun, Preposition, Determiner, Noun, Intransitive, Adverb],
    &[Determiner, Adjective, Noun, Adverb, Transitive, Determiner, Noun],
    &[Determiner, Noun, Intransitive, Preposition, Determiner, Adjective, Noun],
    &[Name, Transitive, Determiner, Noun, Preposition, Determiner, Noun],
    &[Name, Adverb, Transitive, Determiner, Adjective, Noun],
    &[Name, Intransitive, Preposition, Adjective, Plural],
    &[Adjective, Plural, Intransitive, Preposition, Determiner, Noun],
    &[Plural, Preposition, Determiner, Noun, Transitive, Plural],
    &[Adjective, Plural, Adverb, Transitive, Determiner, Noun, Preposition, Determiner, Noun],
    &[Determiner, Adjective, Adjective, Noun, Intransitive],
    &[Determiner, Noun, Preposition, Name, Transitive, Plural, Preposition, Determiner, Noun],
    &[Preposition, Determiner, Noun, Determiner, Adjective, Noun, Transitive, Plural],
];

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

struct Lexicon {
    words: Vec<&'static str>,
    slots: Vec<Range<u32>>,
}

impl Lexicon {
    fn new() -> Self {
        let mut words = Vec::new();
        let slots = LISTS
            .iter()
            .map(|list| {
                let begin = words.len() as u32;
                words.extend(list.split_ascii_whitespace());
                begin..words.len() as u32
            })
            .collect();
        Self { words, slots }
    }

    fn slot(&self, slot: Slot) -> Range<u32> {
        self.slots[slot as usize].clone()
    }
}

/// How a piece is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// After a space.
    Spaced,
    /// After a space, with a capital.
    Sentence,
    /// At the beginning of a text.
    First,
}

const FORMS: u32 = 3;
const MARKS: [&str; 4] = [".", ",", "?", "!"];
/// The writer has two bits for each of them in a byte.
const _: () = assert!(MARKS.len() <= 4);

/// A word or a mark as it occurs in a text: the unit of prose, for which tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece(u32);

impl Piece {
    pub(crate) const PERIOD: Self = Self(0);
    const COMMA: Self = Self(1);
    const QUESTION: Self = Self(2);
    const EXCLAMATION: Self = Self(3);

    /// The number of different pieces; [`Self::index`] is below it.
    pub(crate) fn kinds() -> usize {
        MARKS.len() + LEXICON.words.len() * FORMS as usize
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn is_first(self) -> bool {
        self.form() == Some(Form::First)
    }

    fn word(word: u32, form: Form) -> Self {
        Self(MARKS.len() as u32 + word * FORMS + form as u32)
    }

    /// Whether it is a mark, which follows a word. Marks have the first indexes.
    pub(crate) fn is_mark(self) -> bool {
        self.form().is_none()
    }

    fn form(self) -> Option<Form> {
        let word = self.0.checked_sub(MARKS.len() as u32)?;
        Some([Form::Spaced, Form::Sentence, Form::First][(word % FORMS) as usize])
    }

    /// Appends the piece to a text.
    pub(crate) fn write(self, text: &mut String) {
        let Some(form) = self.form() else {
            text.push_str(MARKS[self.0 as usize]);
            return;
        };
        let word = LEXICON.words[((self.0 - MARKS.len() as u32) / FORMS) as usize];
        if form != Form::First {
            text.push(' ');
        }
        if form == Form::Spaced {
            text.push_str(word);
        } else {
            let (head, tail) = word.split_at(1);
            text.push(head.as_bytes()[0].to_ascii_uppercase() as char);
            text.push_str(tail);
        }
    }
}

/// Every filler as it occurs inside a text.
pub(crate) fn fillers() -> impl Iterator<Item = Piece> {
    LEXICON.slot(Filler).map(|word| Piece::word(word, Form::Spaced))
}

/// Every filler as it occurs at the beginning of a text.
pub(crate) fn first_fillers() -> impl Iterator<Item = Piece> {
    LEXICON.slot(Filler).map(|word| Piece::word(word, Form::First))
}

/// Draws one sentence; the first of a text begins without a space.
pub(crate) fn sentence(rng: &mut impl Rng, first: bool, pieces: &mut Vec<Piece>) {
    let mut form = if first { Form::First } else { Form::Sentence };
    let mut push = |slot: Slot, rng: &mut _, pieces: &mut Vec<Piece>| {
        let range = LEXICON.slot(slot);
        pieces.push(Piece::word(draw(rng, range), form));
        form = Form::Spaced;
    };
    let shape = rng.random_range(0..16_u32);
    if shape < 3 {
        push(Opener, rng, pieces);
        pieces.push(Piece::COMMA);
    }
    for slot in clause(rng) {
        push(*slot, rng, pieces);
    }
    for _ in 0..(if shape % 4 == 1 { 2 } else { shape % 2 }) {
        pieces.push(Piece::COMMA);
        push(Conjunction, rng, pieces);
        for slot in clause(rng) {
            push(*slot, rng, pieces);
        }
    }
    pieces.push(match shape {
        14 => Piece::QUESTION,
        15 => Piece::EXCLAMATION,
        _ => Piece::PERIOD,
    });
}

fn clause(rng: &mut impl Rng) -> &'static [Slot] {
    CLAUSES[draw(rng, 0..CLAUSES.len() as u32) as usize]
}

fn draw(rng: &mut impl Rng, range: Range<u32>) -> u32 {
    rng.random_range(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn prose(seed: u64, sentences: usize) -> String {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut text = String::new();
        for n in 0..sentences {
            let mut pieces = Vec::new();
            sentence(&mut rng, n == 0, &mut pieces);
            pieces.iter().for_each(|piece| piece.write(&mut text));
        }
        text
    }

    #[test]
    fn sentences_begin_with_a_capital_and_end_with_a_mark() {
        let text = prose(1, 200);
        assert!(text.starts_with(|c: char| c.is_ascii_uppercase()), "{text}");
        assert!(text.ends_with(['.', '?', '!']), "{text}");
        assert!(!text.contains("  ") && !text.contains(" ,") && !text.contains(" ."), "{text}");
    }

    #[test]
    fn every_piece_has_its_own_index_below_the_number_of_kinds() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut pieces: Vec<Piece> = fillers().chain(first_fillers()).collect();
        for n in 0..1000 {
            sentence(&mut rng, n % 2 == 0, &mut pieces);
        }
        assert!(pieces.iter().all(|piece| piece.index() < Piece::kinds()));
        assert!(first_fillers().all(Piece::is_first));
    }

    #[test]
    fn prose_of_two_seeds_differs_from_its_first_sentence_on() {
        let beginnings: std::collections::BTreeSet<String> = (0..2000).map(|seed| prose(seed, 1)).collect();
        assert_eq!(beginnings.len(), 2000);
    }

    #[test]
    fn the_lexicon_is_plain_ascii_words() {
        assert!(LEXICON.words.iter().all(|word| word.bytes().all(|b| b.is_ascii_alphabetic())));
        assert!(LEXICON.words.len() > 1000, "{}", LEXICON.words.len());
    }
}
