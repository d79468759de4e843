//! What `aiperf profile` makes of its arguments.

use aiperf_config::{ConfigError, Context, Resolved, resolve_profile};
use aiperf_plan::{DatasetPlan, UiKind};
use std::collections::BTreeMap;
use std::path::Path;

fn resolve(args: &[&str], env: &[(&str, &str)]) -> Result<Resolved, ConfigError> {
    let env: BTreeMap<String, String> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    let ctx =
        Context { env: &env, stdout_is_terminal: false, cwd: Path::new("/work"), benchmark_id: "0123456789ab".into() };
    resolve_profile(&args, &ctx)
}

#[test]
fn the_plainest_run_has_every_default() {
    let plan = resolve(&["-m", "m"], &[]).unwrap().plan;
    assert_eq!(plan.endpoint.urls[0].as_str(), "http://localhost:8000");
    assert_eq!(plan.phases[0].requests(), Some(10));
    assert_eq!(plan.phases[0].concurrency, Some(1));
    let DatasetPlan::Synthetic(synthetic) = &plan.dataset;
    assert_eq!((synthetic.entries, synthetic.isl.unwrap().mean, synthetic.osl), (100, 550.0, None));
    assert_eq!(plan.artifacts.dir, Path::new("/work/artifacts/m-openai-chat-concurrency1"));
    assert_eq!(plan.runtime.ui, UiKind::None);
}

#[test]
fn twice_the_concurrency_is_sent_when_nothing_ends_the_run() {
    assert_eq!(resolve(&["-m", "m", "--concurrency", "40"], &[]).unwrap().plan.phases[0].requests(), Some(80));
}

#[test]
fn the_environment_reaches_the_http_settings() {
    let resolved =
        resolve(&["-m", "m"], &[("AIPERF_HTTP_CONNECTION_LIMIT", "7"), ("AIPERF_HTTP_CONECTION_LIMIT", "8")]);
    let resolved = resolved.unwrap();
    assert_eq!(resolved.plan.endpoint.http.connection_limit, 7);
    assert!(
        resolved.notes.iter().any(|note| note.contains("did you mean AIPERF_HTTP_CONNECTION_LIMIT")),
        "{:?}",
        resolved.notes
    );
}

#[test]
fn secrets_are_nowhere_in_what_is_shown() {
    let args = ["-m", "m", "--api-key", "sk-1", "-H", "Authorization: Bearer sk-2", "-u", "http://u:sk-3@h:1"];
    let plan = resolve(&args, &[]).unwrap().plan;
    assert_eq!(plan.endpoint.headers, [("Authorization".to_owned(), "Bearer sk-2".to_owned())]);
    let shown = format!("{} {}", plan.run.cli_command, plan.input_config);
    assert!(!shown.contains("sk-"), "{shown}");
}

#[test]
fn a_flag_whose_feature_is_missing_is_refused_by_name() {
    let error = resolve(&["-m", "m", "--request-rate", "5"], &[]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--request-rate is not there yet"), "{error}");
}
