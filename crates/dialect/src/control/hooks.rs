//! Hooks: emptying servers' caches before a run, and switching their profilers on and off around its phases.

use super::{Call, CallOutcome, Method, headers};
use aiperf_plan::{BaseUrl, EndpointPlan, redact};
use aiperf_types::{MonoNs, Nanos};

/// One URL for each server, in order.
pub fn servers(urls: &[BaseUrl]) -> Vec<&BaseUrl> {
    let mut out: Vec<&BaseUrl> = Vec::new();
    for url in urls {
        if !out.iter().any(|known| known.is_same_origin(url)) {
            out.push(url);
        }
    }
    out
}

/// The calls to a path of every server.
pub fn calls(endpoint: &EndpointPlan, path: &str) -> Vec<Call> {
    let call = |server: &&BaseUrl| Call {
        method: Method::Post,
        server: (*server).clone(),
        url: format!("{}{path}", server.origin()),
        headers: headers(endpoint, server),
        body: Vec::new(),
    };
    servers(&endpoint.urls).iter().map(call).collect()
}

pub fn is_success(outcome: CallOutcome<'_>) -> bool {
    matches!(outcome, CallOutcome::Answered { status: 200..300, .. })
}

/// Why a call failed, for messages: never contains text of the server.
pub fn failure(call: &Call, outcome: CallOutcome<'_>, reason: &str) -> String {
    let what = format!("control_plane {} {} failed", call.method.name(), redact::url(&call.url));
    match outcome {
        CallOutcome::Answered { status, .. } => format!("{what} with status {status}"),
        CallOutcome::Failed => format!("{what}: {reason}"),
    }
}

/// Statuses of a server that cannot do it now, but may later.
const PASSING: &[u16] = &[409, 423, 429, 503];

/// The longest wait before a call is made again.
const LONGEST_WAIT: Nanos = Nanos::from_millis(8_000);

/// What to do after a call to empty a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Done,
    /// Make it again at this instant.
    Again {
        at: MonoNs,
    },
    Fail,
}

/// Calls that are retried while the failure may be temporary: after 1, 2, 4, 8, 8 ... seconds.
#[derive(Clone, Debug)]
pub struct Retries {
    deadline: MonoNs,
    wait: Nanos,
}

impl Retries {
    pub fn new(longest: Nanos, now: MonoNs) -> Self {
        Self { deadline: now.plus(longest), wait: Nanos::from_millis(1_000) }
    }

    /// What follows from the end of a call.
    pub fn ended(&mut self, outcome: CallOutcome<'_>, now: MonoNs) -> Next {
        if is_success(outcome) {
            return Next::Done;
        }
        let may_pass = match outcome {
            CallOutcome::Answered { status, .. } => PASSING.contains(&status),
            CallOutcome::Failed => true,
        };
        let at = now.plus(self.wait);
        if !may_pass || at > self.deadline {
            return Next::Fail;
        }
        self.wait = Nanos(self.wait.0 * 2).min(LONGEST_WAIT);
        Next::Again { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16) -> CallOutcome<'static> {
        CallOutcome::Answered { status, body: b"secret" }
    }

    #[test]
    fn what_may_pass_is_tried_again_with_longer_and_longer_waits() {
        let mut retries = Retries::new(Nanos::from_millis(60_000), MonoNs(1));
        let (mut now, mut waits) = (MonoNs(1), Vec::new());
        let outcomes = [answered(503), CallOutcome::Failed, answered(409)];
        for outcome in outcomes.into_iter().cycle() {
            match retries.ended(outcome, now) {
                Next::Again { at } => {
                    waits.push(at.since(now).as_secs_f64());
                    now = at;
                }
                other => {
                    assert_eq!(other, Next::Fail);
                    break;
                }
            }
        }
        // Another 8 seconds after 55 would pass the 60.
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0]);
    }

    #[test]
    fn what_cannot_pass_fails_at_once() {
        for status in [400, 401, 404, 500] {
            assert_eq!(
                Retries::new(Nanos::from_millis(60_000), MonoNs(1)).ended(answered(status), MonoNs(1)),
                Next::Fail
            );
        }
        assert_eq!(Retries::new(Nanos::ZERO, MonoNs(1)).ended(answered(503), MonoNs(1)), Next::Fail);
        assert_eq!(Retries::new(Nanos::ZERO, MonoNs(1)).ended(answered(204), MonoNs(1)), Next::Done);
    }

    #[test]
    fn a_failure_names_the_url_without_secrets_and_quotes_no_server() {
        let server = BaseUrl::parse("http://h").unwrap();
        let url = "http://h/r?api_key=sk-1".to_owned();
        let call = Call { method: Method::Post, server, url, headers: Vec::new(), body: Vec::new() };
        assert_eq!(
            failure(&call, answered(500), ""),
            "control_plane POST http://h/r?api_key=<redacted> failed with status 500"
        );
        assert!(failure(&call, CallOutcome::Failed, "timed out").ends_with("failed: timed out"));
    }
}
