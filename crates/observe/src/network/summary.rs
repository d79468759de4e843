//! Results of the probes of a run: of each server, and of all.

use super::sample::{ProbeError, ProbeSample};
use crate::distribution::Distribution;
use crate::numbers::{deviation, least_and_most, mean, percentiles};
use aiperf_plan::ProbeTarget;
use std::sync::Arc;

/// Kinds of errors that are distinguished.
const MOST_ERRORS: usize = 20;
/// Round trips of a server that are stored one by one: a day at one per second, a hundred seconds at one per
/// millisecond. Beyond this, percentiles are exact to 0.4%; the mean is exact.
const MOST_KEPT: usize = 100_000;

/// Everything that was measured, while it is.
#[derive(Debug, Default)]
pub(super) struct Samples {
    targets: Vec<TargetSamples>,
    /// Over all targets.
    all: Times,
    errors: Vec<ProbeErrors>,
}

#[derive(Debug)]
struct TargetSamples {
    target: Arc<ProbeTarget>,
    times: Times,
    failed: u64,
    last_error: Option<ProbeError>,
}

/// Round trips in nanoseconds.
#[derive(Debug)]
enum Times {
    /// In the order of arrival.
    Kept(Vec<f64>),
    Summed(Distribution),
}

impl Default for Times {
    fn default() -> Self {
        Self::Kept(Vec::new())
    }
}

impl Times {
    fn add(&mut self, time: f64) {
        match self {
            Self::Kept(all) if all.len() < MOST_KEPT => all.push(time),
            Self::Kept(all) => {
                let mut summed = Distribution::default();
                summed.extend(all.drain(..).chain([time]));
                *self = Self::Summed(summed);
            }
            Self::Summed(all) => all.add(time),
        }
    }

    fn round_trips(self, failed: u64) -> RoundTrips {
        match self {
            Self::Kept(mut all) => {
                RoundTrips { succeeded: all.len() as u64, failed, times: RoundTripTimes::of(&mut all) }
            }
            Self::Summed(all) => {
                let [median, p90, p99] = [50.0, 90.0, 99.0].map(|percent| all.percentile(percent));
                let (mean, deviation) = (all.mean(), all.deviation());
                let times = RoundTripTimes { min: all.min, mean, median, p90, p99, deviation };
                RoundTrips { succeeded: all.count, failed, times: Some(times) }
            }
        }
    }
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
            self.targets.push(TargetSamples { target, times: Times::default(), failed: 0, last_error: None });
            self.targets.len() - 1
        });
        let samples = &mut self.targets[place];
        match outcome {
            Ok(measured) => {
                samples.times.add(measured.rtt.0 as f64);
                self.all.add(measured.rtt.0 as f64);
            }
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
        let failed = self.targets.iter().map(|samples| samples.failed).sum();
        let targets = self.targets.into_iter().map(|TargetSamples { target, times, failed, last_error }| {
            TargetSummary { target, round_trips: times.round_trips(failed), last_error }
        });
        NetworkSummary { targets: targets.collect(), all: self.all.round_trips(failed), errors: self.errors }
    }
}

impl NetworkSummary {
    /// From some samples, in the order of arrival.
    pub fn of(samples: impl IntoIterator<Item = ProbeSample>) -> Self {
        let mut gathered = Samples::default();
        samples.into_iter().for_each(|sample| gathered.add(sample));
        gathered.summarise()
    }
}

impl RoundTripTimes {
    /// From round trips in nanoseconds, which are sorted; `None` if there are none.
    fn of(rtts: &mut [f64]) -> Option<Self> {
        // In the order of arrival, as they were added when this was recorded.
        let (mean, deviation, min) = (mean(rtts), deviation(rtts), least_and_most(rtts).0);
        let [_, _, _, _, median, _, p90, _, p99] = percentiles(rtts)?;
        Some(Self { min, mean, median, p90, p99, deviation })
    }
}

impl RoundTrips {
    pub fn count(&self) -> u64 {
        self.succeeded + self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_round_trips_than_are_kept_keep_their_mean_and_nearly_their_percentiles() {
        let (mut few, mut many) = (Times::default(), Times::default());
        // 100 us to 10 ms, in no order.
        let rtts: Vec<f64> =
            (0..2 * MOST_KEPT as u64).map(|at| (100_000 + at * 7_919_113 % 9_900_000) as f64).collect();
        rtts[..MOST_KEPT].iter().for_each(|rtt| few.add(*rtt));
        rtts.iter().for_each(|rtt| many.add(*rtt));
        assert!(matches!((&few, &many), (Times::Kept(_), Times::Summed(_))));
        let exact = RoundTripTimes::of(&mut rtts.clone()).unwrap();
        let RoundTrips { succeeded, failed, times } = many.round_trips(3);
        let times = times.unwrap();
        assert_eq!((succeeded, failed, times.mean, times.min), (rtts.len() as u64, 3, exact.mean, exact.min));
        let pairs = [(times.median, exact.median), (times.p90, exact.p90), (times.p99, exact.p99)];
        for (shown, exact) in pairs {
            assert!((shown - exact).abs() < exact * 0.004, "{shown} for {exact}");
        }
        assert!((times.deviation - exact.deviation).abs() < 1e-3, "{times:?} for {exact:?}");
    }
}
