//! Consumers are closed whatever happens to the run.

use aiperf_campaign::consumers::{CONSUMERS, Consumer, Degraded, LiveApi, RunContext};
use aiperf_campaign::{Campaign, CampaignError, WrittenRun};
use aiperf_engine::{Events, Stop};
use aiperf_plan::{ArtifactPlan, FileNames, MetricsUrl, OtlpPlan, Plan, StopWhen};
use aiperf_report::{ExportFailure, RunResult};
use aiperf_types::{Nanos, RunEvent};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Panics in the summary of the run. Reports that it was closed, and whether with results.
struct Panicking(Sender<bool>);

impl Consumer for Panicking {
    fn summary(&mut self, _run: &RunContext, _result: &mut RunResult) -> Result<Option<ExportFailure>, Degraded> {
        panic!("on purpose")
    }

    fn close(self: Box<Self>, _run: &RunContext, finished: Option<&WrittenRun>) -> Result<(), Degraded> {
        self.0.send(finished.is_some()).unwrap();
        Ok(())
    }
}

struct PanickingApi(Mutex<Sender<bool>>);

impl LiveApi for PanickingApi {
    fn follow(&self, _plan: &Plan) -> Box<dyn Consumer> {
        Box::new(Panicking(self.0.lock().unwrap().clone()))
    }
}

/// Responds to every request with an empty body. Returns its address, and the path of each request.
fn server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (paths, asked) = channel();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| respond(stream, &paths)));
    (address, asked)
}

fn respond(mut stream: TcpStream, paths: &Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let head: Vec<String> = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let length = head.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let _ = reader.read_exact(&mut vec![0; length.unwrap_or(0)]);
    let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let _ = paths.send(path.to_owned());
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

fn otlp(url: &str) -> OtlpPlan {
    OtlpPlan {
        url: MetricsUrl::parse(url).unwrap(),
        metrics: true,
        timing: true,
        usual_attributes: Vec::new(),
        attributes: Vec::new(),
        provider: "p".to_owned(),
        headers: Vec::new(),
        gzip: false,
        ca_file: None,
        identity: None,
        // Only the last export is left.
        every: Nanos::from_millis(3_600_000),
        timeout: Nanos::from_millis(5_000),
    }
}

#[test]
fn a_run_that_panics_is_an_error_and_its_consumers_are_closed() {
    let directory = tempfile::tempdir().unwrap();
    let ((address, _), (receiver, exports)) = (server(), server());
    let mut plan = aiperf_testkit::plan::plan(&address);
    plan.artifacts.dir = directory.path().join("run");
    plan.tokenizer.name = Some("builtin".into());
    plan.otlp = Some(otlp(&format!("{receiver}/v1/metrics")));
    let (closed, was_closed) = channel();
    let mut campaign = Campaign::new("1", Stop::default(), Arc::default());
    campaign.serve_with(Arc::new(PanickingApi(Mutex::new(closed))));
    let prepared = campaign.prepare(plan).unwrap();
    let error = CampaignError::catch(|| campaign.run(prepared)).err().unwrap();
    assert!(matches!(error, CampaignError::Panicked) && !error.is_input(), "{error}");
    assert_eq!(was_closed.try_iter().collect::<Vec<bool>>(), [false]);
    assert_eq!(exports.try_iter().collect::<Vec<String>>(), ["/v1/metrics"]);
}

/// Panics on the thread that sends, when the last request was sent.
struct PanickingObserver;

impl Consumer for PanickingObserver {
    fn snapshot(&mut self, _run: &RunContext, events: &mut Events) {
        *events =
            events.observed_by(Arc::new(|event| assert!(!matches!(event, RunEvent::SendingComplete(_)), "on purpose")));
    }
}

impl LiveApi for PanickingObserver {
    fn follow(&self, _plan: &Plan) -> Box<dyn Consumer> {
        Box::new(Self)
    }
}

#[test]
fn a_run_whose_sending_panics_fails_with_a_message_and_keeps_its_records() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = aiperf_testkit::plan::plan(&server().0);
    plan.artifacts = ArtifactPlan::new(directory.path().join("run"), FileNames::new(None));
    plan.tokenizer.name = Some("builtin".into());
    plan.phases[0].concurrency = Some(2);
    plan.phases[0].stop = vec![StopWhen::Requests(20)];
    let mut campaign = Campaign::new("1", Stop::default(), Arc::default());
    campaign.serve_with(Arc::new(PanickingObserver));
    let prepared = campaign.prepare(plan).unwrap();
    let error = CampaignError::catch(|| campaign.run(prepared)).err().unwrap();
    assert!(error.to_string().starts_with("an internal thread failed: "), "{error}");
    assert!(!error.is_input(), "requests were sent");
    let records = std::fs::read_to_string(directory.path().join("run/profile_export.jsonl")).unwrap();
    // Only those in flight are lost.
    assert!(records.lines().count() >= 18 && records.ends_with('\n'), "{records}");
    assert!(records.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{records}");
    assert!(!directory.path().join("run/profile_export_aiperf.json").exists(), "no results of a part of the run");
}

#[test]
fn a_run_that_lost_records_has_failed_in_part() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = aiperf_testkit::plan::plan(&server().0);
    plan.artifacts.dir = directory.path().join("run");
    plan.tokenizer.name = Some("builtin".into());
    let campaign = Campaign::new("1", Stop::default(), Arc::default());
    let mut finished = campaign.run(campaign.prepare(plan).unwrap()).unwrap();
    // The server's responses are empty.
    finished.nothing_answered = false;
    assert!(!finished.is_partial() && !finished.has_failed());
    finished.result.has_lost_records = true;
    assert!(finished.is_partial() && finished.has_failed());
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = CONSUMERS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), CONSUMERS.len());
    for kind in CONSUMERS {
        assert!(!kind.lost.ends_with(['.', ':']), "{}: a reason follows", kind.name);
    }
}
