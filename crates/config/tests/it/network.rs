//! Flags, files and variables about the network round trip.

use aiperf_config::{ConfigError, Context, Resolved, resolve_profile};
use aiperf_plan::{NetworkLatencyPlan, ProbePlan, ProbeTarget};
use aiperf_types::Nanos;
use serde_json::json;
use std::collections::BTreeMap;

/// A run by flags over a file with this `network_latency`; without one, by flags alone.
fn resolve(section: Option<&str>, flags: &[&str], env: &[(&str, &str)]) -> Result<Resolved, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut args: Vec<&str> = Vec::new();
    if let Some(section) = section {
        let text = format!(
            "benchmark:\n  model: m\n  endpoint: {{urls: [\"http://a:1\", \"http://a:1/v1\", \"https://b\"]}}\n  dataset: {{type: \
             synthetic}}\n  profiling: {{type: concurrency, requests: 4}}\n  network_latency: {section}\n"
        );
        std::fs::write(dir.path().join("c.yaml"), text).unwrap();
        args.extend(["--config", "c.yaml"]);
    } else {
        args.extend(["-m", "m", "-u", "http://a:1", "-u", "https://b"]);
    }
    let args: Vec<String> = args.iter().chain(flags).map(|arg| arg.to_string()).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    resolve_profile(&args, &ctx)
}

fn planned(section: Option<&str>, flags: &[&str]) -> Option<NetworkLatencyPlan> {
    resolve(section, flags, &[]).unwrap().into_plan().network_latency
}

fn probed(plan: Option<NetworkLatencyPlan>) -> ProbePlan {
    match plan {
        Some(NetworkLatencyPlan::Probed(probes)) => probes,
        other => panic!("{other:?} is not probed"),
    }
}

fn refused(section: Option<&str>, flags: &[&str]) -> String {
    resolve(section, flags, &[]).expect_err("it is refused").to_string()
}

const AUTOMATIC: &str = "--network-latency-automatic";
const MEAN: &str = "--network-latency-mean";
const INTERVAL: &str = "--network-latency-ping-interval";

#[test]
fn the_network_is_not_measured_by_default() {
    assert_eq!(planned(None, &[]), None);
    assert_eq!(planned(Some("{enabled: false, mean_ms: 3, ping_interval: 2}"), &[]), None);
}

#[test]
fn each_server_is_a_target_with_default_settings() {
    let target = |url: &str, host: &str, port| ProbeTarget { url: url.to_owned(), host: host.to_owned(), port };
    let usual = ProbePlan {
        targets: vec![target("http://a:1", "a", 1), target("https://b", "b", 443)],
        interval: Nanos::from_millis(1_000),
        timeout: Nanos::from_millis(5_000),
        min_samples: 5,
        top_up_timeout: Nanos::from_millis(3_000),
    };
    assert_eq!(probed(planned(None, &[AUTOMATIC])), usual);
    assert_eq!(probed(planned(Some("{enabled: true}"), &[])), usual);
}

#[test]
fn variables_set_how_servers_are_probed_and_a_flag_overrides_them() {
    let env = [
        ("AIPERF_NETWORK_LATENCY_DEFAULT_PROBE_INTERVAL", "0.25"),
        ("AIPERF_NETWORK_LATENCY_MIN_SAMPLES", "7"),
        ("AIPERF_NETWORK_LATENCY_CONNECT_TIMEOUT", "0.5"),
        ("AIPERF_NETWORK_LATENCY_COMPLETE_TOPUP_TIMEOUT", "0"),
    ];
    let of = |flags: &[&str]| {
        let plan = resolve(None, flags, &env).unwrap().into_plan();
        (plan.input_config["network_latency"].clone(), probed(plan.network_latency))
    };
    let (shown, probes) = of(&[AUTOMATIC]);
    let millis = Nanos::from_millis;
    assert_eq!((probes.interval, probes.min_samples), (millis(250), 7));
    assert_eq!((probes.timeout, probes.top_up_timeout), (millis(500), millis(0)));
    assert_eq!(shown, json!({"enabled": true, "ping_interval": 0.25}));
    let (shown, probes) = of(&[AUTOMATIC, INTERVAL, "2"]);
    assert_eq!((probes.interval, shown), (millis(2_000), json!({"enabled": true, "ping_interval": 2.0})));
    let bad = resolve(None, &[], &[("AIPERF_NETWORK_LATENCY_MIN_SAMPLES", "0")]).unwrap_err().to_string();
    assert!(bad.contains("AIPERF_NETWORK_LATENCY_MIN_SAMPLES=0 must be at least 1"), "{bad}");
}

#[test]
fn a_known_mean_is_used_unchanged() {
    for (section, flags) in [(None, &[MEAN, "1.5"][..]), (Some("{enabled: true, mean_ms: 1.5}"), &[])] {
        let plan = resolve(section, flags, &[]).unwrap().into_plan();
        assert_eq!(plan.network_latency, Some(NetworkLatencyPlan::Known(1.5)));
        assert_eq!(plan.input_config["network_latency"], json!({"enabled": true, "mean_ms": 1.5}));
    }
}

#[test]
fn a_flag_replaces_the_other_setting_of_a_file() {
    let (known, measured) = (Some("{enabled: true, mean_ms: 3}"), Some("{enabled: true, ping_interval: 2}"));
    assert_eq!(probed(planned(known, &[AUTOMATIC])).interval, Nanos::from_millis(1_000));
    assert_eq!(planned(measured, &[MEAN, "7"]), Some(NetworkLatencyPlan::Known(7.0)));
    assert_eq!(probed(planned(measured, &[INTERVAL, "4"])).interval, Nanos::from_millis(4_000));
    let needs = refused(known, &[INTERVAL, "4"]);
    assert!(needs.contains("--network-latency-ping-interval needs --network-latency-automatic"), "{needs}");
}

#[test]
fn a_file_that_contradicts_itself_is_refused_by_line() {
    let both = refused(Some("{enabled: true, mean_ms: 3, ping_interval: 2}"), &[]);
    assert!(both.contains("c.yaml:6:") && both.contains("cannot be used with mean_ms"), "{both}");
}

#[test]
fn settings_without_effect_are_noted() {
    for (section, flags, words) in [
        (Some("{mean_ms: 3}"), &[][..], "has no effect: network latency is off"),
        (None, &[MEAN, "0"], "subtracts nothing"),
    ] {
        let notes = resolve(section, flags, &[]).unwrap().notes.join("\n");
        assert!(notes.contains(words), "{notes}");
    }
}
