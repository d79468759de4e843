mod panics;
mod phases;

use super::*;
use crate::events::{Interest, Observer, Subscription};
use crate::part::RunPart;
use crate::testing::{Shown, json, plan, serve};
use aiperf_dataset::{Dataset, Making};
use aiperf_metrics::{Limits, RecordEncoder, RecordView, RunTraits, Summary, Window};
use aiperf_plan::{Arrival, ArrivalLaw, EndpointPlan, RatePlan, StopWhen};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{EndpointKind, Nanos, RawResponse, RunEvent};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

const HELLO: &str = r#"{"choices":[{"message":{"content":"hello"}}]}"#;

/// Sends so many requests to a local server.
fn plan_of(port: u16, requests: u64) -> Plan {
    let mut plan = plan(&format!("http://127.0.0.1:{port}"));
    plan.phases[0].concurrency = Some(4);
    plan.phases[0].stop = vec![StopWhen::Requests(requests)];
    plan
}

/// Stops a run that hangs, so that the test can fail with a message.
fn end_if_hung(stop: &Stop) {
    let stop = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(60));
        stop.stop();
    });
}

/// The surroundings of a test run.
#[derive(Default)]
struct Around {
    stop: Stop,
    hooks: Option<Box<dyn PhaseHooks>>,
    interest: Interest,
    sinks: Vec<RecordSink>,
    observer: Option<Observer>,
}

/// Runs a plan whose requests are changed before they are sent.
fn run_with(plan: Plan, change: impl FnOnce(Requests) -> Requests) -> EngineOutcome {
    run_changed(plan, change, Around::default()).0
}

/// As `run_with`, with the events of the run.
fn run_changed(
    plan: Plan,
    change: impl FnOnce(Requests) -> Requests,
    around: Around,
) -> (EngineOutcome, Vec<RunEvent>) {
    let (outcome, events) = try_run(plan, change, around);
    let mut outcome = outcome.unwrap();
    outcome.hooks.take().into_iter().for_each(HookThread::finish);
    (outcome, events)
}

/// As `run_changed`, for a run that may fail.
fn try_run(
    plan: Plan,
    change: impl FnOnce(Requests) -> Requests,
    around: Around,
) -> (Result<EngineOutcome, EngineError>, Vec<RunEvent>) {
    let plan = Arc::new(plan);
    let tokenizer = Tokenizer::builtin();
    let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &tokenizer)).unwrap());
    let requests = Arc::new(change(Requests::new(plan.clone(), dataset, "1").unwrap()));
    let anchor = aiperf_transport::clock::anchor();
    let mut events = Events::new(anchor);
    let heard: Subscription = events.subscribe(around.interest);
    let observed = around.observer.map(|observer| events.observed_by(observer));
    let events = observed.unwrap_or(events);
    end_if_hung(&around.stop);
    let outcome = run(Setup {
        plan: plan.clone(),
        anchor,
        requests,
        tokenizers: Some(tokenizer.into()),
        metrics: metrics(&plan),
        redactor: Arc::default(),
        sinks: around.sinks,
        stop: around.stop,
        events,
        hooks: around.hooks,
        limits: Limits::default(),
    });
    (outcome, heard.collect())
}

fn metrics(plan: &Plan) -> Arc<Metrics> {
    Arc::new(Metrics::for_run(RunTraits::new(plan.endpoint.kind, plan.endpoint.streaming)))
}

fn summary(plan: &Plan, outcome: &EngineOutcome) -> Summary {
    let phase = &outcome.phases[0];
    let window = Window { start: phase.start, end: phase.end };
    phase.records.summarise(&metrics(plan), window.into())
}

#[test]
fn a_run_that_is_held_back_continues_without_a_listener() {
    let mut plan = plan_of(serve(|_, _| json(HELLO)), 40);
    // A budget of zero: every finished exchange exceeds it.
    plan.runtime.record_queue_budget = 0;
    let outcome = run_with(plan, |requests| requests);
    assert!(outcome.conduct.holds > 0, "a budget of zero holds dispatch back");
    assert!(!outcome.was_stopped, "the hold was never released");
    assert_eq!(outcome.phases[0].records.records(), 40);
}

#[test]
fn a_run_that_is_sent_as_a_part_keeps_its_results() {
    let plan = plan_of(serve(|_, _| json(HELLO)), 40);
    let outcome = run_with(plan.clone(), |requests| requests);
    let (before, counts, quality) = (summary(&plan, &outcome), outcome.phases[0].counts, outcome.quality());
    let bytes = RunPart::of(outcome).unwrap().to_bytes().unwrap();
    let received = RunPart::from_bytes(&bytes).unwrap().into_outcome(&metrics(&plan));
    assert_eq!((received.phases[0].counts, received.quality()), (counts, quality));
    let after = summary(&plan, &received);
    assert_eq!(before.results.len(), after.results.len());
    for (before, after) in before.results.iter().zip(&after.results) {
        assert_eq!(
            (&before.tag, before.stats.count, before.stats.max),
            (&after.tag, after.stats.count, after.stats.max)
        );
    }
}

#[test]
fn responses_that_exceed_the_shared_memory_fail_with_their_own_error_type() {
    let large = format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "a".repeat(3 << 20));
    let mut plan = plan_of(serve(move |_, _| json(&large)), 4);
    plan.endpoint.http.kept_bodies_limit = 1 << 20;
    let outcome = run_with(plan, |requests| requests);
    let errors = outcome.phases[0].records.errors();
    let [(error, count)] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((error.kind.as_deref(), *count), (Some("ResponseMemoryExceeded"), 4));
    assert!(error.message.contains("responses in flight hold the 1048576 bytes"), "{error:?}");
    assert_eq!(outcome.quality().no_room, 4);
}

#[test]
fn bytes_held_by_sinks_reduce_the_budget_by_at_most_half() {
    let holding = |holds: usize| {
        let (file, encoder) =
            (Box::new(Shown::default()), Box::new(|| -> Box<dyn RecordEncoder> { Box::new(SaysRaw) }));
        RecordSink { name: "held", path: "held".into(), encoder, file, holds }
    };
    assert_eq!(queue_budget(100, &[]), 100);
    assert_eq!(queue_budget(100, &[holding(10), holding(20)]), 70);
    assert_eq!(queue_budget(100, &[holding(80)]), 50);
}

/// Writes what it gets of each raw exchange.
struct SaysRaw;

impl RecordEncoder for SaysRaw {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        let Some(raw) = record.raw else { return };
        let headers = raw.request_headers.as_ref().map_or(0, Vec::len);
        let is_whole = matches!(raw.response, RawResponse::Body { .. });
        out.extend_from_slice(if headers > 0 && is_whole { b"whole " } else { b"part " });
    }
}

#[test]
fn raw_exchanges_are_kept_if_a_sink_wants_them() {
    for (wanted, text) in [(true, "whole whole whole "), (false, "")] {
        let mut plan = plan_of(serve(|_, _| json(HELLO)), 3);
        plan.artifacts.raw = wanted;
        let shown = Shown::default();
        let sink = RecordSink {
            name: "raw",
            path: "raw".into(),
            encoder: Box::new(|| Box::new(SaysRaw)),
            file: Box::new(shown.clone()),
            holds: 0,
        };
        run_changed(plan, |requests| requests, Around { sinks: vec![sink], ..Around::default() });
        assert_eq!(shown.text(), text);
    }
}

#[test]
fn listeners_get_every_worker_and_the_distribution_of_latencies() {
    let mut plan = plan_of(serve(|_, _| json(HELLO)), 60);
    // Long enough for a few snapshots.
    plan.phases[0].arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(100.0) };
    plan.runtime.workers_max = Some(2);
    let interest = Interest { progress: true, metrics_every: Some(Nanos::from_millis(100)), ..Interest::default() };
    let around = Around { interest, ..Around::default() };
    let (_, events) = run_changed(plan, |requests| requests, around);
    let progress = events.iter().rev().find_map(|event| match event {
        RunEvent::Progress(progress) => Some(progress.clone()),
        _ => None,
    });
    let progress = progress.expect("progress is reported");
    assert!(progress.workers.iter().all(|worker| worker.thread > 0 && worker.failed == 0), "{:?}", progress.workers);
    let completed: u64 = progress.workers.iter().map(|worker| worker.completed).sum();
    // A worker counts a response before it reports it to the conductor.
    assert!((progress.counts.completed..=60).contains(&completed) && completed > 0, "{progress:?}");
    let received: u64 = progress.workers.iter().map(|worker| worker.bytes_received).sum();
    assert!(received >= completed * json(HELLO).len() as u64, "{progress:?}");
    let snapshots = events.iter().filter_map(|event| match event {
        RunEvent::Metrics(snapshot) if snapshot.records > 0 => Some(snapshot),
        _ => None,
    });
    let snapshots: Vec<_> = snapshots.collect();
    assert!(!snapshots.is_empty(), "metrics are reported");
    for snapshot in snapshots {
        let counted: u64 = snapshot.latencies.iter().map(|bucket| bucket.count).sum();
        assert!(counted == snapshot.records && snapshot.latencies.len() <= 256, "{:?}", snapshot.latencies);
        let latency = |name| snapshot.stat("request_latency", name).expect("every metric has this statistic");
        let (first, last) = (snapshot.latencies[0], snapshot.latencies[snapshot.latencies.len() - 1]);
        assert!(first.from <= latency("min") && latency("max") < last.to, "{first:?} {last:?}");
        assert_eq!(latency("count"), counted as f64);
        assert!((latency("sum") - latency("avg") * latency("count")).abs() < 1e-6);
    }
}

/// Writes one letter per record.
struct Letters;

impl RecordEncoder for Letters {
    fn encode(&mut self, _: &RecordView<'_>, out: &mut Vec<u8>) {
        out.push(b'r');
    }
}

/// A file whose first write takes longer than records may wait.
struct Held {
    shown: Shown,
    was_held: bool,
}

impl Write for Held {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.was_held, true) {
            std::thread::sleep(Duration::from_millis(1000));
        }
        self.shown.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_blocks_is_named_and_loses_nothing() {
    let (held, free) = (Shown::default(), Shown::default());
    let sink = |name: &'static str, file: Box<dyn Write + Send>| {
        let encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>> = Box::new(|| Box::new(Letters));
        RecordSink { name, path: name.into(), encoder, file, holds: 0 }
    };
    let blocks = Held { shown: held.clone(), was_held: false };
    let sinks = vec![sink("held", Box::new(blocks)), sink("free", Box::new(free.clone()))];
    let mut plan = plan_of(serve(|_, _| json(HELLO)), 60);
    plan.phases[0].arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(40.0) };
    let (outcome, events) = run_changed(plan, |requests| requests, Around { sinks, ..Around::default() });
    assert_eq!((held.text().len(), free.text().len()), (60, 60));
    let [stall] = &outcome.conduct.sink_stalls[..] else { panic!("{:?}", outcome.conduct.sink_stalls) };
    assert!(stall.path.ends_with("held") && stall.count == 1, "{stall:?}");
    // A machine without a free core explains the wait too, and then it is the larger part.
    assert!(
        matches!(stall.times.cause(), aiperf_metrics::StallCause::Writes | aiperf_metrics::StallCause::NoCore),
        "{stall:?}"
    );
    assert!(outcome.conduct.holds > 0 && outcome.sink_failures.is_empty(), "dispatch was held back");
    let messages: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::Message(message) if message.text.starts_with("held ") => Some(&*message.text),
            _ => None,
        })
        .collect();
    let [lags, caught_up] = messages[..] else { panic!("{messages:?}") };
    assert!(lags.starts_with("held lags behind (the oldest record has waited for "), "{lags}");
    let causes = ["): its writes took ", "): the hypervisor took ", "): its thread waited "];
    assert!(causes.iter().any(|cause| lags.contains(cause)), "{lags}");
    assert!(caught_up.starts_with("held has caught up, after "), "{caught_up}");
}

/// Panics at one record of a run, on whichever thread it is.
struct Breaks;

impl RecordEncoder for Breaks {
    fn encode(&mut self, record: &RecordView<'_>, out: &mut Vec<u8>) {
        assert_ne!(record.meta.session_num, 7, "on purpose");
        out.push(b'r');
    }
}

#[test]
fn a_record_that_cannot_be_computed_costs_its_batch_and_is_reported() {
    let shown = Shown::default();
    let encoder: Box<dyn Fn() -> Box<dyn RecordEncoder>> = Box::new(|| Box::new(Breaks));
    let sinks =
        vec![RecordSink { name: "records", path: "records".into(), encoder, file: Box::new(shown.clone()), holds: 0 }];
    let plan = plan_of(serve(|_, _| json(HELLO)), 100);
    let (outcome, _) = run_changed(plan.clone(), |requests| requests, Around { sinks, ..Around::default() });
    let Lost { records: lost, record_threads } = outcome.lost;
    assert!((1..=16).contains(&lost) && record_threads == 0, "{:?}", outcome.lost);
    assert_eq!((summary(&plan, &outcome).records, outcome.phases[0].cut_off), (100 - lost, 0));
    assert_eq!(shown.text().len() as u64, 100 - lost);
}

#[test]
fn a_thread_that_panics_loses_only_its_own_records() {
    let nothing = || RecordTotals { phases: Vec::new(), quality: Vec::new(), histograms: None, lost: vec![1] };
    let dies = std::thread::spawn(|| panic!("on purpose"));
    let (totals, dead) = collect(nothing(), vec![dies, std::thread::spawn(nothing)]);
    assert_eq!((totals.lost, dead), (vec![2], 1));
}

#[test]
fn requests_that_cannot_be_built_have_records_that_name_their_conversation() {
    let plan = plan_of(serve(|_, _| json(HELLO)), 20);
    let outcome = run_with(plan.clone(), Requests::refusing);
    let summary = summary(&plan, &outcome);
    assert_eq!((summary.records, summary.failed), (20, 20));
    let errors = outcome.phases[0].records.errors();
    let [(error, count)] = &errors[..] else { panic!("{errors:?}") };
    assert_eq!((error.kind.as_deref(), *count), (Some("ValueError"), 20));
    assert!(error.message.contains("conversation session_000000: the chat endpoint needs patience"), "{error:?}");
    assert!(!outcome.was_stopped);
}

#[test]
fn a_video_is_one_record_of_several_legs() {
    let seen = AtomicUsize::new(0);
    let port = serve(move |_, request| match request.split(' ').next() {
        Some("POST") => json(r#"{"id":"v","status":"queued"}"#),
        _ if seen.fetch_add(1, Relaxed).is_multiple_of(2) => json(r#"{"id":"v","status":"in_progress"}"#),
        _ => json(r#"{"id":"v","status":"completed","inference_time_s":2.0,"peak_memory_mb":7.5}"#),
    });
    let mut plan = plan_of(port, 3);
    plan.phases[0].concurrency = Some(1);
    plan.endpoint = EndpointPlan::new(EndpointKind::VideoGeneration, plan.endpoint.urls);
    plan.endpoint.video.poll_interval = aiperf_types::Nanos(1_000_000);
    let outcome = run_with(plan.clone(), |requests| requests);
    let summary = summary(&plan, &outcome);
    assert_eq!((summary.records, summary.failed), (3, 0), "{:?}", outcome.phases[0].records.errors());
    assert_eq!(summary.avg("video_peak_memory"), Some(7.5));
    assert_eq!(summary.avg("video_inference_time"), Some(2000.0));
    assert!(summary.get("output_sequence_length").is_none() && summary.get("input_sequence_length").is_some());
}

#[test]
fn histograms_of_many_threads_are_sent_without_record_processors_and_a_message_reports_it() {
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    let warnings = |workers, more_workers, record_threads| {
        let mut events = Events::new(WallAnchor::default());
        let heard = events.subscribe(Interest::default());
        instruments(&metrics, Sizing { workers, more_workers, record_threads, connections: 1 }, 2, &events);
        drop(events);
        heard.filter(|event| matches!(event, RunEvent::Message(_))).count()
    };
    assert_eq!((warnings(4, 0, 7), warnings(1, 3, 8), warnings(32, 0, 32)), (0, 1, 1));
}
