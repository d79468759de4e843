//! One run: prepared, sent, written down.

use crate::live;
use crate::measurement;
use crate::objectives::{self, ObjectivesError};
use crate::slices::slices;
use crate::tell::Teller;
use aiperf_dataset::{Dataset, DatasetError};
use aiperf_engine::requests::RequestsError;
use aiperf_engine::{Board, EngineError, LineSink, LineWriter, Outcome, PhaseOutcome, Requests, Setup, Stop, Watch};
use aiperf_metrics::{Accumulator, Context, Metrics, RecordMetrics, RunTraits, Summary, Window};
use aiperf_plan::{LogLevel, Plan};
use aiperf_report::{
    Artifacts, ExportFailure, LinesFile, Page, PhaseResult, RecordLine, ReportError, RunInfo, RunResult, Written,
};
use aiperf_tokenize::{Lookup, TokenizeError, Tokenizer};
use aiperf_types::{Measured, PhaseKind, RecordMeta, WallNs};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The objectives.
    #[error(transparent)]
    Objectives(#[from] ObjectivesError),
    /// The tokenizer.
    #[error(transparent)]
    Tokenizer(#[from] TokenizeError),
    /// The dataset.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The requests.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// The artifact directory.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl CampaignError {
    /// Whether the input is to blame, and nothing was sent.
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::Engine(EngineError::Thread(_) | EngineError::Panicked(_)))
    }
}

/// A run about to start: everything is loaded and encoded, nothing is sent.
pub struct Prepared {
    plan: Arc<Plan>,
    requests: Arc<Requests>,
    tokenizer: Option<Tokenizer>,
    artifacts: Artifacts,
    version: String,
    failures: Vec<ExportFailure>,
}

/// A run that is over and written down.
pub struct Finished {
    /// What came of it.
    pub result: RunResult,
    /// What was written.
    pub written: Written,
    /// Every request failed.
    pub all_failed: bool,
    /// The user ended it.
    pub was_stopped: bool,
}

impl Prepared {
    /// Checks the objectives, loads the tokenizer, makes the dataset, prepares the directory and writes `inputs.json`.
    pub fn new(plan: Plan, version: &str, teller: &dyn Teller) -> Result<Self, CampaignError> {
        objectives::check(&traits(&plan))?;
        let artifacts = Artifacts::prepare(&plan.artifacts)?;
        let lookup = Lookup::from_env();
        let model = plan.models.first().map_or("", String::as_str);
        let tokenizer = match &plan.tokenizer.name {
            Some(name) => Tokenizer::load(name, &lookup)?,
            None => {
                let (tokenizer, warning) = Tokenizer::load_for_model(model, &lookup)?;
                if let Some(warning) = warning {
                    teller.tell(LogLevel::Warning, &warning);
                }
                tokenizer
            }
        };
        let dataset = Arc::new(Dataset::of(&plan.dataset, &plan.draws(), &tokenizer)?);
        let plan = Arc::new(plan);
        let requests = Arc::new(Requests::new(plan.clone(), dataset, version)?);
        let mut failures = Vec::new();
        if let Err(error) = artifacts.write_inputs(requests.all().map(|said| (said.session_id, [said.body]))) {
            teller.tell(LogLevel::Warning, &error.to_string());
            failures.push(ExportFailure { exporter: "inputs", error });
        }
        let tokenizer = (!plan.endpoint.server_token_count).then_some(tokenizer);
        Ok(Self { plan, requests, tokenizer, artifacts, version: version.to_owned(), failures })
    }

    /// Where the log belongs.
    pub fn log_file(&self) -> PathBuf {
        self.artifacts.log_file()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs and writes everything down, whatever happened.
    pub fn run(mut self, stop: Stop, board: Board, teller: &dyn Teller) -> Result<Finished, CampaignError> {
        let metrics = Metrics::for_run(traits(&self.plan));
        let metrics = Arc::new(match self.plan.metrics.slice {
            Some(length) => metrics.with_slices(length),
            None => metrics,
        });
        let records = self.artifacts.records()?;
        let path = records.as_ref().map(|file| file.path().to_owned());
        let id = self.plan.run.benchmark_id.clone();
        let line_writer = records.is_some().then(|| {
            Box::new(move || Box::new(Writer(RecordLine::new(&id))) as Box<dyn LineWriter>)
                as Box<dyn Fn() -> Box<dyn LineWriter> + Send>
        });
        announce(&self.plan, teller);
        let watch = Watch::default();
        let setup = Setup {
            plan: self.plan.clone(),
            requests: self.requests.clone(),
            tokenizer: self.tokenizer.take(),
            metrics: metrics.clone(),
            line_writer,
            line_sink: records.map(|file| Box::new(Sink(file)) as Box<dyn LineSink>),
            stop,
            board: board.clone(),
            watch: watch.clone(),
        };
        let every = self.plan.runtime.stats_interval.map(|every| Duration::from_nanos(every.0));
        let outcome = std::thread::scope(|scope| {
            if let Some(every) = every {
                let (watch, board, metrics) = (&watch, &board, &metrics);
                scope.spawn(move || live::tell(every, watch, board, metrics, teller));
            }
            let outcome = aiperf_engine::run(setup);
            watch.end();
            outcome
        })?;
        Ok(self.finish(outcome, &metrics, path, teller))
    }

    fn finish(
        mut self,
        mut outcome: Outcome,
        metrics: &Metrics,
        records: Option<PathBuf>,
        teller: &dyn Teller,
    ) -> Finished {
        if let (Some(source), Some(path)) = (outcome.line_failure.take(), records) {
            let error = ReportError::File { path, source };
            teller.tell(LogLevel::Error, &format!("{error}; the records written so far are kept"));
            self.failures.push(ExportFailure { exporter: "records", error });
        }
        let result = self.result(outcome, metrics, teller);
        for doubt in result.measurement.iter().flat_map(|block| block["doubts"].as_array().into_iter().flatten()) {
            teller.tell(LogLevel::Warning, doubt.as_str().unwrap_or_default());
        }
        let (valid, failed) = (result.metrics.records - result.metrics.failed, result.metrics.failed);
        let total = valid + failed;
        teller.tell(LogLevel::Info, &format!("Processed {valid} valid requests and {failed} errors ({total} total)."));
        let written = self.artifacts.write(&result, Page::file(), std::mem::take(&mut self.failures));
        for failure in &written.failures {
            teller.tell(LogLevel::Error, &format!("{}: {}", failure.exporter, failure.error));
        }
        Finished { all_failed: total > 0 && valid == 0, was_stopped: result.was_cancelled, result, written }
    }

    fn result(&self, outcome: Outcome, metrics: &Metrics, teller: &dyn Teller) -> RunResult {
        let Outcome { phases, quality, conduct, was_stopped, .. } = outcome;
        let profiling: Vec<(WallNs, WallNs)> =
            phases.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling).map(|p| (p.start, p.end)).collect();
        let (start, end) = profiling
            .iter()
            .copied()
            .reduce(|(start, end), (s, e)| (start.min(s), end.max(e)))
            .or(phases.first().map(|phase| (phase.start, phase.end)))
            .unwrap_or_default();
        let mut merged = None;
        let mut warmup = None;
        let mut listed = Vec::new();
        for phase in phases {
            let result = phase_result(&phase, metrics);
            match phase.id.kind {
                PhaseKind::Warmup => warmup = Some(result.metrics.clone()),
                PhaseKind::Profiling => {
                    merged = Some(match merged {
                        None => phase.records,
                        Some(earlier) => Accumulator::merge(earlier, phase.records),
                    });
                }
            }
            listed.push(result);
        }
        let only = listed.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling).collect::<Vec<_>>();
        let summary = match (only.as_slice(), &merged) {
            ([phase], _) => phase.metrics.clone(),
            (_, Some(records)) => records.summarise(metrics, Context::from(Window { start, end })),
            (_, None) => Summary::default(),
        };
        let sliced = merged.as_ref().zip(self.plan.metrics.slice);
        let slices = sliced.map_or(Ok(Vec::new()), |(records, length)| slices(records, metrics, length));
        let slices = slices.unwrap_or_else(|error| {
            teller.tell(LogLevel::Warning, &error.to_string());
            Vec::new()
        });
        let errors = merged.map(|records| records.errors()).unwrap_or_default();
        let run = &self.plan.run;
        RunResult {
            version: self.version.clone(),
            info: RunInfo::single(run.benchmark_id.clone(), run.random_seed, Some(run.cli_command.clone())),
            endpoint: self.plan.endpoint.kind,
            input_config: self.plan.input_config.clone(),
            artifacts: self.plan.artifacts.clone(),
            measurement: Some(measurement::block(&self.plan, &quality, &conduct, &summary)),
            metrics: summary,
            slices,
            warmup: warmup.filter(|warmup| warmup.records > 0),
            phases: listed,
            errors,
            start,
            end,
            was_cancelled: was_stopped,
            incomplete_reason: was_stopped.then(|| "Run cancelled before all records were processed.".to_owned()),
            limits: metrics.traits().thresholds,
            show_trace_timing: self.plan.metrics.show_trace_timing,
        }
    }
}

fn phase_result(phase: &PhaseOutcome, metrics: &Metrics) -> PhaseResult {
    let window = Window { start: phase.start, end: phase.end };
    let summary = phase.records.summarise(metrics, Context::from(window));
    PhaseResult {
        id: (*phase.id).clone(),
        start: phase.start,
        end: phase.end,
        successful: summary.records - summary.failed,
        failed: summary.failed,
        errors: phase.records.errors(),
        was_cancelled: phase.was_stopped,
        metrics: summary,
    }
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

fn announce(plan: &Plan, teller: &dyn Teller) {
    for phase in &plan.phases {
        let target = match (phase.requests(), phase.duration()) {
            (Some(requests), None) => format!("{requests} requests"),
            (None, Some(length)) => format!("{} s", length.as_secs_f64()),
            (Some(requests), Some(length)) => format!("{requests} requests or {} s", length.as_secs_f64()),
            (None, None) => "until stopped".to_owned(),
        };
        let kind = phase.kind.name();
        let concurrency = phase.concurrency.map(|n| format!(" at concurrency {n}")).unwrap_or_default();
        teller.tell(LogLevel::Notice, &format!("Phase {} ({kind}) | target: {target}{concurrency}", phase.name));
    }
    let asks_length = matches!(&plan.dataset, aiperf_plan::DatasetPlan::Synthetic(set) if set.osl.is_some());
    let holds_to_it = ["ignore_eos", "min_tokens"].iter().any(|key| plan.endpoint.extra.contains_key(*key));
    if asks_length && !holds_to_it && plan.endpoint.kind.traits().produces_tokens {
        let text = "An output length is asked for, but a server may stop earlier: add --extra-inputs ignore_eos:true or \
                    min_tokens:<N> to hold it to that length";
        teller.tell(LogLevel::Warning, text);
    }
}

struct Writer(RecordLine);

impl LineWriter for Writer {
    fn write(&mut self, out: &mut Vec<u8>, meta: &RecordMeta, measured: &Measured, metrics: &RecordMetrics) {
        self.0.write(out, meta, measured, metrics);
    }
}

struct Sink(LinesFile);

impl LineSink for Sink {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.0.append(lines)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
