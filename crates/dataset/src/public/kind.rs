//! The trait of every kind of public dataset: a row becomes conversations, or is dropped and counted.

use aiperf_plan::PublicPlan;
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Media, Turn};

use super::row::{Fault, Row};

/// How the rows of some sets are read.
pub(super) trait RowReader: Sync {
    /// The columns to read from columnar files; `None` reads all.
    fn columns(&self) -> Option<Vec<&'static str>>;

    /// Refuses filters that the set does not have.
    fn check_filters(&self, plan: &PublicPlan) -> Result<(), Fault> {
        if plan.filters.is_empty() {
            return Ok(());
        }
        Err(format!("{} knows no filters\n  try: leave --dataset-filter out", plan.set.name()))
    }

    /// Converts a row. The result depends only on the row, so many threads can read rows.
    fn read(&self, row: Row, with: With<'_>) -> Result<Found, Fault>;
}

/// The settings for reading rows.
#[derive(Clone, Copy)]
pub(super) struct With<'a> {
    pub(super) plan: &'a PublicPlan,
    pub(super) tokenizer: &'a Tokenizer,
}

/// The content of a row.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// A conversation without a session id gets one, by its position among those used.
    pub(super) conversations: Vec<Conversation>,
    /// The parts of the row that are not used: the reason, and how many rows or parts.
    pub(super) dropped: Vec<(&'static str, u64)>,
    /// The row's harness and models, for the message that no row matched.
    pub(super) label: Option<String>,
}

/// Rows with an empty prompt.
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

/// A turn with one text and without a name.
pub(super) fn text_turn(text: impl Into<String>) -> Turn {
    Turn { texts: vec![unnamed(text.into())], ..Turn::default() }
}

pub(super) fn unnamed(content: String) -> Media {
    Media { contents: vec![content], ..Media::default() }
}
