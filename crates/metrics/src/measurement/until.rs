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

    /// The statistics with their half-widths at the last look.
    pub fn targets(&self) -> impl Iterator<Item = (&Precision, Option<f64>)> {
        self.precisions.iter().zip(self.reached.half_widths.iter().copied())
    }
}
