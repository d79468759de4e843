//! How rates and latencies went, a second at a time.

use aiperf_types::{MetricsSnapshot, Nanos, PhaseKind, Progress};
use std::collections::VecDeque;

/// Samples that are kept: wider than any terminal.
const MOST_SAMPLES: usize = 600;
/// Between two samples of the request rate.
const EVERY: Nanos = Nanos(1_000_000_000);

/// One curve; seconds in which nothing was measured have no value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trend(VecDeque<Option<f64>>);

impl Trend {
    fn push(&mut self, value: Option<f64>) {
        self.0.push_back(value.filter(|value| value.is_finite()));
        if self.0.len() > MOST_SAMPLES {
            self.0.pop_front();
        }
    }

    pub(crate) fn latest(&self) -> Option<f64> {
        self.0.iter().rev().find_map(|value| *value)
    }

    pub(crate) fn largest(&self) -> Option<f64> {
        self.0.iter().flatten().copied().reduce(f64::max)
    }

    /// The last samples, as many as there are columns.
    pub(crate) fn last(&self, columns: usize) -> impl Iterator<Item = Option<f64>> {
        self.0.range(self.0.len().saturating_sub(columns)..).copied()
    }
}

/// Sum and number of a metric's values so far.
#[derive(Clone, Copy, Debug, Default)]
struct SoFar {
    sum: f64,
    count: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Trends {
    pub(crate) request_rate: Trend,
    pub(crate) first_token: Trend,
    pub(crate) between_tokens: Trend,
    /// The phase whose rate is sampled, with the instant and count of its last sample.
    sampled: Option<(u16, Nanos, u64)>,
    kind: Option<PhaseKind>,
    known: [SoFar; 2],
}

impl Trends {
    pub(crate) fn progress(&mut self, progress: &Progress) {
        let (index, now, completed) = (progress.phase.index, progress.elapsed, progress.counts.completed);
        let (at, before) = match self.sampled {
            Some((sampled, at, before)) if sampled == index => (at, before),
            // A later phase takes over; one that began earlier and waits for its last requests does not.
            Some((sampled, ..)) if sampled > index => return,
            _ => (Nanos::ZERO, 0),
        };
        if self.sampled.is_none_or(|(sampled, ..)| sampled != index) {
            self.sampled = Some((index, at, before));
        }
        if now.0 >= at.0 + EVERY.0 {
            let seconds = Nanos(now.0 - at.0).as_secs_f64();
            self.request_rate.push(Some(completed.saturating_sub(before) as f64 / seconds));
            self.sampled = Some((index, now, completed));
        }
    }

    /// The mean of what came since the snapshot before.
    pub(crate) fn metrics(&mut self, snapshot: &MetricsSnapshot) {
        if self.kind != Some(snapshot.kind) {
            (self.kind, self.known) = (Some(snapshot.kind), Default::default());
        }
        let curves = [&mut self.first_token, &mut self.between_tokens];
        let tags = ["time_to_first_token", "inter_token_latency"];
        for ((curve, known), tag) in curves.into_iter().zip(&mut self.known).zip(tags) {
            let stat = |name| snapshot.stat(tag, name);
            let Some((sum, count)) = stat("sum").zip(stat("count")) else { continue };
            let now = SoFar { sum, count: count as u64 };
            let values = now.count.saturating_sub(known.count);
            curve.push((values > 0).then(|| (now.sum - known.sum) / values as f64));
            *known = now;
        }
    }
}
