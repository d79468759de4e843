//! Conversations made to length, each from its index alone.

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, Length, RankingsPlan, SyntheticPlan, Turns};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Media, ShapeList, Shapes, Turn};
use rand_chacha::ChaCha8Rng;

use crate::error::DatasetError;
use crate::length;
use crate::prompt::Writer;
use crate::session_id::SessionIds;
use crate::turn_shape;

/// A token of prose and the words around it, in bytes; generous.
const BYTES_PER_TOKEN: f64 = 6.0;
/// Turns that all conversations may have together: where their delays differ, each takes 8 bytes.
const MOST_TURNS: u64 = 1 << 27;

/// Makes any conversation of a synthetic dataset.
#[derive(Debug)]
pub struct Synthetic {
    entries: u32,
    content: Content,
    osl: Option<Length>,
    turns: Turns,
    writer: Writer,
    ids: SessionIds,
    turn_counts: Purpose,
    delays: Purpose,
    input_lengths: Purpose,
    output_lengths: Purpose,
    passage_counts: Purpose,
    texts: Purpose,
}

/// What a turn says.
#[derive(Clone, Copy, Debug)]
enum Content {
    Nothing,
    Prompt(Length),
    Rankings { passages: Length, passage_tokens: Length, query_tokens: Length },
}

impl Synthetic {
    /// Checks the lengths; makes nothing yet.
    pub fn new(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        for (what, length) in [("--isl", plan.isl), ("--osl", plan.osl)] {
            length.map_or(Ok(()), |length| check(what, length))?;
        }
        let Turns { count, delay_ms, delay_ratio } = plan.turns;
        check("--conversation-turn-mean", count)?;
        check("--conversation-turn-delay-mean", delay_ms)?;
        check("--conversation-turn-delay-ratio", Length { mean: delay_ratio, stddev: 0.0 })?;
        if let Some(isl) = plan.isl.filter(|isl| isl.mean < 1.0) {
            return Err(DatasetError::InputTooShort { mean: isl.mean });
        }
        let content = plan.isl.map_or(Content::Nothing, Content::Prompt);
        // A mean that rounds to nothing asks for nothing.
        let osl = plan.osl.filter(|osl| osl.mean >= 1.0);
        Ok(Self::of(plan.entries, content, osl, plan.turns, draws, tokenizer))
    }

    /// The same, for queries with passages to rank.
    pub fn rankings(plan: &RankingsPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        let RankingsPlan { entries, passages, passage_tokens, query_tokens } = *plan;
        check("--rankings-passages-mean", passages)?;
        check("--rankings-passages-prompt-token-mean", passage_tokens)?;
        check("--rankings-query-prompt-token-mean", query_tokens)?;
        let content = Content::Rankings { passages, passage_tokens, query_tokens };
        Ok(Self::of(entries, content, None, Turns::ONE, draws, tokenizer))
    }

    fn of(
        entries: u32,
        content: Content,
        osl: Option<Length>,
        turns: Turns,
        draws: &Draws,
        tokenizer: &Tokenizer,
    ) -> Self {
        Self {
            entries,
            content,
            osl,
            turns,
            turn_counts: draws.purpose("dataset.turns"),
            delays: draws.purpose("dataset.delay"),
            writer: Writer::new(tokenizer),
            ids: SessionIds::new(draws),
            input_lengths: draws.purpose("dataset.isl"),
            output_lengths: draws.purpose("dataset.osl"),
            passage_counts: draws.purpose("dataset.passages"),
            texts: draws.purpose("dataset.text"),
        }
    }

    /// How many conversations there are.
    pub(crate) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The conversations as a schedule sees them: nothing is written for that.
    pub(crate) fn shapes(&self) -> Result<Shapes, DatasetError> {
        let Turns { count, .. } = self.turns;
        if count.mean < 2.0 && count.stddev <= 0.0 {
            return Ok(Shapes::single(self.entries));
        }
        let (mut shapes, mut in_all) = (ShapeList::default(), 0);
        for index in 0..self.len() {
            let turns = self.turn_count(index);
            in_all += turns as u64;
            if in_all > MOST_TURNS {
                return Err(DatasetError::TooManyTurns { entries: self.entries, mean: count.mean, most: MOST_TURNS });
            }
            shapes.push(self.delays(index).take(turns).map(|delay_ms| turn_shape(delay_ms, None)));
        }
        Ok(shapes.into())
    }

    /// What all conversations, which have so many turns together, take in memory, roughly.
    pub(crate) fn estimated_bytes(&self, turns: u64) -> f64 {
        let tokens = match self.content {
            Content::Nothing => 0.0,
            Content::Prompt(isl) => isl.mean,
            Content::Rankings { passages, passage_tokens, query_tokens } => {
                passages.mean * passage_tokens.mean + query_tokens.mean
            }
        };
        let turn = tokens * BYTES_PER_TOKEN + size_of::<Turn>() as f64;
        f64::from(self.entries) * size_of::<Conversation>() as f64 + turns as f64 * turn
    }

    fn turn_count(&self, index: usize) -> usize {
        length::draw(self.turns.count, &mut self.turn_counts.at(index as u64))
    }

    /// Milliseconds before each turn of a conversation, however many it has.
    fn delays(&self, index: usize) -> impl Iterator<Item = Option<f64>> {
        let Turns { delay_ms, delay_ratio, .. } = self.turns;
        let mut draws = self.delays.at(index as u64);
        let delay = move || (delay_ms.mean > 0.0).then(|| length::draw(delay_ms, &mut draws) as f64 * delay_ratio);
        std::iter::once(None).chain(std::iter::repeat_with(delay))
    }

    /// The conversation of an index.
    pub fn make(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |tokens, texts| self.writer.write(tokens, texts))
    }

    /// The same; a text whose exact length is out of reach is as near as could be found.
    pub fn make_nearest(&self, index: usize) -> Conversation {
        let nearest =
            |tokens, texts: &mut _| Ok::<_, std::convert::Infallible>(self.writer.write_nearest(tokens, texts));
        match self.make_with(index, nearest) {
            Ok(conversation) => conversation,
            Err(never) => match never {},
        }
    }

    fn make_with<E>(
        &self,
        index: usize,
        mut write: impl FnMut(usize, &mut ChaCha8Rng) -> Result<String, E>,
    ) -> Result<Conversation, E> {
        let turns = self.delays(index).take(self.turn_count(index)).enumerate().map(|(turn, delay_ms)| {
            // There are fewer than 2^32 of either, so that no two turns share a stream of draws.
            let at = (turn as u64) << 32 | index as u64;
            Ok(Turn { delay_ms, ..self.make_turn(at, &mut write)? })
        });
        let turns = turns.collect::<Result<_, E>>()?;
        Ok(Conversation { session_id: self.ids.id(index as u64), turns, ..Conversation::default() })
    }

    fn make_turn<E>(
        &self,
        at: u64,
        mut write: impl FnMut(usize, &mut ChaCha8Rng) -> Result<String, E>,
    ) -> Result<Turn, E> {
        let (mut lengths, mut texts) = (self.input_lengths.at(at), self.texts.at(at));
        let mut turn = match self.content {
            Content::Nothing => Turn::default(),
            Content::Prompt(isl) => Turn::text(write(length::draw(isl, &mut lengths), &mut texts)?),
            Content::Rankings { passages, passage_tokens, query_tokens } => {
                let mut text = |length, texts: &mut _| write(length::draw(length, &mut lengths), texts);
                let query = vec![text(query_tokens, &mut texts)?];
                // The number of passages is drawn apart, so that it does not hang on the length of the query.
                let count = length::draw(passages, &mut self.passage_counts.at(at));
                let passages = (0..count).map(|_| text(passage_tokens, &mut texts)).collect::<Result<Vec<_>, E>>()?;
                let media = |name: &str, contents| Media { name: name.to_owned(), contents, uuids: Vec::new() };
                Turn { texts: vec![media("query", query), media("passages", passages)], ..Turn::default() }
            }
        };
        turn.max_tokens = self.osl.map(|osl| {
            let tokens = length::draw(osl, &mut self.output_lengths.at(at));
            u32::try_from(tokens).unwrap_or(u32::MAX)
        });
        Ok(turn)
    }
}

fn check(what: &'static str, Length { mean, stddev }: Length) -> Result<(), DatasetError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    if valid(mean) && valid(stddev) { Ok(()) } else { Err(DatasetError::NotALength { what, mean, stddev }) }
}
