//! What a run leaves for the next: its tokenizers, and its dataset where the next is to have the same.

use aiperf_dataset::Dataset;
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizers;
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept from run to run. A handle: clones share it.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Things>>);

#[derive(Default)]
struct Things {
    tokenizers: Option<(Made, Tokenizers)>,
    dataset: Option<(Made, Arc<Dataset>)>,
}

/// What something was made by: equal settings make equal things.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made(String);

impl Made {
    fn tokenizers(plan: &Plan) -> Option<Self> {
        serde_json::to_string(&(&plan.tokenizer, &plan.models, plan.endpoint.server_token_count)).ok().map(Self)
    }

    /// `None` where no two datasets are equal: without a seed each is drawn anew.
    fn dataset(plan: &Plan) -> Option<Self> {
        let seed = plan.dataset_seed.or(plan.run.random_seed)?;
        let by = (&plan.dataset, &plan.additions, seed, plan.endpoint.kind, Self::tokenizers(plan)?.0);
        serde_json::to_string(&by).ok().map(Self)
    }
}

impl Kept {
    /// The tokenizers of this plan, where they are there; whatever others are there goes.
    pub(crate) fn tokenizers(&self, plan: &Plan) -> Option<Tokenizers> {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matching(&mut things.tokenizers, Made::tokenizers(plan))
    }

    pub(crate) fn keep_tokenizers(&self, plan: &Plan, tokenizers: &Tokenizers) {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        things.tokenizers = Made::tokenizers(plan).map(|made| (made, tokenizers.clone()));
    }

    /// The dataset of this plan, likewise: two at a time may be more than there is room for.
    pub(crate) fn dataset(&self, plan: &Plan) -> Option<Arc<Dataset>> {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matching(&mut things.dataset, Made::dataset(plan))
    }

    pub(crate) fn keep_dataset(&self, plan: &Plan, dataset: &Arc<Dataset>) {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        things.dataset = Made::dataset(plan).map(|made| (made, dataset.clone()));
    }
}

fn matching<T: Clone>(kept: &mut Option<(Made, T)>, wanted: Option<Made>) -> Option<T> {
    kept.take_if(|(made, _)| wanted.as_ref() != Some(made));
    kept.as_ref().map(|(_, thing)| thing.clone())
}
