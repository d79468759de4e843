//! Intentional faults, and how often they occur.
//!
//! A fault is written `KIND=RATE` or `KIND:ARGUMENT=RATE`, such as `status:503=0.05`, `stall:2s=0.01` or
//! `redirect:307,3=1`. The rates of all request faults add up to at most one: each request has at most one fault, and
//! each fault has exactly its rate. The same holds for faults of connections and of hooks.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::{Rng, RngExt};
use thiserror::Error;

use crate::redirect::{Followed, Redirect};
use crate::spread::parse_duration;

/// One way for a request to go wrong. "Midway" is after half of the content events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection is accepted and reset before anything is read.
    Refuse,
    /// A path that is neither inference nor `/metrics` (polling a job is not inference) responds with this HTTP status,
    /// the first so many times, or always.
    HookStatus { status: u16, count: Option<u32> },
    /// The request is read, then the connection is reset.
    Reset,
    /// The connection is reset midway through the response.
    ResetMidway,
    /// An error response with this HTTP status.
    Status(u16),
    /// The client is redirected a number of times before it gets its response.
    Redirect(Redirect),
    /// The connection is closed midway, without the end of the body.
    Cut,
    /// Nothing more is written from midway on, for this long or for ever.
    Stall(Option<Duration>),
    /// Midway, a line that is no server-sent event.
    MalformedSse,
    /// Midway, an event whose JSON is broken off.
    MalformedJson,
    /// Midway, `event: error` with an error object, and the end of the stream.
    ErrorEvent,
    /// Midway, `data: {"error": ...}`, and the end of the stream.
    ErrorData,
    /// The connection takes no requests after this one: GOAWAY on HTTP/2, `connection: close` on HTTP/1.1.
    Goaway,
    /// The response head is held back for this long.
    SlowHeaders(Duration),
}

/// What a kind of fault takes after its colon.
enum Argument {
    None(Fault),
    Status,
    HookStatus,
    Redirect,
    Time(fn(Duration) -> Fault),
    OptionalTime(fn(Option<Duration>) -> Fault),
}

/// A row of the table of faults.
struct FaultRow {
    name: &'static str,
    argument: Argument,
}

/// Every kind of fault, by the name the command line and the truth log use.
const KINDS: &[FaultRow] = &[
    FaultRow { name: "refuse", argument: Argument::None(Fault::Refuse) },
    FaultRow { name: "reset", argument: Argument::None(Fault::Reset) },
    FaultRow { name: "reset-midway", argument: Argument::None(Fault::ResetMidway) },
    FaultRow { name: "status", argument: Argument::Status },
    FaultRow { name: "redirect", argument: Argument::Redirect },
    FaultRow { name: "cut", argument: Argument::None(Fault::Cut) },
    FaultRow { name: "stall", argument: Argument::OptionalTime(Fault::Stall) },
    FaultRow { name: "malformed-sse", argument: Argument::None(Fault::MalformedSse) },
    FaultRow { name: "malformed-json", argument: Argument::None(Fault::MalformedJson) },
    FaultRow { name: "error-event", argument: Argument::None(Fault::ErrorEvent) },
    FaultRow { name: "error-data", argument: Argument::None(Fault::ErrorData) },
    FaultRow { name: "goaway", argument: Argument::None(Fault::Goaway) },
    FaultRow { name: "slow-headers", argument: Argument::Time(Fault::SlowHeaders) },
    FaultRow { name: "hook-status", argument: Argument::HookStatus },
];

impl Fault {
    /// The kind's name in the truth log.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Refuse => "refuse",
            Fault::HookStatus { .. } => "hook-status",
            Fault::Reset => "reset",
            Fault::ResetMidway => "reset-midway",
            Fault::Status(_) => "status",
            Fault::Redirect(_) => "redirect",
            Fault::Cut => "cut",
            Fault::Stall(_) => "stall",
            Fault::MalformedSse => "malformed-sse",
            Fault::MalformedJson => "malformed-json",
            Fault::ErrorEvent => "error-event",
            Fault::ErrorData => "error-data",
            Fault::Goaway => "goaway",
            Fault::SlowHeaders(_) => "slow-headers",
        }
    }
}

/// A fault and the share of requests (of connections, for [`Fault::Refuse`]) that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultRate {
    pub fault: Fault,
    /// How often, from 0 to 1.
    pub rate: f64,
}

impl FromStr for FaultRate {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let unreadable = |why: String| FaultError { text: text.to_owned(), why };
        let (what, rate) = text.rsplit_once('=').ok_or_else(|| unreadable("it has no `=RATE`".into()))?;
        let rate = rate
            .parse::<f64>()
            .ok()
            .filter(|rate| (0.0..=1.0).contains(rate))
            .ok_or_else(|| unreadable(format!("`{rate}` is not a rate from 0 to 1")))?;
        let (name, argument) = match what.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (what, None),
        };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
            unreadable(format!("`{name}` is none of {}", names.join(", ")))
        })?;
        let time = |argument: &str| parse_duration(argument).map_err(|error| unreadable(error.to_string()));
        let status = |code: &str| {
            let status = code.parse().ok().filter(|status| (400..600).contains(status));
            status.ok_or_else(|| unreadable(format!("`{code}` is not an HTTP status from 400 to 599")))
        };
        let fault = match (&kind.argument, argument) {
            (Argument::None(fault), None) => fault.clone(),
            (Argument::Status, Some(code)) => Fault::Status(status(code)?),
            (Argument::HookStatus, Some(argument)) => match argument.split_once(',') {
                None => Fault::HookStatus { status: status(argument)?, count: None },
                Some((code, times)) => {
                    let count = times.parse::<u32>().ok().filter(|count| *count > 0);
                    let count = count.ok_or_else(|| unreadable(format!("`{times}` is not a number of calls")))?;
                    Fault::HookStatus { status: status(code)?, count: Some(count) }
                }
            },
            (Argument::Redirect, Some(argument)) => Fault::Redirect(Redirect::parse(argument).map_err(unreadable)?),
            (Argument::Time(build), Some(argument)) => build(time(argument)?),
            (Argument::OptionalTime(build), argument) => build(argument.map(time).transpose()?),
            (Argument::None(_), Some(_)) => return Err(unreadable(format!("`{name}` takes no argument"))),
            (Argument::Status, None) => return Err(unreadable("it wants a status, as in status:503=0.05".into())),
            (Argument::HookStatus, None) => {
                return Err(unreadable(
                    "it wants a status and may have a number of calls, as in hook-status:503,2=1".into(),
                ));
            }
            (Argument::Redirect, None) => return Err(unreadable("it wants a status, as in redirect:307=0.05".into())),
            (Argument::Time(_), None) => return Err(unreadable(format!("it wants a time, as in {name}:200ms=0.05"))),
        };
        Ok(FaultRate { fault, rate })
    }
}

/// Text that is no fault.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct FaultError {
    text: String,
    why: String,
}

impl fmt::Display for FaultError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "fault `{}`: {}", self.text, self.why)
    }
}

/// The faults of a server, ready to draw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    refuse: f64,
    of_hooks: Vec<FaultRate>,
    of_requests: Vec<FaultRate>,
    redirects: Vec<Redirect>,
}

impl Faults {
    /// `None` when the rates of the request faults, or of the refusals, add up to more than one.
    pub(crate) fn new(rates: &[FaultRate]) -> Option<Self> {
        let (refusals, others): (Vec<FaultRate>, Vec<FaultRate>) =
            rates.iter().cloned().partition(|rate| rate.fault == Fault::Refuse);
        let (of_hooks, of_requests): (Vec<FaultRate>, Vec<FaultRate>) =
            others.into_iter().partition(|rate| matches!(rate.fault, Fault::HookStatus { .. }));
        let total = |rates: &[FaultRate]| rates.iter().map(|rate| rate.rate).sum::<f64>();
        // A sum such as ten times 0.1 may pass one by rounding.
        let possible = |rates: &[FaultRate]| total(rates) <= 1.0 + 1e-9;
        let redirects = of_requests.iter().filter_map(|rate| match &rate.fault {
            Fault::Redirect(redirect) => Some(redirect.clone()),
            _ => None,
        });
        let redirects = redirects.collect();
        [&refusals, &of_hooks, &of_requests].iter().all(|rates| possible(rates)).then(|| Faults {
            refuse: total(&refusals),
            of_hooks,
            of_requests,
            redirects,
        })
    }

    pub(crate) fn refuses_connections(&self) -> bool {
        self.refuse > 0.0
    }

    pub(crate) fn draw_refusal(&self, random: &mut impl Rng) -> bool {
        random.random::<f64>() < self.refuse
    }

    pub(crate) fn draw(&self, random: &mut impl Rng) -> Option<Fault> {
        draw(&self.of_requests, random).cloned()
    }

    /// The status with which a hook fails that was called so many times before.
    pub(crate) fn draw_hook(&self, asked: u32, random: &mut impl Rng) -> Option<u16> {
        match draw(&self.of_hooks, random) {
            Some(Fault::HookStatus { status, count }) if count.is_none_or(|count| asked < count) => Some(*status),
            _ => None,
        }
    }

    /// The fault of a request that was redirected before: the same redirect again, or none.
    pub(crate) fn after_redirect(&self, followed: Followed) -> Option<Fault> {
        let redirect = self.redirects.get(followed.row).filter(|redirect| redirect.goes_on(followed.hops))?;
        Some(Fault::Redirect(redirect.clone()))
    }

    /// The number by which locations name a redirect.
    pub(crate) fn row(&self, redirect: &Redirect) -> usize {
        self.redirects.iter().position(|found| found == redirect).unwrap_or_default()
    }
}

fn draw<'a>(rates: &'a [FaultRate], random: &mut impl Rng) -> Option<&'a Fault> {
    if rates.is_empty() {
        return None;
    }
    let mut point = random.random::<f64>();
    for FaultRate { fault, rate } in rates {
        if point < *rate {
            return Some(fault);
        }
        point -= rate;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn every_kind_is_read_and_named_alike() {
        for kind in KINDS {
            let text = match kind.argument {
                Argument::None(_) | Argument::OptionalTime(_) => format!("{}=0.5", kind.name),
                Argument::Status | Argument::HookStatus => format!("{}:503=0.5", kind.name),
                Argument::Redirect => format!("{}:307=0.5", kind.name),
                Argument::Time(_) => format!("{}:20ms=0.5", kind.name),
            };
            let read: FaultRate = text.parse().unwrap();
            assert_eq!(read.fault.name(), kind.name);
            assert_eq!(read.rate, 0.5);
        }
    }

    #[test]
    fn a_stall_may_end() {
        let read: FaultRate = "stall:2s=1".parse().unwrap();
        assert_eq!(read.fault, Fault::Stall(Some(Duration::from_secs(2))));
    }

    #[test]
    fn nonsense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("cut", "no `=RATE`"),
            ("cut=2", "not a rate"),
            ("bang=0.1", "none of refuse, reset"),
            ("status=0.1", "wants a status"),
            ("status:200=0.1", "not an HTTP status"),
            ("slow-headers=0.1", "wants a time"),
            ("cut:5=0.1", "takes no argument"),
            ("hook-status=1", "wants a status"),
            ("hook-status:503,x=1", "not a number of calls"),
            ("redirect=1", "wants a status"),
            ("redirect:200=1", "none of 301"),
            ("redirect:307,sideways=1", "not a number of hops"),
        ] {
            let error = text.parse::<FaultRate>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn each_fault_comes_at_its_own_rate() {
        let rates = ["cut=0.1", "status:503=0.3", "refuse=0.9"].map(|text| text.parse().unwrap());
        let faults = Faults::new(&rates).unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let drawn: Vec<_> = (0..10_000).map(|_| faults.draw(&mut random)).collect();
        let share = |wanted| drawn.iter().filter(|fault| **fault == wanted).count() as f64 / drawn.len() as f64;
        assert!((share(Some(Fault::Cut)) - 0.1).abs() < 0.01);
        assert!((share(Some(Fault::Status(503))) - 0.3).abs() < 0.02);
        assert!((share(None) - 0.6).abs() < 0.02);
    }

    #[test]
    fn rates_beyond_one_are_refused() {
        let rates = ["cut=0.6", "reset=0.6"].map(|text| text.parse().unwrap());
        assert!(Faults::new(&rates).is_none());
    }
}
