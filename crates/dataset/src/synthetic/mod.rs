//! Conversations made to length, each from its index alone.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Distribution, MediaPlan, RankingsPlan, SyntheticPlan, Turns};
use aiperf_types::{Conversation, Media, ShapeList, Shapes, Turn};
use rand_chacha::ChaCha8Rng;

use crate::error::DatasetError;
use crate::length;
use crate::media::{MediaMaker, TurnNumber};
use crate::session_id::SessionIds;
use crate::source::{Making, Source};
use crate::text::Writer;
use crate::turn_shape;

/// Text kept in memory at most; what only a seed defines is made again when needed once it is larger.
const KEPT_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// A token of prose and the words around it, in bytes; generous.
const BYTES_PER_TOKEN: f64 = 6.0;
/// Turns that all conversations may have together: where their delays differ, each takes 8 bytes.
const MOST_TURNS: u64 = 1 << 27;

/// Makes any conversation of a synthetic dataset.
#[derive(Debug)]
pub(crate) struct Synthetic {
    entries: u32,
    content: Content,
    osl: Option<Distribution>,
    turns: Turns,
    writer: Writer,
    ids: SessionIds,
    turn_counts: Purpose,
    delays: Purpose,
    input_lengths: Purpose,
    output_lengths: Purpose,
    passage_counts: Purpose,
    texts: Purpose,
    media: MediaMaker,
    /// Turns before each conversation, where they have different numbers of them.
    turns_before: OnceLock<Vec<u64>>,
}

/// What a turn says.
#[derive(Clone, Debug)]
enum Content {
    Nothing,
    Prompt(Distribution),
    Rankings(RankingsPlan),
}

impl Synthetic {
    /// Checks the lengths; makes nothing yet.
    pub(crate) fn new(plan: &SyntheticPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        for (what, length) in [("--isl", &plan.isl), ("--osl", &plan.osl)] {
            length.as_ref().map_or(Ok(()), |length| check(what, length))?;
        }
        let Turns { count, delay_ms, delay_ratio } = &plan.turns;
        check("--conversation-turn-mean", count)?;
        check("--conversation-turn-delay-mean", delay_ms)?;
        check("--conversation-turn-delay-ratio", &Distribution::fixed(*delay_ratio))?;
        if let Some(isl) = plan.isl.as_ref().filter(|isl| isl.mean() < 1.0) {
            return Err(DatasetError::InputTooShort { mean: isl.mean() });
        }
        let content = plan.isl.clone().map_or(Content::Nothing, Content::Prompt);
        // A mean that rounds to nothing asks for nothing.
        let osl = plan.osl.clone().filter(|osl| osl.mean() >= 1.0);
        let media = MediaMaker::new(&plan.media, making)?;
        Ok(Self::of(plan.entries, content, osl, plan.turns.clone(), media, making))
    }

    /// The same, for queries with passages to rank.
    pub(crate) fn rankings(plan: &RankingsPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        check("--rankings-passages-mean", &plan.passages)?;
        check("--rankings-passages-prompt-token-mean", &plan.passage_tokens)?;
        check("--rankings-query-prompt-token-mean", &plan.query_tokens)?;
        let media = MediaMaker::new(&MediaPlan::default(), making)?;
        Ok(Self::of(plan.entries, Content::Rankings(plan.clone()), None, Turns::ONE, media, making))
    }

    fn of(
        entries: u32,
        content: Content,
        osl: Option<Distribution>,
        turns: Turns,
        media: MediaMaker,
        Making { draws, tokenizer, .. }: Making<'_>,
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
            media,
            turns_before: OnceLock::new(),
        }
    }

    /// How many conversations there are.
    pub(crate) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The conversations as a schedule sees them: nothing is written for that.
    pub(crate) fn shapes(&self) -> Result<Shapes, DatasetError> {
        let count = &self.turns.count;
        if count.mean() < 2.0 && count.is_fixed() {
            return Ok(Shapes::single(self.entries));
        }
        let (mut shapes, mut in_all) = (ShapeList::default(), 0);
        for index in 0..self.len() {
            let turns = self.turn_count(index);
            in_all += turns as u64;
            if in_all > MOST_TURNS {
                return Err(DatasetError::TooManyTurns { entries: self.entries, mean: count.mean(), most: MOST_TURNS });
            }
            shapes.push(self.delays(index).take(turns).map(|delay_ms| turn_shape(delay_ms, None)));
        }
        Ok(shapes.into())
    }

    /// What all conversations, which have so many turns together, take in memory, roughly.
    pub(crate) fn estimated_bytes(&self, turns: u64) -> f64 {
        let tokens = match &self.content {
            Content::Nothing => 0.0,
            Content::Prompt(isl) => isl.mean(),
            Content::Rankings(rankings) => rankings.tokens(),
        };
        let turn = tokens * BYTES_PER_TOKEN + size_of::<Turn>() as f64;
        f64::from(self.entries) * size_of::<Conversation>() as f64 + turns as f64 * turn
    }

    fn turn_count(&self, index: usize) -> usize {
        length::draw(&self.turns.count, &mut self.turn_counts.at(index as u64))
    }

    /// Milliseconds before each turn of a conversation, however many it has.
    fn delays(&self, index: usize) -> impl Iterator<Item = Option<f64>> + '_ {
        let Turns { delay_ms, delay_ratio, .. } = &self.turns;
        let mut draws = self.delays.at(index as u64);
        let delay = move || (delay_ms.mean() > 0.0).then(|| length::draw(delay_ms, &mut draws) as f64 * delay_ratio);
        std::iter::once(None).chain(std::iter::repeat_with(delay))
    }

    /// The conversation of an index.
    pub(crate) fn make(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |tokens, texts| self.writer.write(tokens, texts))
    }

    /// The same; a text whose exact length is out of reach is as near as could be found.
    pub(crate) fn make_nearest(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |tokens, texts| Ok(self.writer.write_nearest(tokens, texts)))
    }

    fn make_with(
        &self,
        index: usize,
        mut write: impl FnMut(usize, &mut ChaCha8Rng) -> Result<String, DatasetError>,
    ) -> Result<Conversation, DatasetError> {
        let turns = self.delays(index).take(self.turn_count(index)).enumerate().map(|(turn, delay_ms)| {
            // There are fewer than 2^32 of either, so that no two turns share a stream of draws.
            let at = (turn as u64) << 32 | index as u64;
            let mut made = Turn { delay_ms, ..self.make_turn(at, &mut write)? };
            if !self.media.is_empty() {
                let before = self.turns_before(index) + turn as u64;
                self.media.fill(&mut made, TurnNumber { draws: at, before })?;
            }
            Ok(made)
        });
        let turns = turns.collect::<Result<_, DatasetError>>()?;
        Ok(Conversation { session_id: self.ids.id(index as u64), turns, ..Conversation::default() })
    }

    /// Turns of the conversations before one.
    fn turns_before(&self, index: usize) -> u64 {
        if self.turns.count.is_fixed() {
            return index as u64 * self.turn_count(0) as u64;
        }
        let count = |before: &mut u64, index| {
            let so_far = *before;
            *before += self.turn_count(index) as u64;
            Some(so_far)
        };
        self.turns_before.get_or_init(|| (0..self.len()).scan(0, count).collect())[index]
    }

    fn make_turn(
        &self,
        at: u64,
        mut write: impl FnMut(usize, &mut ChaCha8Rng) -> Result<String, DatasetError>,
    ) -> Result<Turn, DatasetError> {
        let (mut lengths, mut texts) = (self.input_lengths.at(at), self.texts.at(at));
        let mut turn = match &self.content {
            Content::Nothing => Turn::default(),
            Content::Prompt(isl) => Turn::text(write(length::draw(isl, &mut lengths), &mut texts)?),
            Content::Rankings(RankingsPlan { passages, passage_tokens, query_tokens, .. }) => {
                let mut text = |length: &Distribution, texts: &mut _| write(length::draw(length, &mut lengths), texts);
                let query = vec![text(query_tokens, &mut texts)?];
                // The number of passages is drawn apart, so that it does not hang on the length of the query.
                let count = length::draw(passages, &mut self.passage_counts.at(at));
                let passages =
                    (0..count).map(|_| text(passage_tokens, &mut texts)).collect::<Result<Vec<_>, DatasetError>>()?;
                let media = |name: &str, contents| Media { name: name.to_owned(), contents, uuids: Vec::new() };
                Turn { texts: vec![media("query", query), media("passages", passages)], ..Turn::default() }
            }
        };
        turn.max_tokens = self.osl.as_ref().map(|osl| {
            let tokens = length::draw(osl, &mut self.output_lengths.at(at));
            u32::try_from(tokens).unwrap_or(u32::MAX)
        });
        Ok(turn)
    }
}

fn check(what: &'static str, length: &Distribution) -> Result<(), DatasetError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    let (mean, largest) = (length.mean(), length.largest());
    if valid(mean) && valid(largest) { Ok(()) } else { Err(DatasetError::NotALength { what, mean, largest }) }
}

/// All of them in memory where they fit, else made again whenever they are wanted.
pub(crate) fn source(synthetic: Synthetic, making: Making<'_>) -> Result<Box<dyn Source>, DatasetError> {
    let shapes = Arc::new(synthetic.shapes()?);
    // Media are large, and kept as requests alone; what they need is known to be there once the first are made.
    let is_large = synthetic.estimated_bytes(shapes.turns_in_all()) > KEPT_BYTES || !synthetic.media.is_empty();
    if synthetic.len() == 0 || is_large {
        (synthetic.len() > 0).then(|| synthetic.make(0)).transpose()?;
        let notes = synthetic.media.notes();
        return Ok(Box::new(Remade { synthetic, shapes, notes }));
    }
    let make = |index| synthetic.make(index).inspect(|_| (making.progress)());
    let conversations = (0..synthetic.len()).map(make).collect::<Result<_, _>>()?;
    Ok(Box::new(Kept { conversations, shapes }))
}

/// Conversations that were made once.
#[derive(Debug)]
struct Kept {
    conversations: Vec<Conversation>,
    shapes: Arc<Shapes>,
}

impl Source for Kept {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        Ok(Cow::Borrowed(&self.conversations[index]))
    }
}

/// Conversations that are made on the spot, which takes about as long as counting their tokens.
#[derive(Debug)]
struct Remade {
    synthetic: Synthetic,
    shapes: Arc<Shapes>,
    notes: Vec<String>,
}

impl Source for Remade {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        self.synthetic.make_nearest(index).map(Cow::Owned)
    }

    fn is_costly(&self) -> bool {
        true
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
