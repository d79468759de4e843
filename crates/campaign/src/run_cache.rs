//! What a run leaves for the next one: its tokenizers, and its dataset if the next run uses the same.

use aiperf_dataset::Dataset;
use aiperf_plan::Plan;
use aiperf_tokenize::Tokenizers;
use std::sync::{Arc, Mutex, PoisonError};

/// What is kept from run to run. A handle: clones share the content.
#[derive(Clone, Default)]
pub(crate) struct RunCache(Arc<Mutex<Things>>);

#[derive(Default)]
struct Things {
    tokenizers: Option<(Made, Tokenizers)>,
    dataset: Option<(Made, Arc<Dataset>)>,
}

/// The settings that something was made from. Equal settings give equal results.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made(String);

impl Made {
    fn tokenizers(plan: &Plan) -> Option<Self> {
        serde_json::to_string(&(&plan.tokenizer, &plan.models, plan.endpoint.server_token_count)).ok().map(Self)
    }

    /// `None` if no two datasets are equal: without a seed each is drawn anew.
    fn dataset(plan: &Plan) -> Option<Self> {
        let seed = plan.dataset_seed.or(plan.run.random_seed)?;
        let by = (&plan.dataset, &plan.additions, seed, plan.endpoint.kind, Self::tokenizers(plan)?.0);
        serde_json::to_string(&by).ok().map(Self)
    }
}

impl RunCache {
    /// The tokenizers of this plan, if they were kept. Any others are dropped.
    pub(crate) fn tokenizers(&self, plan: &Plan) -> Option<Tokenizers> {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matching(&mut things.tokenizers, Made::tokenizers(plan))
    }

    pub(crate) fn keep_tokenizers(&self, plan: &Plan, tokenizers: &Tokenizers) {
        let mut things = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        things.tokenizers = Made::tokenizers(plan).map(|made| (made, tokenizers.clone()));
    }

    /// The dataset of this plan, likewise. Two datasets at a time may not fit into memory.
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
