//! Time-weighted curves: what was going on at each instant, as statistics over a window of time.
//!
//! Every request is swept in the order of time, content by content, from the first one on. Mean, deviation, smallest
//! and largest value are exact; percentiles are so up to a limit of stretches of time, and come from a histogram past
//! it.

use crate::numbers::stats::Stats;
use aiperf_types::WallNs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Requests in flight.
    Concurrency,
    /// Requests that have begun to answer.
    DecodeConcurrency,
    /// Requests that have not begun to answer.
    PrefillConcurrency,
    /// Tokens being produced.
    DecodeThroughput,
    /// Tokens being read.
    PrefillThroughput,
    /// Tokens being read or produced.
    TotalThroughput,
    /// Tokens being produced, by request that has begun to answer.
    DecodePerUser,
    /// Tokens being read, by request that has not begun to answer.
    PrefillPerUser,
    /// Tokens of requests in flight.
    TokensInFlight,
}

pub(crate) const CURVES: usize = 9;

impl Curve {
    /// Those that change with every content.
    pub(crate) const STREAMING: [Self; 3] = [Self::DecodeThroughput, Self::DecodePerUser, Self::TokensInFlight];
    /// Those that change when a request starts, begins to answer or ends.
    pub(crate) const OTHERS: [Self; 6] = [
        Self::Concurrency,
        Self::DecodeConcurrency,
        Self::PrefillConcurrency,
        Self::PrefillThroughput,
        Self::TotalThroughput,
        Self::PrefillPerUser,
    ];

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::STREAMING.into_iter().chain(Self::OTHERS)
    }

    pub(crate) fn is_streaming(self) -> bool {
        Self::STREAMING.contains(&self)
    }
}

/// A stretch of wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub start: WallNs,
    /// Its end, not included.
    pub end: WallNs,
}

/// The statistics of all curves over one window, in base units.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurveStats {
    effective: [Option<Stats>; CURVES],
    active: [Option<Stats>; CURVES],
}

impl CurveStats {
    pub(crate) fn effective(&self, curve: Curve) -> Option<Stats> {
        self.effective[curve as usize]
    }

    pub(crate) fn set(&mut self, curve: Curve, (effective, active): (Stats, Stats)) {
        self.effective[curve as usize] = Some(effective);
        self.active[curve as usize] = Some(active);
    }

    /// No tokens were produced in the window.
    pub(crate) fn set_decode_to_zero(&mut self) {
        for place in [Curve::DecodeThroughput, Curve::DecodePerUser].map(|curve| curve as usize) {
            for stats in [&mut self.effective[place], &mut self.active[place]] {
                *stats = stats.map(|stats| stats.scaled(0.0));
            }
        }
    }

    pub(crate) fn active(&self, curve: Curve) -> Option<Stats> {
        self.active[curve as usize]
    }
}
