//! Whether the numbers of a run can be trusted: what the run measured of itself.
//!
//! The summary, the console, the dashboard and the live API read the same value.
//!
//! - [`quality`]: the costs of reading and sending, by phase
//! - [`stalls`]: record files that were late, and why
//! - [`conduct`]: threads, clocks and the machine, for the whole run
//! - [`sending`]: what phases were asked to send, and what they sent
//! - [`until`]: phases that statistics could end
//! - [`verdict`]: one of three grades, with its reasons
//! - [`certainty`]: the verdict of a run, with what is known of its main statistics

pub mod certainty;
pub mod conduct;
pub mod quality;
pub mod sending;
pub mod stalls;
pub mod until;
pub mod verdict;

use crate::phase::summary::{Exactness, MetricBounds, MetricIntervals, Summary};
use aiperf_types::{PhaseId, Verdict};
use conduct::Conduct;
use quality::Quality;
use sending::Sending;
use until::PhaseUntil;
use verdict::{Evidence, judge};

/// What a run measured of itself.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// Over the profiling phases.
    pub quality: Quality,
    pub conduct: Conduct,
    pub sending: Sending,
    pub exactness: Exactness,
    /// Of all profiling phases together.
    pub judgement: Judgement,
    pub phases: Vec<PhaseMeasurement>,
    /// Phases that statistics could end.
    pub until: Vec<PhaseUntil>,
    /// Warnings that a number may be wrong, one sentence each.
    pub doubts: Vec<String>,
}

/// How far the numbers of a run, or of one of its phases, can be trusted.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    pub verdict: Verdict,
    /// How far the main statistics can be from the truth, without the clocks.
    pub bounds: Vec<MetricBounds>,
    /// Where the true values of the main statistics lie.
    pub intervals: Vec<MetricIntervals>,
}

/// What a run measured of itself in one phase.
#[derive(Clone, Debug)]
pub struct PhaseMeasurement {
    pub id: PhaseId,
    pub quality: Quality,
    pub judgement: Judgement,
}

impl Judgement {
    /// The judgement on the numbers of a summary, by evidence that has its bounds.
    pub fn on(summary: &Summary, evidence: &Evidence<'_>) -> Self {
        Self { verdict: judge(evidence), bounds: summary.bounds.clone(), intervals: summary.intervals.clone() }
    }
}

/// A part as a share of the whole; 0 if there is no whole.
pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
