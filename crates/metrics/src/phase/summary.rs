//! The results of a phase, or of a slice of it.

use crate::curves::curve::Window;
use crate::numbers::stats::Stats;
use crate::registry::export_rank;
use crate::registry::flags::Flags;
use crate::registry::metric::{ConsoleGroup, Metric};
use aiperf_statistics::Interval;
use aiperf_types::WallNs;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The statistics of one metric, in its display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricResult {
    pub tag: Cow<'static, str>,
    pub header: Cow<'static, str>,
    /// The unit of all statistics except the count.
    pub unit: &'static str,
    pub group: ConsoleGroup,
    /// Its position there.
    pub order: Option<u32>,
    pub flags: Flags,
    pub stats: Stats,
}

impl MetricResult {
    pub(crate) fn new(metric: &'static Metric, stats: Stats) -> Self {
        Self {
            tag: metric.tag.into(),
            header: metric.header.into(),
            unit: metric.display.name(),
            group: metric.group,
            order: metric.order,
            flags: metric.flags,
            stats: stats.scaled(metric.scale()).finite(),
        }
    }

    /// Whether the metric is shown during the run.
    pub fn is_live(&self) -> bool {
        is_live(self.group, self.flags)
    }
}

/// Whether a metric with this group and these flags is shown during the run.
pub(crate) fn is_live(group: ConsoleGroup, flags: Flags) -> bool {
    group != ConsoleGroup::None && flags.allow_table()
}

/// Where the true values of one metric's statistics lie, in its display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricIntervals {
    pub tag: &'static str,
    /// By the name of the statistic.
    pub intervals: Vec<(&'static str, Interval)>,
}

/// How far the statistics of one metric can be from the truth, in its display unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricBounds {
    pub tag: &'static str,
    /// By the name of the statistic.
    pub bounds: Vec<(&'static str, Bound)>,
}

/// How far a statistic can be from the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// The reported value.
    pub value: f64,
    /// How much smaller the truth can be, and how much larger.
    pub early: f64,
    pub late: f64,
    /// The part of it that this client caused: it read late, or without a stamp.
    pub ours: f64,
    /// The larger of both, if only events that share a read count, and if only reads without a stamp do.
    pub merged: f64,
    pub unstamped: f64,
}

impl Bound {
    /// How far the truth can be from the reported value.
    pub fn bound(&self) -> f64 {
        self.early.max(self.late)
    }
}

/// How exact a summary is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exactness {
    pub list_values: u64,
    /// Percentiles of list metrics come from a histogram, within 0.05%; everything else is exact.
    pub lists_binned: bool,
    /// Percentiles of curves come from a histogram, within 0.05%; everything else is exact.
    pub curves_binned: bool,
    /// Requests that arrived so late that the curves had continued without them: their first part is missing there.
    pub late_in_curves: u64,
}

/// The results of a phase, or of a slice of it.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The metrics: the leading ones first, then by display order, then by name.
    pub results: Vec<MetricResult>,
    pub exactness: Exactness,
    /// Where the true values of its main statistics lie. Slices have none.
    pub intervals: Vec<MetricIntervals>,
    /// How far its main statistics can be from the truth. Slices have none.
    pub bounds: Vec<MetricBounds>,
    /// Accepted drafts per step, over all records.
    pub spec_decode_histogram: BTreeMap<u32, u64>,
    /// Records, including failed ones.
    pub records: u64,
    pub failed: u64,
}

impl Summary {
    pub fn get(&self, tag: &str) -> Option<&MetricResult> {
        self.results.iter().find(|result| result.tag == tag)
    }

    /// Where the true value of a statistic lies.
    pub fn interval(&self, tag: &str, statistic: &str) -> Option<&Interval> {
        let metric = self.intervals.iter().find(|metric| metric.tag == tag)?;
        metric.intervals.iter().find(|(name, _)| *name == statistic).map(|(_, interval)| interval)
    }

    /// How far a statistic can be from the truth.
    pub fn bound(&self, tag: &str, statistic: &str) -> Option<Bound> {
        let metric = self.bounds.iter().find(|metric| metric.tag == tag)?;
        metric.bounds.iter().find(|(name, _)| *name == statistic).map(|(_, bound)| *bound)
    }

    /// The mean, or the single value, of a metric.
    pub fn avg(&self, tag: &str) -> Option<f64> {
        self.get(tag)?.stats.avg
    }

    pub(crate) fn sort(&mut self) {
        self.results.sort_by(|one, other| export_rank(&one.tag, one.order).cmp(&export_rank(&other.tag, other.order)));
    }
}

/// The inputs of a summary besides the records.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// The window of the curves: the phase's. If absent, from the first to the last event.
    pub window: Option<Window>,
    /// Mean round-trip time of the network in nanoseconds, if it was measured.
    pub network_rtt_ns: Option<f64>,
    /// How many threads may compute; zero is one. The results do not depend on it.
    pub threads: usize,
}

impl From<Window> for Context {
    fn from(window: Window) -> Self {
        Self { window: Some(window), ..Self::default() }
    }
}

#[derive(Clone, Debug)]
pub struct Slice {
    /// Its number from the start of the phase. Slices in which no request started are left out.
    pub index: u64,
    pub start: WallNs,
    /// Exclusive.
    pub end: WallNs,
    /// Whether it has the full length.
    pub complete: bool,
    /// The results of the requests that started in it.
    pub summary: Summary,
}
