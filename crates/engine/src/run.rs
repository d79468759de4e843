//! A run from start to end: threads up, load on, records out.

use crate::core_watch::{self, CoreWatch};
use crate::error::EngineError;
use crate::events::Events;
use crate::events::failure_reports::FailureReports;
use crate::events::phases::{self, PhaseTrack};
use crate::events::progress::PhaseReports;
use crate::events::request_watch::RequestWatch;
use crate::events::worker_counters::AllCounters;
use crate::kernel_counters::Disturbance;
use crate::queue::Queue;
use crate::recording::batch_ring::BatchRing;
use crate::recording::coordinator::BATCHES_A_THREAD;
use crate::recording::coordinator::{Coordinated, Coordinator, Resources};
use crate::recording::curves::Sweeps;
use crate::recording::live_judge::LiveJudge;
use crate::recording::looks::{self, Looker};
use crate::recording::record::Reader;
use crate::recording::record_thread::{self, Mailboxes};
use crate::recording::recorder::{CountingTime, RecordContext, RecordTotals, Recorder};
use crate::recording::shelf::Shelf;
use crate::recording::sinks::{OrderedSinks, RecordSink, SinkFailure, SinkWriter};
use crate::requests::Requests;
use crate::requests::body_threads::BodyThreads;
use crate::sending::conductor::{PhaseRun, Sources};
use crate::sending::drive::Driven;
use crate::sending::hooks::{self, HookThread, PhaseHooks};
use crate::sending::load::{Load, Shared, WorkerSetup};
use crate::sending::unsent::Unsent;
use crate::sending::worker_threads::Growth;
use crate::sizing::{Demand, Machine, Sizing};
use crate::stop::Stop;
use aiperf_metrics::{
    Accumulator, Conduct, Instruments, Limits, Metrics, Quality, Reached, Sample, SweepLine, Watched,
};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{PhasePlan, Plan, Timestamps, WorkerPriority};
use aiperf_tokenize::Tokenizers;
use aiperf_transport::clock::{mono_now, read_cost};
use aiperf_transport::stamp::keep_stamping;
use aiperf_transport::{ConnectPace, ResponseBudget, from_plan};
use aiperf_types::{Histograms, LogLevel, PhaseId, PhaseKind, PhaseProgress, RunEvent, WallAnchor, WallNs};
use serde::{Deserialize, Serialize};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::unbounded_channel;

/// The inputs of a run.
pub struct Setup {
    pub plan: Arc<Plan>,
    /// Converts monotonic to wall time. It is taken before anything of the run starts, and every exporter of an instant
    /// uses it.
    pub anchor: WallAnchor,
    pub requests: Arc<Requests>,
    /// Count tokens, one tokenizer per model; `None` if the server's counts are used.
    pub tokenizers: Option<Tokenizers>,
    pub metrics: Arc<Metrics>,
    /// Removes secrets from errors.
    pub redactor: Arc<Redactor>,
    /// Write records while the run is on.
    pub sinks: Vec<RecordSink>,
    pub stop: Stop,
    pub events: Events,
    /// Calls around profiling phases.
    pub hooks: Option<Box<dyn PhaseHooks>>,
    /// The size up to which lists are kept. A run that becomes a [part](crate::RunPart) of another keeps all
    /// ([`Limits::NONE`]).
    pub limits: Limits,
}

/// The results of a run.
pub struct EngineOutcome {
    /// The phases that started, in the order of the plan, which is the order of their starts. They may overlap.
    pub phases: Vec<PhaseOutcome>,
    /// The curves of all phases of a kind together, if these phases may have overlapped.
    pub overlapping: Vec<(PhaseKind, SweepLine)>,
    pub conduct: Conduct,
    /// The user ended the run, or the run ended itself.
    pub was_stopped: bool,
    /// Why the run ended itself: too many requests failed, or no server was reachable.
    pub given_up: Option<String>,
    /// Why a phase could not start; this ended the run.
    pub hook_failure: Option<String>,
    /// Calls that still run after the last phase. Only the end of the program waits for them.
    pub hooks: Option<HookThread>,
    /// Sinks that could not write all records.
    pub sink_failures: Vec<SinkFailure>,
    pub lost: Lost,
}

/// Results that are missing because of a fault in this program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Requests whose records could not be computed.
    pub records: u64,
    /// Threads that failed, with everything they had computed.
    pub record_threads: usize,
}

/// The results of one phase. Its records come with their curves, or without them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseOutcome<R = Accumulator> {
    pub id: Arc<PhaseId>,
    pub start: WallNs,
    /// When the phase stopped sending. The requested and the achieved rate are rates over the time until then.
    pub sent_end: WallNs,
    /// When its last request was released. A process that was suspended sends late what was due before.
    pub last_sent: WallNs,
    /// When its last request was over.
    pub end: WallNs,
    /// Counts of requested and sent requests, among others.
    pub counts: PhaseProgress,
    /// Requests that the run itself cut off.
    pub cut_off: u64,
    /// Those of `cut_off` that never left this machine.
    pub never_left: u64,
    /// The user ended the phase, or too many failures did.
    pub was_stopped: bool,
    /// The costs of reading and sending.
    pub quality: Quality,
    /// What the looks at its statistics found; `None` unless they may end it.
    pub until: Option<Reached>,
    pub records: R,
}

impl EngineOutcome {
    /// The costs of reading and sending, over the profiling phases.
    pub fn quality(&self) -> Quality {
        let profiling = self.phases.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling);
        Quality::all(profiling.map(|phase| &phase.quality))
    }
}

/// Whether this machine can run a plan. Checked before the run touches anything.
pub fn check(plan: &Plan) -> Result<(), EngineError> {
    Sizing::of(Demand::of(plan), Machine::here())?;
    from_plan::connect_settings(plan)?;
    core_watch::check(plan.runtime.worker_priority).map_err(EngineError::NoRealtime)?;
    match (plan.runtime.timestamps, keep_stamping()) {
        (Timestamps::Kernel, Err(error)) => Err(EngineError::NoStamps(error)),
        _ => Ok(()),
    }
}

/// Runs a plan to its end, or until it is stopped.
pub fn run(setup: Setup) -> Result<EngineOutcome, EngineError> {
    let sizing = Sizing::of(Demand::of(&setup.plan), Machine::here())?;
    let stamping = match (setup.plan.runtime.timestamps, keep_stamping()) {
        (Timestamps::Kernel, Err(error)) => return Err(EngineError::NoStamps(error)),
        (Timestamps::User, _) => None,
        (_, stamping) => stamping.ok(),
    };
    let disturbance = Arc::new(Disturbance::since_now());

    let Setup { plan, anchor, requests, tokenizers, metrics, redactor, sinks, stop, events, hooks, limits } = setup;
    events.say(LogLevel::Debug, describe(sizing, stamping.is_some()));
    let phases = phases::of(&plan);
    // If places cannot run out, no request waits for one. Then a semaphore that all workers share would only cost time.
    let can_run_out = plan.peak_in_flight().is_none_or(|peak| peak > sizing.connections);
    let places = || Arc::new(Semaphore::new((sizing.connections as usize).min(Semaphore::MAX_PERMITS)));
    let places = can_run_out.then(places);
    let budget = Arc::new(ResponseBudget::new(plan.endpoint.http.kept_bodies_limit));
    let all_workers = sizing.all_workers();
    let shared = Shared { workers: all_workers, connect: from_plan::connect_settings(&plan)?, places, budget };
    let counters = AllCounters::of(sizing.workers, sizing.more_workers);
    let setup = |number| WorkerSetup::new(&plan, number, &shared);
    let workers: Vec<WorkerSetup> = (0..all_workers).map(setup).collect();
    let ids = phases.iter().map(|phase| phase.id.clone()).collect();
    let (queue, queued) = Queue::new(queue_budget(plan.runtime.record_queue_budget, &sinks), phases.len(), all_workers);
    let queue = Arc::new(queue);
    let watch = CoreWatch::new(plan.runtime.worker_priority);
    let context = Arc::new(RecordContext {
        reader: Reader { plan: plan.clone(), requests: requests.clone(), tokenizers, anchor, phases: ids },
        metrics: metrics.clone(),
        redactor: redactor.clone(),
        sweeps: Sweeps::new(&plan.phases, &metrics, phases.clone(), queue.clone()),
        limits,
        is_watched: events.metrics_every().is_some(),
        instruments: events.histograms_every().map(|_| Arc::new(instruments(&metrics, sizing, phases.len(), &events))),
        counting_time: CountingTime::new(stop.clone()),
        shelves: sinks.iter().map(|_| Shelf::default()).collect(),
        watched: Watched::new(&plan.metrics.until, &metrics),
    });

    let recorder = |number: usize| {
        let encoders = sinks.iter().map(|sink| (sink.encoder)()).collect();
        Recorder::new(context.clone(), number as u16, encoders)
    };
    let mut record_threads = Vec::new();
    let (ring, mut mailboxes) =
        (Arc::new(BatchRing::new(sizing.record_threads * BATCHES_A_THREAD)), Mailboxes::default());
    for number in 0..sizing.record_threads {
        let (recorder, mailbox, ring) = (recorder(number), mailboxes.add(), ring.clone());
        let work = move || record_thread::run(recorder, &mailbox, &ring);
        record_threads.push(spawn(format!("aiperf-record-{number}"), work)?);
    }
    let (to_conductor, recorded) = unbounded_channel();
    let failures = FailureReports::of(&phases, &to_conductor);
    let (looks, looker) = looks::looks(&plan, &to_conductor).unzip();
    let recorded = (failures.is_some() || looks.is_some()).then_some(recorded);
    drop(to_conductor);
    let spawn_looker = |looker: Looker| spawn("aiperf-looks".to_owned(), move || looker.run());
    let looker = looker.map(spawn_looker).transpose()?;
    let own_recorder = recorder(sizing.record_threads);
    let (sinks, writers) = OrderedSinks::new(sinks, &context.shelves, plan.runtime.flush_every, mono_now());
    let spawn_writer = |writer: SinkWriter| spawn(writer.thread_name(), move || writer.run());
    let writers: Vec<JoinHandle<()>> = writers.into_iter().map(spawn_writer).collect::<Result<_, _>>()?;
    let resources = Resources {
        queue: queue.clone(),
        queued,
        ring,
        mailboxes,
        recorder: own_recorder,
        sinks,
        buffers: workers.iter().map(|worker| worker.buffers.clone()).collect(),
        progress: PhaseReports::new(&phases, &queue, &counters, &events),
        phases: phases.clone(),
        live_judge: LiveJudge {
            metrics: metrics.clone(),
            cores: watch.clone(),
            disturbance: disturbance.clone(),
            wants_unstamped: plan.runtime.timestamps == Timestamps::User,
            wants_normal: plan.runtime.worker_priority == WorkerPriority::Normal,
        },
        events: events.clone(),
        watch: RequestWatch::new(&plan, phases.clone(), failures),
        looks,
    };
    let coordinator = Coordinator::new(resources, mono_now());
    let coordinator = spawn("aiperf-records".to_owned(), move || coordinator.run())?;

    let warnings = events.clone();
    let pace = Arc::new(ConnectPace::reporting(move |text| warnings.say(LogLevel::Warning, text)));
    let load = Load {
        watch,
        unsent: Arc::new(Unsent::of(&plan, sizing.workers)),
        redactor,
        plan,
        requests,
        queue: queue.clone(),
        phases: phases.clone(),
        counters,
        stop: stop.clone(),
        events,
        pace,
    };
    let bodies = BodyThreads::start(&load.requests, Machine::here().cores)?;
    let (calls, hook_thread) = hooks.map(hooks::start).transpose()?.unzip();
    let sources = Sources { hooks: calls, recorded };
    let driven = catch_unwind(AssertUnwindSafe(|| load.drive(workers, sizing.workers, Growth::default(), sources)));
    let driven = driven.unwrap_or(Err(EngineError::Panicked("conductor")));
    drop(bodies);
    // Whatever happened, the measured results are written.
    let (backlog_at_end, ended) = (queue.waiting(), mono_now());
    let hook_failure = hook_thread.as_ref().and_then(HookThread::failure);
    if let Some(reason) = &hook_failure {
        load.events.say(LogLevel::Error, reason.as_str());
        stop.stop();
    }
    // A stop request after the last request has cut nothing short. From here on, one value holds for messages, files
    // and the exit code.
    let was_cut_short = hook_failure.is_some()
        || driven.as_ref().map_or_else(|_| stop.is_stopped(), |driven| driven.conductor.was_cut_short());
    // Warm-up is not part of the results.
    let profiling = || (0..phases.len()).filter(|phase| phases[*phase].id.kind == PhaseKind::Profiling);
    let done: u64 = profiling().map(|phase| queue.recorded(phase)).sum();
    let all: u64 = profiling().map(|phase| queue.arrived(phase)).sum();
    let what = match &driven {
        _ if hook_failure.is_some() => "No more requests are sent",
        _ if was_cut_short => {
            load.events.say(LogLevel::Warning, "The run was ended early: requests in flight were cancelled");
            "No more requests are sent"
        }
        Err(_) => "No more requests are sent",
        Ok(driven) => {
            let cut_off = cut_off(&load.plan, &driven.conductor.phase_runs());
            if cut_off.is_empty() {
                load.events.say(LogLevel::Notice, "All credits completed");
                "All requests have completed"
            } else {
                cut_off.into_iter().for_each(|text| load.events.say(LogLevel::Notice, text));
                "No more requests are sent"
            }
        }
    };
    load.events.say(
        LogLevel::Notice,
        format!("{what}, please wait for the results to be processed (currently {done} of {all} records processed)..."),
    );
    queue.close();
    let Coordinated { totals, failures, stalls, relief } =
        coordinator.join().map_err(|_| EngineError::Panicked("record coordinator"))?;
    // If it panicked, nothing is known of its looks.
    let samples = looker.map(|looker| looker.join().unwrap_or_default());
    // A writer that panicked has left a failure.
    writers.into_iter().for_each(|writer| drop(writer.join()));
    let (mut totals, dead) = collect(totals, record_threads);
    let histograms = totals.histograms.take();
    let histograms = histograms.map(|all| Arc::new(Histograms { at: mono_now(), histograms: all.histograms() }));
    load.events.emit(RunEvent::RecordsComplete(histograms));
    let lost = Lost { records: totals.lost.iter().sum(), record_threads: dead };
    for (phase, records) in totals.phases.iter_mut().enumerate() {
        context.sweeps.finish(phase, records);
    }
    let Driven { conductor, holds: (holds, held), clocks, found, found_of_conductor, added_after } = driven?;
    let given_up = conductor.given_up();
    let conduct = Conduct {
        workers: found.len(),
        workers_added_after: added_after,
        record_threads: sizing.record_threads,
        backlog_at_end,
        drain: mono_now().since(ended),
        peak_backlog_bytes: queue.peak_bytes(),
        relief,
        holds,
        held,
        sink_stalls: stalls,
        clock_steps: clocks.steps,
        clock_error: clocks.error,
        clock_read_ns: read_cost(),
        worker_run_queue_wait: found.iter().map(|found| found.waited).collect(),
        stopped: load.watch.so_far().stopped,
        realtime_workers: found.iter().filter(|found| found.was_realtime).count(),
        demoted_after: found.iter().chain(&found_of_conductor).filter_map(|found| found.demoted_after).collect(),
        steal_share: disturbance.steal_share(),
        throttled: disturbance.throttled(),
    };
    let counting_was_stopped = totals.quality.iter().any(Quality::was_stopped);
    Ok(EngineOutcome {
        phases: phase_outcomes(&phases, conductor.phase_runs(), totals, &queue, samples.as_deref(), anchor),
        overlapping: context.sweeps.take_joint(),
        conduct,
        was_stopped: was_cut_short || given_up.is_some() || counting_was_stopped,
        given_up,
        hook_failure,
        hooks: hook_thread,
        sink_failures: failures,
        lost,
    })
}

/// The phases whose requests were cut off, one sentence each. The phase is named if there are several.
fn cut_off(plan: &Plan, runs: &[Option<PhaseRun>]) -> Vec<String> {
    let text = |(phase, run): (&PhasePlan, &Option<PhaseRun>)| {
        let cancelled = run.as_ref().map(|run| run.counts.cancelled).filter(|cancelled| *cancelled > 0)?;
        let name = if plan.phases.len() > 1 { format!("Phase {}: ", phase.name) } else { String::new() };
        Some(name + &phase.cut_off_in_words(cancelled))
    };
    plan.phases.iter().zip(runs).filter_map(text).collect()
}

/// The sizing, for the debug log.
fn describe(sizing: Sizing, stamped: bool) -> String {
    let Sizing { workers, more_workers, record_threads, connections } = sizing;
    let stamps = if stamped { "kernel receive stamps" } else { "instants of reads" };
    let more = if more_workers > 0 { format!(", {more_workers} more if needed") } else { String::new() };
    format!(
        "Workers: {workers}{more} | record threads: {record_threads} | connections: at most {connections} | {stamps}"
    )
}

/// With more sets of attributes than this, histograms do not distinguish record threads: each set has about thirty
/// histograms, and every export contains all of them.
const MOST_SETS: usize = 64;

/// The histograms of a run, with as many attributes as the limit allows.
fn instruments(metrics: &Metrics, sizing: Sizing, phases: usize, events: &Events) -> Instruments {
    let all = Instruments::of(metrics);
    // The coordinator computes records too.
    let sets = sizing.all_workers() * (sizing.record_threads + 1) * phases;
    if sets <= MOST_SETS {
        return all;
    }
    events.say(
        LogLevel::Info,
        format!(
            "Histograms are sent without aiperf.record_processor.id: workers, record processors and phases may make \
             {sets} sets of attributes, more than {MOST_SETS}"
        ),
    );
    all.without_record_threads()
}

/// The bytes that sinks hold are not available to waiting records. At least half of the budget stays for these.
fn queue_budget(budget: usize, sinks: &[RecordSink]) -> usize {
    let held: usize = sinks.iter().map(|sink| sink.holds).sum();
    budget - held.min(budget / 2)
}

fn spawn<T: Send + 'static>(name: String, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name).spawn(work)
}

fn phase_outcomes(
    phases: &[PhaseTrack],
    runs: Vec<Option<PhaseRun>>,
    totals: RecordTotals,
    queue: &Queue,
    samples: Option<&[Sample]>,
    anchor: WallAnchor,
) -> Vec<PhaseOutcome> {
    let RecordTotals { phases: records, quality, lost, .. } = totals;
    let outcome = |((run, phase), (records, quality)): ((Option<PhaseRun>, &PhaseTrack), (Accumulator, Quality))| {
        let (run, index) = (run?, usize::from(phase.id.index));
        Some(PhaseOutcome {
            id: phase.id.clone(),
            start: anchor.wall(run.start),
            sent_end: anchor.wall(run.sent_end),
            last_sent: anchor.wall(run.last_sent),
            end: anchor.wall(run.end),
            counts: queue.with_failures(index, run.counts),
            // All other requests that came back have a record that counts.
            cut_off: queue.arrived(index).saturating_sub(records.records() + lost[index]),
            never_left: queue.never_left(index),
            was_stopped: run.how.stopped,
            quality,
            until: reached(phase, samples, run.how.enough),
            records,
        })
    };
    runs.into_iter().zip(phases).zip(records.into_iter().zip(quality)).filter_map(outcome).collect()
}

/// What the looks at a phase found.
fn reached(phase: &PhaseTrack, samples: Option<&[Sample]>, ended: bool) -> Option<Reached> {
    let sample = samples.filter(|_| phase.id.kind == PhaseKind::Profiling)?.get(usize::from(phase.id.index))?;
    Some(sample.reached(ended))
}

/// The totals of all threads, and how many threads panicked before they could return theirs.
fn collect(first: RecordTotals, record_threads: Vec<JoinHandle<RecordTotals>>) -> (RecordTotals, usize) {
    record_threads.into_iter().fold((first, 0), |(all, dead), thread| match thread.join() {
        Ok(part) => (all.merge(part), dead),
        Err(_) => (all, dead + 1),
    })
}

#[cfg(test)]
mod tests;
