//! When requests are sent, and when a phase ends: load modes, their settings, and what they become in the plan.

use super::ramps::{Ramp, RateSeries};
use super::scale::{AdaptiveScale, Sla};
use crate::choice::choices;
use crate::range::{at_least, between, more_than};
use crate::setting::{Seconds, Switch, section};
use aiperf_plan::{Arrival, ArrivalLaw, RateLevel, RatePlan, ScheduleZero};
use aiperf_types::PhaseKind;

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

impl ArrivalPattern {
    /// The default pattern at a rate.
    pub(crate) const DEFAULT: Self = Self::Poisson;

    /// The type of a phase with this pattern; `None` for a pattern without a rate.
    pub(crate) fn phase_type(self) -> Option<PhaseType> {
        match self {
            Self::Gamma => Some(PhaseType::Gamma),
            Self::Constant => Some(PhaseType::Constant),
            Self::Poisson => Some(PhaseType::Poisson),
            Self::ConcurrencyBurst => None,
        }
    }
}

/// The default number of requests of a run: this many, or twice the concurrency if that is more.
pub(crate) const LEAST_REQUESTS: i64 = 10;

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

impl PhaseType {
    /// The default type.
    pub(crate) const DEFAULT: Self = Self::Concurrency;

    /// Types with a rate, of requests or of users.
    const BY_RATE: &'static [Self] = &[Self::Poisson, Self::Gamma, Self::Constant, Self::UserCentric];
    /// Types whose requests arrive by a law, independent of each other.
    const ARRIVALS: &'static [Self] = &[Self::Poisson, Self::Gamma, Self::Constant];

    /// Whether a phase of this type has a setting.
    pub fn has(self, key: &str) -> bool {
        KEYS_OF.iter().find(|(own, _)| *own == key).is_none_or(|(_, types)| types.contains(&self))
    }

    /// Whether requests arrive at a rate by a law.
    pub fn is_arrivals(self) -> bool {
        Self::ARRIVALS.contains(&self)
    }

    /// Whether there is a rate, of requests or of users' turns.
    pub fn has_rate(self) -> bool {
        Self::BY_RATE.contains(&self)
    }

    /// Whether a request is sent when a session slot is free. Then there is a concurrency, even if none is set.
    pub fn is_closed_loop(self) -> bool {
        match self {
            Self::Concurrency => true,
            Self::Poisson | Self::Gamma | Self::Constant | Self::UserCentric | Self::FixedSchedule => false,
        }
    }

    /// Whether users continue their conversations at a fixed interval.
    pub fn has_users(self) -> bool {
        match self {
            Self::UserCentric => true,
            Self::Concurrency | Self::Poisson | Self::Gamma | Self::Constant | Self::FixedSchedule => false,
        }
    }

    /// Whether requests are sent at the timestamps of their rows. Such a phase ends with its rows, and its load is
    /// that of the recording.
    pub fn replays(self) -> bool {
        match self {
            Self::FixedSchedule => true,
            Self::Concurrency | Self::Poisson | Self::Gamma | Self::Constant | Self::UserCentric => false,
        }
    }

    /// Whether a warmup may have this type.
    pub fn can_warm_up(self) -> bool {
        match self {
            Self::Concurrency | Self::Poisson | Self::Gamma | Self::Constant | Self::UserCentric => true,
            Self::FixedSchedule => false,
        }
    }
}

impl Phase {
    /// Its type, which has a default.
    pub fn phase_type(&self) -> PhaseType {
        self.r#type.unwrap_or(PhaseType::DEFAULT)
    }

    /// The number of sessions at once, if it is limited.
    pub fn sessions_at_once(&self) -> Option<i64> {
        self.concurrency.or(self.phase_type().is_closed_loop().then_some(DEFAULT_CONCURRENCY))
    }

    /// How its requests arrive.
    pub fn arrival(&self) -> Arrival {
        let law = match self.phase_type() {
            PhaseType::Concurrency => return Arrival::Concurrency,
            PhaseType::UserCentric => {
                let users = u32::try_from(self.users.unwrap_or(1)).unwrap_or(u32::MAX);
                return Arrival::UserCentric { users, rate: self.rate.unwrap_or_default() };
            }
            PhaseType::FixedSchedule => return Arrival::FixedSchedule { zero: self.zero() },
            PhaseType::Constant => ArrivalLaw::Constant,
            PhaseType::Poisson => ArrivalLaw::Poisson,
            PhaseType::Gamma => ArrivalLaw::Gamma { smoothness: self.smoothness() },
        };
        let level = match &self.rate_series {
            Some(series) => RateLevel::Series(series.points()),
            None => RateLevel::Fixed(self.rate.unwrap_or_default()),
        };
        Arrival::Rate { law, rate: RatePlan { level, ramp: self.rate_ramp.as_ref().and_then(Ramp::plan) } }
    }

    /// A start offset replaces the first timestamp as zero, unless auto_offset is set.
    fn zero(&self) -> ScheduleZero {
        match (self.auto_offset, self.start_offset) {
            (Some(true), _) | (None, None) => ScheduleZero::First,
            (_, start) => ScheduleZero::At(start.unwrap_or(0) as f64),
        }
    }

    /// Its load in the name of the default folder of a run.
    pub fn folder_part(&self) -> String {
        let series = self.rate_series.as_ref().and_then(|series| series.0.first()).and_then(|point| point.qps);
        let rate = self.rate.or(series).unwrap_or_default();
        match self.phase_type() {
            PhaseType::Concurrency => format!("concurrency{}", self.concurrency.unwrap_or(DEFAULT_CONCURRENCY)),
            PhaseType::UserCentric => format!("user_centric-users{}-qps{rate:?}", self.users.unwrap_or_default()),
            PhaseType::FixedSchedule => "fixed_schedule".to_owned(),
            PhaseType::Poisson | PhaseType::Gamma | PhaseType::Constant => match self.concurrency {
                Some(cap) => format!("concurrency{cap}-request_rate{rate:?}"),
                None => format!("request_rate{rate:?}"),
            },
        }
    }
}
