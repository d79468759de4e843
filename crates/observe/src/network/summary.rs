//! What the probes of a run came to: of each server, and of all.

use super::sample::{ProbeError, ProbeSample};
use crate::numbers::{deviation, least_and_most, mean, percentiles};
use aiperf_plan::ProbeTarget;
use std::sync::Arc;

/// Kinds of errors that are told apart.
const MOST_ERRORS: usize = 20;

/// Everything that was measured, while it is.
#[derive(Debug, Default)]
pub(super) struct Samples {
    targets: Vec<TargetSamples>,
    errors: Vec<ProbeErrors>,
}

#[derive(Debug)]
struct TargetSamples {
    target: Arc<ProbeTarget>,
    /// Nanoseconds.
    rtts: Vec<f64>,
    failed: u64,
    last_error: Option<ProbeError>,
}

/// All probes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSummary {
    /// Each server that was probed, in the order of their first samples.
    pub targets: Vec<TargetSummary>,
    pub all: RoundTrips,
    pub errors: Vec<ProbeErrors>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TargetSummary {
    pub target: Arc<ProbeTarget>,
    pub round_trips: RoundTrips,
    pub last_error: Option<ProbeError>,
}

/// Equal errors, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeErrors {
    pub error: ProbeError,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTrips {
    pub succeeded: u64,
    pub failed: u64,
    /// Absent where none succeeded.
    pub times: Option<RoundTripTimes>,
}

/// Statistics in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTripTimes {
    pub min: f64,
    pub mean: f64,
    pub median: f64,
    pub p90: f64,
    pub p99: f64,
    /// Of a sample.
    pub deviation: f64,
}

impl Samples {
    pub(super) fn add(&mut self, sample: ProbeSample) {
        let ProbeSample { target, outcome, .. } = sample;
        let known = self.targets.iter().position(|known| known.target == target);
        let place = known.unwrap_or_else(|| {
            self.targets.push(TargetSamples { target, rtts: Vec::new(), failed: 0, last_error: None });
            self.targets.len() - 1
        });
        let samples = &mut self.targets[place];
        match outcome {
            Ok(measured) => samples.rtts.push(measured.rtt.0 as f64),
            Err(error) => {
                samples.failed += 1;
                samples.last_error = Some(error.clone());
                self.note(error);
            }
        }
    }

    fn note(&mut self, error: ProbeError) {
        let known = self.errors.iter().position(|known| known.error == error);
        match known.or_else(|| (self.errors.len() == MOST_ERRORS).then_some(MOST_ERRORS - 1)) {
            Some(place) => self.errors[place].count += 1,
            None => self.errors.push(ProbeErrors { error, count: 1 }),
        }
    }

    pub(super) fn summarise(self) -> NetworkSummary {
        let mut all: Vec<f64> = self.targets.iter().flat_map(|samples| samples.rtts.iter().copied()).collect();
        let failed = self.targets.iter().map(|samples| samples.failed).sum();
        let targets = self.targets.into_iter().map(|TargetSamples { target, mut rtts, failed, last_error }| {
            TargetSummary { target, round_trips: RoundTrips::of(&mut rtts, failed), last_error }
        });
        NetworkSummary { targets: targets.collect(), all: RoundTrips::of(&mut all, failed), errors: self.errors }
    }
}

impl NetworkSummary {
    /// Of some samples, in the order in which they came.
    pub fn of(samples: impl IntoIterator<Item = ProbeSample>) -> Self {
        let mut gathered = Samples::default();
        samples.into_iter().for_each(|sample| gathered.add(sample));
        gathered.summarise()
    }
}

impl RoundTrips {
    /// Of round trips in nanoseconds, which are sorted on the way.
    fn of(rtts: &mut [f64], failed: u64) -> Self {
        // In the order in which they came, as they were added up when this was recorded.
        let (mean, deviation, min) = (mean(rtts), deviation(rtts), least_and_most(rtts).0);
        let times = percentiles(rtts).map(|[_, _, _, _, median, _, p90, _, p99]| RoundTripTimes {
            min,
            mean,
            median,
            p90,
            p99,
            deviation,
        });
        Self { succeeded: rtts.len() as u64, failed, times }
    }

    pub fn count(&self) -> u64 {
        self.succeeded + self.failed
    }
}
