//! Conversations made to length, each from its index alone.

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, Length, RankingsPlan, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Media, Turn};

use crate::error::DatasetError;
use crate::length;
use crate::prompt::Writer;
use crate::session_id::SessionIds;

/// A token of prose and the words around it, in bytes; generous.
const BYTES_PER_TOKEN: f64 = 6.0;

/// Makes any conversation of a synthetic dataset.
#[derive(Debug)]
pub struct Synthetic {
    entries: u32,
    content: Content,
    osl: Option<Length>,
    writer: Writer,
    ids: SessionIds,
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
        if let Some(isl) = plan.isl.filter(|isl| isl.mean < 1.0) {
            return Err(DatasetError::InputTooShort { mean: isl.mean });
        }
        let content = plan.isl.map_or(Content::Nothing, Content::Prompt);
        // A mean that rounds to nothing asks for nothing.
        let osl = plan.osl.filter(|osl| osl.mean >= 1.0);
        Ok(Self::of(plan.entries, content, osl, draws, tokenizer))
    }

    /// The same, for queries with passages to rank.
    pub fn rankings(plan: &RankingsPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        let RankingsPlan { entries, passages, passage_tokens, query_tokens } = *plan;
        check("--rankings-passages-mean", passages)?;
        check("--rankings-passages-prompt-token-mean", passage_tokens)?;
        check("--rankings-query-prompt-token-mean", query_tokens)?;
        Ok(Self::of(entries, Content::Rankings { passages, passage_tokens, query_tokens }, None, draws, tokenizer))
    }

    fn of(entries: u32, content: Content, osl: Option<Length>, draws: &Draws, tokenizer: &Tokenizer) -> Self {
        Self {
            entries,
            content,
            osl,
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

    /// What all conversations together take in memory, roughly.
    pub fn estimated_bytes(&self) -> f64 {
        let tokens = match self.content {
            Content::Nothing => 0.0,
            Content::Prompt(isl) => isl.mean,
            Content::Rankings { passages, passage_tokens, query_tokens } => {
                passages.mean * passage_tokens.mean + query_tokens.mean
            }
        };
        let structs = size_of::<Conversation>() as f64 + size_of::<Turn>() as f64;
        f64::from(self.entries) * (tokens * BYTES_PER_TOKEN + structs)
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
        mut write: impl FnMut(usize, &mut rand_chacha::ChaCha8Rng) -> Result<String, E>,
    ) -> Result<Conversation, E> {
        let at = index as u64;
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
        Ok(Conversation { session_id: self.ids.id(at), turns: vec![turn], ..Conversation::default() })
    }
}

fn check(what: &'static str, Length { mean, stddev }: Length) -> Result<(), DatasetError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    if valid(mean) && valid(stddev) { Ok(()) } else { Err(DatasetError::NotALength { what, mean, stddev }) }
}
