//! The round trip to servers: golden data of probe results, and probing over real sockets.

use crate::support;

use aiperf_golden::kinds::endpoints::NETWORK_PROBES;
use aiperf_observe::network::{ProbeError, RoundTrip, RoundTrips};
use aiperf_observe::{Announce, NetworkSummary, ProbeSample, ProbeSetup, Probed, Prober};
use aiperf_plan::{ProbePlan, ProbeTarget};
use aiperf_transport::{AddressChoice, clock};
use aiperf_types::{
    LogLevel, MonoNs, Nanos, PhaseId, PhaseKind, PhaseMoment, PhaseProgress, PhaseStarted, PhaseTargets, RunEvent,
    WallNs,
};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use support::assert_same;

fn sample(case: &Value) -> ProbeSample {
    let target = ProbeTarget {
        url: case["target_url"].as_str().unwrap().to_owned(),
        host: case["target_host"].as_str().unwrap().to_owned(),
        port: u16::try_from(case["target_port"].as_u64().unwrap()).unwrap(),
    };
    let failed = || ProbeError { kind: "TimeoutError", message: "TimeoutError()".into() };
    let rtt = case["rtt_ns"].as_u64().map(Nanos);
    let outcome = rtt.map(|rtt| RoundTrip { rtt, connect: rtt }).ok_or_else(failed);
    ProbeSample { target: Arc::new(target), at: WallNs(1), outcome }
}

/// As the reference lists it, with its own divisor of the deviation.
fn stats_json(round_trips: &RoundTrips) -> Value {
    let times = round_trips.times;
    let n = round_trips.succeeded as f64;
    json!({
        "count": round_trips.count(),
        "success_count": round_trips.succeeded,
        "failure_count": round_trips.failed,
        "min_ns": times.map(|times| times.min),
        "mean_ns": times.map(|times| times.mean),
        "median_ns": times.map(|times| times.median),
        "p90_ns": times.map(|times| times.p90),
        "p99_ns": times.map(|times| times.p99),
        "stddev_ns": times.map(|times| times.deviation * ((n - 1.0) / n).sqrt()),
    })
}

#[test]
fn golden_probes() {
    NETWORK_PROBES.run(
        |_| None,
        |case| {
            let summary = NetworkSummary::of(case["samples"].as_array().unwrap().iter().map(sample));
            let mut ours = stats_json(&summary.all);
            ours["target_summaries"] = json!({});
            for target in &summary.targets {
                let key = target.target.address();
                ours["target_summaries"][&key] = stats_json(&target.round_trips);
                ours["target_summaries"][&key]["target_url"] = target.target.url.clone().into();
                ours["target_summaries"][&key]["target_host"] = target.target.host.clone().into();
                ours["target_summaries"][&key]["target_port"] = target.target.port.into();
            }
            let errors: Vec<Value> = summary
                .errors
                .iter()
                .map(|errors| json!([errors.error.kind, errors.error.message, errors.count]))
                .collect();
            let mut wanted = case["expected"].clone();
            let wanted_errors: Vec<Value> = wanted["error_summary"]
                .as_array()
                .unwrap()
                .iter()
                .map(|error| json!([error["error_details"]["type"], error["error_details"]["message"], error["count"]]))
                .collect();
            assert_eq!(errors, wanted_errors);
            let members = wanted.as_object_mut().unwrap();
            members.retain(|key, _| key != "error_summary" && key != "benchmark_id");
            [&mut ours, &mut wanted].into_iter().for_each(Value::sort_all_objects);
            assert_same(&ours, &wanted);
        },
    );
}

/// What was logged and written.
#[derive(Clone, Default)]
struct Heard {
    logged: Arc<Mutex<Vec<(LogLevel, String)>>>,
    written: Arc<Mutex<Vec<u8>>>,
    is_full: bool,
}

impl Announce for Heard {
    fn say(&self, level: LogLevel, text: String) {
        self.logged.lock().unwrap().push((level, text));
    }

    fn emit(&self, _: RunEvent) {}
}

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_full {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.written.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Heard {
    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.written.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }
}

fn target(host: &str, port: u16) -> ProbeTarget {
    ProbeTarget { url: format!("http://{host}:{port}"), host: host.into(), port }
}

/// A server that takes connections.
fn server() -> (TcpListener, ProbeTarget) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, target("127.0.0.1", port))
}

/// A port without a listener.
fn closed_port() -> ProbeTarget {
    server().1
}

/// Probing at a beat so slow that only its first probe falls into a run of one phase.
fn prober(targets: Vec<ProbeTarget>, heard: &Heard) -> Prober {
    let setup = ProbeSetup {
        plan: ProbePlan {
            targets,
            interval: Nanos::from_millis(3_600_000),
            timeout: Nanos::from_millis(60_000),
            min_samples: 5,
            top_up_timeout: Nanos::from_millis(60_000),
        },
        addresses: AddressChoice::V4,
        anchor: clock::anchor(),
        phases: 1,
        announce: Arc::new(heard.clone()),
        encode: |out, sample| writeln!(out, "{} {}", sample.target.address(), sample.outcome.is_ok()).unwrap(),
        file: Box::new(heard.clone()),
    };
    Prober::start(setup).unwrap()
}

fn phase() -> Arc<PhaseId> {
    Arc::new(PhaseId { index: 0, profiling_index: None, name: "warmup".into(), kind: PhaseKind::Warmup })
}

fn started() -> RunEvent {
    let (load, target) = ("".into(), "".into());
    let started = PhaseStarted { phase: phase(), at: MonoNs(1), targets: PhaseTargets::default(), load, target };
    RunEvent::PhaseStarted(Arc::new(started))
}

fn requests_done() -> RunEvent {
    RunEvent::RequestsDone(PhaseMoment { phase: phase(), at: MonoNs(2), counts: PhaseProgress::default() })
}

fn finished(prober: Prober) -> Probed {
    prober.finish(|| false).unwrap()
}

#[test]
fn a_probe_comes_with_the_first_phase_and_the_rest_at_the_end() {
    let heard = Heard::default();
    let (listener, target) = server();
    let prober = prober(vec![target.clone()], &heard);
    let listen = prober.listener();
    listen(&started());
    // Until the first probe has come, nothing is over.
    let (_first, _): (TcpStream, _) = listener.accept().unwrap();
    listen(&requests_done());
    let Probed { summary, file_failure } = finished(prober);
    assert_eq!((summary.all.succeeded, summary.all.failed, summary.targets.len()), (5, 0, 1));
    assert!(summary.all.times.unwrap().mean > 0.0 && file_failure.is_none());
    assert_eq!(heard.lines(), vec![format!("{} true", target.address()); 5]);
    assert!(heard.logged.lock().unwrap().is_empty());
}

#[test]
fn no_server_is_probed_before_a_phase_and_after_a_stop_request() {
    let heard = Heard::default();
    let (_listener, target) = server();
    let prober = prober(vec![target], &heard);
    let Probed { summary, .. } = prober.finish(|| true).unwrap();
    assert_eq!((summary.all, heard.lines().len()), (RoundTrips::default(), 0));
}

#[test]
fn a_server_that_refuses_fails_ten_times_and_takes_nothing_from_another() {
    let heard = Heard::default();
    let ((_listener, there), gone) = (server(), closed_port());
    let Probed { summary, .. } = finished(prober(vec![gone.clone(), there.clone()], &heard));
    let of = |target: &ProbeTarget| {
        let found = summary.targets.iter().find(|summary| *summary.target == *target).unwrap();
        (found.round_trips.succeeded, found.round_trips.failed)
    };
    assert_eq!((of(&gone), of(&there)), ((0, 10), (5, 0)));
    let error = &summary.errors[0];
    assert_eq!(
        (error.error.kind, &*error.error.message, error.count),
        ("ConnectionRefusedError", "connection refused", 10)
    );
}

#[test]
fn a_name_without_an_address_is_a_failed_probe() {
    let heard = Heard::default();
    let Probed { summary, .. } = finished(prober(vec![target("no-such-host.invalid", 80)], &heard));
    assert_eq!((summary.all.succeeded, summary.all.failed), (0, 10));
    assert_eq!(summary.errors[0].error.kind, "gaierror");
}

#[test]
fn a_full_disk_is_one_warning_and_probing_goes_on() {
    let heard = Heard { is_full: true, ..Heard::default() };
    let (_listener, target) = server();
    let Probed { summary, file_failure } = finished(prober(vec![target], &heard));
    assert_eq!(summary.all.succeeded, 5);
    assert_eq!(file_failure.unwrap().kind(), io::ErrorKind::StorageFull);
    let logged = heard.logged.lock().unwrap();
    assert!(
        logged.len() == 1 && logged[0].0 == LogLevel::Warning && logged[0].1.contains("takes no more samples"),
        "{logged:?}"
    );
}

#[test]
fn probing_ends_when_its_owner_drops_it() {
    let heard = Heard::default();
    let prober = prober(vec![closed_port()], &heard);
    let listen = prober.listener();
    drop(prober);
    // The thread lets go of what it announces to.
    while Arc::strong_count(&heard.written) > 1 {
        std::thread::yield_now();
    }
    listen(&started());
}
