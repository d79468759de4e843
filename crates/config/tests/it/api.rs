//! Flags, files and variables about the live API.

use aiperf_config::{ConfigError, Context, Resolved, resolve_profile};
use aiperf_plan::ApiPlan;
use aiperf_types::Nanos;
use std::collections::BTreeMap;

/// A run by flags, over a file with this `runtime` if there is one.
fn resolve(section: Option<&str>, flags: &[&str], env: &[(&str, &str)]) -> Result<Resolved, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let mut args: Vec<&str> = vec!["-m", "m"];
    if let Some(section) = section {
        let text = format!(
            "benchmark:\n  model: m\n  endpoint: {{urls: [\"http://a:1\"]}}\n  dataset: {{type: synthetic}}\n  profiling: \
             {{type: concurrency, requests: 4}}\n  runtime: {section}\n"
        );
        std::fs::write(dir.path().join("c.yaml"), text).unwrap();
        args = vec!["--config", "c.yaml"];
    }
    let args: Vec<String> = args.iter().chain(flags).map(|arg| arg.to_string()).collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    resolve_profile(&args, &ctx)
}

fn planned(section: Option<&str>, flags: &[&str], env: &[(&str, &str)]) -> Option<ApiPlan> {
    resolve(section, flags, env).unwrap().into_plan().runtime.api
}

fn refused(flags: &[&str], env: &[(&str, &str)]) -> String {
    resolve(None, flags, env).expect_err("it is refused").to_string()
}

const PORT: (&str, &str) = ("AIPERF_API_SERVER_PORT", "9000");

#[test]
fn without_a_port_there_is_no_live_api() {
    assert_eq!(planned(None, &[], &[]), None);
}

#[test]
fn a_port_alone_is_for_this_machine_and_must_be_free() {
    let usual = ApiPlan {
        host: "127.0.0.1".into(),
        port: 8080,
        is_required: true,
        cors_origins: Vec::new(),
        stays: Nanos::from_millis(5000),
        shutdown_delay: Nanos::from_millis(500),
        shutdown_timeout: Nanos::from_millis(5000),
        most_websockets: 100,
    };
    assert_eq!(planned(None, &["--api-port", "8080"], &[]), Some(usual.clone()));
    assert_eq!(planned(Some("{api_port: 8080}"), &[], &[]), Some(usual));
}

#[test]
fn a_flag_overrides_a_variable_and_a_variable_alone_is_optional() {
    let by_variable = planned(None, &[], &[PORT, ("AIPERF_API_SERVER_HOST", "0.0.0.0")]).unwrap();
    assert_eq!((by_variable.port, by_variable.is_required, by_variable.host.as_str()), (9000, false, "0.0.0.0"));
    let env = [PORT, ("AIPERF_API_SERVER_HOST", "0.0.0.0")];
    let both = planned(None, &["--api-port", "8080", "--api-host", "[::1]"], &env).unwrap();
    assert_eq!((both.port, both.is_required, both.host.as_str()), (8080, true, "::1"));
    assert_eq!(both.authority(), "[::1]:8080");
    let host_alone = planned(None, &["--api-host", "bench"], &[PORT]).unwrap();
    assert_eq!((host_alone.authority().as_str(), host_alone.is_required), ("bench:9000", false));
}

#[test]
fn every_variable_reaches_the_plan() {
    let plan = planned(
        None,
        &["--api-port", "1"],
        &[
            ("AIPERF_API_SERVER_CORS_ORIGINS", r#"["https://Grafana.example/", "http://localhost:3000"]"#),
            ("AIPERF_API_SERVER_SHUTDOWN_RESPONSE_DELAY_SECONDS", "0"),
            ("AIPERF_API_SERVER_SHUTDOWN_TIMEOUT", "2"),
            ("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "0.25"),
            ("AIPERF_API_SERVER_WEBSOCKET_MAX_CONNECTIONS", "3"),
        ],
    )
    .unwrap();
    assert_eq!(plan.cors_origins, ["https://grafana.example", "http://localhost:3000"]);
    assert_eq!((plan.shutdown_delay, plan.shutdown_timeout), (Nanos::ZERO, Nanos::from_millis(2000)));
    assert_eq!((plan.stays, plan.most_websockets), (Nanos::from_millis(250), 3));
}

#[test]
fn bad_input_is_refused_with_a_fix() {
    let host = refused(&["--api-port", "8080", "--api-host", "http://localhost"], &[]);
    assert!(host.contains("--api-host http://localhost is not a name or address"), "{host}");
    assert!(host.contains("try: 127.0.0.1"), "{host}");
    let by_variable = refused(&[], &[PORT, ("AIPERF_API_SERVER_HOST", "a:1")]);
    assert!(by_variable.contains("AIPERF_API_SERVER_HOST=a:1"), "{by_variable}");
    let origin = refused(&["--api-port", "8080"], &[("AIPERF_API_SERVER_CORS_ORIGINS", "grafana.example")]);
    assert!(origin.contains("grafana.example is not an origin") && origin.contains("try: "), "{origin}");
    for port in ["0", "65536", "x"] {
        assert!(refused(&["--api-port", port], &[]).contains("--api-port"), "{port}");
    }
    assert!(refused(&[], &[("AIPERF_API_SERVER_PORT", "0")]).contains("AIPERF_API_SERVER_PORT=0"));
    assert!(refused(&["--api-host", "h"], &[]).contains("--api-host h needs a port"));
}

#[test]
fn settings_of_an_api_that_is_off_get_a_note() {
    let notes = resolve(None, &[], &[("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "0")]).unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("AIPERF_API_SERVER_POST_COMPLETE_GRACE has no effect: without a port")),
        "{notes:?}"
    );
}
