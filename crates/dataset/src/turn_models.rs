//! Which model each turn of a dataset goes to, where a run has several.

use std::sync::Arc;

use aiperf_plan::ModelPicker;
use aiperf_types::{Conversation, Shapes, Turn};

use crate::dataset::Dataset;
use crate::error::DatasetError;

/// The models of a run, and how they are picked.
pub struct TurnModels {
    names: Vec<Arc<str>>,
    picker: ModelPicker,
    /// Turns without a model before each conversation; `None` where no turn has one of its own.
    before: Option<Vec<u64>>,
}

impl TurnModels {
    /// `None` where there is one model: turns need not name it. Turns of a dataset that a seed defines name none, and take
    /// long to look at.
    pub fn new(
        models: &[String],
        picker: ModelPicker,
        dataset: &Dataset,
        is_made: bool,
    ) -> Result<Option<Self>, DatasetError> {
        if models.len() < 2 {
            return Ok(None);
        }
        let before = if is_made { None } else { without_model(dataset)? };
        let names = models.iter().map(|name| name.as_str().into()).collect();
        Ok(Some(Self { names, picker, before }))
    }

    /// Gives each turn that names no model one.
    pub fn assign(&self, index: usize, conversation: &mut Conversation, shapes: &Shapes) {
        let before = || shapes.turns_before(index as u32);
        let first = self.before.as_ref().map_or_else(before, |known| known[index]);
        let turns = conversation.turns.iter_mut().filter(|turn| turn.model.is_none());
        for (number, turn) in (first..).zip(turns) {
            turn.model = Some(self.names[self.picker.pick(number)].to_string());
        }
    }

    /// The model that a turn is sent to, if it is one of the run's. What is sent as it is says so itself.
    pub fn of_turn(&self, turn: &Turn) -> Option<Arc<str>> {
        let verbatim =
            turn.raw_payload.as_ref().and_then(|payload| payload.get("model")).and_then(|model| model.as_str());
        let name = verbatim.or(turn.model.as_deref())?;
        self.names.iter().find(|known| ***known == *name).cloned()
    }
}

/// How many turns without a model come before each conversation; `None` where no turn has one.
fn without_model(dataset: &Dataset) -> Result<Option<Vec<u64>>, DatasetError> {
    let (mut before, mut counted, mut has_models) = (Vec::with_capacity(dataset.len()), 0, false);
    for index in 0..dataset.len() {
        before.push(counted);
        for turn in &dataset.conversation(index)?.turns {
            has_models |= turn.model.is_some();
            counted += u64::from(turn.model.is_none());
        }
    }
    Ok(has_models.then_some(before))
}
