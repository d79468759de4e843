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
use aiperf_types::{Nanos, PhaseId, Verdict};
use conduct::Conduct;
use quality::Quality;
use sending::{Sending, Sent};
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

/// What a judgement is made from.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub quality: &'a Quality,
    pub conduct: &'a Conduct,
    pub sending: &'a Sending,
    pub sent: Sent,
    /// From the first request to the last response of the run.
    pub lasted: Nanos,
    /// The user asked for the instants of reads.
    pub wants_unstamped: bool,
    /// The user asked for normal priority of workers.
    pub wants_normal: bool,
}

impl Judgement {
    /// The judgement on the numbers of a summary.
    pub fn on(summary: &Summary, observed: Observed<'_>) -> Self {
        let Observed { quality, conduct, sending, sent, lasted, wants_unstamped, wants_normal } = observed;
        let longest_wait = conduct.worker_run_queue_wait.iter().max().map_or(0.0, |wait| wait.0 as f64);
        let evidence = Evidence {
            bounds: &summary.bounds,
            clock_ms: conduct.clock_error.as_millis_f64(),
            held: share(conduct.held.as_secs_f64(), sending.all().sending_seconds),
            unsent: sent.unsent_share(),
            connection_wait_ms: quality.mean_connection_wait().as_millis_f64(),
            stopped: share(conduct.stopped.0 as f64, lasted.0 as f64),
            core_wait: share(longest_wait, lasted.0 as f64),
            is_realtime: conduct.realtime_workers == conduct.workers,
            wants_normal,
            steal: conduct.steal_share.unwrap_or(0.0),
            clock_steps: conduct.clock_steps,
            throttled: conduct.throttled.unwrap_or(0),
            unstamped: quality.unstamped_share(),
            wants_unstamped,
            coalesced: quality.coalesced_share(),
            is_empty: summary.records == summary.failed,
            unfinished: share(quality.unfinished_streams as f64, summary.records.saturating_sub(summary.failed) as f64),
        };
        let verdict = judge(&evidence);
        Self { verdict, bounds: summary.bounds.clone(), intervals: summary.intervals.clone() }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
