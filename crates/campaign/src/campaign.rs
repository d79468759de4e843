//! A campaign: what its runs share, and each of them prepared, sent, written down.

use crate::memory::{self, MemoryError};
use crate::objectives::{self, ObjectivesError};
use crate::result::{Summarised, summarise};
use aiperf_dataset::{Dataset, DatasetError};
use aiperf_engine::requests::RequestsError;
use aiperf_engine::{
    EngineError, Events, Interest, Outcome, RecordSink, Requests, Setup, SinkFailure, Stop, Subscription,
};
use aiperf_metrics::{Metrics, RunTraits};
use aiperf_plan::{DatasetPlan, Plan};
use aiperf_report::{Artifacts, ExportFailure, OpenRecordFile, ReportError, RunResult, Written};
use aiperf_tokenize::{Lookup, TokenizeError, Tokenizer};
use aiperf_transport::clock;
use aiperf_types::{LogLevel, RunEvent, RunStarted, WallAnchor};
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum CampaignError {
    #[error(transparent)]
    Objectives(#[from] ObjectivesError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Tokenizer(#[from] TokenizeError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Requests(#[from] RequestsError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl CampaignError {
    /// Whether the input is to blame, and nothing was sent.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Engine(EngineError::Thread(_) | EngineError::Panicked(_)))
    }
}

/// What all runs share: who listens, and the wish to end early.
pub struct Campaign {
    events: Events,
    stop: Stop,
    version: String,
}

/// A run about to start: everything is loaded and encoded, nothing is sent.
pub struct Prepared {
    plan: Arc<Plan>,
    anchor: WallAnchor,
    requests: Arc<Requests>,
    tokenizer: Option<Tokenizer>,
    artifacts: Artifacts,
    failures: Vec<ExportFailure>,
}

/// A run that is over and written down.
pub struct Finished {
    pub result: RunResult,
    pub written: Written,
    /// Every request failed.
    pub all_failed: bool,
    /// The user ended it.
    pub was_stopped: bool,
}

impl Prepared {
    /// Where the log belongs.
    pub fn log_file(&self) -> PathBuf {
        self.artifacts.log_file()
    }
}

impl Campaign {
    /// A campaign of this version of the program that nobody listens to yet. Made before anything else: all instants that are
    /// exported count from the clock readings taken here.
    pub fn new(version: &str, stop: Stop) -> Self {
        Self { events: Events::new(clock::anchor()), stop, version: version.to_owned() }
    }

    /// Adds a listener to all that happens from now on.
    pub fn subscribe(&mut self, interest: Interest) -> Subscription {
        self.events.subscribe(interest)
    }

    /// Says something to whoever listens.
    pub fn say(&self, level: LogLevel, text: &str) {
        self.events.say(level, text);
    }

    /// Checks what a plan says against the metrics there are and against this machine; touches no file.
    pub fn check(plan: &Plan) -> Result<(), CampaignError> {
        objectives::check(&traits(plan))?;
        memory::check(plan)?;
        Ok(aiperf_engine::check(plan)?)
    }

    /// Checks what can be checked before anything is sent, loads the tokenizer, makes the dataset and writes `inputs.json`.
    pub fn prepare(&self, plan: Plan) -> Result<Prepared, CampaignError> {
        Self::check(&plan)?;
        let artifacts = Artifacts::prepare(&plan.artifacts)?;
        let tokenizer = self.tokenizer(&plan)?;
        let dataset = Arc::new(Dataset::of(&plan.dataset, &plan.draws(), &tokenizer)?);
        let plan = Arc::new(plan);
        let requests = Arc::new(Requests::new(plan.clone(), dataset, &self.version)?);
        artifacts.remove_stale()?;
        let mut failures = Vec::new();
        if let Err(error) = artifacts.write_inputs(requests.all().map(|request| (request.session_id, [request.body]))) {
            self.say(LogLevel::Warning, &error.to_string());
            failures.push(ExportFailure { exporter: "inputs", error });
        }
        let tokenizer = (!plan.endpoint.server_token_count).then_some(tokenizer);
        Ok(Prepared { plan, anchor: self.events.anchor(), requests, tokenizer, artifacts, failures })
    }

    fn tokenizer(&self, plan: &Plan) -> Result<Tokenizer, TokenizeError> {
        let lookup = Lookup::from_env();
        if let Some(name) = &plan.tokenizer.name {
            return Tokenizer::load(name, &lookup);
        }
        let model = plan.models.first().map_or("", String::as_str);
        let (tokenizer, warning) = Tokenizer::load_for_model(model, &lookup)?;
        if let Some(warning) = warning {
            self.say(LogLevel::Warning, &warning);
        }
        Ok(tokenizer)
    }

    /// Runs and writes everything down, whatever happened.
    pub fn run(&self, prepared: Prepared) -> Result<Finished, CampaignError> {
        let Prepared { plan, anchor, requests, tokenizer, artifacts, failures } = prepared;
        let metrics = Metrics::for_run(traits(&plan));
        let metrics = Arc::new(match plan.metrics.slice {
            Some(length) => metrics.with_slices(length),
            None => metrics,
        });
        let record_files = artifacts.open_record_files()?;
        let paths: Vec<(&'static str, PathBuf)> =
            record_files.iter().map(|open| (open.kind.name, open.path.clone())).collect();
        let id: Arc<str> = plan.run.benchmark_id.as_str().into();
        let directory = artifacts.dir().into();
        self.events.emit(RunEvent::RunStarted(Arc::new(RunStarted { benchmark_id: id.clone(), anchor, directory })));
        if asks_for_a_length_it_may_not_get(&plan) {
            self.say(
                LogLevel::Warning,
                "An output length is asked for, but a server may stop earlier: add --extra-inputs ignore_eos:true or \
                 min_tokens:<N> to hold it to that length",
            );
        }
        let outcome = aiperf_engine::run(Setup {
            plan: plan.clone(),
            anchor,
            requests,
            tokenizer,
            metrics: metrics.clone(),
            sinks: record_files.into_iter().map(|open| sink(open, id.clone())).collect(),
            stop: self.stop.clone(),
            events: self.events.clone(),
        });
        let finished = outcome.map(|mut outcome| {
            let failures = self.with_sink_failures(failures, &mut outcome, &paths);
            self.finish(&plan, &artifacts, &metrics, outcome, failures)
        });
        self.events.emit(RunEvent::RunFinished { was_stopped: self.stop.is_stopped() });
        Ok(finished?)
    }

    fn with_sink_failures(
        &self,
        mut failures: Vec<ExportFailure>,
        outcome: &mut Outcome,
        paths: &[(&'static str, PathBuf)],
    ) -> Vec<ExportFailure> {
        for SinkFailure { sink, error } in outcome.sink_failures.drain(..) {
            let path = paths.iter().find(|(name, _)| *name == sink).map(|(_, path)| path.clone()).unwrap_or_default();
            let failure = ExportFailure::of(sink, path, error);
            self.say(LogLevel::Error, &format!("{}; the records written so far are kept", failure.error));
            failures.push(failure);
        }
        failures
    }

    fn finish(
        &self,
        plan: &Plan,
        artifacts: &Artifacts,
        metrics: &Metrics,
        outcome: Outcome,
        failures: Vec<ExportFailure>,
    ) -> Finished {
        let Summarised { result, doubts, no_slices } = summarise(plan, &self.version, metrics, outcome);
        if let Some(error) = no_slices {
            self.say(LogLevel::Warning, &error.to_string());
        }
        doubts.iter().for_each(|doubt| self.say(LogLevel::Warning, doubt));
        let (valid, failed) = (result.metrics.records - result.metrics.failed, result.metrics.failed);
        let total = valid + failed;
        self.say(LogLevel::Info, &format!("Processed {valid} valid requests and {failed} errors ({total} total)."));
        let told = failures.len();
        let written = artifacts.write(&result, failures);
        for failure in &written.failures[told..] {
            self.say(LogLevel::Error, &format!("{}: {}", failure.exporter, failure.error));
        }
        Finished { all_failed: total > 0 && valid == 0, was_stopped: result.was_cancelled, result, written }
    }
}

fn sink(open: OpenRecordFile, benchmark_id: Arc<str>) -> RecordSink {
    let OpenRecordFile { kind, file, .. } = open;
    RecordSink { name: kind.name, encoder: Box::new(move || (kind.encoder)(&benchmark_id)), file: Box::new(file) }
}

fn traits(plan: &Plan) -> RunTraits {
    let mut traits = RunTraits::new(plan.endpoint.kind, plan.endpoint.streaming);
    traits.server_token_count = plan.endpoint.server_token_count;
    traits.slos = plan.metrics.slos.clone();
    traits.thresholds = plan.metrics.thresholds;
    traits.show_internal = plan.metrics.show_internal;
    traits.show_experimental = plan.metrics.show_experimental;
    traits
}

fn asks_for_a_length_it_may_not_get(plan: &Plan) -> bool {
    let asks_length = matches!(&plan.dataset, DatasetPlan::Synthetic(set) if set.osl.is_some());
    let holds_to_it = ["ignore_eos", "min_tokens"].iter().any(|key| plan.endpoint.extra.contains_key(*key));
    asks_length && !holds_to_it && plan.endpoint.kind.traits().produces_tokens
}
