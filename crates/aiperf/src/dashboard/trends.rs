//! Rates and latencies, second by second.

use aiperf_types::{MetricsSnapshot, MonoNs, Nanos, PhaseKind, PhaseStarted, Progress};
use std::collections::VecDeque;

/// Seconds kept: more than the width of any terminal.
const MOST_SECONDS: usize = 600;
const SECOND: u64 = 1_000_000_000;

/// The shown curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    RequestRate,
    FirstToken,
    BetweenTokens,
}

/// Sum and count of a metric's values.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    sum: f64,
    count: u64,
}

/// The values of one second; `None` if nothing was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    rate: Option<f64>,
    first_token: Values,
    between_tokens: Values,
}

impl Column {
    fn value(&self, curve: Curve) -> Option<f64> {
        let mean = |values: Values| (values.count > 0).then(|| values.sum / values.count as f64);
        let value = match curve {
            Curve::RequestRate => self.rate,
            Curve::FirstToken => mean(self.first_token),
            Curve::BetweenTokens => mean(self.between_tokens),
        };
        value.filter(|value| value.is_finite())
    }
}

/// All curves over the same seconds. Those of the warm-up are dropped when profiling starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trends {
    columns: VecDeque<Column>,
    /// The second of the first column.
    first: u64,
    /// The shown kind of phase, and when its first phase started: seconds count from there.
    shown: Option<(PhaseKind, MonoNs)>,
    /// The newest phase and its start, with the time and count of the last sample of its rate.
    sampled: Option<Sampled>,
    known: [Values; 2],
}

#[derive(Clone, Copy, Debug)]
struct Sampled {
    phase: u16,
    start: Nanos,
    at: Nanos,
    completed: u64,
}

impl Trends {
    pub(crate) fn start(&mut self, started: &PhaseStarted) {
        let kind = started.phase.kind;
        let origin = match self.shown {
            Some((shown, origin)) if shown == kind => origin,
            _ => {
                *self = Self { shown: Some((kind, started.at)), ..Self::default() };
                started.at
            }
        };
        let start = started.at.since(origin);
        self.sampled = Some(Sampled { phase: started.phase.index, start, at: start, completed: 0 });
    }

    pub(crate) fn progress(&mut self, progress: &Progress) {
        // An earlier phase that waits for its last requests is ignored.
        let Some(last) = self.sampled.filter(|sampled| sampled.phase == progress.phase.index) else { return };
        let now = Nanos(last.start.0 + progress.elapsed.0);
        let (from, until) = (last.at.0 / SECOND, now.0 / SECOND);
        if until <= from {
            return;
        }
        let completed = progress.counts.completed;
        let rate = completed.saturating_sub(last.completed) as f64 / Nanos(now.0 - last.at.0).as_secs_f64();
        for second in from.max(until.saturating_sub(MOST_SECONDS as u64))..until {
            if let Some(column) = self.column(second) {
                column.rate = Some(rate);
            }
        }
        self.sampled = Some(Sampled { at: now, completed, ..last });
    }

    /// The mean of the values since the last snapshot, for the second that ends about now.
    pub(crate) fn metrics(&mut self, snapshot: &MetricsSnapshot) {
        let Some((_, origin)) = self.shown.filter(|(kind, _)| *kind == snapshot.kind) else { return };
        let ended = (snapshot.at.since(origin).0 + SECOND / 2) / SECOND;
        let mut came = [Values::default(); 2];
        let tags = ["time_to_first_token", "inter_token_latency"];
        for ((came, known), tag) in came.iter_mut().zip(&mut self.known).zip(tags) {
            let stat = |name| snapshot.stat(tag, name);
            let Some((sum, count)) = stat("sum").zip(stat("count")) else { continue };
            let now = Values { sum, count: count as u64 };
            *came = Values { sum: now.sum - known.sum, count: now.count.saturating_sub(known.count) };
            *known = now;
        }
        let Some(column) = self.column(ended.saturating_sub(1)) else { return };
        for (values, came) in [&mut column.first_token, &mut column.between_tokens].into_iter().zip(came) {
            *values = Values { sum: values.sum + came.sum, count: values.count + came.count };
        }
    }

    /// The column of a second, added if it is new; `None` if it was dropped already.
    fn column(&mut self, second: u64) -> Option<&mut Column> {
        let keep = (second + 1).saturating_sub(MOST_SECONDS as u64);
        while self.first < keep && self.columns.pop_front().is_some() {
            self.first += 1;
        }
        self.first = self.first.max(keep);
        let at = usize::try_from(second.checked_sub(self.first)?).ok()?;
        if at >= self.columns.len() {
            self.columns.resize(at + 1, Column::default());
        }
        self.columns.get_mut(at)
    }

    pub(crate) fn latest(&self, curve: Curve) -> Option<f64> {
        self.columns.iter().rev().find_map(|column| column.value(curve))
    }

    pub(crate) fn largest(&self, curve: Curve) -> Option<f64> {
        self.columns.iter().filter_map(|column| column.value(curve)).reduce(f64::max)
    }

    /// The last seconds, one per column: the same seconds for every curve.
    pub(crate) fn last(&self, curve: Curve, columns: usize) -> impl Iterator<Item = Option<f64>> {
        self.columns.range(self.hidden(columns)..).map(move |column| column.value(curve))
    }

    /// The seconds shown in so many columns.
    pub(crate) fn seconds(&self, columns: usize) -> std::ops::Range<u64> {
        self.first + self.hidden(columns) as u64..self.first + self.columns.len() as u64
    }

    fn hidden(&self, columns: usize) -> usize {
        self.columns.len().saturating_sub(columns)
    }
}
