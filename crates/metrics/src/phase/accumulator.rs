//! The records of one phase, as one record thread sees them.

use crate::curves::sweep::Sweep;
use crate::curves::timing::Timing;
use crate::facts::columns::Columns;
use crate::facts::{Fact, Facts};
use crate::numbers::gaps::Gaps;
use crate::phase::errors::Errors;
use crate::phase::live::Live;
use crate::run::Metrics;
use crate::run::record::RecordMetrics;
use aiperf_types::{Measured, RequestError, WallNs};
use std::collections::BTreeMap;

/// Everything that is kept of the records of a phase. Merging two gives the accumulator of both.
#[derive(Clone, Debug)]
pub struct Accumulator {
    pub(crate) columns: Columns,
    pub(crate) gaps: Gaps,
    /// Requests whose gaps are no longer kept, on their way to the curves.
    pub(crate) sweep: Sweep,
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
            gaps: Gaps::new(),
            sweep: Sweep::new(metrics.slice()),
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
        self.gaps.add(&record.gaps);
        self.columns.push(facts, &record.gaps);
        if !self.columns.keeps_gaps() {
            add_to(&mut self.sweep, facts, &record.gaps);
        } else if self.gaps.count() > self.limits.list_values {
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

    /// Both together.
    pub fn merge(mut self, mut other: Self) -> Self {
        let keep = |records: &Self| records.columns.keeps_gaps();
        if !keep(&self) || !keep(&other) || self.gaps.count() + other.gaps.count() > self.limits.list_values {
            self.let_go_of_gaps();
            other.let_go_of_gaps();
        }
        self.live.merge(&other.live);
        self.errors.merge(&other.errors);
        for (accepted, steps) in other.spec_decode {
            *self.spec_decode.entry(accepted).or_default() += steps;
        }
        self.gaps.merge(&other.gaps);
        self.columns.append(other.columns);
        self.sweep.merge(other.sweep);
        self
    }

    /// Stops keeping the gaps between content responses one by one: what comes of them is summed up from now on. It happens by
    /// itself when they become too many.
    pub fn let_go_of_gaps(&mut self) {
        if !self.columns.keeps_gaps() {
            return;
        }
        let needed: Vec<Fact> = Timing::FACTS.iter().copied().chain([Fact::Number, Fact::Credit]).collect();
        let sweep = &mut self.sweep;
        self.columns.each_with_gaps(&needed, |_, facts, gaps| add_to(sweep, facts, gaps));
        self.columns.drop_gaps();
    }

    /// Whether the gaps between content responses are still kept one by one.
    pub fn keeps_gaps(&self) -> bool {
        self.columns.keeps_gaps()
    }

    /// Hands over the requests whose gaps are no longer kept.
    pub fn hand_over(&mut self, sweep: &mut Sweep) {
        sweep.take_over(&mut self.sweep);
    }

    /// Requests that wait to be [handed over](Self::hand_over).
    pub fn unswept(&self) -> usize {
        self.sweep.held()
    }

    /// Goes on with what was swept of these records so far.
    pub fn put_back(&mut self, sweep: Sweep) {
        self.sweep.merge(sweep);
        if !self.columns.keeps_gaps() {
            self.sweep.end();
        }
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
        self.columns.size() + self.gaps.size() + self.sweep.size() + self.live.size()
    }
}

/// Adds a record to the curves: it was sent when the conductor released it.
fn add_to(sweep: &mut Sweep, facts: &Facts, gaps: &[u64]) {
    if let Some(timing) = Timing::of(facts) {
        let sent = facts.signed(Fact::Credit).and_then(|credit| timing.start.checked_sub_signed(credit));
        sweep.add(facts.get(Fact::Number).unwrap_or(0), sent.unwrap_or(0), timing, gaps);
    }
}
