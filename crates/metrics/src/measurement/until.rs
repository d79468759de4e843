//! How profiling phases ended that statistics could end (`--until`).

use crate::phase::until::Reached;
use aiperf_types::{PhaseId, Precision};

/// How one phase ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseUntil {
    pub id: PhaseId,
    /// The statistics that had to be known, and how exactly.
    pub precisions: Vec<Precision>,
    pub reached: Reached,
    pub was_stopped: bool,
}

impl PhaseUntil {
    /// Why it sent no more, as files name it.
    pub const fn ended_by(&self) -> &'static str {
        match (self.reached.ended, self.was_stopped) {
            (true, _) => "until",
            (false, true) => "stopped",
            (false, false) => "maximum",
        }
    }

    /// The statistics with what the last look found.
    pub fn targets(&self) -> impl Iterator<Item = UntilTarget<'_>> {
        let targets = self.precisions.iter().zip(&self.reached.half_widths);
        targets.map(|(precision, reached)| UntilTarget { precision, reached: *reached })
    }
}

/// A statistic that had to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UntilTarget<'a> {
    pub precision: &'a Precision,
    /// Half the width of its interval at the last look, as a share of its value; `None` if there was none.
    pub reached: Option<f64>,
}

impl UntilTarget<'_> {
    /// Whether the last look met it.
    pub fn is_met(&self) -> bool {
        self.reached.is_some_and(|reached| reached <= self.precision.half_width)
    }
}
