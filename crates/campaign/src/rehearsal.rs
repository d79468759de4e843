//! A run that sends nothing and writes nothing: its schedule, over the conversations that the run would have.

use crate::error::CampaignError;
use crate::hub::Hub;
use crate::memory;
use crate::public_files::PublicFiles;
use crate::tokenizers;
use aiperf_dataset::{Dataset, Making};
use aiperf_engine::Stop;
use aiperf_plan::{DatasetPlan, FilePlan, MediaPlan, Plan, SyntheticPlan, TextPlan};
pub use aiperf_schedule::{
    AssumedServer, AssumedTime, Dispatch, NoTime, PhaseEnd, RateCurve, Rehearsal, RehearsalEvent, RehearsalKind,
    RehearsedRequest, RequestEnd, Setup,
};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{LogLevel, Shapes};
use std::sync::Arc;

/// The schedule setup of a plan, and notes for the user about its data. Files are read as for a run. Of what a seed
/// defines, no text is made, because none is sent.
pub fn setup(plan: &Plan) -> Result<(Setup, Vec<String>), CampaignError> {
    let (shapes, notes) = shapes(plan)?;
    Ok((Setup::of(plan, shapes), notes))
}

fn shapes(plan: &Plan) -> Result<(Arc<Shapes>, Vec<String>), CampaignError> {
    let without_text = match &plan.dataset {
        DatasetPlan::Rankings(rankings) => return Ok((Arc::new(Shapes::single(rankings.entries)), Vec::new())),
        DatasetPlan::Synthetic(synthetic) => DatasetPlan::Synthetic(SyntheticPlan {
            isl: None,
            osl: None,
            pairs: None,
            text: TextPlan::default(),
            media: MediaPlan::default(),
            ..synthetic.clone()
        }),
        // Nothing is sent, so no image needs to be fetched.
        DatasetPlan::File(file) => DatasetPlan::File(FilePlan { inline_images: None, ..file.clone() }),
        DatasetPlan::Trace(trace) => DatasetPlan::Trace(trace.clone()),
        DatasetPlan::Public(public) => DatasetPlan::Public(public.clone()),
    };
    let (hub, say) = (|| Hub::for_run(plan, Stop::default()), |_: LogLevel, _: String| ());
    let tokenizers = match &plan.dataset {
        // The length of its rows decides which ones are sent.
        DatasetPlan::Public(_) => tokenizers::load(plan, hub, &say)?,
        // It counts nothing.
        _ => Tokenizer::builtin().into(),
    };
    let draws = plan.dataset_draws();
    let public_files = PublicFiles::of(plan, &hub, &say, &|| ());
    let making =
        Making { room: memory::room(), public_files: &public_files, ..Making::new(&draws, tokenizers.first()) };
    let dataset = Dataset::of(&without_text, making)?;
    for phase in &plan.phases {
        if let Some(zero) = phase.arrival.replay_zero() {
            dataset.check_timestamps(zero)?;
        }
    }
    Ok((dataset.shapes().clone(), dataset.notes().to_vec()))
}
