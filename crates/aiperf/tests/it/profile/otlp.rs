//! Metrics sent by OTLP: the received exports, compared with the records of the run.

use crate::bench::{Bench, Run, free_port, quick, serve, wait_until};
use crate::profile::receiver::{Export, Point, Receiver, Reply};
use aiperf_report::otlp::messages::Data;
use aiperf_sim::{Latency, SimConfig};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

const WARNING: &str = "could not be sent by OTLP";

/// A benchmark that exports often to this address.
fn sending(url: &str, to: &str) -> Bench {
    Bench::of(url)
        .with(&["--streaming", "--concurrency", "4", "--otel-url", to])
        .env("AIPERF_OTEL_FLUSH_INTERVAL_SECONDS", "0.1")
}

/// The same over some 40 requests of a slow server, which takes some tenths of a second.
fn slowly(to: &str) -> (aiperf_sim::SimHandle, Bench) {
    let slow = SimConfig { ttft: Latency::constant(Duration::from_millis(30)), ..quick() };
    let sim = serve(slow);
    let bench = sending(&sim.url(), to).with(&["--request-count", "60"]);
    (sim, bench)
}

fn log(run: &Run) -> String {
    run.text("logs/aiperf.log")
}

/// The exported name of a metric of records, its token type if it has one, and the factor from the unit in records.
fn exported(tag: &str, unit: &str) -> (String, Option<&'static str>, f64) {
    let own = |factor| (format!("aiperf.{tag}"), None, factor);
    match (tag, unit) {
        ("request_latency", _) => ("gen_ai.client.operation.duration".to_owned(), None, 1e-3),
        ("time_to_first_token", _) => ("gen_ai.client.operation.time_to_first_chunk".to_owned(), None, 1e-3),
        ("inter_token_latency", _) => ("gen_ai.client.operation.time_per_output_chunk".to_owned(), None, 1e-3),
        ("input_sequence_length", _) => ("gen_ai.client.token.usage".to_owned(), Some("input"), 1.0),
        ("output_token_count", _) => ("gen_ai.client.token.usage".to_owned(), Some("output"), 1.0),
        (_, "ms") => own(1e6),
        (_, "KB") => own(1024.0),
        _ => own(1.0),
    }
}

/// Count and sum over the profiling points that meet a condition.
fn totals(points: &[Point], is_meant: impl Fn(&Point) -> bool) -> (u64, f64) {
    let profiling = points.iter().filter(|point| point.attributes["aiperf.benchmark_phase"] == "profiling");
    profiling
        .filter(|point| is_meant(point))
        .fold((0, 0.0), |(count, sum), point| (count + point.count, sum + point.sum))
}

fn close(one: f64, two: f64) -> bool {
    (one - two).abs() <= 1e-9 * one.abs().max(two.abs()).max(1e-3)
}

/// Records of the profiling phases.
fn profiled(run: &Run) -> Vec<Value> {
    let is_profiling = |record: &Value| record["metadata"]["benchmark_phase"] == "profiling";
    run.records().into_iter().filter(is_profiling).collect()
}

/// Compares the last export with the records, value by value.
fn agrees_with_records(run: &Run, last: &Export) {
    let points = last.points();
    let records = profiled(run);
    let (mut expected, mut failed): (BTreeMap<_, (u64, f64)>, (u64, f64)) = Default::default();
    for record in &records {
        for (tag, metric) in record["metrics"].as_object().unwrap() {
            let (name, token_type, factor) = exported(tag, metric["unit"].as_str().unwrap());
            let values: Vec<f64> = match &metric["value"] {
                Value::Array(values) => values.iter().map(|value| value.as_f64().unwrap()).collect(),
                value => vec![value.as_f64().unwrap()],
            };
            let (count, sum) = expected.entry((name, token_type)).or_default();
            *count += values.len() as u64;
            *sum += values.iter().map(|value| value * factor).sum::<f64>();
        }
        if !record["error"].is_null() {
            let at = |name: &str| record["metadata"][name].as_u64().unwrap();
            failed.0 += 1;
            failed.1 += (at("request_end_ns") - at("request_start_ns")) as f64 / 1e9;
        }
    }
    assert!(expected.len() > 20, "{expected:?}");
    for ((name, token_type), (count, sum)) in &expected {
        let points = points.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let of_type = |point: &Point| {
            point.attributes.get("gen_ai.token.type").map(String::as_str) == *token_type
                && !point.attributes.contains_key("error.type")
        };
        let (ours, total) = totals(points, of_type);
        assert_eq!(ours, *count, "{name} {token_type:?}\n{}", log(run));
        assert!(close(total, *sum), "{name} {token_type:?}: {total}, not {sum}");
    }
    let durations = &points["gen_ai.client.operation.duration"];
    let (count, sum) = totals(durations, |point| point.attributes.contains_key("error.type"));
    assert!(count == failed.0 && close(sum, failed.1), "{count} {sum}, not {failed:?}");
    assert_eq!(totals(durations, |_| true).0, records.len() as u64);
    assert!(points.keys().all(|name| !name.ends_with("_timestamp")), "{:?}", points.keys());
    let starts: std::collections::BTreeSet<u64> = points.values().flatten().map(|point| point.start).collect();
    assert_eq!(starts.len(), 1, "one start");
}

/// No count, bucket or counter ever decreases.
fn never_falls(exports: &[Arc<Export>]) {
    let mut before: BTreeMap<(String, BTreeMap<String, String>), Point> = BTreeMap::new();
    for export in exports {
        for (name, points) in export.points() {
            for point in points {
                let key = (name.clone(), point.attributes.clone());
                if let Some(old) = before.get(&key) {
                    let grew = old.buckets.iter().zip(&point.buckets).all(|(old, new)| old <= new);
                    assert!(grew && old.count <= point.count, "{key:?}: {old:?}, then {point:?}");
                    // A phase is seen to be over some time after its last response: its elapsed time may go down then.
                    let goes_down = name.contains("in_flight") || name.ends_with("elapsed_sec");
                    assert!(goes_down || old.sum <= point.sum, "{key:?}: {old:?}, then {point:?}");
                }
                before.insert(key, point);
            }
        }
    }
}

/// Compares names, units, descriptions and attributes with a run of the reference; bounds are those of section 12 where
/// they differ.
fn is_like_the_captured_run(last: &Export) {
    let capture = include_str!("../../../../golden/data/telemetry/otlp_capture.json");
    let capture: Value = serde_json::from_str(capture).unwrap();
    let (points, mut compared) = (last.points(), 0);
    for theirs in capture["inventory_last"].as_array().unwrap() {
        let name = theirs["name"].as_str().unwrap();
        let decided = name.ends_with("_timestamp") || name == "aiperf.input_sequence_length";
        // Metrics that depend on response lengths, which differ in the simulated server.
        let Some(ours) = last.metrics().iter().find(|metric| metric.name == name).filter(|_| !decided) else {
            continue;
        };
        assert_eq!(
            (&Value::from(ours.unit.as_str()), &Value::from(ours.description.as_str())),
            (&theirs["unit"], &theirs["description"])
        );
        let is_monotonic = matches!(&ours.data, Some(Data::Sum(sum)) if sum.is_monotonic);
        assert_eq!(is_monotonic, theirs["monotonic"].as_bool().unwrap(), "{name}");
        let mut keys: Vec<&str> =
            theirs["attribute_keys"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        keys.sort_unstable();
        for point in &points[name] {
            let own: Vec<&str> =
                point.attributes.keys().map(String::as_str).filter(|key| *key != "error.type").collect();
            assert_eq!(own, keys, "{name}");
        }
        compared += 1;
    }
    assert!(compared >= 35, "{compared} of {}", capture["inventory_last"].as_array().unwrap().len());
}

#[test]
fn exports_agree_with_the_records_and_only_grow() {
    let faulty = SimConfig { faults: vec!["status:500=0.2".parse().unwrap()], ..quick() };
    let sim = serve(faulty);
    let receiver = Receiver::start(|_| Reply::Take);
    let run = sending(&sim.url(), &receiver.address)
        .with(&[
            "--request-count",
            "120",
            "--warmup-request-count",
            "6",
            "--otel-resource-attributes",
            "team=perf,env=ci",
        ])
        .env("OTEL_RESOURCE_ATTRIBUTES", "env=dev,zone=a%20b,service.name=other")
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let taken = receiver.taken();
    assert!(taken.len() >= 2, "{}", taken.len());
    let last = taken.last().unwrap();
    agrees_with_records(&run, last);
    never_falls(&taken);
    is_like_the_captured_run(last);
    let points = last.points();
    let failed = points["gen_ai.client.operation.duration"]
        .iter()
        .filter(|point| point.attributes["aiperf.has_error"] == "true");
    assert!(failed.clone().count() > 0 && failed.clone().all(|point| point.attributes["error.type"] == "http_5xx"));
    let timing = |name: &str, phase: &str| {
        let points = &points[&format!("aiperf.timing.{name}")];
        let point = points.iter().find(|point| point.attributes["aiperf.benchmark_phase"] == phase);
        point.map(|point| point.sum)
    };
    assert_eq!((timing("requests.sent", "warmup"), timing("requests.sent", "profiling")), (Some(6.0), Some(120.0)));
    assert_eq!(timing("requests.completed", "profiling"), Some(120.0));
    let errors = profiled(&run).iter().filter(|record| !record["error"].is_null()).count();
    assert_eq!(timing("requests.errors", "profiling"), Some(errors as f64));
    assert_eq!(timing("requests.in_flight", "profiling"), Some(0.0));
    assert!(timing("phase.elapsed_sec", "profiling").unwrap() > 0.0);
    let requests = &points["aiperf.timing.requests.sent"][1].attributes;
    assert_eq!(requests["aiperf.total_expected_requests"], "120");
    for (key, value) in
        [("gen_ai.operation.name", "chat"), ("gen_ai.provider.name", "_OTHER"), ("gen_ai.request.model", "test-model")]
    {
        assert_eq!(requests[key], value);
        assert_eq!(points["gen_ai.client.token.usage"][0].attributes[key], value);
    }
    assert!(!points["aiperf.request_count"][0].attributes.contains_key("gen_ai.provider.name"));
    let resource = last.resource();
    for (key, value) in [
        ("service.name", "aiperf"),
        ("service.instance.id", "records_manager"),
        ("aiperf.endpoint.type", "chat"),
        ("aiperf.model.name", "test-model"),
        ("team", "perf"),
        ("env", "ci"),
        ("zone", "a b"),
    ] {
        assert_eq!(resource[key], value, "{key}");
    }
    let record = &run.records()[0]["metadata"];
    let workers: Vec<&str> =
        points["aiperf.request_count"].iter().map(|point| point.attributes["aiperf.worker.id"].as_str()).collect();
    assert!(workers.contains(&record["worker_id"].as_str().unwrap()), "{workers:?}");
}

#[test]
fn bodies_are_compressed_and_headers_are_sent_but_never_shown() {
    let receiver = Receiver::start(|_| Reply::Take);
    let (_sim, bench) = slowly(&format!("http://{}/base/", receiver.address));
    let run = bench
        .env("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
        .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=hidden-for-all")
        .env("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "api-key=hidden%2Cvalue-123,x-team=perf-team-7")
        .with(&["-v"])
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let taken = receiver.taken();
    agrees_with_records(&run, taken.last().unwrap());
    for export in &taken {
        let head = &export.head;
        assert!(head.starts_with("POST /base/v1/metrics HTTP/1.1\r\n"), "{head}");
        for line in [
            "Content-Type: application/x-protobuf",
            "Content-Encoding: gzip",
            "api-key: hidden,value-123",
            "x-team: perf-team-7",
        ] {
            assert!(head.lines().any(|known| known == line), "{line}\n{head}");
        }
    }
    for text in [run.stdout(), run.stderr(), log(&run), run.text("profile_export_aiperf.json")] {
        assert!(!text.contains("hidden") && !text.contains("perf-team-7"), "{text}");
    }
}

#[test]
fn a_receiver_that_asks_to_wait_gets_everything_later_and_costs_one_warning() {
    for refusal in
        [Reply::Refuse("429 Too Many Requests", "Retry-After: 0\r\n"), Reply::Refuse("503 Service Unavailable", "")]
    {
        let receiver = Receiver::start(move |number| if number % 2 == 0 { refusal } else { Reply::Take });
        let (_sim, bench) = slowly(&receiver.address);
        let run = bench.run();
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let taken = receiver.taken();
        agrees_with_records(&run, taken.last().unwrap());
        never_falls(&taken);
        assert_eq!(log(&run).matches(WARNING).count(), 1, "{}", log(&run));
    }
}

#[test]
fn a_receiver_that_never_answers_or_is_not_there_costs_one_warning_and_no_run() {
    let hanging = Receiver::start(|_| Reply::Hang);
    let broken = Receiver::start(|_| Reply::Refuse("503 Service Unavailable", ""));
    let unwilling = Receiver::start(|_| Reply::Refuse("404 Not Found", ""));
    // Each is retried for five seconds after its run: all run at once.
    std::thread::scope(|scope| {
        for address in [&hanging.address, &broken.address, &unwilling.address, "127.0.0.1:9"] {
            scope.spawn(move || {
                let (_sim, bench) = slowly(address);
                let run = bench.start().finish_soon();
                assert_eq!(run.code(), Some(0), "{}", run.stderr());
                assert_eq!(run.records().len(), 60);
                assert_eq!(log(&run).matches(WARNING).count(), 1, "{address}: {}", log(&run));
                assert_eq!(run.stdout().matches(WARNING).count(), 1, "{}", run.stdout());
            });
        }
    });
    assert!(hanging.calls() >= 1 && unwilling.calls() > 1);
}

#[test]
fn a_receiver_that_accepts_only_a_part_gives_one_warning() {
    let receiver = Receiver::start(|_| Reply::TakeSome);
    let (_sim, bench) = slowly(&receiver.address);
    let run = bench.run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(log(&run).matches("did not take 3 data points: too many labels").count(), 1, "{}", log(&run));
}

#[test]
fn a_response_that_cannot_be_parsed_gives_one_warning() {
    let receiver = Receiver::start(|_| Reply::Garble);
    let (_sim, bench) = slowly(&receiver.address);
    let run = bench.with(&["-v"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(receiver.calls() > 1);
    let log = log(&run);
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("without an OTLP message")).collect();
    assert_eq!(lines.iter().filter(|line| line.contains("WARNING")).count(), 1, "{log}");
}

#[test]
fn a_signal_interrupts_the_last_export() {
    let receiver = Receiver::start(|_| Reply::Hang);
    let (_sim, bench) = slowly(&receiver.address);
    let running = bench.with(&["-v"]).start();
    let summary = running.dir.path().join("out/profile_export_aiperf.json");
    wait_until("the run does not end", || summary.exists());
    running.signal("INT");
    let run = running.finish_soon();
    assert!(log(&run).contains("a signal interrupted the last export by OTLP"), "{}", log(&run));
    assert_eq!(run.records().len(), 60);
}

#[test]
fn attributes_with_names_of_secrets_are_sent_and_not_shown() {
    let receiver = Receiver::start(|_| Reply::Take);
    let (_sim, bench) = slowly(&receiver.address);
    let attributes = "team=perf,api_key=sk-attr-1234567";
    let run = bench.with(&["--otel-resource-attributes", attributes, "-v"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(receiver.taken().last().unwrap().resource()["api_key"], "sk-attr-1234567");
    let summary = run.text("profile_export_aiperf.json");
    for text in [run.stdout(), run.stderr(), log(&run), summary.clone()] {
        assert!(!text.contains("sk-attr"), "{text}");
    }
    assert!(summary.contains("\"team\": \"perf\"") || summary.contains("\"team\":\"perf\""), "{summary}");
}

#[test]
fn a_receiver_that_recovers_gets_everything() {
    let address = format!("127.0.0.1:{}", free_port());
    let (_sim, bench) = slowly(&address);
    let running = bench.start();
    running.wait_for_records(10);
    let receiver = Receiver::on(TcpListener::bind(address).unwrap(), None, |_| Reply::Take);
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    agrees_with_records(&run, receiver.taken().last().unwrap());
}

#[test]
fn a_stopped_run_exports_all_its_results() {
    let slow = SimConfig { ttft: Latency::constant(Duration::from_millis(20)), ..quick() };
    let sim = serve(slow);
    let receiver = Receiver::start(|_| Reply::Take);
    let running = sending(&sim.url(), &receiver.address).with(&["--benchmark-duration", "60"]).start();
    running.wait_for_records(20);
    running.signal("INT");
    let run = running.finish_soon();
    let taken = receiver.taken();
    let last = taken.last().unwrap();
    agrees_with_records(&run, last);
    never_falls(&taken);
    assert_eq!(last.points()["aiperf.timing.phase.was_cancelled"][0].sum, 1.0);
}

#[test]
fn only_the_selected_metrics_are_exported() {
    let names = |stream: &[&str]| {
        let receiver = Receiver::start(|_| Reply::Take);
        let (_sim, bench) = slowly(&receiver.address);
        let run = bench.with(&[&["--stream"], stream].concat()).with(&["--gen-ai-provider", "vllm"]).run();
        assert_eq!(run.code(), Some(0), "{}", run.stderr());
        let taken = receiver.taken();
        let timing = |name: &String| name.starts_with("aiperf.timing.");
        let points = taken.last().map(|last| last.points()).unwrap_or_default();
        let providers = points.values().flatten().filter_map(|point| point.attributes.get("gen_ai.provider.name"));
        assert!(providers.clone().all(|provider| provider == "vllm"));
        (points.keys().any(|name| !timing(name)), points.keys().any(timing))
    };
    assert_eq!(names(&["metrics"]), (true, false));
    assert_eq!(names(&["timing"]), (false, true));
    assert_eq!(names(&["metrics", "timing"]), (true, true));
    assert_eq!(names(&["none"]), (false, false));
}

#[test]
fn phases_of_one_kind_are_distinguished_by_their_names() {
    let sim = serve(quick());
    let receiver = Receiver::start(|_| Reply::Take);
    let bench = Bench::bare().env("AIPERF_OTEL_FLUSH_INTERVAL_SECONDS", "0.1");
    let file = format!(
        "benchmark:\n  models: [m]\n  endpoint: {{urls: [\"{}\"], type: chat, streaming: true}}\n  tokenizer: {{name: builtin}}\n  \
         gpu_telemetry: {{enabled: false}}\n  server_metrics: {{enabled: false}}\n  otel: {{metrics_url: \"{}\"}}\n  \
         dataset: {{type: synthetic, prompts: {{isl: 16, osl: 4}}}}\n  phases:\n    \
         - {{name: one, kind: profiling, type: concurrency, concurrency: 2, requests: 5}}\n    \
         - {{name: two, kind: profiling, type: concurrency, concurrency: 2, requests: 7}}\n",
        sim.url(),
        receiver.address
    );
    std::fs::write(bench.dir.path().join("run.yaml"), file).unwrap();
    let run = bench.with(&["--config", "run.yaml", "--ui", "none"]).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let points = receiver.taken().last().unwrap().points();
    let of = |name: &str, phase: &str| {
        let points = points[name].iter().filter(|point| point.attributes["aiperf.phase_name"] == phase);
        points.map(|point| point.sum.max(point.count as f64)).sum::<f64>()
    };
    for (phase, requests) in [("one", 5.0), ("two", 7.0)] {
        assert_eq!(of("aiperf.timing.requests.sent", phase), requests);
        assert_eq!(of("aiperf.request_count", phase), requests);
    }
}

#[test]
fn mutual_tls_verifies_the_receiver_and_this_client() {
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        (certificate, key)
    };
    let (server, server_key) = signed("localhost");
    let (client, client_key) = signed("client");
    let mut roots = RootCertStore::empty();
    roots.add(authority_pem.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(server_key.serialize_der()).into();
    let config = config.with_client_cert_verifier(verifier).with_single_cert(vec![server.der().clone()], key).unwrap();
    let receiver = Receiver::on(TcpListener::bind("127.0.0.1:0").unwrap(), Some(Arc::new(config)), |_| Reply::Take);
    let port = receiver.address.rsplit_once(':').unwrap().1.to_owned();
    let (_sim, bench) = slowly(&format!("https://localhost:{port}"));
    for (name, text) in
        [("ca.pem", authority_pem.pem()), ("client.pem", client.pem()), ("client.key", client_key.serialize_pem())]
    {
        std::fs::write(bench.dir.path().join(name), text).unwrap();
    }
    let run = bench
        .env("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem")
        .env("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "client.pem")
        .env("OTEL_EXPORTER_OTLP_CLIENT_KEY", "client.key")
        .run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(!log(&run).contains(WARNING), "{}", log(&run));
    agrees_with_records(&run, receiver.taken().last().unwrap());
}

#[test]
fn files_for_tls_that_cannot_be_used_are_refused_before_anything_is_sent() {
    let sim = serve(quick());
    for (set, message) in [
        (vec![("OTEL_EXPORTER_OTLP_CERTIFICATE", "missing.pem")], "OTEL_EXPORTER_OTLP_CERTIFICATE "),
        (vec![("OTEL_EXPORTER_OTLP_CERTIFICATE", ".")], "is not a file"),
        (
            vec![("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "ca.pem"), ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "ca.pem")],
            "OTEL_EXPORTER_OTLP_CLIENT_KEY ",
        ),
    ] {
        let bench = sending(&sim.url(), "https://localhost:1").with(&["--request-count", "2"]);
        let bench = set.iter().fold(bench, |bench, (name, value)| bench.env(name, value));
        let own = rcgen::generate_simple_self_signed(vec!["x".to_owned()]).unwrap().cert.pem();
        std::fs::write(bench.dir.path().join("ca.pem"), own).unwrap();
        let run = bench.run();
        assert_eq!(run.code(), Some(2), "{}", run.stderr());
        assert!(run.stderr().contains(message) && run.stderr().contains("try: "), "{}", run.stderr());
    }
}

#[test]
fn every_command_of_the_documentation_of_otlp_runs() {
    let page = include_str!("../../../../../docs/telemetry.md");
    let receiver = Receiver::start(|_| Reply::Take);
    let commands: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("    aiperf profile ... "))
        .filter(|line| line.contains("--otel-url"))
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    let sim = serve(quick());
    for command in commands {
        let command = command.split('#').next().unwrap().replace("https://otlp.example.com", "http://localhost:4318");
        let command = command.replace("localhost:4318", &receiver.address);
        let args: Vec<&str> = command.split_whitespace().collect();
        let before = receiver.taken().len();
        let run = Bench::of(&sim.url()).with(&["--streaming", "--request-count", "5"]).with(&args).run();
        assert_eq!(run.code(), Some(0), "{command}: {}", run.stderr());
        assert!(receiver.taken().len() > before, "{command}");
    }
    let yaml = page.split("```yaml\n").find(|block| block.contains("otel:")).unwrap().split("```").next().unwrap();
    let yaml = yaml.replace("localhost:4318", &receiver.address);
    let flags = ["--config", "run.yaml", "--model", "m", "--url", &sim.url(), "--tokenizer", "builtin", "--ui", "none"];
    let bench = Bench::bare().with(&flags).with(&["--no-server-metrics", "--no-gpu-telemetry"]);
    let rest = "  dataset: {type: synthetic, prompts: {isl: 16, osl: 4}}\n  \
                phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 5}]\n";
    std::fs::write(bench.dir.path().join("run.yaml"), format!("{yaml}{rest}")).unwrap();
    let run = bench.run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let taken = receiver.taken();
    assert_eq!(taken.last().unwrap().resource()["team"], "perf");
    let points = taken.last().unwrap().points();
    assert_eq!(points["aiperf.timing.requests.sent"][0].attributes["gen_ai.provider.name"], "vllm");
}
