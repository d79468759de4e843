//! Conversations made to length, each from its index alone.

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, Length, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Turn};

use crate::error::DatasetError;
use crate::length;
use crate::prompt::Writer;

/// A token of prose and the words around it, in bytes; generous.
const BYTES_PER_TOKEN: f64 = 6.0;

/// Makes any conversation of a synthetic dataset.
#[derive(Debug)]
pub struct Synthetic {
    entries: u32,
    isl: Option<Length>,
    osl: Option<Length>,
    writer: Writer,
    seeded: bool,
    ids: Purpose,
    input_lengths: Purpose,
    output_lengths: Purpose,
    texts: Purpose,
}

impl Synthetic {
    /// Checks the lengths; makes nothing yet.
    pub fn new(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        for (what, length) in [("--isl", plan.isl), ("--osl", plan.osl)] {
            check(what, length)?;
        }
        if let Some(isl) = plan.isl.filter(|isl| isl.mean < 1.0) {
            return Err(DatasetError::InputTooShort { mean: isl.mean });
        }
        Ok(Self {
            entries: plan.entries,
            isl: plan.isl,
            // A mean that rounds to nothing asks for nothing.
            osl: plan.osl.filter(|osl| osl.mean >= 1.0),
            writer: Writer::new(tokenizer),
            seeded: draws.is_seeded(),
            ids: draws.purpose("dataset.session_id"),
            input_lengths: draws.purpose("dataset.isl"),
            output_lengths: draws.purpose("dataset.osl"),
            texts: draws.purpose("dataset.text"),
        })
    }

    /// What all conversations together take in memory, roughly.
    pub fn estimated_bytes(&self) -> f64 {
        let text = self.isl.map_or(0.0, |isl| isl.mean * BYTES_PER_TOKEN);
        f64::from(self.entries) * (text + size_of::<Conversation>() as f64 + size_of::<Turn>() as f64)
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
        write: impl FnOnce(usize, &mut rand_chacha::ChaCha8Rng) -> Result<String, E>,
    ) -> Result<Conversation, E> {
        let at = index as u64;
        let mut turn = match self.isl {
            Some(isl) => {
                let tokens = length::draw(isl, &mut self.input_lengths.at(at));
                Turn::text(write(tokens, &mut self.texts.at(at))?)
            }
            None => Turn::default(),
        };
        turn.max_tokens = self.osl.map(|osl| {
            let tokens = length::draw(osl, &mut self.output_lengths.at(at));
            u32::try_from(tokens).unwrap_or(u32::MAX)
        });
        Ok(Conversation { session_id: self.session_id(at), turns: vec![turn], ..Conversation::default() })
    }

    /// Countable with a seed, as unlikely to meet again as a UUIDv4 without.
    fn session_id(&self, index: u64) -> String {
        if self.seeded {
            return format!("session_{index:06}");
        }
        let version_and_variant = 0x4000_8000_0000_0000_0000_u128;
        let free = !0xf000_c000_0000_0000_0000_u128;
        let hex = format!("{:032x}", self.ids.bits128(index) & free | version_and_variant);
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }
}

fn check(what: &'static str, length: Option<Length>) -> Result<(), DatasetError> {
    let valid = |number: f64| number.is_finite() && number >= 0.0;
    match length {
        Some(Length { mean, stddev }) if !valid(mean) || !valid(stddev) => {
            Err(DatasetError::NotALength { what, mean, stddev })
        }
        _ => Ok(()),
    }
}
