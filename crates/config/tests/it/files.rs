//! Configuration files: templates to start from, and valid content.

use aiperf_config::{
    ConfigError, Context, Resolved, TEMPLATES, config_init, resolve_config, resolve_profile, show_resolved,
};
use aiperf_plan::{Arrival, ArrivalLaw, DatasetPlan, RateLevel};
use std::collections::BTreeMap;

fn with_file<T>(text: &str, run: impl FnOnce(&Context<'_>) -> T) -> T {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("c.yaml"), text).expect("a file");
    std::fs::write(dir.path().join("trace.jsonl"), "{\"input_length\": 9, \"timestamp\": 0}\n").expect("a file");
    let env = BTreeMap::new();
    run(&Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() })
}

fn args(list: &[&str]) -> Vec<String> {
    list.iter().map(|arg| arg.to_string()).collect()
}

fn profile(text: &str, more: &[&str]) -> Result<Resolved, ConfigError> {
    with_file(text, |ctx| resolve_profile(&args(&[&["-f", "c.yaml"], more].concat()), ctx))
}

#[test]
fn every_template_is_a_valid_configuration() {
    for template in TEMPLATES {
        let text = template.filled(Some("my/model"), Some("h:1"));
        let tree = with_file(&text, |ctx| resolve_config(&args(&["-f", "c.yaml"]), ctx));
        let tree = tree.unwrap_or_else(|error| panic!("{}: {error}", template.name));
        let config = tree.input_config();
        assert_eq!(config["models"]["items"][0]["name"], "my/model", "{}", template.name);
        assert_eq!(config["endpoint"]["urls"][0], "http://h:1", "{}", template.name);
    }
}

#[test]
fn a_template_is_offered_exactly_when_it_can_be_run() {
    for template in TEMPLATES {
        let planned = profile(&template.filled(None, None), &[]);
        match (template.not_yet, planned) {
            (None, planned) => {
                planned.unwrap_or_else(|error| panic!("{} is offered: {error}", template.name));
                assert!(config_init(template.name, None, None).is_ok());
            }
            (Some(reason), planned) => {
                assert!(planned.is_err(), "{} can be run: offer it", template.name);
                let refusal = config_init(template.name, None, None).unwrap_err().to_string();
                assert!(refusal.contains(reason) && refusal.contains("is not there yet"), "{refusal}");
            }
        }
    }
}

#[test]
fn templates_of_load_have_the_load_of_their_name() {
    let plan = |name: &str| profile(&config_init(name, None, None).unwrap(), &[]).unwrap().into_plan();
    let kinds = |name: &str| plan(name).phases.into_iter().map(|phase| phase.arrival).collect::<Vec<_>>();
    assert!(matches!(kinds("request-rate")[..], [Arrival::Rate { law: ArrivalLaw::Poisson, .. }]));
    assert!(matches!(kinds("user-centric")[..], [Arrival::UserCentric { users: 20, .. }]));
    let [Arrival::Rate { rate, .. }] = &kinds("rate-series")[..] else { panic!() };
    assert!(matches!(&rate.level, RateLevel::Series(points) if points.len() == 3));
    let steps = plan("rate-steps").phases;
    let seamless: Vec<bool> = steps.iter().map(|phase| phase.seamless).collect();
    assert_eq!(seamless, [false, false, true, true]);
    let DatasetPlan::Synthetic(made) = plan("multi-turn").dataset else { panic!() };
    assert_eq!((made.turns.count.mean(), made.turns.delay_ms.mean()), (4.0, 1000.0));
}

#[test]
fn a_setting_of_a_file_that_does_not_exist_yet_is_refused_by_place() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 5}\n  profiling: {type: concurrency, requests: 1, timing_mode: agentic_replay}\n";
    let error = profile(text, &[]).unwrap_err().to_string();
    assert!(error.contains("c.yaml:5:") && error.contains("is not there yet"), "{error}");
}

#[test]
fn the_file_s_screen_is_respected_without_a_terminal() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 5}\n  profiling: {type: concurrency, requests: 1}\n  runtime: {ui: simple}\n";
    let plan = profile(text, &[]).unwrap().into_plan();
    assert_eq!(plan.runtime.ui, aiperf_plan::UiKind::Simple);
}

#[test]
fn a_list_in_a_phase_is_a_sweep() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 5}\n  profiling: {type: concurrency, concurrency: [1, 2], requests: 1}\n";
    let tree = with_file(text, |ctx| resolve_config(&args(&["-f", "c.yaml"]), ctx)).unwrap();
    let labels: Vec<&str> = tree.variations.iter().map(|run| run.label.as_str()).collect();
    assert_eq!(labels, ["phases.profiling.concurrency=1", "phases.profiling.concurrency=2"]);
}

#[test]
fn a_sweep_over_a_variable_renders_the_templates_again() {
    let text = "variables: {n: 1}\nbenchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 5}\n  profiling: {type: concurrency, concurrency: \"{{ n }}\", requests: \"{{ n * 10 }}\"}\nsweep: {parameters: {variables.n: [2, 3]}}\n";
    let tree = with_file(text, |ctx| resolve_config(&args(&["-f", "c.yaml"]), ctx)).unwrap();
    let requests: Vec<i64> =
        tree.variations.iter().map(|run| run.input_config()["phases"][0]["requests"].as_i64().unwrap()).collect();
    assert_eq!(requests, [20, 30]);
}

#[test]
fn the_shown_configuration_has_the_origin_of_each_value() {
    let text = config_init("minimal", None, None).unwrap();
    let shown =
        with_file(&text, |ctx| show_resolved(&args(&["-f", "c.yaml", "--concurrency", "7", "--api-key", "sk-1"]), ctx))
            .unwrap();
    insta::assert_snapshot!(shown);
    let again = with_file(&shown, |ctx| resolve_config(&args(&["-f", "c.yaml", "--api-key", "sk-1"]), ctx)).unwrap();
    assert_eq!(again.input_config()["phases"][0]["concurrency"], 7);
}

#[test]
fn a_shown_default_is_no_choice_of_the_user() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n  runtime: {workers: 2}\n";
    let shown = with_file(text, |ctx| show_resolved(&args(&["-f", "c.yaml"]), ctx)).unwrap();
    assert!(shown.contains("  runtime:\n    workers: 2  # c.yaml:6\n    # ui: "), "{shown}");
    assert!(shown.contains("\n  # network_latency:\n  #   enabled: false  # default\n"), "{shown}");
    let again = with_file(&shown, |ctx| show_resolved(&args(&["-f", "c.yaml"]), ctx)).unwrap();
    let settings = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.map(|line| line.split("  # ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(settings(&again), settings(&shown));
}

#[test]
fn what_a_template_makes_of_a_secret_is_in_no_message() {
    let file = |setting: &str| {
        let variables =
            "variables: {api_key: sk-Hidden-1, db: {password: pw-Hidden-2}, twice: '{{ api_key }}{{ api_key }}'}";
        format!(
            "{variables}\nbenchmark:\n  model: m\n  dataset: {{isl: 5}}\n  profiling: {{type: concurrency, requests: 1}}\n  endpoint: {{url: h:1, {setting}}}\n"
        )
    };
    for setting in [
        "type: '{{ api_key }}'",
        "timeout: '{{ api_key }}'",
        "timeout: '{{ db.password }}'",
        "timeout: '{{ twice|upper }}'",
        "timeout: '{{ api_key|reverse }}'",
        "timeout: '{{ api_key + 5 }}'",
        "'{{ api_key }}': 1, timeout: '{{ unknown }}'",
    ] {
        let text = file(setting);
        let refused = [
            profile(&text, &[]).unwrap_err(),
            with_file(&text, |ctx| resolve_config(&args(&["-f", "c.yaml"]), ctx).unwrap_err()),
            with_file(&text, |ctx| show_resolved(&args(&["-f", "c.yaml"]), ctx).unwrap_err()),
        ];
        for refused in refused.map(|error| error.to_string()) {
            assert!(refused.contains("endpoint"), "{refused}");
            assert!(!["Hidden", "HIDDEN", "neddiH"].iter().any(|secret| refused.contains(secret)), "{refused}");
        }
    }
    let text = file("path: '/v1/{{ api_key }}', headers: {X-Note: '{{ twice|upper }}'}");
    let shown = with_file(&text, |ctx| show_resolved(&args(&["-f", "c.yaml"]), ctx).unwrap());
    assert!(shown.contains("/v1/<redacted>") && !shown.to_lowercase().contains("sk-hidden"), "{shown}");
}

#[test]
fn a_shown_configuration_is_not_run_without_its_secrets() {
    let text = "benchmark:\n  model: m\n  endpoint: {url: h:1}\n  dataset: {isl: 8}\n  profiling: {type: concurrency, requests: 4}\n";
    let secrets = ["--api-key", "sk-1", "-H", "Authorization: Bearer sk-2"];
    let more = [&["-f", "c.yaml"][..], &secrets].concat();
    let shown = with_file(text, |ctx| show_resolved(&args(&more), ctx).unwrap());
    let error = profile(&shown, &[]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let printed = error.to_string();
    for part in [
        "benchmark.endpoint.api_key contains <redacted> instead of a secret",
        "benchmark.endpoint.headers.Authorization contains <redacted> instead of a secret",
        "try: --api-key KEY, or api_key: ${VARIABLE} in the file",
        "try: -H 'Authorization: VALUE', or Authorization: ${VARIABLE} in the file",
    ] {
        assert!(printed.contains(part), "{printed}");
    }
    assert_eq!(printed.matches("c.yaml:").count(), 2, "{printed}");
    let plan = profile(&shown, &secrets).unwrap().into_plan();
    assert_eq!(plan.endpoint.api_key.as_deref(), Some("sk-1"));
    assert_eq!(plan.endpoint.headers, [("Authorization".to_owned(), "Bearer sk-2".to_owned())]);
}
