//! The models, and the rule that picks one for a prompt.

use crate::choice::Choice;
use crate::resolve::Tree;
use crate::sections::models::{Model, ModelStrategy};
use aiperf_plan::ModelSelection;

pub(super) fn models(tree: &Tree, notes: &mut Vec<String>) -> Option<(Vec<String>, ModelSelection)> {
    let models = tree.benchmark.models.as_ref()?;
    let names = items(tree).iter().filter_map(|model| model.name.clone()).collect();
    let weights: Vec<f64> = items(tree).iter().filter_map(|model| model.weight).collect();
    let strategy = models.strategy();
    if strategy != ModelStrategy::Weighted && !weights.is_empty() {
        notes.push(format!(
            "weights of models have no effect with strategy {}; try: strategy weighted",
            strategy.name()
        ));
    }
    let selection = match strategy {
        ModelStrategy::RoundRobin => ModelSelection::RoundRobin,
        ModelStrategy::Random => ModelSelection::Random,
        ModelStrategy::Weighted => ModelSelection::Weighted(weights),
    };
    Some((names, selection))
}

/// The models with a tokenizer of their own, and its name.
pub(super) fn tokenizers(tree: &Tree) -> Vec<(String, String)> {
    let own = |model: &Model| Some((model.name.clone()?, model.tokenizer.as_ref()?.name.clone()?));
    items(tree).iter().filter_map(own).collect()
}

fn items(tree: &Tree) -> &[Model] {
    let items = tree.benchmark.models.as_ref().and_then(|models| models.items.as_ref());
    items.map_or(&[], |items| &items.0)
}
