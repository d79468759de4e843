//! The network's round trip: known or measured, and latencies without it.

use crate::bench::{Bench, Run, avg, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, getsockname, listen, socket};
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

const FILE: &str = "profile_export_network_latency.jsonl";
const ADJUSTED: [&str; 3] = ["request_latency", "time_to_first_token", "time_to_first_output_token"];
const AUTOMATIC: &str = "--network-latency-automatic";

fn few(url: &str) -> Bench {
    Bench::of(url).with(&["--streaming", "--request-count", "6", "--concurrency", "2"])
}

fn good(run: Run) -> Run {
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

fn samples(run: &Run) -> Vec<Value> {
    run.text(FILE).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn rtts(samples: &[Value]) -> Vec<f64> {
    samples.iter().filter_map(|sample| sample["rtt_ns"].as_f64()).collect()
}

/// Whether a latency is in the summary twice: as measured, and minus a round trip in milliseconds.
fn is_less(summary: &Value, base: &str, rtt_ms: f64) {
    let (raw, less) = (&summary[base], &summary[format!("network_adjusted_{base}")]);
    for stat in ["avg", "min", "max", "p50"] {
        let (raw, less) = (raw[stat].as_f64().unwrap(), less[stat].as_f64().unwrap());
        assert!((raw - rtt_ms - less).abs() < 1e-6, "{stat} of {base}: {raw} less {rtt_ms} is not {less}");
    }
    assert!(less["count"].is_null() && less["std"].is_f64() && less["unit"] == "ms", "{less}");
}

#[test]
fn the_measured_round_trip_is_subtracted_in_every_file_and_every_sample_is_a_line() {
    let sim = serve(quick());
    let url = sim.url();
    let run = good(few(&url).with(&[AUTOMATIC, "--warmup-request-count", "2", "--slice-duration", "60"]).run());
    let samples = samples(&run);
    assert!(samples.len() >= 5, "{samples:?}");
    let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
    for sample in &samples {
        let members = sample.as_object().unwrap();
        let keys: Vec<&str> = members.keys().map(String::as_str).collect();
        let wanted = ["timestamp_ns", "target_url", "target_host", "target_port", "probe_type", "rtt_ns", "success"];
        assert_eq!(keys, [&wanted[..], &["connect_ns"]].concat());
        assert_eq!((&sample["target_url"], &sample["target_port"]), (&json!(url), &json!(port)));
        assert_eq!((&sample["target_host"], &sample["probe_type"]), (&json!("127.0.0.1"), &json!("tcp_connect")));
        assert!(sample["success"] == true && sample["rtt_ns"].as_u64() > Some(0), "{sample}");
    }
    let rtts = rtts(&samples);
    let mean_ms = rtts.iter().sum::<f64>() / rtts.len() as f64 / 1e6;
    let summary = run.summary();
    assert!((avg(&summary, "network_rtt") - mean_ms).abs() < 1e-9);
    assert_eq!(
        (&summary["network_rtt"]["p99"], &summary["network_rtt"]["std"]),
        (&summary["network_rtt"]["avg"], &json!(0.0))
    );
    let slices: Value = serde_json::from_str(&run.text("profile_export_aiperf_timeslices.json")).unwrap();
    let phase = |name: &str| -> Value {
        serde_json::from_str(&run.text(&format!("phases/{name}/profile_export_aiperf.json"))).unwrap()
    };
    for summary in
        [&summary, &summary["warmup_metrics"], &slices["timeslices"][0], &phase("warmup"), &phase("profiling")]
    {
        ADJUSTED.iter().for_each(|base| is_less(summary, base, mean_ms));
    }
    let csv = run.text("profile_export_aiperf.csv");
    for header in
        ["Network RTT (ms)", "Network-Adjusted Request Latency (ms)", "Network-Adjusted Time to First Token (ms)"]
    {
        assert!(csv.contains(header), "{csv}");
    }
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("Network RTT") && console.contains("Network-Adjusted"), "{console}");
    assert!(run.stdout().contains(FILE), "the footer lists it: {}", run.stdout());
    assert!(run.text("logs/aiperf.log").contains("Network latency of 127.0.0.1"));
    assert!(run.records().iter().all(|record| record["metrics"]["network_adjusted_request_latency"].is_null()));
}

#[test]
fn servers_are_probed_at_an_interval_from_the_first_phase_on() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let args = ["--streaming", "--request-count", "4", "--concurrency", "1", "--warmup-request-count", "4"];
    let run = good(
        Bench::of(&sim.url())
            .with(&args)
            .with(&[AUTOMATIC, "--network-latency-ping-interval", "0.05", "--profile-export-prefix", "mine.json"])
            .run(),
    );
    let text = run.text("mine_network_latency.jsonl");
    let instants: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["timestamp_ns"].as_u64().unwrap())
        .collect();
    // Eight requests of 140 ms, one after the other: there is time for many probes.
    assert!(instants.len() >= 8, "{text}");
    let manifest: Value = serde_json::from_str(&run.text("phase_manifest.json")).unwrap();
    assert!(instants[0] < manifest["phases"][1]["start_time_ns"].as_u64().unwrap_or(u64::MAX), "{manifest}");
}

#[test]
fn a_given_mean_is_subtracted_and_no_server_is_probed() {
    let sim = serve(quick());
    let run = good(few(&sim.url()).with(&["--network-latency-mean", "1.8"]).run());
    let summary = run.summary();
    ADJUSTED.iter().for_each(|base| is_less(&summary, base, 1.8));
    assert_eq!(avg(&summary, "network_rtt"), 1.8);
    assert!(!run.path(FILE).exists());
    let none = good(few(&sim.url()).with(&["--network-latency-mean", "0"]).run());
    assert!(none.summary()["network_rtt"].is_null());
    assert!(none.stderr().contains("subtracts nothing"), "{}", none.stderr());
}

#[test]
fn without_the_option_nothing_is_measured_and_an_earlier_file_is_removed() {
    let sim = serve(quick());
    let earlier = good(few(&sim.url()).with(&[AUTOMATIC]).run());
    let run = good(few(&sim.url()).in_place_of(earlier).run());
    assert!(!run.path(FILE).exists());
    assert!(run.summary()["network_rtt"].is_null());
}

#[test]
fn contradictions_are_refused_before_anything_is_sent() {
    for (args, words) in [
        (&[AUTOMATIC, "--network-latency-mean", "1"][..], "exclude each other"),
        (&["--network-latency-ping-interval", "1"], "needs --network-latency-automatic"),
        (&[AUTOMATIC, "--network-latency-ping-interval", "0"], "must be more than 0"),
        (&["--network-latency-mean", "nan"], "--network-latency-mean"),
    ] {
        let run = few("127.0.0.1:1").with(args).run();
        assert_eq!(run.code(), Some(2), "{args:?}: {}", run.stderr());
        assert!(run.stderr().contains(words), "{args:?}: {}", run.stderr());
        assert!(!run.path("").exists());
    }
}

/// A port without a listener.
fn closed() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

#[test]
fn without_a_reachable_server_there_is_one_warning_and_no_metrics() {
    let dir = tempfile::TempDir::new().unwrap();
    let socket = dir.path().join("socket");
    let _sim = serve(SimConfig { unix_socket: Some(socket.clone()), ..quick() });
    // The only request goes to the first server, which is not on a network.
    let run = Bench::of(&format!("unix://{}", socket.display()))
        .with(&["--url", &closed(), "--streaming", "--request-count", "1", "--concurrency", "1", AUTOMATIC])
        .run();
    let run = good(run);
    assert!(run.summary()["network_rtt"].is_null());
    let samples = samples(&run);
    assert!(samples.len() >= 10 && rtts(&samples).is_empty(), "{samples:?}");
    let error = json!({"type": "ConnectionRefusedError", "message": "connection refused"});
    assert!(samples.iter().all(|sample| sample["success"] == false && sample["error"] == error), "{samples:?}");
    let log = run.text("logs/aiperf.log");
    assert_eq!(log.matches("Network latency is not known").count(), 1, "{log}");
}

/// A server whose queue of connections is full: a new connection waits.
struct Deaf {
    address: String,
    _listener: OwnedFd,
    _queue: Vec<TcpStream>,
}

fn deaf() -> Deaf {
    let listener = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(listener.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    listen(&listener, Backlog::new(0).unwrap()).unwrap();
    let port = getsockname::<SockaddrIn>(listener.as_raw_fd()).unwrap().port();
    let address = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(200));
    // A queue of length zero holds one or two.
    let queue = std::iter::from_fn(|| connect().ok()).take(64).collect();
    Deaf { address: format!("http://{address}"), _listener: listener, _queue: queue }
}

#[test]
fn a_server_that_hangs_delays_neither_the_run_nor_another_server() {
    let (sim, deaf) = (serve(quick()), deaf());
    // The only request goes to the first server.
    let run = Bench::of(&sim.url())
        .with(&["--url", &deaf.address, "--streaming", "--request-count", "1", "--concurrency", "1", AUTOMATIC])
        .env("AIPERF_NETWORK_LATENCY_CONNECT_TIMEOUT", "300")
        .env("AIPERF_NETWORK_LATENCY_COMPLETE_TOPUP_TIMEOUT", "2")
        .start()
        .finish_soon();
    let run = good(run);
    let samples = samples(&run);
    let of = |url: &str| samples.iter().filter(|sample| sample["target_url"] == url).cloned().collect::<Vec<_>>();
    assert_eq!(rtts(&of(&sim.url())).len(), 5, "{samples:?}");
    let hung = of(&deaf.address);
    assert!(!hung.is_empty() && hung.iter().all(|sample| sample["error"]["type"] == "TimeoutError"), "{hung:?}");
    ADJUSTED.iter().for_each(|base| is_less(&run.summary(), base, avg(&run.summary(), "network_rtt")));
    let log = run.text("logs/aiperf.log");
    assert_eq!(log.matches("Network latency is that of the other servers alone").count(), 1, "{log}");
}

#[test]
fn after_a_cancel_only_measured_samples_count() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let running = Bench::of(&sim.url())
        .with(&["--streaming", "--concurrency", "2", "--request-count", "5000", "--num-dataset-entries", "2"])
        .with(&[AUTOMATIC, "--network-latency-ping-interval", "3600"])
        .start();
    running.wait_for_records(2);
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(130), "{}", run.stderr());
    let samples = samples(&run);
    assert_eq!(samples.len(), 1, "{samples:?}");
    let (reported, sampled) = (avg(&run.summary(), "network_rtt"), rtts(&samples)[0] / 1e6);
    assert!((reported - sampled).abs() < 1e-9, "{reported} and {sampled}");
}

#[test]
fn a_file_that_cannot_be_written_is_reported_and_the_run_has_its_metrics() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let running = Bench::of(&sim.url())
        .with(&["--streaming", "--concurrency", "2", "--request-count", "40", "--num-dataset-entries", "2"])
        .with(&[AUTOMATIC, "--network-latency-ping-interval", "0.05"])
        .start();
    running.wait_for_records(2);
    std::fs::remove_file(running.dir.path().join("out").join(FILE)).unwrap();
    let run = running.finish_soon();
    let log = run.text("logs/aiperf.log");
    assert_eq!(log.matches("network latency: its file takes no more samples").count(), 1, "{log}");
    assert!(avg(&run.summary(), "network_rtt") > 0.0);
    assert!(run.text(".aiperf_results_ready.json").contains("\"failed_exporters\":[\"network_latency_jsonl\"]"));
}

#[test]
fn every_command_of_the_documentation_of_network_latency_runs() {
    let page = include_str!("../../../../../docs/telemetry.md");
    let sim = serve(quick());
    let commands: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("    aiperf profile ... "))
        .filter(|line| line.contains("network"))
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let args: Vec<&str> = command.split('#').next().unwrap().split_whitespace().collect();
        let run = good(few(&sim.url()).with(&args).run());
        assert!(avg(&run.summary(), "network_rtt") > 0.0, "{command}");
    }
}
