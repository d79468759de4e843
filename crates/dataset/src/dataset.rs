//! Conversations by index.

use std::borrow::Cow;
use std::sync::Arc;

use aiperf_plan::redact::RowSecrets;
use aiperf_plan::{Additions, DatasetPlan, ScheduleZero};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Shapes};

use crate::additions;
use crate::error::DatasetError;
use crate::files::{self, shown};
use crate::public::Public;
use crate::source::{Making, Source};
use crate::synthetic::{self, Synthetic};
use crate::trace::Trace;
use crate::turn_shape::LONGEST_MS;

/// All conversations that a run can draw from; at least one.
#[derive(Debug)]
pub struct Dataset {
    source: Box<dyn Source>,
    additions: Additions,
    /// Made the prompts.
    tokenizer: Tokenizer,
}

impl Dataset {
    /// The dataset of a plan.
    pub fn of(plan: &DatasetPlan, making: Making<'_>) -> Result<Self, DatasetError> {
        let source = source(plan, making);
        // A tokenizer that broke down is the cause of other errors.
        check(making.tokenizer)?;
        let source = source?;
        if source.shapes().is_empty() {
            return Err(DatasetError::NoEntries);
        }
        Ok(Self { source, additions: making.additions.clone(), tokenizer: making.tokenizer.clone() })
    }

    /// The number of conversations.
    #[expect(clippy::len_without_is_empty, reason = "a dataset is never empty")]
    pub fn len(&self) -> usize {
        self.source.shapes().len() as usize
    }

    /// The shapes of the conversations, for the schedule.
    pub fn shapes(&self) -> &Arc<Shapes> {
        self.source.shapes()
    }

    /// One conversation; the same on every call. Large datasets make it on the spot, which takes about as long as
    /// counting its tokens.
    ///
    /// # Panics
    /// If there is no such conversation.
    pub fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        assert!(index < self.len(), "conversation {index} of {}", self.len());
        let conversation = self.source.conversation(index);
        check(&self.tokenizer)?;
        let mut conversation = conversation?;
        if !self.additions.is_none() {
            additions::add(&self.additions, conversation.to_mut());
        }
        Ok(conversation)
    }

    /// The session id of a conversation. This is cheaper than making the conversation.
    pub fn session_id(&self, index: usize) -> Result<Cow<'_, str>, DatasetError> {
        self.source.session_id(index)
    }

    /// The source of a conversation, as `<file>:<line>`; `None` for a synthetic one.
    pub fn place(&self, index: usize) -> Option<String> {
        self.place_of_turn(index, 0)
    }

    /// The source of a turn of a conversation.
    pub fn place_of_turn(&self, index: usize, turn: usize) -> Option<String> {
        self.source.place(index, turn)
    }

    /// Refuses images by URL, for an endpoint that fetches none. Web images have been fetched already; other URLs
    /// cannot be.
    pub fn check_images_are_inline(&self) -> Result<(), DatasetError> {
        for index in 0..self.len() {
            for (turn, of) in self.conversation(index)?.turns.iter().enumerate() {
                let mut images = of.images.iter().flat_map(|image| &image.contents);
                if let Some(url) = images.find(|image| image.contains("://") && !image.starts_with("data:")) {
                    let fault = format!(
                        "image '{}' is a URL, and the endpoint takes images alone\n  images are fetched by http and https\n  \
                         try: a data URI, or the name of a file",
                        shown(url)
                    );
                    return Err(self.fault_in(index as u32, turn as u32, fault));
                }
            }
        }
        Ok(())
    }

    /// Refuses conversations that a fixed schedule cannot place: the first turn of each needs a timestamp, and no
    /// timestamp may be farther from the schedule's zero than a run can last.
    pub fn check_timestamps(&self, zero: ScheduleZero) -> Result<(), DatasetError> {
        let shapes = self.shapes();
        let mut first_ms = f64::INFINITY;
        for index in 0..shapes.len() {
            let Some(timestamp_ms) = shapes.turn(index, 0).timestamp_ms else {
                let fault = "has no timestamp in its first turn, and a fixed schedule sends each conversation at that \
                             time\n  try: a timestamp, in milliseconds, in the first turn of every conversation, or \
                             another way to offer load (--no-fixed-schedule)";
                return Err(self.fault_in(index, 0, fault.into()));
            };
            first_ms = first_ms.min(timestamp_ms);
        }
        let (zero_ms, way_out) = match zero {
            ScheduleZero::First => (first_ms, "timestamps in milliseconds"),
            ScheduleZero::At(at) => {
                (at, "timestamps in milliseconds, or --fixed-schedule-auto-offset to begin with the first of them")
            }
        };
        let turns = (0..shapes.len()).flat_map(|index| (0..shapes.turns(index)).map(move |turn| (index, turn)));
        for (index, turn) in turns {
            let Some(timestamp_ms) = shapes.turn(index, turn).timestamp_ms else { continue };
            if timestamp_ms - zero_ms > LONGEST_MS {
                let fault = format!(
                    "timestamp {timestamp_ms} is {} s after the zero of the schedule, {zero_ms}, and a run lasts {} s at \
                     most\n  try: {way_out}",
                    (timestamp_ms - zero_ms) / 1e3,
                    LONGEST_MS / 1e3
                );
                return Err(self.fault_in(index, turn, fault));
            }
        }
        Ok(())
    }

    /// An error with the location of a turn.
    fn fault_in(&self, index: u32, turn: u32, fault: String) -> DatasetError {
        let index = index as usize;
        let place = self.place_of_turn(index, turn as usize).map(Ok);
        let named = || self.conversation(index).map(|of| format!("conversation {}", of.session_id));
        place.unwrap_or_else(named).map_or_else(|error| error, |place| DatasetError::of_file(&place, fault))
    }

    /// Notes about the data for the user, one line each.
    pub fn notes(&self) -> &[String] {
        self.source.notes()
    }

    /// The secrets in the extra members of rows, and in everything that a trace sends. The bodies of all other datasets
    /// may contain more.
    pub fn secrets(&self) -> RowSecrets {
        self.source.secrets().cloned().unwrap_or_default()
    }
}

fn source(plan: &DatasetPlan, making: Making<'_>) -> Result<Box<dyn Source>, DatasetError> {
    match plan {
        DatasetPlan::Synthetic(plan) => synthetic::source(Synthetic::new(plan, making)?, making),
        DatasetPlan::Rankings(plan) => synthetic::source(Synthetic::rankings(plan, making)?, making),
        DatasetPlan::Trace(plan) => Ok(Box::new(Trace::open(plan, making)?)),
        DatasetPlan::Public(plan) => Ok(Box::new(Public::open(plan, making)?)),
        DatasetPlan::File(plan) => files::source(plan, making),
    }
}

/// Refuses prompts that were made while the tokenizer broke down.
fn check(tokenizer: &Tokenizer) -> Result<(), DatasetError> {
    tokenizer.check().map_err(|error| DatasetError::Tokenizer(error.to_string()))
}
