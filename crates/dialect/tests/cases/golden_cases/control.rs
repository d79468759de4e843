//! Calls around a run: probes and hooks.

use crate::golden_cases::requests::{endpoint, without_credentials};
use aiperf_dialect::HeadTemplate;
use aiperf_dialect::control::{Call, hooks, probes};
use aiperf_golden::cases::Trial;
use aiperf_golden::kinds::endpoints::{CONTROL_HOOKS, INFERENCE_PROBE, MODEL_LIST};
use aiperf_plan::{BaseUrl, EndpointPlan};
use serde_json::{Value, json};

pub(crate) fn golden_probes_ask_for_one_token() -> Vec<Trial> {
    let skip = |case: &Value| {
        let is_refused = BaseUrl::parse(case["url"].as_str().unwrap()).is_err();
        is_refused.then(|| "what is no URL of a server is refused where settings are read".to_owned())
    };
    INFERENCE_PROBE.trials(skip, |case| {
        let plan = of(case);
        let call = probes::Probe::Inference.call(&plan, &plan.urls[0], case["model"].as_str().unwrap());
        // transport.md, 10, row 19: the URL is joined as that of a request; the reference cuts and pastes texts.
        let as_request = || HeadTemplate::new(&plan, &plan.urls[0], "").url().to_owned();
        let wanted = if is_plain(case) { case["expected"]["url"].as_str().unwrap().to_owned() } else { as_request() };
        assert_eq!(call.url, wanted);
        assert_eq!(String::from_utf8(call.body).unwrap(), case["expected"]["body"].to_string());
    })
}

/// Whether pasting a path to a base gives what joining them does: a base of host and port alone, and a path that has an
/// end.
fn is_plain(case: &Value) -> bool {
    let base = case["url"].as_str().unwrap();
    let host = base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"));
    let is_host = host.is_some_and(|host| !host.trim_end_matches('/').contains(['/', '@', '?', '#']));
    is_host && case["custom_endpoint"].as_str().is_none_or(|path| !path.is_empty() && !path.ends_with('/'))
}

pub(crate) fn golden_lists_of_models_are_read() -> Vec<Trial> {
    MODEL_LIST.trials(
        |_| None,
        |case| {
            let (body, model) = (case["body"].as_str().unwrap(), case["model"].as_str().unwrap());
            assert_eq!(probes::lists(body.as_bytes(), model), case["expected"]);
        },
    )
}

pub(crate) fn golden_hooks_call_each_server_once() -> Vec<Trial> {
    // Whether a path can be used, and what holds by default, is decided where settings are read.
    let skip = |case: &Value| {
        let is_config = !case["expected"]["error"].is_null();
        is_config.then(|| "a path that cannot be one is refused where settings are read".to_owned())
    };
    CONTROL_HOOKS.trials(skip, |case| {
        let plan = of(case);
        for (section, key, usual, wanted) in [
            ("reset_kv_cache", "path", aiperf_plan::CacheReset::PATH, "reset_urls"),
            ("server_profiler", "start_path", aiperf_plan::ServerProfiler::START_PATH, "profiler_start_urls"),
            ("server_profiler", "stop_path", aiperf_plan::ServerProfiler::STOP_PATH, "profiler_stop_urls"),
        ] {
            let path = match &case[section] {
                Value::Bool(false) => None,
                settings => Some(settings[key].as_str().unwrap_or(usual)),
            };
            let calls: Vec<Call> = path.map(|path| hooks::calls(&plan, path)).unwrap_or_default();
            // A server is one by host and port, whatever its credentials and however it is spelled.
            let mut theirs = Vec::new();
            for url in case["expected"][wanted].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let called = called(url);
                if !theirs.contains(&called) {
                    theirs.push(called);
                }
            }
            let ours: Vec<_> = calls.iter().map(|call| called(&call.url)).collect();
            assert_eq!(ours, theirs, "{wanted}");
        }
    })
}

/// Which server a URL calls, and the path there.
fn called(url: &str) -> (String, u16, String) {
    let url = without_credentials(url);
    let server = BaseUrl::parse(&url).unwrap();
    let (_, rest) = url.split_once("://").unwrap();
    let path = rest.find('/').map_or("", |at| &rest[at..]).to_owned();
    (server.host().to_lowercase(), server.port(), path)
}

fn of(case: &Value) -> EndpointPlan {
    let urls = if case["urls"].is_array() { case["urls"].clone() } else { json!([case["url"]]) };
    let kind = case["endpoint_type"].as_str().unwrap_or("chat");
    let config = json!({"urls": urls, "custom_endpoint": case["custom_endpoint"]});
    endpoint(&json!({"endpoint_type": kind, "config": config}))
}

pub(crate) fn a_call_names_its_client_and_has_no_ids_of_requests() {
    let plan = |kind: &str, headers: Value| {
        let config = json!({"urls": ["http://h"], "api_key": "sk", "headers": headers});
        endpoint(&json!({"endpoint_type": kind, "config": config}))
    };
    let headers = |plan: &EndpointPlan| {
        let call = probes::Probe::Inference.call(plan, &plan.urls[0], "m");
        call.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    assert_eq!(
        headers(&plan("chat", json!([["X-A", "1"], ["accept", "x"]]))),
        ["accept: x", "X-A: 1", "Authorization: Bearer sk", "Content-Type: application/json"]
    );
    assert_eq!(
        headers(&plan("messages", json!([["content-type", "mine"]]))),
        ["Accept: */*", "content-type: mine", "x-api-key: sk", "anthropic-version: 2023-06-01"]
    );
}
