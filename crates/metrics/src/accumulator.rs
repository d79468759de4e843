//! The records of one phase, as one record thread sees them.

use crate::bins::StreamBins;
use crate::columns::Columns;
use crate::errors::Errors;
use crate::facts::Fact;
use crate::gaps::Gaps;
use crate::live::Live;
use crate::record::RecordMetrics;
use crate::run::Metrics;
use aiperf_types::{Measured, RequestError, WallNs};
use std::collections::BTreeMap;

/// Everything that is kept of the records of a phase. Merging two gives the accumulator of both.
#[derive(Clone, Debug)]
pub struct Accumulator {
    pub(crate) columns: Columns,
    pub(crate) gaps: Gaps,
    pub(crate) bins: StreamBins,
    pub(crate) live: Live,
    pub(crate) errors: Errors,
    pub(crate) spec_decode: BTreeMap<u32, u64>,
    pub(crate) limits: Limits,
}

/// Up to where statistics are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Values of a list metric; past it a histogram.
    pub list_values: u64,
    /// Events of a curve; past it bins of time.
    pub curve_events: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { list_values: 16_000_000, curve_events: 8_000_000 }
    }
}

impl Accumulator {
    /// An empty accumulator.
    pub fn new(metrics: &Metrics) -> Self {
        Self::with_limits(metrics, Limits::default())
    }

    /// An empty accumulator with other limits.
    pub fn with_limits(metrics: &Metrics, limits: Limits) -> Self {
        Self {
            columns: Columns::new(),
            gaps: Gaps::new(metrics.slice),
            bins: StreamBins::new(),
            live: Live::new(metrics),
            errors: Errors::default(),
            spec_decode: BTreeMap::new(),
            limits,
        }
    }

    /// Adds a record: what was measured, and the metrics computed from that.
    pub fn add(&mut self, m: &Measured, record: &RecordMetrics) {
        let facts = &record.facts;
        self.live.add(record);
        self.gaps.add(facts, &record.gaps);
        self.bins.add(facts, &record.gaps);
        self.columns.push(facts, &record.gaps);
        if self.columns.keeps_gaps() && self.gaps.count() > self.limits.list_values {
            self.let_go_of_gaps();
        }
        match &m.error {
            Some(error) => self.errors.add(error, m.start_wall.0 + m.end.since(m.start).0),
            None => {
                for (&accepted, &steps) in m.spec_decode.iter().flat_map(|spec| &spec.acceptance_histogram) {
                    *self.spec_decode.entry(accepted).or_default() += steps;
                }
            }
        }
    }

    /// Makes slices start at this instant, which should be that of the first request. It matters only once list values become
    /// too many to keep: without it they are then put into slices that start at the earliest record known so far.
    pub fn anchor_slices(&mut self, first: WallNs) {
        self.gaps.anchor(first);
    }

    /// Both together.
    pub fn merge(mut self, other: Self) -> Self {
        self.live.merge(&other.live);
        self.errors.merge(&other.errors);
        self.bins.merge(other.bins);
        for (accepted, steps) in other.spec_decode {
            *self.spec_decode.entry(accepted).or_default() += steps;
        }
        let (mut other_gaps, mut other_columns) = (other.gaps, other.columns);
        let too_many = self.gaps.count() + other_gaps.count() > self.limits.list_values;
        if too_many {
            if self.columns.keeps_gaps() {
                self.let_go_of_gaps();
            }
            if other_columns.keeps_gaps() {
                other_gaps.spill(&other_columns);
                other_columns.drop_gaps();
            }
        }
        self.gaps.merge(other_gaps);
        self.columns.append(other_columns);
        self
    }

    fn let_go_of_gaps(&mut self) {
        self.gaps.spill(&self.columns);
        self.columns.drop_gaps();
    }

    /// The state for those who watch: running statistics, no sorting. Costs a copy of some 100 KB.
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.columns.rows() as u64
    }

    /// Distinct errors with their counts, in order of first occurrence; at most a thousand, the rest counted together.
    pub fn errors(&self) -> Vec<(RequestError, u64)> {
        self.errors.list()
    }

    /// From the first request sent to the last one ended, failed ones included.
    pub fn attempted_span(&self) -> Option<(WallNs, WallNs)> {
        let (mut first, mut last) = (u64::MAX, 0);
        self.columns.each(&[Fact::Start, Fact::End], |_, facts| {
            if let (Some(start), Some(length)) = (facts.get(Fact::Start), facts.get(Fact::End)) {
                first = first.min(start);
                last = last.max(start + length);
            }
        });
        (first <= last).then_some((WallNs(first), WallNs(last)))
    }

    /// Bytes held, roughly.
    pub fn size(&self) -> usize {
        self.columns.size() + self.gaps.size() + self.bins.0.size() + self.live.size()
    }
}
