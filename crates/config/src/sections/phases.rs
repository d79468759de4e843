//! When requests are sent, and when a phase ends.

use super::scale::{AdaptiveScale, Sla};
use crate::choice::choices;
use crate::range::{at_least, between, more_than};
use crate::setting::{Field, List, Reader, Seconds, Setting, Switch, join, section};
use crate::tree::{Datum, Node};
use aiperf_plan::RampStrategy;
use aiperf_types::PhaseKind;
use serde_json::{Value, json};

choices! {
    /// How requests arrive.
    PhaseType {
        Concurrency = "concurrency",
        Poisson = "poisson",
        Gamma = "gamma",
        Constant = "constant",
        UserCentric = "user_centric",
        FixedSchedule = "fixed_schedule",
    }
    /// The law of arrivals that a flag asks for.
    ArrivalPattern {
        ConcurrencyBurst = "concurrency_burst",
        Constant = "constant",
        Gamma = "gamma",
        Poisson = "poisson",
    }
}

/// The default concurrency of a phase that sends by concurrency.
pub(crate) const DEFAULT_CONCURRENCY: i64 = 1;

/// The default number of requests of a run: this many, or twice the concurrency if that is more.
pub(crate) const LEAST_REQUESTS: i64 = 10;

impl ArrivalPattern {
    /// The default pattern at a rate.
    pub(crate) const DEFAULT: Self = Self::Poisson;
}

/// Default grace period after the time limit of a flag, in seconds.
pub(crate) const GRACE_SECONDS: f64 = 30.0;

section! {
    /// One block of load.
    Phase {
        /// Name: letters, digits, - and _, unique
        name: String;
        /// warmup or profiling; by default from the name of the phase
        kind: PhaseKind;
        /// How requests arrive
        r#type: PhaseType;
        /// Exclude it from the results; a warmup always is
        exclude_from_results: bool;
        /// Stop after this many requests
        requests: i64 [at_least(1.0)];
        /// Stop after this time
        duration: Seconds [more_than(0.0)];
        /// Stop after this many sessions
        sessions: i64 [at_least(1.0)];
        /// Concurrent sessions; types with a rate have no limit by default
        concurrency: i64 [at_least(1.0)];
        /// Ramp up to it over this time
        concurrency_ramp: Ramp;
        /// Concurrent requests that wait for their first token
        prefill_concurrency: i64 [at_least(1.0)];
        /// Ramp up to it over this time
        prefill_ramp: Ramp;
        /// How long to wait for requests in flight after the time limit
        grace_period: Seconds [at_least(0.0)];
        /// Requests that are cancelled
        cancellation: Cancellation;
        /// Start while the previous phase is still finishing
        seamless: bool = false;
        /// Requests (or turns) per second
        rate: f64 [more_than(0.0)];
        /// Ramp up to it over this time
        rate_ramp: Ramp;
        /// Rates over time
        rate_series: RateSeries;
        /// Shape of gamma arrivals; 1 is poisson
        smoothness: f64 [more_than(0.0)] = 1.0;
        /// Users of type user_centric
        users: i64 [at_least(1.0)];
        /// Shift timestamps so the first is zero; by default only without a start offset
        auto_offset: bool = true;
        /// Skip records before this millisecond offset
        start_offset: i64 [at_least(0.0)];
        /// Skip records after this millisecond offset
        end_offset: i64 [at_least(0.0)];
        /// Abort when the failed share of a profiling phase of at least max(10, concurrency) records passes this
        failed_request_threshold: f64 [between(0.0, true, 1.0, true)];
        /// Agentic replay: earliest random start within a trace
        trajectory_start_min_ratio: f64 [between(0.0, true, 1.0, true)] = 0.25;
        /// Agentic replay: latest random start within a trace
        trajectory_start_max_ratio: f64 [between(0.0, true, 1.0, true)] = 0.75;
        /// Agentic replay: start all lanes together at phase boundaries
        burst_phase_starts: bool = false;
        /// Agentic replay: cap the time the whole system may idle
        system_idle_gap_cap_seconds: f64 [at_least(0.0)];
        /// Agentic replay: extra cache-pressure warmup seconds
        agentic_cache_warmup_duration: f64 [more_than(0.0)];
        /// Agentic replay: wait for priming requests, seconds
        agentic_warmup_grace_period: f64 [at_least(0.0)];
        /// Timing instead of that of the type
        timing_mode: String;
        /// Objectives of the phase
        sla: Sla;
        /// Raise the load until an objective fails
        adaptive_scale: Switch<AdaptiveScale>;
    }
    /// Requests that are cancelled.
    Cancellation {
        /// Percent of requests to cancel
        rate: f64 [between(0.0, true, 100.0, true)];
        /// Seconds after full send before cancelling
        delay: f64 [at_least(0.0)] = 0.0;
    }
    /// Ramp to a value.
    RampShape {
        /// Time it takes
        duration: Seconds [more_than(0.0)];
        /// How it is raised
        strategy: RampStrategy = RampStrategy::Linear;
    }
    /// A rate at a point in time.
    RatePoint {
        /// Seconds since the start
        time_s: f64 [at_least(0.0)];
        /// Requests per second
        qps: f64 [more_than(0.0)];
    }
}

/// Ramp to a value; a bare time is its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Ramp(pub RampShape);

impl Setting for Ramp {
    const FIELDS: &'static [Field] = RampShape::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        if node.is_map() {
            return RampShape::read(node, path, reader).map(Self);
        }
        let duration = Seconds::read(node, path, reader)?;
        if duration.0 <= 0.0 {
            reader.refuse(node, path, "must be more than 0");
            return None;
        }
        Some(Self(RampShape { duration: Some(duration), strategy: None }))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        self.0.full()
    }
    fn schema() -> Value {
        json!({"anyOf": [Seconds::schema(), RampShape::schema()]})
    }
}

/// Rates over time: at least two points, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSeries(pub List<RatePoint>);

impl Setting for RateSeries {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let points = match &node.datum {
            Datum::List(_) => node,
            Datum::Map(entries) if entries.len() == 1 && node.get("points").is_some() => node.get("points")?,
            _ => {
                let problem = reader.places.refuse(node, path, "is not a series of rates");
                reader.problems.push(problem.hint("a list of {time_s, qps}, or {points: [...]}"));
                return None;
            }
        };
        let before = reader.problems.len();
        let list = List::<RatePoint>::read(points, path, reader)?;
        let is_read = reader.problems.len() == before;
        for (index, item) in points.items().iter().enumerate().filter(|(_, item)| item.is_map()) {
            // Points and items correspond only if all items were read.
            let point = list.get(index).filter(|_| is_read);
            let is_endless = |point: &RatePoint| [point.time_s, point.qps].into_iter().flatten().any(f64::is_infinite);
            let is_short = ["time_s", "qps"].iter().any(|key| item.set(key).is_none());
            if is_short || point.is_some_and(is_endless) {
                reader.refuse(item, &join(path, &index.to_string()), "needs a finite time_s and qps");
            }
        }
        if reader.problems.len() > before {
            return None;
        }
        let name = reader.places.subject_key(node, path);
        let times: Vec<f64> = list.iter().filter_map(|point| point.time_s).collect();
        if times.len() < 2 {
            let problem = crate::error::Problem::new(format!("{name} needs at least two points")).at(path);
            reader.problems.push(problem.because("a series describes how the rate changes; one point is a fixed rate"));
            return None;
        }
        if let Some(at) = (1..times.len()).find(|at| times[*at] <= times[at - 1]) {
            let what = format!("{name} has time_s {} in point {at} after {}", times[at], times[at - 1]);
            let problem = crate::error::Problem::new(what).at(path);
            reader.problems.push(problem.because("each point must be later than the one before; the first is point 0"));
            return None;
        }
        Some(Self(list))
    }
    fn write(&self) -> Value {
        json!({"points": self.0.write()})
    }
    fn schema() -> Value {
        json!({"anyOf": [
            {"type": "string"},
            List::<RatePoint>::schema(),
            {"type": "object", "properties": {"points": List::<RatePoint>::schema(), "path": {"type": "string"}}},
        ]})
    }
}

impl PhaseType {
    /// The default type.
    pub(crate) const DEFAULT: Self = Self::Concurrency;

    /// Types with a rate, of requests or of users.
    const BY_RATE: &'static [Self] = &[Self::Poisson, Self::Gamma, Self::Constant, Self::UserCentric];
    /// Types whose requests arrive by a law, independent of each other.
    const ARRIVALS: &'static [Self] = &[Self::Poisson, Self::Gamma, Self::Constant];

    /// Whether requests arrive at a rate by a law.
    pub fn is_arrivals(self) -> bool {
        Self::ARRIVALS.contains(&self)
    }

    /// Whether there is a rate, of requests or of users' turns.
    pub fn has_rate(self) -> bool {
        Self::BY_RATE.contains(&self)
    }
}

/// Keys that only some types of phase have, and which.
pub const KEYS_OF: &[(&str, &[PhaseType])] = &[
    ("rate", PhaseType::BY_RATE),
    ("rate_ramp", PhaseType::BY_RATE),
    ("rate_series", PhaseType::ARRIVALS),
    ("smoothness", &[PhaseType::Gamma]),
    ("users", &[PhaseType::UserCentric]),
    ("auto_offset", &[PhaseType::FixedSchedule]),
    ("start_offset", &[PhaseType::FixedSchedule]),
    ("end_offset", &[PhaseType::FixedSchedule]),
];
