//! Makes the calls around a run. They take the same route as the run's requests.

use crate::control::{Called, Caller, start_profilers, stop_profilers};
use aiperf_dialect::control::{Call, Method};
use aiperf_engine::{Events, Stop};
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_transport::clock::mono_now;
use aiperf_transport::from_plan::{self, TlsError};
use aiperf_transport::{Fetcher, fetch, redirect};
use aiperf_types::{LogLevel, MonoNs, Nanos};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// How often a wait checks for a stop request.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);
/// How long a call that undoes something may take after a stop request.
const AFTER_STOP: Nanos = Nanos(2_000_000_000);
/// No call around a run has a longer response than a list of models.
const RESPONSE_LIMIT: usize = 8 << 20;

/// Makes calls over the network.
#[derive(Clone)]
pub(crate) struct NetworkCaller {
    fetcher: Fetcher,
    stop: Stop,
    events: Events,
    redactor: Arc<Redactor>,
}

impl NetworkCaller {
    pub(crate) fn new(plan: &Plan, stop: Stop, events: Events, redactor: Arc<Redactor>) -> Result<Self, TlsError> {
        Ok(Self { fetcher: from_plan::fetcher(plan)?, stop, events, redactor })
    }

    /// The same caller without proxies: hooks are called directly.
    pub(crate) fn without_proxy(&self) -> Self {
        Self { fetcher: self.fetcher.without_proxy(), ..self.clone() }
    }
}

impl NetworkCaller {
    fn make(&self, call: &Call, timeout: Nanos, is_stopped: impl Fn() -> bool) -> Called {
        let path = redirect::split_url(&call.url).map(|(_, path)| path);
        let call = fetch::Call {
            method: match call.method {
                Method::Get => "GET",
                Method::Post => "POST",
            },
            origin: (&call.server).into(),
            path: path.unwrap_or_else(|| "/".to_owned()),
            headers: call.headers.clone(),
            body: call.body.clone().into(),
            timeout: Duration::from_nanos(timeout.0),
            size_limit: RESPONSE_LIMIT,
            follows_redirects: true,
        };
        let called = self.fetcher.call(&call, is_stopped);
        called
            .map(|response| (response.status, response.body))
            .map_err(|error| self.redactor.hide(&error.to_string()).into_owned())
    }
}

impl Caller for NetworkCaller {
    fn call(&mut self, call: &Call, timeout: Nanos) -> Called {
        self.make(call, timeout, || self.stop.is_stopped())
    }

    fn call_regardless(&mut self, call: &Call, timeout: Nanos) -> Called {
        let stopped_at = Cell::new(None);
        let is_over = || {
            if self.stop.is_stopped() && stopped_at.get().is_none() {
                stopped_at.set(Some(mono_now()));
            }
            stopped_at.get().is_some_and(|at| mono_now().since(at) > AFTER_STOP)
        };
        self.make(call, timeout, is_over)
    }

    fn now(&self) -> MonoNs {
        mono_now()
    }

    fn wait_until(&mut self, at: MonoNs) {
        while mono_now() < at && !self.is_stopped() {
            let left = Duration::from_nanos(at.since(mono_now()).0);
            std::thread::sleep(left.min(LOOK_WHETHER_STOPPED));
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    fn info(&mut self, text: String) {
        self.events.say(LogLevel::Info, self.redactor.hide(&text).as_ref());
    }

    fn warn(&mut self, text: String) {
        self.events.say(LogLevel::Warning, self.redactor.hide(&text).as_ref());
    }
}

/// Switches the servers' profilers on and off around phases.
pub(crate) struct Profilers {
    pub(crate) plan: Arc<Plan>,
    pub(crate) caller: NetworkCaller,
}

impl Profilers {
    /// Switches them on, or returns the reason for the failure.
    pub(crate) fn start(&mut self) -> Result<(), String> {
        // A call that a stop request ends may have reached its server. Then the profiler is switched off again, after
        // the phase that never started.
        match start_profilers(&self.plan.endpoint, &mut self.caller) {
            Err(_) if self.caller.is_stopped() => Ok(()),
            started => started.map_err(|error| error.to_string()),
        }
    }

    pub(crate) fn stop(&mut self) {
        stop_profilers(&self.plan.endpoint, &mut self.caller);
    }
}
