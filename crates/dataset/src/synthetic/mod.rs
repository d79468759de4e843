//! Conversations made to length, each from its index alone.

mod prefixes;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use aiperf_plan::draw::Purpose;
use aiperf_plan::{
    CacheBust, Corpus, Distribution, MarkerPlace, MediaPlan, PairedLengths, Prefixes, RankingsPlan, SyntheticPlan,
    Turns,
};
use aiperf_tokenize::TemplateCost;
use aiperf_types::{Conversation, Media, ShapeList, Shapes, Turn};
use prefixes::MadePrefixes;
use rand_chacha::ChaCha8Rng;

use crate::error::DatasetError;
use crate::in_order::in_order;
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
    /// Texts a turn.
    batch_size: u32,
    prefixes: MadePrefixes,
    reserved: ReservedTokens,
    /// Tokens of a turn, roughly.
    tokens_a_turn: f64,
    ids: SessionIds,
    turn_counts: Purpose,
    delays: Purpose,
    input_lengths: Purpose,
    output_lengths: Purpose,
    length_pairs: Purpose,
    contexts: Purpose,
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
    /// Both lengths of a turn at once.
    Pairs(PairedLengths),
    Rankings(RankingsPlan),
}

/// Tokens that texts leave to what is put around them, so that requests are as long as asked for.
#[derive(Clone, Copy, Debug, Default)]
struct ReservedTokens {
    /// A mean: what a marker takes is known on average alone.
    first_turn: f64,
    later_turns: usize,
    system: usize,
}

impl ReservedTokens {
    fn of(prefixes: Prefixes, Making { tokenizer, additions, chat_template, .. }: Making<'_>) -> Self {
        let template = if chat_template { tokenizer.template_cost() } else { TemplateCost::default() };
        // What it costs leaves out what the tokenizer would add to a bare prompt; the template writes that itself.
        let added = if template == TemplateCost::default() { 0 } else { tokenizer.special_tokens_per_prompt() };
        let cost = |bust: CacheBust| bust.mean_cost(CacheBust::SAMPLES, |text| tokenizer.count(text));
        let marker = additions.cache_bust.map_or(0.0, cost);
        let makes_system = matches!(prefixes, Prefixes::Messages { shared_system: Some(_), .. });
        let has_system = makes_system || additions.system_prompt.is_some();
        let in_system = additions.cache_bust.is_some_and(|bust| bust.place == MarkerPlace::System) && has_system;
        Self {
            first_turn: (template.fixed + template.per_message + added) as f64 + if in_system { 0.0 } else { marker },
            later_turns: template.per_message,
            system: if in_system { marker.round_ties_even() as usize } else { 0 },
        }
    }

    /// Whole tokens of the first turn of a conversation: over all conversations, the mean.
    fn of_first_turn(&self, conversation: u64) -> usize {
        let until = |conversation: u64| (conversation as f64 * self.first_turn).floor();
        (until(conversation + 1) - until(conversation)) as usize
    }
}

/// What a dataset is made of, besides how it is drawn.
struct Parts {
    entries: u32,
    content: Content,
    osl: Option<Distribution>,
    turns: Turns,
    corpus: Corpus,
    batch_size: u32,
    prefixes: Prefixes,
    tokens_a_turn: f64,
    media: MediaMaker,
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
        let content = match (&plan.pairs, &plan.isl) {
            (Some(pairs), _) => Content::Pairs(pairs.clone()),
            (None, Some(isl)) => Content::Prompt(isl.clone()),
            (None, None) => Content::Nothing,
        };
        // A mean that rounds to nothing asks for nothing.
        let osl = plan.osl.clone().filter(|osl| osl.mean() >= 1.0);
        let parts = Parts {
            entries: plan.entries,
            content,
            osl,
            turns: plan.turns.clone(),
            corpus: plan.text.corpus,
            batch_size: plan.text.batch_size,
            prefixes: plan.text.prefixes,
            tokens_a_turn: plan.tokens_a_turn().map_or(0.0, |(mean, _)| mean),
            media: MediaMaker::new(&plan.media, making)?,
        };
        Self::of(parts, making)
    }

    /// The same, for queries with passages to rank.
    pub(crate) fn rankings(plan: &RankingsPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        check("--rankings-passages-mean", &plan.passages)?;
        check("--rankings-passages-prompt-token-mean", &plan.passage_tokens)?;
        check("--rankings-query-prompt-token-mean", &plan.query_tokens)?;
        let parts = Parts {
            entries: plan.entries,
            content: Content::Rankings(plan.clone()),
            osl: None,
            turns: Turns::ONE,
            corpus: plan.corpus,
            batch_size: 1,
            prefixes: Prefixes::None,
            tokens_a_turn: plan.tokens(),
            media: MediaMaker::new(&MediaPlan::default(), making)?,
        };
        Self::of(parts, making)
    }

    fn of(parts: Parts, making: Making<'_>) -> Result<Self, DatasetError> {
        let Making { draws, tokenizer, .. } = making;
        let Parts { entries, content, osl, turns, corpus, batch_size, prefixes, tokens_a_turn, media } = parts;
        let (writer, reserved) = (Writer::of(corpus, tokenizer), ReservedTokens::of(prefixes, making));
        Ok(Self {
            entries,
            content,
            osl,
            turns,
            batch_size,
            prefixes: MadePrefixes::new(prefixes, &writer, making, reserved.system)?,
            reserved,
            tokens_a_turn,
            turn_counts: draws.purpose("dataset.turns"),
            delays: draws.purpose("dataset.delay"),
            writer,
            length_pairs: draws.purpose("dataset.length_pair"),
            contexts: draws.purpose("dataset.user_context"),
            ids: SessionIds::new(draws),
            input_lengths: draws.purpose("dataset.isl"),
            output_lengths: draws.purpose("dataset.osl"),
            passage_counts: draws.purpose("dataset.passages"),
            texts: draws.purpose("dataset.text"),
            media,
            turns_before: OnceLock::new(),
        })
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
        let turn = self.tokens_a_turn * BYTES_PER_TOKEN + size_of::<Turn>() as f64;
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
        self.make_with(index, |after, tokens, texts| self.writer.write_after(after, tokens, texts))
    }

    /// The same; a text whose exact length is out of reach is as near as could be found.
    pub(crate) fn make_nearest(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |after, tokens, texts| Ok(self.writer.write_nearest_after(after, tokens, texts)))
    }

    fn make_with(
        &self,
        index: usize,
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<String, DatasetError>,
    ) -> Result<Conversation, DatasetError> {
        let context = self.prefixes.user_context.map(|tokens| write("", tokens, &mut self.contexts.at(index as u64)));
        let user_context_message = context.transpose()?;
        let turns = self.delays(index).take(self.turn_count(index)).enumerate().map(|(turn, delay_ms)| {
            // There are fewer than 2^32 of either, so that no two turns share a stream of draws.
            let at = (turn as u64) << 32 | index as u64;
            let mut made = Turn { delay_ms, ..self.make_turn(at, turn == 0, &mut write)? };
            if !self.media.is_empty() {
                let before = self.turns_before(index) + turn as u64;
                self.media.fill(&mut made, TurnNumber { draws: at, before })?;
            }
            Ok(made)
        });
        let turns = turns.collect::<Result<_, DatasetError>>()?;
        Ok(Conversation {
            session_id: self.ids.id(index as u64),
            turns,
            system_message: self.prefixes.system.clone(),
            user_context_message,
            ..Conversation::default()
        })
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
        is_first: bool,
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<String, DatasetError>,
    ) -> Result<Turn, DatasetError> {
        let (mut lengths, mut texts) = (self.input_lengths.at(at), self.texts.at(at));
        let mut paired_output = None;
        let mut turn = match &self.content {
            Content::Nothing => Turn::default(),
            Content::Prompt(isl) => {
                // The draws of a first turn are those of its conversation.
                let reserved = if is_first { self.reserved.of_first_turn(at) } else { self.reserved.later_turns };
                let length = || length::draw(isl, &mut lengths).saturating_sub(reserved);
                self.prompts(at, is_first, length, &mut texts, write)?
            }
            Content::Pairs(pairs) => {
                let (input, output) = length::draw_pair(pairs, &mut self.length_pairs.at(at));
                paired_output = Some(output);
                self.prompts(at, is_first, || input, &mut texts, write)?
            }
            Content::Rankings(RankingsPlan { passages, passage_tokens, query_tokens, .. }) => {
                let mut text =
                    |length: &Distribution, texts: &mut _| write("", length::draw(length, &mut lengths), texts);
                let query = vec![text(query_tokens, &mut texts)?];
                // The number of passages is drawn apart, so that it does not hang on the length of the query.
                let count = length::draw(passages, &mut self.passage_counts.at(at));
                let passages =
                    (0..count).map(|_| text(passage_tokens, &mut texts)).collect::<Result<Vec<_>, DatasetError>>()?;
                let media = |name: &str, contents| Media { name: name.to_owned(), contents, uuids: Vec::new() };
                Turn { texts: vec![media("query", query), media("passages", passages)], ..Turn::default() }
            }
        };
        let output = || self.osl.as_ref().map(|osl| length::draw(osl, &mut self.output_lengths.at(at)));
        turn.max_tokens = paired_output.or_else(output).map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        Ok(turn)
    }

    /// A turn of as many texts as a request has, each with what it begins with in a first turn.
    fn prompts(
        &self,
        at: u64,
        is_first: bool,
        mut length: impl FnMut() -> usize,
        texts: &mut ChaCha8Rng,
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<String, DatasetError>,
    ) -> Result<Turn, DatasetError> {
        let mut prefixes = self.prefixes.drawn(at);
        let contents = (0..self.batch_size).map(|_| {
            let prefix = prefixes.next().filter(|prefix| is_first && !prefix.is_empty());
            match prefix {
                Some(prefix) => write(prefix, self.prefixes.pool_tokens + length(), texts),
                None => write("", length().max(1), texts),
            }
        });
        let contents = contents.collect::<Result<_, DatasetError>>()?;
        let text = Media { name: "text".to_owned(), contents, uuids: Vec::new() };
        Ok(Turn { texts: vec![text], ..Turn::default() })
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
    let conversations = in_order(making.threads, synthetic.len(), make)?;
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

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn session_id(&self, index: usize) -> Result<Cow<'_, str>, DatasetError> {
        Ok(Cow::Owned(self.synthetic.ids.id(index as u64)))
    }
}
