//! The input of the probing thread, its commands, and its result.

use super::sample::ProbeSample;
use super::summary::NetworkSummary;
use crate::collection::Announce;
use aiperf_plan::ProbePlan;
use aiperf_transport::AddressChoice;
use aiperf_types::WallAnchor;
use std::io::{self, Write};
use std::sync::Arc;

/// Appends a sample as a line, with its line break.
pub type EncodeSample = fn(&mut Vec<u8>, &ProbeSample);

/// What probing needs.
pub struct ProbeSetup {
    pub plan: ProbePlan,
    /// Which addresses requests use.
    pub addresses: AddressChoice,
    /// The run's anchor.
    pub anchor: WallAnchor,
    pub phases: usize,
    pub announce: Arc<dyn Announce>,
    pub encode: EncodeSample,
    /// Receives every sample as a line.
    pub file: Box<dyn Write + Send>,
}

/// Commands to the probing thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    PhaseStarted,
    /// The requests of a phase are done.
    PhaseDone,
    /// The run is over: make up for missing samples, and end.
    Finish,
    /// The same, without making up for anything.
    Stop,
}

/// All that was measured.
#[derive(Debug)]
pub struct Probed {
    pub summary: NetworkSummary,
    /// Why the file of samples is incomplete.
    pub file_failure: Option<io::Error>,
}
