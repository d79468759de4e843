//! What precedes the text of synthetic conversations.

use aiperf_plan::Prefixes;
use aiperf_plan::draw::Purpose;
use rand::RngExt;

use crate::error::DatasetError;
use crate::in_order::in_order;
use crate::source::Making;
use crate::text::Writer;

/// The texts that conversations begin with, made once.
#[derive(Debug)]
pub(super) struct MadePrefixes {
    /// The pool of prefixes, one of which begins each text of a first turn, and their length.
    pool: Vec<String>,
    pub(super) pool_tokens: usize,
    pub(super) system: Option<String>,
    /// Tokens of a message before the first turn, which differs in every conversation.
    pub(super) user_context: Option<usize>,
    choices: Purpose,
}

impl MadePrefixes {
    /// Makes them. A system message is shorter by `left_out` tokens, which the additions fill.
    pub(super) fn new(
        plan: Prefixes,
        writer: &Writer,
        Making { draws, threads, .. }: Making<'_>,
        left_out: usize,
    ) -> Result<Self, DatasetError> {
        let mut made = Self {
            pool: Vec::new(),
            pool_tokens: 0,
            system: None,
            user_context: None,
            choices: draws.purpose("dataset.prefix"),
        };
        match plan {
            Prefixes::None => {}
            Prefixes::Pool { size, tokens } => {
                let texts = draws.purpose("dataset.prefix_pool");
                made.pool_tokens = tokens as usize;
                let write = |index| writer.write_prefix(tokens as usize, &mut texts.at(index as u64));
                made.pool = in_order(threads, size as usize, write)?;
            }
            Prefixes::Messages { shared_system, user_context } => {
                let text = |tokens: u32| {
                    let tokens = (tokens as usize).saturating_sub(left_out).max(1);
                    writer.write_prefix(tokens, &mut draws.purpose("dataset.system").at(0))
                };
                made.system = shared_system.map(text).transpose()?;
                made.user_context = user_context.map(|tokens| tokens as usize);
            }
        }
        Ok(made)
    }

    /// The prefix of each text of a first turn, in order; empty if there is no pool.
    pub(super) fn drawn(&self, at: u64) -> impl Iterator<Item = &str> {
        let mut choices = self.choices.at(at);
        std::iter::repeat_with(move || match self.pool.len() as u32 {
            0 => "",
            size => &self.pool[choices.random_range(0..size) as usize],
        })
    }
}
