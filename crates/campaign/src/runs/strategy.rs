//! A strategy decides the next run.

use super::completed_run::CompletedRun;
use aiperf_plan::Point;
use aiperf_types::Nanos;

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The server rests before the next run.
    Wait(Nanos),
    Run(Point),
    End,
}

/// Decides the next run from the results so far. It has no clock, no socket and no file: the driver waits and acts.
pub trait Strategy {
    /// The next step after these runs: those of an earlier command first, then those of this one, in order. The driver
    /// asks again when the wait is over, or when the run is in `done`.
    fn next(&mut self, done: &[CompletedRun]) -> Next;

    /// The most runs, including those of an earlier command; `None` if there is no limit.
    fn most(&self) -> Option<usize>;
}
