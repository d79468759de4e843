//! A run that sends nothing and writes nothing: its schedule, over the conversations that it would have.

use crate::campaign::CampaignError;
use crate::memory;
use aiperf_dataset::{Dataset, Making};
use aiperf_plan::{Arrival, DatasetPlan, Plan, SyntheticPlan, TextPlan};
pub use aiperf_schedule::{
    Answered, AssumedServer, AssumedTime, Dispatch, NoTime, PhaseEnd, RateCurve, Rehearsal, RehearsalEvent,
    RehearsalKind, RequestEnd, Setup,
};
use aiperf_tokenize::Tokenizer;
use aiperf_types::Shapes;
use std::sync::Arc;

/// What the schedule of a plan is made from, and what a user should know about its data. Files are read as for a run; of
/// what a seed defines no text is made, because none is sent.
pub fn setup(plan: &Plan) -> Result<(Setup, Vec<String>), CampaignError> {
    let (shapes, notes) = shapes(plan)?;
    Ok((Setup::of(plan, shapes), notes))
}

fn shapes(plan: &Plan) -> Result<(Arc<Shapes>, Vec<String>), CampaignError> {
    let without_text = match &plan.dataset {
        DatasetPlan::Rankings(rankings) => return Ok((Arc::new(Shapes::single(rankings.entries)), Vec::new())),
        DatasetPlan::Synthetic(synthetic) => {
            let text = TextPlan::default();
            DatasetPlan::Synthetic(SyntheticPlan { isl: None, osl: None, pairs: None, text, ..synthetic.clone() })
        }
        DatasetPlan::File(file) => DatasetPlan::File(file.clone()),
    };
    // Nothing is counted with it.
    let tokenizer = Tokenizer::builtin();
    let draws = plan.dataset_draws();
    let dataset = Dataset::of(&without_text, Making { room: memory::room(), ..Making::new(&draws, &tokenizer) })?;
    for phase in &plan.phases {
        if let Arrival::FixedSchedule { zero } = phase.arrival {
            dataset.check_timestamps(zero)?;
        }
    }
    Ok((dataset.shapes().clone(), dataset.notes().to_vec()))
}
