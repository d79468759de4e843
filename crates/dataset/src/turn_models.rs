//! The model of each turn of a dataset, if a run has several.

use std::sync::Arc;

use aiperf_plan::ModelPicker;
use aiperf_types::{Conversation, Shapes, Turn};

/// The models of a run, and how they are picked.
pub struct TurnModels {
    names: Vec<Arc<str>>,
    picker: ModelPicker,
}

impl TurnModels {
    /// `None` if there is one model: turns need not name it.
    pub fn new(models: &[String], picker: ModelPicker) -> Option<Self> {
        let names = models.iter().map(|name| name.as_str().into()).collect();
        (models.len() > 1).then_some(Self { names, picker })
    }

    /// Assigns a model to each turn, by its number among all turns of the dataset.
    pub fn assign(&self, index: usize, conversation: &mut Conversation, shapes: &Shapes) {
        for (number, turn) in (shapes.turns_before(index as u32)..).zip(&mut conversation.turns) {
            turn.model = Some(self.names[self.picker.pick(number)].to_string());
        }
    }

    /// The model of a turn, if it is one of the run's. A raw payload names its own model.
    pub fn of_turn(&self, turn: &Turn) -> Option<Arc<str>> {
        let verbatim =
            turn.raw_payload.as_ref().and_then(|payload| payload.get("model")).and_then(|model| model.as_str());
        let name = verbatim.or(turn.model.as_deref())?;
        self.names.iter().find(|known| ***known == *name).cloned()
    }
}
