//! Conversations by index.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;

use aiperf_plan::{DatasetPlan, Draws, FilePlan, ScheduleZero, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Shapes};

use crate::error::DatasetError;
use crate::files::Files;
use crate::synthetic::Synthetic;
use crate::turn_shape::LONGEST_MS;

/// Text kept in memory at most; what only a seed defines is made again when needed once it is larger.
const KEPT_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Every conversation a run may have, at least one.
#[derive(Debug)]
pub struct Dataset {
    len: NonZeroUsize,
    shapes: Arc<Shapes>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Kept(Vec<Conversation>),
    Made(Box<Synthetic>),
    Read(Box<Files>),
}

impl Dataset {
    /// The dataset of a plan.
    pub fn of(plan: &DatasetPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        Self::of_counted(plan, draws, tokenizer, None, || ())
    }

    /// The same, telling of each conversation that was made, or row that was read. Files and what they name may take so
    /// many bytes of memory.
    pub fn of_counted(
        plan: &DatasetPlan,
        draws: &Draws,
        tokenizer: &Tokenizer,
        room: Option<u64>,
        made: impl Fn(),
    ) -> Result<Self, DatasetError> {
        match plan {
            DatasetPlan::Synthetic(plan) => Self::made(Synthetic::new(plan, draws, tokenizer)?, made),
            DatasetPlan::Rankings(plan) => Self::made(Synthetic::rankings(plan, draws, tokenizer)?, made),
            DatasetPlan::File(plan) => Self::read(plan, draws, room, made),
        }
    }

    pub fn synthetic(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        Self::made(Synthetic::new(plan, draws, tokenizer)?, || ())
    }

    fn read(plan: &FilePlan, draws: &Draws, room: Option<u64>, read: impl Fn()) -> Result<Self, DatasetError> {
        let files = Files::open(plan, draws, room, read)?;
        let len = NonZeroUsize::new(files.len()).ok_or(DatasetError::NoEntries)?;
        Ok(Self { len, shapes: files.shapes(), source: Source::Read(Box::new(files)) })
    }

    fn made(synthetic: Synthetic, made: impl Fn()) -> Result<Self, DatasetError> {
        let len = NonZeroUsize::new(synthetic.len()).ok_or(DatasetError::NoEntries)?;
        let shapes = synthetic.shapes()?;
        let source = if synthetic.estimated_bytes(shapes.turns_in_all()) <= KEPT_BYTES {
            Source::Kept(
                (0..len.get()).map(|index| synthetic.make(index).inspect(|_| made())).collect::<Result<_, _>>()?,
            )
        } else {
            synthetic.make(0)?;
            Source::Made(Box::new(synthetic))
        };
        Ok(Self { len, shapes: Arc::new(shapes), source })
    }

    /// How many conversations there are.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// The conversations as a schedule sees them.
    pub fn shapes(&self) -> &Arc<Shapes> {
        &self.shapes
    }

    /// One conversation, the same whenever it is asked for. Large datasets make it on the spot, which takes about as
    /// long as counting its tokens.
    ///
    /// # Panics
    /// When there is no such conversation.
    pub fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError> {
        assert!(index < self.len(), "conversation {index} of {}", self.len());
        Ok(match &self.source {
            Source::Kept(conversations) => Cow::Borrowed(&conversations[index]),
            Source::Made(synthetic) => Cow::Owned(synthetic.make_nearest(index)),
            Source::Read(files) => Cow::Owned(files.conversation(index)?),
        })
    }

    /// Where a conversation came from, as `<file>:<line>`; `None` of one that was made.
    pub fn place(&self, index: usize) -> Option<String> {
        self.place_of_turn(index, 0)
    }

    /// Where a turn of a conversation came from.
    pub fn place_of_turn(&self, index: usize, turn: usize) -> Option<String> {
        match &self.source {
            Source::Read(files) => files.place(index, turn),
            Source::Kept(_) | Source::Made(_) => None,
        }
    }

    /// Refuses images by URL, for an endpoint that fetches none: they are not downloaded here either.
    pub fn check_images_are_inline(&self) -> Result<(), DatasetError> {
        match &self.source {
            Source::Read(files) => files.check_images_are_inline(),
            Source::Kept(_) | Source::Made(_) => Ok(()),
        }
    }

    /// Refuses conversations that a schedule by timestamps has no time for: the first turn of each needs one, and none
    /// may be farther from the schedule's zero than a run can last.
    pub fn check_timestamps(&self, zero: ScheduleZero) -> Result<(), DatasetError> {
        let shapes = &self.shapes;
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

    /// What is wrong with a turn, at its place.
    fn fault_in(&self, index: u32, turn: u32, fault: String) -> DatasetError {
        let index = index as usize;
        let place = self.place_of_turn(index, turn as usize).map(Ok);
        let named = || self.conversation(index).map(|of| format!("conversation {}", of.session_id));
        place.unwrap_or_else(named).map_or_else(|error| error, |place| DatasetError::of_file(&place, fault))
    }

    /// What a user should know about the data, a line each.
    pub fn notes(&self) -> &[String] {
        match &self.source {
            Source::Read(files) => files.notes(),
            Source::Kept(_) | Source::Made(_) => &[],
        }
    }
}
