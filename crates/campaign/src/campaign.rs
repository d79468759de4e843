//! A campaign: what its runs share. Each run is prepared, executed and written.

use crate::caller::{NetworkCaller, Profilers};
use crate::certainty::certainty;
use crate::certificates;
use crate::consumers::{AllSamples, Consumers, LiveApi, NamedBoundary, RunContext};
use crate::control;
use crate::error::CampaignError;
use crate::hooks::Hooks;
use crate::limits;
use crate::memory;
use crate::objectives;
use crate::overwrites;
use crate::preparation::{Loaded, Preparation};
use crate::result::{Summarised, summarise};
use crate::run_cache::RunCache;
use crate::run_traits::traits;
use crate::until;
use crate::written_run::WrittenRun;
use aiperf_engine::hooks::{HookThread, PhaseHooks};
use aiperf_engine::{
    EngineError, EngineOutcome, Events, Interest, RecordSink, Requests, Setup, SinkFailure, Stop, Subscription,
};
use aiperf_metrics::{Limits, Metrics};
use aiperf_plan::redact::Redactor;
use aiperf_plan::run_config::run_config;
use aiperf_plan::{PhasePlan, Plan};
use aiperf_report::{Artifacts, ExportFailure, IncompleteFile, OpenRecordFile, RecordRun, RecordWriting};
use aiperf_tokenize::Tokenizers;
use aiperf_transport::clock;
use aiperf_types::{LogLevel, RunEvent, RunStarted, WallAnchor, WallNs};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;

/// What all runs share: listeners, the stop request and the redaction of secrets.
pub struct Campaign {
    events: Events,
    stop: Stop,
    version: String,
    redactor: Arc<Redactor>,
    /// Whether `WrittenRun` contains the values of single requests.
    keeps_values: bool,
    live_api: Option<Arc<dyn LiveApi>>,
    /// What a run leaves for the next one; `None` for a campaign of one run.
    cache: Option<RunCache>,
}

/// A run that is ready to start: everything is loaded and encoded, nothing is sent.
pub struct Prepared {
    plan: Arc<Plan>,
    anchor: WallAnchor,
    requests: Arc<Requests>,
    tokenizers: Option<Tokenizers>,
    artifacts: Arc<Artifacts>,
    consumers: Consumers,
    /// Knows the secrets of the dataset's rows too.
    redactor: Arc<Redactor>,
}

impl Prepared {
    /// The path of the log.
    pub fn log_file(&self) -> PathBuf {
        self.artifacts.log_file()
    }
}

impl Campaign {
    /// A campaign of this version of the program, without listeners. It must be made before anything else: all exported
    /// timestamps count from the clock readings taken here.
    pub fn new(version: &str, stop: Stop, redactor: Arc<Redactor>) -> Self {
        let events = Events::new(clock::anchor());
        Self { events, stop, version: version.to_owned(), redactor, keeps_values: false, live_api: None, cache: None }
    }

    /// The same for several runs: each leaves its tokenizers and its dataset to the next one.
    #[must_use]
    pub fn of_several_runs(self) -> Self {
        Self { cache: Some(RunCache::default()), ..self }
    }

    /// Adds a listener for all later events.
    pub fn subscribe(&mut self, interest: Interest) -> Subscription {
        self.events.subscribe(interest)
    }

    /// Connects an API to all later runs.
    pub fn serve_with(&mut self, api: Arc<dyn LiveApi>) {
        self.live_api = Some(api);
    }

    /// The same for one run of several. Listeners of the campaign receive its events too; listeners added to the result
    /// receive only its events. Its clocks are read anew. `keeps_values`: `WrittenRun` contains the values of its
    /// single requests.
    pub fn for_run(&self, keeps_values: bool) -> Self {
        Self {
            events: self.events.with_anchor(clock::anchor()),
            stop: self.stop.of_one(),
            version: self.version.clone(),
            redactor: self.redactor.clone(),
            keeps_values,
            live_api: self.live_api.clone(),
            cache: self.cache.clone(),
        }
    }

    /// The wall clock.
    pub fn now(&self) -> WallNs {
        self.events.anchor().wall(clock::mono_now())
    }

    /// Sends a message to all listeners.
    pub fn say(&self, level: LogLevel, text: &str) {
        self.events.say(level, text);
    }

    /// Checks a plan against the metric registry and this machine. Writes no file.
    pub fn check(plan: &Plan) -> Result<(), CampaignError> {
        let traits = traits(plan);
        objectives::check(&traits)?;
        limits::check(plan, &traits)?;
        until::check(plan, &traits)?;
        memory::check(plan)?;
        certificates::check(plan)?;
        overwrites::check(plan)?;
        Consumers::check(plan)?;
        Ok(aiperf_engine::check(plan)?)
    }

    /// Does what the plan requires before a run: checks everything that can be checked before sending, waits for the
    /// servers, loads the tokenizer, makes the dataset, empties the servers' caches and writes `inputs.json`. The files
    /// of an earlier run are removed last, when nothing can fail any more.
    pub fn prepare(&self, plan: Plan) -> Result<Prepared, CampaignError> {
        Self::check(&plan)?;
        let artifacts = Arc::new(Artifacts::prepare(&plan.artifacts)?);
        let plan = Arc::new(plan);
        if plan.endpoint.readiness.is_some() {
            control::wait_for_servers(&plan, &mut self.caller(&plan)?)?;
        }
        // Consumers look for their sources while the dataset is made.
        let consumers = Consumers::probe(self.run_context(&plan, &artifacts))?;
        let preparation = Preparation {
            plan: plan.clone(),
            artifacts: artifacts.clone(),
            version: self.version.clone(),
            redactor: self.redactor.clone(),
            events: self.events.clone(),
            stop: self.stop.clone(),
            cache: self.cache.clone(),
        };
        let Loaded { requests, tokenizers, inputs, redactor } = preparation.run()?;
        if plan.endpoint.cache_reset.is_some() {
            control::reset_caches(&plan.endpoint, &mut self.caller(&plan)?.without_proxy())?;
        }
        consumers.settle();
        artifacts.remove_stale()?;
        inputs.map_or(Ok(()), |inputs| artifacts.publish_inputs(inputs))?;
        artifacts.write_user_files(&self.redactor)?;
        if plan.run.place.sweep_id.is_some() {
            artifacts.write_run_config(&run_config(&plan, &self.redactor))?;
        }
        artifacts.keep_room();
        Ok(Prepared { plan, anchor: self.events.anchor(), requests, tokenizers, artifacts, consumers, redactor })
    }

    fn run_context(&self, plan: &Arc<Plan>, artifacts: &Arc<Artifacts>) -> RunContext {
        RunContext {
            plan: plan.clone(),
            artifacts: artifacts.clone(),
            events: Arc::new(self.events.clone()),
            redactor: self.redactor.clone(),
            stop: self.stop.clone(),
            version: self.version.clone(),
            live_api: self.live_api.clone(),
        }
    }

    fn caller(&self, plan: &Plan) -> Result<NetworkCaller, CampaignError> {
        let (stop, events, redactor) = (self.stop.clone(), self.events.clone(), self.redactor.clone());
        Ok(NetworkCaller::new(plan, stop, events, redactor).map_err(EngineError::from)?)
    }

    /// Executes the run and writes all files, whatever happens.
    pub fn run(&self, prepared: Prepared) -> Result<WrittenRun, CampaignError> {
        let Prepared { plan, anchor, requests, tokenizers, artifacts, mut consumers, redactor } = prepared;
        let metrics = Metrics::for_run(traits(&plan));
        let metrics = Arc::new(match plan.metrics.slice {
            Some(length) => metrics.with_slices(length),
            None => metrics,
        });
        let id: Arc<str> = plan.run.benchmark_id.as_str().into();
        let record_run = RecordRun { benchmark_id: id.clone(), metrics: metrics.clone(), redactor: redactor.clone() };
        let (sinks, incomplete) = sinks(artifacts.open_record_files(&record_run)?);
        let directory = artifacts.dir().into();
        self.events.emit(RunEvent::RunStarted(Arc::new(RunStarted { benchmark_id: id, anchor, directory })));
        if asks_for_a_length_it_may_not_get(&plan) {
            self.say(
                LogLevel::Warning,
                "An output length is asked for, but a server may stop earlier: add --extra-inputs ignore_eos:true or \
                 min_tokens:<N> to hold it to that length",
            );
        }
        plan.phases.iter().for_each(|phase| self.say(LogLevel::Debug, &described(phase)));
        let hooks = self.hooks(&plan, consumers.boundaries())?;
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let events = consumers.snapshot();
            let outcome = aiperf_engine::run(Setup {
                plan: plan.clone(),
                anchor,
                requests,
                tokenizers,
                metrics: metrics.clone(),
                redactor,
                sinks,
                stop: self.stop.clone(),
                events,
                hooks,
                limits: Limits::default(),
            });
            consumers.ended();
            let mut outcome = outcome?;
            let hooks = outcome.hooks.take();
            let finished = self.finish(&plan, &artifacts, &metrics, outcome, incomplete, &mut consumers);
            // The files are written first: a hook may hang.
            hooks.into_iter().for_each(HookThread::finish);
            Ok::<_, EngineError>(finished)
        }));
        // After a panic too: what was measured until then may still be sent.
        consumers.close(ran.as_ref().ok().and_then(|finished| finished.as_ref().ok()));
        let finished = ran.unwrap_or_else(|panic| resume_unwind(panic));
        if self.stop.is_stopped() && finished.as_ref().is_ok_and(|finished| !finished.was_stopped) {
            self.say(LogLevel::Notice, "The stop request came after the last request: the run is complete");
        }
        let was_stopped = finished.as_ref().map_or_else(|_| self.stop.is_stopped(), |finished| finished.was_stopped);
        self.events.emit(RunEvent::RunFinished { was_stopped });
        Ok(finished?)
    }

    /// The hooks around phases, if any are needed.
    fn hooks(
        &self,
        plan: &Arc<Plan>,
        boundaries: Vec<NamedBoundary>,
    ) -> Result<Option<Box<dyn PhaseHooks>>, CampaignError> {
        let profilers = match &plan.endpoint.server_profiler {
            Some(_) => Some(Profilers { plan: plan.clone(), caller: self.caller(plan)?.without_proxy() }),
            None => None,
        };
        let seamless = plan.phases.iter().map(|phase| phase.seamless).collect();
        let hooks = Hooks {
            boundaries,
            seamless,
            profilers,
            profiled: 0,
            stop: self.stop.clone(),
            events: self.events.clone(),
        };
        let is_needed = !hooks.boundaries.is_empty() || hooks.profilers.is_some();
        Ok(is_needed.then(|| Box::new(hooks) as Box<dyn PhaseHooks>))
    }

    fn finish(
        &self,
        plan: &Plan,
        artifacts: &Artifacts,
        metrics: &Metrics,
        mut outcome: EngineOutcome,
        incomplete: Vec<IncompleteFile>,
        consumers: &mut Consumers,
    ) -> WrittenRun {
        let mut failures: Vec<ExportFailure> = outcome
            .sink_failures
            .drain(..)
            .map(|SinkFailure { sink, path, error }| ExportFailure::of(sink, path, error))
            .collect();
        let given_up = outcome.given_up.is_some();
        let AllSamples { rtt_ns, failures: incomplete_samples, degraded } = consumers.samples(outcome.was_stopped);
        failures.extend(incomplete_samples);
        let Summarised { mut result, no_slices, records } =
            summarise(plan, &self.version, metrics, outcome, rtt_ns, &self.redactor);
        let records = records.filter(|_| self.keeps_values);
        let values = records.map_or_else(Vec::new, |records| records.values(metrics).collect());
        result.degraded.extend(degraded);
        if let Some(error) = no_slices {
            self.say(LogLevel::Warning, &error.to_string());
        }
        let (valid, failed) = (result.metrics.records - result.metrics.failed, result.metrics.failed);
        let total = valid + failed;
        self.say(LogLevel::Info, &format!("Processed {valid} valid requests and {failed} errors ({total} total)."));
        if valid == 0 && failed > 0 {
            let text = format!("All {failed} inference request(s) failed; no successful responses were collected.");
            self.say(LogLevel::Error, &text);
        }
        let reported = failures.len();
        let incomplete_files = consumers.summary(&mut result);
        result.judged = limits::judge(&plan.metrics.limits, &result.metrics, &certainty(&result));
        let mut first = artifacts.write_first(&result, failures, incomplete);
        first.failures.extend(incomplete_files);
        first.failures.extend(consumers.flush(&mut result));
        let written = artifacts.write_rest(&result, first);
        for failure in &written.failures[reported..] {
            self.say(LogLevel::Error, &format!("{}: {}", failure.exporter, failure.error));
        }
        let (nothing_answered, was_stopped) = (valid == 0, result.was_cancelled);
        WrittenRun { nothing_answered, given_up, was_stopped, values, result, written }
    }
}

/// The sinks of the engine, and the files that must be completed at the end of the run.
fn sinks(open: Vec<OpenRecordFile>) -> (Vec<RecordSink>, Vec<IncompleteFile>) {
    let mut incomplete = Vec::new();
    let sink = |OpenRecordFile { name, path, writing }| {
        let RecordWriting { encoder, file, holds, complete } = writing;
        incomplete.extend(complete.map(|complete| IncompleteFile { name, path: path.clone(), complete }));
        RecordSink { name, path, encoder, file, holds }
    };
    let sinks = open.into_iter().map(sink).collect();
    (sinks, incomplete)
}

fn described(phase: &PhasePlan) -> String {
    let grace = match (phase.duration(), phase.grace) {
        (None, _) => String::new(),
        (Some(_), None) => " | grace: until all are back".to_owned(),
        (Some(_), Some(grace)) => format!(" | grace: {} s", grace.as_secs_f64()),
    };
    format!("Phase {}{grace}", phase.in_words())
}

fn asks_for_a_length_it_may_not_get(plan: &Plan) -> bool {
    let holds_to_it = ["ignore_eos", "min_tokens"].iter().any(|key| plan.endpoint.extra.contains_key(*key));
    plan.dataset.asks_for_length() && !holds_to_it && plan.endpoint.kind.traits().produces_tokens
}
