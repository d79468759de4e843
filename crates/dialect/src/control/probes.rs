//! Whether a server is ready: it lists the model, or it responds to a request of one token.

use super::{Call, CallOutcome, Method, add, headers};
use crate::kinds::{chat, dialect};
use crate::request::url;
use aiperf_plan::{BaseUrl, EndpointPlan, Readiness};
use aiperf_types::{EndpointKind, MonoNs, Nanos};
use serde_json::Value;

/// The probe that checks whether a server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Models,
    Inference,
}

impl Probe {
    /// The probes that a readiness consists of, in order.
    pub fn all(readiness: &Readiness) -> impl Iterator<Item = Self> {
        let models = readiness.mode.lists_models().then_some(Self::Models);
        models.into_iter().chain(readiness.mode.infers().then_some(Self::Inference))
    }

    /// An attempt gets at least this long, unless less is left.
    const fn least_timeout(self) -> Nanos {
        match self {
            Self::Models => Nanos::from_millis(5_000),
            Self::Inference => Nanos::from_millis(30_000),
        }
    }

    /// The call of an attempt.
    pub fn call(self, endpoint: &EndpointPlan, server: &BaseUrl, model: &str) -> Call {
        match self {
            Self::Models => {
                let url = url::join(server.request_base(), endpoint.kind, false, Some("/v1/models"), &[]);
                get(endpoint, server, url)
            }
            Self::Inference => inference(endpoint, server, model),
        }
    }
}

/// The call to a server that has no list of models: its base URL.
pub fn base_call(endpoint: &EndpointPlan, server: &BaseUrl) -> Call {
    get(endpoint, server, server.request_base().to_owned())
}

fn get(endpoint: &EndpointPlan, server: &BaseUrl, url: String) -> Call {
    Call { method: Method::Get, server: server.clone(), url, headers: headers(endpoint, server), body: Vec::new() }
}

/// Whether the readiness probe can use this endpoint type; all other types are probed with chat.
pub fn is_asked_in_its_own_type(kind: EndpointKind) -> bool {
    dialect(kind).smallest_request.is_some()
}

fn inference(endpoint: &EndpointPlan, server: &BaseUrl, model: &str) -> Call {
    let (kind, smallest_request) = match dialect(endpoint.kind).smallest_request {
        Some(smallest_request) => (endpoint.kind, smallest_request),
        None => (EndpointKind::Chat, chat::smallest_request as fn(&str) -> Value),
    };
    let url = url::join(server.request_base(), kind, false, endpoint.path.as_deref(), &[]);
    let mut headers = headers(endpoint, server);
    add(&mut headers, "Content-Type", "application/json");
    Call {
        method: Method::Post,
        server: server.clone(),
        url,
        headers,
        body: smallest_request(model).to_string().into_bytes(),
    }
}

/// Whether a response of `/v1/models` lists a model.
pub fn lists(body: &[u8], model: &str) -> bool {
    let list = serde_json::from_slice::<Value>(body).unwrap_or_default();
    list["data"].as_array().is_some_and(|models| models.iter().any(|entry| entry["id"] == model))
}

/// The next step while waiting for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the probe's call.
    Ask { timeout: Nanos },
    /// Make the call to the base URL: there is no list of models.
    AskBase { timeout: Nanos },
    /// Do nothing until this instant, then continue.
    Wait { until: MonoNs },
    /// It is ready. A status of 4xx shows that it responds, not that it will serve the benchmark.
    Ready { doubtful: Option<u16> },
    /// Time is up.
    GiveUp { attempts: u32 },
}

/// One probe of one model at one URL, until it is ready or time is up. Its clock is the caller's.
#[derive(Clone, Debug)]
pub struct Waiting {
    probe: Probe,
    readiness: Readiness,
    deadline: MonoNs,
    attempts: u32,
    at_base: bool,
}

impl Waiting {
    pub fn new(probe: Probe, readiness: Readiness, now: MonoNs) -> Self {
        let deadline = now.plus(readiness.timeout);
        Self { probe, readiness, deadline, attempts: 0, at_base: false }
    }

    /// Begins an attempt.
    pub fn go_on(&mut self, now: MonoNs) -> Step {
        self.at_base = false;
        match self.left(now) {
            Nanos::ZERO => Step::GiveUp { attempts: self.attempts },
            left => {
                self.attempts += 1;
                Step::Ask { timeout: self.timeout(left) }
            }
        }
    }

    /// What follows from the end of a call.
    pub fn ended(&mut self, outcome: CallOutcome<'_>, model: &str, now: MonoNs) -> Step {
        match (self.probe, outcome) {
            (Probe::Models, CallOutcome::Answered { status: 200..300, .. }) if self.at_base => {
                return Step::Ready { doubtful: None };
            }
            (Probe::Models, CallOutcome::Answered { status: 200, body }) if lists(body, model) => {
                return Step::Ready { doubtful: None };
            }
            (Probe::Models, CallOutcome::Answered { status: 404, .. }) if !self.at_base => {
                let left = self.left(now);
                if left > Nanos::ZERO {
                    self.at_base = true;
                    return Step::AskBase { timeout: self.timeout(left) };
                }
            }
            (Probe::Inference, CallOutcome::Answered { status, .. }) if status < 500 => {
                return Step::Ready { doubtful: (status >= 400).then_some(status) };
            }
            _ => {}
        }
        Step::Wait { until: now.plus(self.readiness.interval.min(self.left(now))) }
    }

    fn left(&self, now: MonoNs) -> Nanos {
        self.deadline.since(now)
    }

    fn timeout(&self, left: Nanos) -> Nanos {
        self.readiness.interval.max(self.probe.least_timeout()).min(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::ReadinessMode;

    const fn seconds(seconds: u64) -> Nanos {
        Nanos::from_millis(seconds * 1000)
    }

    fn at(seconds_since_start: u64) -> MonoNs {
        MonoNs(1).plus(seconds(seconds_since_start))
    }

    fn waiting(probe: Probe) -> Waiting {
        let readiness = Readiness { timeout: seconds(20), mode: ReadinessMode::Both, interval: seconds(6) };
        Waiting::new(probe, readiness, at(0))
    }

    fn answered(status: u16, body: &str) -> CallOutcome<'_> {
        CallOutcome::Answered { status, body: body.as_bytes() }
    }

    #[test]
    fn a_server_is_asked_until_it_lists_the_model() {
        let mut waiting = waiting(Probe::Models);
        assert_eq!(waiting.go_on(at(0)), Step::Ask { timeout: seconds(6) });
        assert_eq!(waiting.ended(CallOutcome::Failed, "m", at(0)), Step::Wait { until: at(6) });
        assert_eq!(waiting.go_on(at(6)), Step::Ask { timeout: seconds(6) });
        assert_eq!(waiting.ended(answered(200, r#"{"data":[{"id":"n"}]}"#), "m", at(7)), Step::Wait { until: at(13) });
        assert_eq!(waiting.go_on(at(15)), Step::Ask { timeout: seconds(5) });
        let listed = answered(200, r#"{"data":[{"id":"n"},{"id":"m"}]}"#);
        assert_eq!(waiting.ended(listed, "m", at(16)), Step::Ready { doubtful: None });
    }

    #[test]
    fn a_server_without_a_list_is_ready_when_its_base_answers() {
        let mut waiting = waiting(Probe::Models);
        waiting.go_on(at(0));
        assert_eq!(waiting.ended(answered(404, ""), "m", at(1)), Step::AskBase { timeout: seconds(6) });
        assert_eq!(waiting.ended(answered(404, ""), "m", at(2)), Step::Wait { until: at(8) });
        waiting.go_on(at(8));
        waiting.ended(answered(404, ""), "m", at(9));
        assert_eq!(waiting.ended(answered(204, ""), "m", at(9)), Step::Ready { doubtful: None });
    }

    #[test]
    fn a_response_below_500_is_ready_and_4xx_is_doubtful() {
        for (status, step) in [
            (200, Step::Ready { doubtful: None }),
            (401, Step::Ready { doubtful: Some(401) }),
            (503, Step::Wait { until: at(7) }),
        ] {
            let mut waiting = waiting(Probe::Inference);
            assert_eq!(waiting.go_on(at(0)), Step::Ask { timeout: seconds(20) });
            assert_eq!(waiting.ended(answered(status, ""), "m", at(1)), step, "{status}");
        }
    }

    #[test]
    fn when_time_is_up_it_is_given_up() {
        let mut waiting = waiting(Probe::Inference);
        waiting.go_on(at(0));
        assert_eq!(waiting.ended(CallOutcome::Failed, "m", at(18)), Step::Wait { until: at(20) });
        assert_eq!(waiting.go_on(at(20)), Step::GiveUp { attempts: 1 });
    }
}
