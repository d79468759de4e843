//! Time-weighted curves: the load at each instant, as statistics over a window of time.
//!
//! All requests are swept in the order of time, content by content. Mean, deviation, minimum and maximum are exact.
//! Percentiles are exact up to a limit of stretches (intervals in which a curve is constant), and come from a histogram
//! beyond it.

use crate::numbers::stats::Stats;
use aiperf_types::WallNs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Requests in flight.
    Concurrency,
    /// Requests with content.
    DecodeConcurrency,
    /// Requests without content yet.
    PrefillConcurrency,
    /// Tokens being produced.
    DecodeThroughput,
    /// Tokens being read.
    PrefillThroughput,
    /// Tokens being read or produced.
    TotalThroughput,
    /// Tokens being produced, per request with content.
    DecodePerUser,
    /// Tokens being read, per request without content.
    PrefillPerUser,
    /// Tokens of requests in flight.
    TokensInFlight,
}

pub(crate) const CURVES: usize = 9;

impl Curve {
    /// The curves that change with every content.
    pub(crate) const STREAMING: [Self; 3] = [Self::DecodeThroughput, Self::DecodePerUser, Self::TokensInFlight];
    /// The curves that change when a request starts, has its first content or ends.
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

/// An interval of wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start: WallNs,
    /// Exclusive.
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

    /// Sets the curves of produced tokens to zero.
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
