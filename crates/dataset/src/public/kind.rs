//! What every kind of public dataset does: a row becomes conversations, or is dropped and counted.

use aiperf_plan::PublicPlan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Media, Turn};

use super::row::{Fault, Row};

/// How the rows of some sets are read.
pub(super) trait Kind: Sync {
    /// What is read of files with columns; `None` is everything.
    fn columns(&self) -> Option<Vec<&'static str>>;

    /// Whether the user's filters are ones that it knows.
    fn check_filters(&self, plan: &PublicPlan) -> Result<(), Fault> {
        if plan.filters.is_empty() {
            return Ok(());
        }
        Err(format!("{} knows no filters\n  try: leave --dataset-filter out", plan.set.name()))
    }

    /// What a row says. It depends on nothing but the row, so that rows are read by many threads.
    fn read(&self, row: Row, with: With<'_>) -> Result<Found, Fault>;
}

/// What rows are read with.
#[derive(Clone, Copy)]
pub(super) struct With<'a> {
    pub(super) plan: &'a PublicPlan,
    pub(super) tokenizer: &'a Tokenizer,
}

/// What was found in a row.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those without a session id get one by their place among those that are used.
    pub(super) conversations: Vec<Conversation>,
    /// What of the row is not used: the reason, and how many rows or parts of it.
    pub(super) dropped: Vec<(&'static str, u64)>,
    /// What the row is of, for a message that nothing matched.
    pub(super) label: Option<String>,
}

/// Rows whose prompt says nothing.
pub(super) const BLANK: &str = "rows without a prompt";

impl Found {
    pub(super) fn dropped(reason: &'static str) -> Self {
        Self { dropped: vec![(reason, 1)], ..Self::default() }
    }

    pub(super) fn turns(turns: Vec<Turn>) -> Self {
        Self { conversations: vec![Conversation { turns, ..Conversation::default() }], ..Self::default() }
    }

    pub(super) fn turn(turn: Turn) -> Self {
        Self::turns(vec![turn])
    }
}

/// A turn of one text, without a name.
pub(super) fn said(text: impl Into<String>) -> Turn {
    Turn { texts: vec![unnamed(text.into())], ..Turn::default() }
}

pub(super) fn unnamed(content: String) -> Media {
    Media { contents: vec![content], ..Media::default() }
}
