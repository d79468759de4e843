//! Consumers of a run: they follow it and report on it, besides its own records.
//!
//! [`CONSUMERS`] lists every kind. Each kind is one file with its [`ConsumerKind`] and its [`Consumer`], whose stages
//! are empty unless the kind needs them. `stages` takes all of them through a run, in the order of the table:
//!
//! | stage | when |
//! | --- | --- |
//! | [`ConsumerKind::check`] | before anything of the run is touched |
//! | [`ConsumerKind::probe`] | while the run is prepared |
//! | [`Consumer::settle`] | before the run starts |
//! | [`Consumer::snapshot`] | the run starts |
//! | [`Consumer::boundary`] | between two phases |
//! | [`Consumer::ended`] | every event of the run is emitted, even if the run failed |
//! | [`Consumer::samples`] | before the statistics of the run are computed |
//! | [`Consumer::summary`] | before the first files are written |
//! | [`Consumer::flush`] | after the first files, before the rest |
//! | [`Consumer::close`] | everything is written, or the run failed or panicked |
//!
//! A stage that returns [`Degraded`] costs the run that part of its results and nothing else.
//!
//! # A new consumer
//! A tracker such as MLflow is one file and one row, and `campaign.rs` stays as it is:
//! - its file has a `KIND`: `check` rejects a tracker that cannot be reached as the plan wants it, `probe` creates the
//!   tracker's run if the plan asks for one
//! - its `snapshot` subscribes to the metrics it logs during the run, and starts the thread that sends them; `ended`
//!   signals to that thread that no more data follow
//! - its `close` logs the results and files of [`WrittenRun`], or marks the run as failed, and waits for the thread
//! - its row goes into [`CONSUMERS`]
//!
//! The user's settings are a field of `plan::Plan`, as for everything else.
//!
//! # Layout
//! - `otlp`: sends the measurements of a run by OTLP during the run
//! - `server_metrics`: the servers' own metrics of a run
//! - `gpu_telemetry`: the GPUs of a run, and its efficiency
//! - `network_latency`: the round trip to the servers
//! - `live_api`: runs over HTTP, made by the command
//! - `shared`: what these have in common; `stages`: the stages of all of them

mod gpu_telemetry;
mod live_api;
mod network_latency;
mod otlp;
mod server_metrics;
mod shared;
mod stages;

use crate::written_run::WrittenRun;
use aiperf_engine::{Events, Stop};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_report::{Artifacts, ExportFailure, RunResult};
pub use live_api::LiveApi;
pub(crate) use stages::{AllSamples, Consumers, NamedBoundary};
use std::error::Error;
use std::fmt::Display;
use std::sync::Arc;

/// Every kind of consumer, in the order in which they pass each stage.
pub const CONSUMERS: &[&ConsumerKind] =
    &[&otlp::KIND, &server_metrics::KIND, &gpu_telemetry::KIND, &network_latency::KIND, &live_api::KIND];

/// A kind of consumer.
pub struct ConsumerKind {
    /// As `RunResult::degraded` and messages name it.
    pub name: &'static str,
    /// The beginning of the warning if a stage fails.
    pub lost: &'static str,
    /// Rejects a plan that it cannot follow.
    pub check: fn(&Plan) -> Result<(), ConsumerError>,
    /// Starts to look for its sources; `None` if the plan does not ask for it.
    pub probe: fn(&RunContext) -> ProbeResult,
}

/// The consumer of a run, if its plan asks for one.
pub type ProbeResult = Result<Option<Box<dyn Consumer>>, ConsumerError>;

/// Why a consumer cannot follow a run: bad input, before anything is sent.
pub type ConsumerError = Box<dyn Error + Send + Sync>;

/// The run that a consumer follows.
pub struct RunContext {
    pub plan: Arc<Plan>,
    pub artifacts: Arc<Artifacts>,
    /// Messages and snapshots of consumers go here, until the run is over.
    pub events: Arc<Events>,
    pub redactor: Arc<Redactor>,
    pub stop: Stop,
    pub version: String,
    pub live_api: Option<Arc<dyn LiveApi>>,
}

/// Waits between two phases. It returns early once its argument returns `true`.
pub type Boundary = Box<dyn Fn(&dyn Fn() -> bool) + Send>;

/// Why the part of a consumer is missing from the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Degraded(pub String);

impl Degraded {
    pub fn by(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

/// What statistics need from consumers.
#[derive(Default)]
pub struct Samples {
    /// The mean round trip to the servers, if it is known.
    pub rtt_ns: Option<f64>,
    /// Why the file of samples is incomplete; the consumer has reported it.
    pub failure: Option<ExportFailure>,
}

/// Follows one run.
pub trait Consumer {
    /// Waits until its sources are known and have returned their first values.
    fn settle(&self, _run: &RunContext) {}

    /// Follows these events from now on, with the snapshots that it subscribes to, and publishes its own.
    fn snapshot(&mut self, _run: &RunContext, _events: &mut Events) {}

    /// What the next phase waits for, if there are several.
    fn boundary(&self) -> Option<Boundary> {
        None
    }

    /// All events of the run were emitted.
    fn ended(&mut self, _run: &RunContext) {}

    /// Waits for the last samples that statistics are computed with.
    fn samples(&mut self, _run: &RunContext, _was_stopped: bool) -> Result<Samples, Degraded> {
        Ok(Samples::default())
    }

    /// Waits for the last samples of the summary, and adds them to it. Returns why its file is incomplete.
    fn summary(&mut self, _run: &RunContext, _result: &mut RunResult) -> Result<Option<ExportFailure>, Degraded> {
        Ok(None)
    }

    /// Waits for what comes after the summary, and adds it to the result. Returns why its file is incomplete.
    fn flush(&mut self, _run: &RunContext, _result: &mut RunResult) -> Result<Option<ExportFailure>, Degraded> {
        Ok(None)
    }

    /// Ends: waits for what is still under way. `None` if the run failed.
    fn close(self: Box<Self>, _run: &RunContext, _finished: Option<&WrittenRun>) -> Result<(), Degraded> {
        Ok(())
    }
}
