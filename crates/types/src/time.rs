//! Time as integers: nanoseconds on one of two clocks.

use serde::{Deserialize, Serialize};

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// From seconds, saturating; negative and NaN become zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * 1e9) as u64)
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// An instant on CLOCK_MONOTONIC. Zero means "not taken".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonoNs(pub u64);

impl MonoNs {
    /// Time since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time until a later instant, if both were taken, in this order.
    pub fn until(self, later: Self) -> Option<Nanos> {
        let (from, to) = (self.taken()?, later.taken()?);
        (to >= from).then(|| to.since(from))
    }

    /// This instant plus a length of time, saturating.
    pub const fn plus(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// `None` when the instant was never taken.
    pub fn taken(self) -> Option<Self> {
        (self.0 != 0).then_some(self)
    }
}

/// An instant on the wall clock: nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WallNs(pub u64);

/// Both clocks read together: every exported wall time is an anchor plus monotonic time, so a step of the wall
/// clock during a run moves nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallAnchor {
    /// The wall clock at the anchor.
    pub wall: WallNs,
    /// The monotonic clock at the same moment.
    pub mono: MonoNs,
}

impl WallAnchor {
    /// The wall time of a monotonic instant.
    pub const fn wall(self, at: MonoNs) -> WallNs {
        WallNs(self.wall.0.wrapping_add(at.0.wrapping_sub(self.mono.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_converts_instants_on_both_sides_of_it() {
        let anchor = WallAnchor { wall: WallNs(1_000), mono: MonoNs(100) };
        assert_eq!(anchor.wall(MonoNs(150)), WallNs(1_050));
        assert_eq!(anchor.wall(MonoNs(40)), WallNs(940));
    }
}
