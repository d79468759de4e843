//! Conversations by index.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use aiperf_plan::{DatasetPlan, Draws, SyntheticPlan};
use aiperf_tokenize::Tokenizer;
use aiperf_types::Conversation;

use crate::error::DatasetError;
use crate::synthetic::Synthetic;

/// Text kept in memory at most; what only a seed defines is made again when needed once it is larger.
const KEPT_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Every conversation a run may have, at least one.
#[derive(Debug)]
pub struct Dataset {
    len: NonZeroUsize,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Kept(Vec<Conversation>),
    Made(Box<Synthetic>),
}

impl Dataset {
    /// The dataset of a plan.
    pub fn of(plan: &DatasetPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        Self::of_counted(plan, draws, tokenizer, || ())
    }

    /// The same, telling of each conversation that was made.
    pub fn of_counted(
        plan: &DatasetPlan,
        draws: &Draws,
        tokenizer: &Tokenizer,
        made: impl Fn(),
    ) -> Result<Self, DatasetError> {
        match plan {
            DatasetPlan::Synthetic(plan) => Self::synthetic_counted(plan, draws, tokenizer, made),
            DatasetPlan::Rankings(_) | DatasetPlan::File(_) => Err(DatasetError::NoEntries),
        }
    }

    pub fn synthetic(plan: &SyntheticPlan, draws: &Draws, tokenizer: &Tokenizer) -> Result<Self, DatasetError> {
        Self::synthetic_counted(plan, draws, tokenizer, || ())
    }

    fn synthetic_counted(
        plan: &SyntheticPlan,
        draws: &Draws,
        tokenizer: &Tokenizer,
        made: impl Fn(),
    ) -> Result<Self, DatasetError> {
        let len = NonZeroUsize::new(plan.entries as usize).ok_or(DatasetError::NoEntries)?;
        let synthetic = Synthetic::new(plan, draws, tokenizer)?;
        let source = if synthetic.estimated_bytes() <= KEPT_BYTES {
            Source::Kept(
                (0..len.get()).map(|index| synthetic.make(index).inspect(|_| made())).collect::<Result<_, _>>()?,
            )
        } else {
            synthetic.make(0)?;
            Source::Made(Box::new(synthetic))
        };
        Ok(Self { len, source })
    }

    /// How many conversations there are.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// One conversation, the same whenever it is asked for. Large datasets make it on the spot, which takes about as
    /// long as counting its tokens.
    ///
    /// # Panics
    /// When there is no such conversation.
    pub fn conversation(&self, index: usize) -> Cow<'_, Conversation> {
        assert!(index < self.len(), "conversation {index} of {}", self.len());
        match &self.source {
            Source::Kept(conversations) => Cow::Borrowed(&conversations[index]),
            Source::Made(synthetic) => Cow::Owned(synthetic.make_nearest(index)),
        }
    }
}
