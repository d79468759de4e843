//! Conversations generated to length, each from its index alone.

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
use crate::text::{Writer, Written};
use crate::turn_shape;

/// The most text to keep in memory. A larger dataset is a function of its seed, and is generated again when needed.
const KEPT_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
/// Bytes of a token of prose with its spaces; a generous estimate.
const BYTES_PER_TOKEN: f64 = 6.0;
/// The most turns of all conversations together: if their delays differ, each takes 8 bytes.
const MOST_TURNS: u64 = 1 << 27;

/// Makes any conversation of a synthetic dataset.
#[derive(Debug)]
pub(crate) struct Synthetic {
    entries: u32,
    content: Content,
    osl: Option<Distribution>,
    turns: Turns,
    writer: Writer,
    /// Texts per turn.
    batch_size: u32,
    prefixes: MadePrefixes,
    reserved: ReservedTokens,
    /// Tokens per turn, roughly.
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
    /// The number of turns before each conversation, if conversations have different numbers of turns.
    turns_before: OnceLock<Vec<u64>>,
}

/// The content of a turn.
#[derive(Clone, Debug)]
enum Content {
    Nothing,
    Prompt(Distribution),
    /// Both lengths of a turn, drawn together.
    Pairs(PairedLengths),
    Rankings(RankingsPlan),
}

/// Tokens that texts leave for what is added around them, so that requests have the length of the plan.
#[derive(Clone, Copy, Debug, Default)]
struct ReservedTokens {
    /// A mean: the tokens of a marker are known only on average.
    first_turn: f64,
    later_turns: usize,
    system: usize,
}

impl ReservedTokens {
    fn of(prefixes: Prefixes, Making { tokenizer, additions, chat_template, .. }: Making<'_>) -> Self {
        let template = if chat_template { tokenizer.template_cost() } else { TemplateCost::default() };
        // The template's cost does not include the special tokens that the tokenizer adds to a bare prompt; the
        // template writes them itself.
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

    /// Whole tokens for the first turn of a conversation; averaged over all conversations they give the mean.
    fn of_first_turn(&self, conversation: u64) -> usize {
        let until = |conversation: u64| (conversation as f64 * self.first_turn).floor();
        (until(conversation + 1) - until(conversation)) as usize
    }
}

/// The parts of a dataset, without its random draws.
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
        // A mean that rounds to 0 means no length.
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

    /// Like [`Self::new`], for queries with passages to rank.
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

    /// The number of conversations.
    pub(crate) fn len(&self) -> usize {
        self.entries as usize
    }

    /// The shapes of the conversations, for the schedule. No text is written for them.
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

    /// Roughly the memory that all conversations take, which have `turns` turns together.
    pub(crate) fn estimated_bytes(&self, turns: u64) -> f64 {
        let turn = self.tokens_a_turn * BYTES_PER_TOKEN + size_of::<Turn>() as f64;
        f64::from(self.entries) * size_of::<Conversation>() as f64 + turns as f64 * turn
    }

    fn turn_count(&self, index: usize) -> usize {
        length::draw(&self.turns.count, &mut self.turn_counts.at(index as u64))
    }

    /// The milliseconds before each turn of a conversation, without end.
    fn delays(&self, index: usize) -> impl Iterator<Item = Option<f64>> + '_ {
        let Turns { delay_ms, delay_ratio, .. } = &self.turns;
        let mut draws = self.delays.at(index as u64);
        let delay = move || (delay_ms.mean() > 0.0).then(|| length::draw(delay_ms, &mut draws) as f64 * delay_ratio);
        std::iter::once(None).chain(std::iter::repeat_with(delay))
    }

    pub(crate) fn make(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |after, tokens, texts| self.writer.write_after(after, tokens, texts))
    }

    /// Like [`Self::make`], but a text that cannot have the exact length gets the nearest one found.
    pub(crate) fn make_nearest(&self, index: usize) -> Result<Conversation, DatasetError> {
        self.make_with(index, |after, tokens, texts| Ok(self.writer.write_nearest_after(after, tokens, texts)))
    }

    fn make_with(
        &self,
        index: usize,
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<Written, DatasetError>,
    ) -> Result<Conversation, DatasetError> {
        let context = self.prefixes.user_context.map(|tokens| write("", tokens, &mut self.contexts.at(index as u64)));
        let user_context_message = context.transpose()?.map(|written| written.text);
        let turns = self.delays(index).take(self.turn_count(index)).enumerate().map(|(turn, delay_ms)| {
            // There are fewer than 2^32 of either, so no two turns share a stream of draws.
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

    /// The number of turns before a conversation.
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
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<Written, DatasetError>,
    ) -> Result<Turn, DatasetError> {
        let (mut lengths, mut texts) = (self.input_lengths.at(at), self.texts.at(at));
        let mut paired_output = None;
        let mut turn = match &self.content {
            Content::Nothing => Turn::default(),
            Content::Prompt(isl) => {
                // The draw number of a first turn is that of its conversation.
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
                let mut text = |length: &Distribution, texts: &mut _| {
                    write("", length::draw(length, &mut lengths), texts).map(|written| written.text)
                };
                let query = vec![text(query_tokens, &mut texts)?];
                // The number of passages has its own draws, so that it does not depend on the query.
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

    /// A turn with the texts of one request. In a first turn, each begins with its prefix.
    fn prompts(
        &self,
        at: u64,
        is_first: bool,
        mut length: impl FnMut() -> usize,
        texts: &mut ChaCha8Rng,
        mut write: impl FnMut(&str, usize, &mut ChaCha8Rng) -> Result<Written, DatasetError>,
    ) -> Result<Turn, DatasetError> {
        let mut prefixes = self.prefixes.drawn(at);
        let mut known = None;
        let contents = (0..self.batch_size).map(|_| {
            let prefix = prefixes.next().filter(|prefix| is_first && !prefix.is_empty());
            let (prefix, tokens) = match prefix {
                Some(prefix) => (prefix, self.prefixes.pool_tokens + length()),
                None => ("", length().max(1)),
            };
            let Written { text, is_exact } = write(prefix, tokens, texts)?;
            known = u32::try_from(tokens).ok().filter(|_| is_exact);
            Ok(text)
        });
        let contents = contents.collect::<Result<_, DatasetError>>()?;
        let text = Media { name: "text".to_owned(), contents, uuids: Vec::new() };
        let text_tokens = known.filter(|_| self.batch_size == 1);
        Ok(Turn { texts: vec![text], text_tokens, ..Turn::default() })
    }
}

fn check(what: &'static str, length: &Distribution) -> Result<(), DatasetError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    let (mean, largest) = (length.mean(), length.largest());
    if valid(mean) && valid(largest) { Ok(()) } else { Err(DatasetError::NotALength { what, mean, largest }) }
}

/// Keeps all conversations in memory if they fit; otherwise makes them again on each call.
pub(crate) fn source(synthetic: Synthetic, making: Making<'_>) -> Result<Box<dyn Source>, DatasetError> {
    let shapes = Arc::new(synthetic.shapes()?);
    // Media are large: they are kept only in encoded requests. Making the first conversation shows that everything they
    // need is there.
    let is_large = synthetic.estimated_bytes(shapes.turns_in_all()) > KEPT_BYTES || !synthetic.media.is_empty();
    if synthetic.len() == 0 || is_large {
        (synthetic.len() > 0).then(|| synthetic.make(0)).transpose()?;
        let notes = synthetic.media.notes();
        return Ok(Box::new(Remade { synthetic, shapes, notes }));
    }
    let make = |index| synthetic.make(index).inspect(|_| (making.progress)());
    let conversations = in_order(making.threads, synthetic.len(), make)?;
    Ok(Box::new(InMemory { conversations, shapes }))
}

/// Conversations that were made once.
#[derive(Debug)]
struct InMemory {
    conversations: Vec<Conversation>,
    shapes: Arc<Shapes>,
}

impl Source for InMemory {
    fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        Ok(Cow::Borrowed(&self.conversations[index]))
    }
}

/// Conversations made on each call, which takes about as long as counting their tokens.
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
