//! Calls to the servers around a run: readiness probes, cache resets, profilers on and off.
//!
//! `aiperf_dialect::control` decides what to call and what follows from a response. This module executes it, in order.
//! A [`Caller`] makes the calls and has the clock.

use aiperf_dialect::control::hooks::{self, Next, Retries};
use aiperf_dialect::control::probes::{Probe, Step, Waiting, base_call, is_asked_in_its_own_type};
use aiperf_dialect::control::{Call, CallOutcome};
use aiperf_plan::{EndpointPlan, Plan};
use aiperf_types::{MonoNs, Nanos};
use thiserror::Error;

/// Status and body of a response, or the reason why there is none.
pub type Called = Result<(u16, Vec<u8>), String>;

/// Makes calls and waits.
pub trait Caller {
    /// Fails at once after a stop request.
    fn call(&mut self, call: &Call, timeout: Nanos) -> Called;
    /// The same, but still has a moment after a stop request.
    fn call_regardless(&mut self, call: &Call, timeout: Nanos) -> Called;
    fn now(&self) -> MonoNs;
    /// Returns early after a stop request.
    fn wait_until(&mut self, at: MonoNs);
    fn is_stopped(&self) -> bool;
    fn warn(&mut self, text: String);
    fn info(&mut self, text: String);
}

/// The way out if a server does not know the path that empties its cache.
const NO_RESET: &str =
    "\n  try: VLLM_SERVER_DEV_MODE=1 in the environment of a vLLM server, or --reset-kv-cache-path PATH";

/// Why a run did not start.
#[derive(Debug, Error, PartialEq)]
pub enum ControlError {
    #[error(
        "{url} was not ready for model '{model}' within {seconds} s ({attempts} attempt{}): {last}\n  try: a longer \
         --wait-for-model-timeout, or look at the server's log", if *.attempts == 1 { "" } else { "s" }
    )]
    NotReady { url: String, model: String, seconds: f64, attempts: u32, last: String },
    #[error("reset_kv_cache failed before benchmark start: {0}")]
    CacheReset(String),
    #[error("server_profiler failed to start: {0}")]
    Profiler(String),
    #[error("stopped before anything was measured")]
    Stopped,
}

/// Waits until every server is ready for every model, if the plan requires it.
pub fn wait_for_servers(plan: &Plan, caller: &mut impl Caller) -> Result<(), ControlError> {
    let Some(readiness) = plan.endpoint.readiness else { return Ok(()) };
    if readiness.mode.infers() && !is_asked_in_its_own_type(plan.endpoint.kind) {
        let kind = plan.endpoint.kind.name();
        caller.warn(format!("servers are asked for readiness by a chat request: there is none for {kind}"));
    }
    for url in &plan.endpoint.urls {
        for probe in Probe::all(&readiness) {
            for model in &plan.models {
                let call = probe.call(&plan.endpoint, url, model);
                let base = base_call(&plan.endpoint, url);
                let mut waiting = Waiting::new(probe, readiness, caller.now());
                let mut step = waiting.go_on(caller.now());
                let mut last = "it was not asked".to_owned();
                caller.info(format!("Waiting for {} to be ready for model '{model}'", call.url));
                loop {
                    if caller.is_stopped() {
                        return Err(ControlError::Stopped);
                    }
                    step = match step {
                        Step::Ask { timeout } => {
                            let called = caller.call(&call, timeout);
                            last = described(&called);
                            waiting.ended(outcome(&called), model, caller.now())
                        }
                        Step::AskBase { timeout } => {
                            let called = caller.call(&base, timeout);
                            last = described(&called);
                            waiting.ended(outcome(&called), model, caller.now())
                        }
                        Step::Wait { until } => {
                            caller.wait_until(until);
                            waiting.go_on(caller.now())
                        }
                        Step::Ready { doubtful } => {
                            if let Some(status) = doubtful {
                                caller.warn(format!("{} returns status {status}", call.url));
                            }
                            caller.info(format!("{} is ready for model '{model}'", call.url));
                            break;
                        }
                        Step::GiveUp { attempts } => {
                            let (url, model) = (url.as_str().to_owned(), model.clone());
                            let seconds = readiness.timeout.as_secs_f64();
                            return Err(ControlError::NotReady { url, model, seconds, attempts, last });
                        }
                    };
                }
            }
        }
    }
    Ok(())
}

/// Empties the prefix cache of every server, if the plan requires it: once per run, before its first phase.
pub fn reset_caches(endpoint: &EndpointPlan, caller: &mut impl Caller) -> Result<(), ControlError> {
    let Some(reset) = &endpoint.cache_reset else { return Ok(()) };
    for call in hooks::calls(endpoint, &reset.path) {
        caller.info(format!("Emptying the prefix cache: POST {}", call.url));
        let mut retries = Retries::new(reset.max_retry, caller.now());
        loop {
            if caller.is_stopped() {
                return Err(ControlError::Stopped);
            }
            let called = caller.call(&call, reset.timeout);
            match retries.ended(outcome(&called), caller.now()) {
                Next::Done => break,
                Next::Again { at } => {
                    caller.info(format!("{}; trying again", failure(&call, &called)));
                    caller.wait_until(at);
                }
                Next::Fail => {
                    let way_out = if matches!(called, Ok((404, _))) { NO_RESET } else { "" };
                    return Err(ControlError::CacheReset(failure(&call, &called) + way_out));
                }
            }
        }
    }
    Ok(())
}

/// Switches every profiler on before a profiling phase. If one fails, those that are on are switched off again.
pub fn start_profilers(endpoint: &EndpointPlan, caller: &mut impl Caller) -> Result<(), ControlError> {
    let Some(profiler) = &endpoint.server_profiler else { return Ok(()) };
    let stops = hooks::calls(endpoint, &profiler.stop_path);
    for (at, call) in hooks::calls(endpoint, &profiler.start_path).iter().enumerate() {
        caller.info(format!("Switching the server's profiler on: POST {}", call.url));
        let called = caller.call(call, profiler.timeout);
        if !hooks::is_success(outcome(&called)) {
            stops[..at].iter().rev().for_each(|stop| switch_off(stop, profiler.timeout, caller));
            return Err(ControlError::Profiler(failure(call, &called)));
        }
    }
    Ok(())
}

/// Switches every profiler off after a profiling phase. A failure is only a warning: the measured data are valid.
pub fn stop_profilers(endpoint: &EndpointPlan, caller: &mut impl Caller) {
    let Some(profiler) = &endpoint.server_profiler else { return };
    let stops = hooks::calls(endpoint, &profiler.stop_path);
    stops.iter().for_each(|stop| switch_off(stop, profiler.timeout, caller));
}

fn switch_off(stop: &Call, timeout: Nanos, caller: &mut impl Caller) {
    // After a stop request too: a profiler that stays on would slow the next run down.
    let called = caller.call_regardless(stop, timeout);
    if !hooks::is_success(outcome(&called)) {
        caller.warn(failure(stop, &called));
    }
}

/// The result of a call, for messages.
fn described(called: &Called) -> String {
    match called {
        Ok((status, _)) if (200..300).contains(status) => "it responds, but does not list the model".to_owned(),
        Ok((status, _)) => format!("it returns status {status}"),
        Err(reason) => reason.clone(),
    }
}

fn outcome(called: &Called) -> CallOutcome<'_> {
    match called {
        Ok((status, body)) => CallOutcome::Answered { status: *status, body },
        Err(_) => CallOutcome::Failed,
    }
}

fn failure(call: &Call, called: &Called) -> String {
    hooks::failure(call, outcome(called), called.as_ref().err().map_or("", String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::{BaseUrl, CacheReset, HttpSettings, ReuseStrategy, ServerProfiler, Transport};
    use aiperf_types::EndpointKind;

    /// Responds by a script. Its clock moves only in waits.
    #[derive(Default)]
    struct Script {
        results: Vec<Called>,
        called: Vec<String>,
        warnings: Vec<String>,
        now: u64,
    }

    impl Caller for Script {
        fn call(&mut self, call: &Call, _: Nanos) -> Called {
            self.called.push(format!("{} {}", call.method.name(), call.url));
            if self.results.is_empty() { Ok((200, Vec::new())) } else { self.results.remove(0) }
        }
        fn call_regardless(&mut self, call: &Call, timeout: Nanos) -> Called {
            self.call(call, timeout)
        }
        fn now(&self) -> MonoNs {
            MonoNs(self.now)
        }
        fn wait_until(&mut self, at: MonoNs) {
            self.now = at.0;
        }
        fn is_stopped(&self) -> bool {
            false
        }
        fn warn(&mut self, text: String) {
            self.warnings.push(text);
        }
        fn info(&mut self, _: String) {}
    }

    fn script(statuses: &[u16]) -> Script {
        let results = statuses.iter().map(|status| Ok((*status, Vec::new()))).collect();
        Script { results, now: 1, ..Script::default() }
    }

    fn endpoint() -> EndpointPlan {
        let timeout = Nanos::from_millis(1000);
        EndpointPlan {
            kind: EndpointKind::Chat,
            urls: ["http://a/v1", "http://b"].map(|url| BaseUrl::parse(url).unwrap()).to_vec(),
            transport: Transport::Http,
            path: None,
            streaming: false,
            api_key: None,
            headers: Vec::new(),
            extra: serde_json::Map::new(),
            body: aiperf_types::BodyKind::Json,
            template: None,
            template_from: None,
            response_field: None,
            force_content_parts: false,
            session_header: None,
            video: aiperf_plan::VideoPlan::default(),
            timeout_seconds: 0.0,
            unreachable_timeout: None,
            legacy_max_tokens: false,
            server_token_count: false,
            per_chunk_usage: false,
            reuse: ReuseStrategy::Pooled,
            http: HttpSettings::default(),
            readiness: None,
            cache_reset: Some(CacheReset { path: "/r".into(), timeout, max_retry: Nanos::from_millis(2000) }),
            server_profiler: Some(ServerProfiler { start_path: "/on".into(), stop_path: "/off".into(), timeout }),
        }
    }

    #[test]
    fn a_cache_reset_that_fails_is_retried_and_then_fatal() {
        let mut caller = script(&[503, 200, 204]);
        assert_eq!(reset_caches(&endpoint(), &mut caller), Ok(()));
        assert_eq!(caller.called, ["POST http://a/r", "POST http://a/r", "POST http://b/r"]);
        let error = reset_caches(&endpoint(), &mut script(&[500])).unwrap_err().to_string();
        assert_eq!(
            error,
            "reset_kv_cache failed before benchmark start: control_plane POST http://a/r failed with status 500"
        );
        let unknown = reset_caches(&endpoint(), &mut script(&[404])).unwrap_err().to_string();
        assert!(unknown.contains("status 404\n  try: VLLM_SERVER_DEV_MODE=1"), "{unknown}");
    }

    #[test]
    fn if_one_profiler_fails_to_start_the_others_are_switched_off() {
        let mut caller = script(&[200, 404, 500]);
        assert!(start_profilers(&endpoint(), &mut caller).is_err());
        assert_eq!(caller.called, ["POST http://a/on", "POST http://b/on", "POST http://a/off"]);
        assert_eq!(caller.warnings, ["control_plane POST http://a/off failed with status 500"]);
    }

    #[test]
    fn a_profiler_that_stays_on_is_a_warning_and_all_are_tried() {
        let mut caller = script(&[500, 200]);
        stop_profilers(&endpoint(), &mut caller);
        assert_eq!((caller.called.len(), caller.warnings.len()), (2, 1));
    }
}
