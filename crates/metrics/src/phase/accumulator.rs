//! The records of one phase, as one record thread sees them.

use crate::curves::order::Sent;
use crate::curves::pending::Pending;
use crate::curves::sweep_line::SweepLine;
use crate::curves::timing::Timing;
use crate::facts::Fact;
use crate::phase::live::Live;
use crate::phase::records::Records;
use crate::run::Metrics;
use crate::run::record::RecordMetrics;
use aiperf_types::{Measured, RequestError, WallNs};

/// All data about the records of a phase. Merging two gives the accumulator of both.
///
/// The numbers of a record are stored in columns. Its part in the curves is not: it waits until it is [handed
/// over](Self::hand_over) to a [`SweepLine`] that all record threads share. If it is never handed over, it is swept for
/// each summary.
#[derive(Clone, Debug)]
pub struct Accumulator {
    pub(crate) kept: Records,
    /// Requests that are not swept yet.
    pub(crate) pending: Pending,
    /// The sweep of these records, made while they arrived.
    pub(crate) sweep: Option<Box<SweepLine>>,
    /// The same requests for the joint sweep of overlapping phases, if there is one.
    joint: Option<Joint>,
    /// `None` without consumers of live statistics.
    pub(crate) live: Option<Live>,
    pub(crate) limits: Limits,
}

/// Requests for a sweep of several phases.
#[derive(Clone, Debug)]
struct Joint {
    /// The index of their phase among these.
    phase: u16,
    pending: Pending,
}

/// Up to which number of values percentiles are exact; beyond it they come from histograms. The limit of curves is [the
/// sweep's](SweepLine::with_limit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Values of a list metric.
    pub list_values: u64,
}

impl Limits {
    /// No limit. For a part of a run: the curves of merged parts come from the lists of all.
    pub const NONE: Self = Self { list_values: u64::MAX };
}

impl Default for Limits {
    fn default() -> Self {
        Self { list_values: 16_000_000 }
    }
}

impl Accumulator {
    pub fn new(metrics: &Metrics) -> Self {
        Self::with_limits(metrics, Limits::default())
    }

    pub fn with_limits(metrics: &Metrics, limits: Limits) -> Self {
        Self {
            kept: Records::default(),
            pending: Pending::default(),
            sweep: None,
            joint: None,
            live: Some(Live::new(metrics)),
            limits,
        }
    }

    /// Records that were stored elsewhere, with [their curves](Records::sweep).
    pub fn of_records(records: Records, sweep: SweepLine, limits: Limits) -> Self {
        let mut accumulator = Self {
            kept: records,
            pending: Pending::default(),
            sweep: Some(Box::new(sweep)),
            joint: None,
            live: None,
            limits,
        };
        accumulator.limit_gaps(accumulator.kept.gaps.count());
        accumulator
    }

    /// The records, without their curves.
    pub fn into_records(self) -> Records {
        self.kept
    }

    /// For a run without consumers of live statistics: none are computed.
    pub fn unwatched(mut self) -> Self {
        self.live = None;
        self
    }

    /// For the phase at this index among phases that may overlap: their requests are also [handed
    /// over](Self::hand_over_jointly) to a joint sweep.
    pub fn joint(mut self, phase: u16) -> Self {
        self.joint = Some(Joint { phase, pending: Pending::default() });
        self
    }

    /// Adds a record: its measurements, and the metrics computed from them.
    pub fn add(&mut self, m: &Measured, record: &RecordMetrics) {
        if let Some(live) = &mut self.live {
            live.add(record);
        }
        self.kept.add(m, record);
        self.limit_gaps(self.kept.gaps.count());
        let issued = m.credit_issued.unwrap_or_default();
        match Timing::of(&record.facts) {
            Some(timing) => self.each_pending(m.number, issued, |pending, sent| {
                pending.add(sent, timing, &record.gaps);
            }),
            None => self.pass_over(m.number, issued),
        }
    }

    /// Reports a request that is no record, by its number and when it was released, so that curves need not wait for
    /// it.
    pub fn pass_over(&mut self, number: u64, issued: WallNs) {
        self.each_pending(number, issued, Pending::pass_over);
    }

    fn each_pending(&mut self, number: u64, issued: WallNs, mut take: impl FnMut(&mut Pending, Sent)) {
        take(&mut self.pending, Sent { phase: 0, number, at: issued.0 });
        if let Some(Joint { phase, pending }) = &mut self.joint {
            take(pending, Sent { phase: *phase, number, at: issued.0 });
        }
    }

    /// Merges two parts of a phase, or two phases. The curves of overlapping phases must come [from a joint
    /// sweep](Self::with_sweep).
    pub fn merge(mut self, other: Self) -> Self {
        if let (Some(own), Some(others)) = (&mut self.live, &other.live) {
            own.merge(others);
        }
        self.kept = self.kept.merge(other.kept);
        self.limit_gaps(self.kept.gaps.count());
        self.pending.append(other.pending);
        match (&mut self.joint, other.joint) {
            (Some(own), Some(others)) => own.pending.append(others.pending),
            (own, others) => *own = own.take().or(others),
        }
        match (&mut self.sweep, other.sweep) {
            (Some(own), Some(others)) => own.append(*others),
            (own, others) => *own = own.take().or(others),
        }
        self
    }

    /// Drops the gaps between content responses if there are more than the limit.
    fn limit_gaps(&mut self, count: u64) {
        self.kept.limit_gaps(count, self.limits.list_values);
    }

    /// Hands over the requests that are not swept yet, to the sweep of all parts of the phase.
    pub fn hand_over(&mut self, sweep: &mut SweepLine) {
        sweep.take(&mut self.pending);
        self.limit_gaps(sweep.taken_gaps());
    }

    /// The same, to the joint sweep of all phases that may overlap.
    pub fn hand_over_jointly(&mut self, sweep: &mut SweepLine) {
        self.joint.iter_mut().for_each(|joint| sweep.take(&mut joint.pending));
    }

    /// Requests that wait to be [handed over](Self::hand_over), including those in no curve.
    pub fn unswept(&self) -> usize {
        self.pending.sent.len()
    }

    /// Requests that wait to be [handed over jointly](Self::hand_over_jointly).
    pub fn jointly_unswept(&self) -> usize {
        self.joint.as_ref().map_or(0, |joint| joint.pending.sent.len())
    }

    /// The earliest start of them.
    pub fn first_unswept(&self) -> Option<WallNs> {
        self.pending.first_start().map(WallNs)
    }

    /// Takes back the sweep that these records were handed over to, and sweeps the rest.
    pub fn finish_sweep(&mut self, mut sweep: SweepLine) {
        self.hand_over(&mut sweep);
        sweep.end();
        match &mut self.sweep {
            Some(own) => own.append(sweep),
            none => *none = Some(Box::new(sweep)),
        }
    }

    /// With the curves of this sweep: these records are those of overlapping phases, swept together.
    pub fn with_sweep(mut self, mut sweep: SweepLine) -> Self {
        sweep.end();
        self.sweep = Some(Box::new(sweep));
        self
    }

    /// Live statistics: running sums, no sorting. Costs a copy of about 100 KB.
    pub fn live(&self) -> Option<Live> {
        self.live.clone()
    }

    pub fn records(&self) -> u64 {
        self.kept.len()
    }

    /// Distinct errors with their counts, in order of first occurrence; at most a thousand, the rest counted together.
    pub fn errors(&self) -> Vec<(RequestError, u64)> {
        self.kept.errors.list()
    }

    /// From the first request sent to the last one ended, including failed ones.
    pub fn attempted_span(&self) -> Option<(WallNs, WallNs)> {
        let (mut first, mut last) = (u64::MAX, 0);
        self.kept.columns.each(&[Fact::Start, Fact::End], |_, facts| {
            if let (Some(start), Some(length)) = (facts.get(Fact::Start), facts.get(Fact::End)) {
                first = first.min(start);
                last = last.max(start + length);
            }
        });
        (first <= last).then_some((WallNs(first), WallNs(last)))
    }

    /// Bytes held, roughly.
    pub fn size(&self) -> usize {
        let sweep = self.sweep.as_ref().map_or(0, |sweep| sweep.size());
        let joint = self.joint.as_ref().map_or(0, |joint| joint.pending.size());
        let live = self.live.as_ref().map_or(0, Live::size);
        self.kept.size() + self.pending.size() + joint + sweep + live
    }
}
