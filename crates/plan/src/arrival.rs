//! How requests arrive.

use crate::ramp::Ramp;
use serde::{Deserialize, Serialize};

/// How the requests of a phase arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Arrival {
    /// As soon as slots are free.
    Concurrency,
    /// At a rate, independent of responses.
    Rate { law: ArrivalLaw, rate: RatePlan },
    /// Users who each send their next turn at a fixed interval. The rate is that of all their turns.
    UserCentric { users: u32, rate: f64 },
    /// At the times of a recording.
    FixedSchedule { zero: ScheduleZero },
}

/// The distribution of the intervals between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalLaw {
    Constant,
    Poisson,
    /// A larger smoothness is more even; 1 is Poisson.
    Gamma {
        smoothness: f64,
    },
}

/// Requests per second over a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatePlan {
    pub level: RateLevel,
    /// How the first level is reached; `None`: at once.
    pub ramp: Option<Ramp>,
}

/// Requests per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLevel {
    Fixed(f64),
    /// At least two points in the order of time: linear between them, constant before the first and after the last.
    /// Time zero is the start of the phase, or the end of its ramp.
    Series(Vec<RatePoint>),
}

/// A rate at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatePoint {
    pub seconds: f64,
    pub rate: f64,
}

/// The timestamp of a recording that is the start of the phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleZero {
    /// The first timestamp.
    First,
    /// This timestamp, in milliseconds.
    At(f64),
}

impl Arrival {
    /// Whether the server sets the pace: the next request is sent when a slot is free, not at a due time.
    pub fn is_closed_loop(&self) -> bool {
        match self {
            Self::Concurrency => true,
            Self::Rate { .. } | Self::UserCentric { .. } | Self::FixedSchedule { .. } => false,
        }
    }

    /// Whether it ends by itself, so that the phase needs no other end.
    pub fn ends_by_itself(&self) -> bool {
        match self {
            Self::FixedSchedule { .. } => true,
            Self::Concurrency | Self::Rate { .. } | Self::UserCentric { .. } => false,
        }
    }

    /// Whether it follows the timestamps of a recording.
    pub fn replays(&self) -> bool {
        match self {
            Self::FixedSchedule { .. } => true,
            Self::Concurrency | Self::Rate { .. } | Self::UserCentric { .. } => false,
        }
    }

    /// The timestamp of a recording that is the start of the phase, where it replays one.
    pub fn replay_zero(&self) -> Option<ScheduleZero> {
        match self {
            Self::FixedSchedule { zero } => Some(*zero),
            Self::Concurrency | Self::Rate { .. } | Self::UserCentric { .. } => None,
        }
    }

    /// Its rate over time, where requests arrive independently of each other.
    pub fn rate_plan(&self) -> Option<&RatePlan> {
        match self {
            Self::Rate { rate, .. } => Some(rate),
            Self::Concurrency | Self::UserCentric { .. } | Self::FixedSchedule { .. } => None,
        }
    }

    /// Requests a second, where these are the same over the whole phase once its ramp is over.
    pub fn steady_rate(&self) -> Option<f64> {
        match self {
            Self::UserCentric { rate, .. } => Some(*rate),
            Self::Rate { rate: RatePlan { level: RateLevel::Fixed(rate), .. }, .. } => Some(*rate),
            Self::Rate { .. } | Self::Concurrency | Self::FixedSchedule { .. } => None,
        }
    }

    /// Seconds after which a user sends again, where there are users.
    pub fn user_interval(&self) -> Option<f64> {
        match self {
            Self::UserCentric { users, rate } => Some(f64::from(*users) / rate),
            Self::Concurrency | Self::Rate { .. } | Self::FixedSchedule { .. } => None,
        }
    }

    /// The most requests a second that it asks for; `None` where the server sets the pace, or a recording does.
    pub fn top_rate(&self) -> Option<f64> {
        match self {
            Self::Concurrency | Self::FixedSchedule { .. } => None,
            Self::UserCentric { rate, .. } => Some(*rate),
            Self::Rate { rate, .. } => Some(rate.top()),
        }
    }
}

impl RatePlan {
    fn top(&self) -> f64 {
        match &self.level {
            RateLevel::Fixed(rate) => *rate,
            RateLevel::Series(points) => points.iter().map(|point| point.rate).fold(0.0, f64::max),
        }
    }

    pub fn fixed(rate: f64) -> Self {
        Self { level: RateLevel::Fixed(rate), ramp: None }
    }
}
