//! A part of a run: the results of one engine, as a value that can be sent and merged.
//!
//! The same value crosses a thread, a file or a network. Merging parts gives the run. Records, lists, histograms,
//! counts and quality are equal to the bit, whichever part measured what. Errors are in the order of their first
//! instants. Curves are not in a part. They are computed from the records of all parts, swept together when all have
//! arrived (`metrics`, `column_sweep`).
//!
//! All parts are of one plan: phases with the same index are the same phase. Instants are on the wall clock, so
//! machines whose clocks differ must first agree on one.

use crate::recording::sinks::SinkFailure;
use crate::run::{EngineOutcome, Lost, PhaseOutcome};
use aiperf_metrics::{Accumulator, Conduct, Limits, Metrics, Records, SweepLine};
use aiperf_types::{BinaryForm, FormError, PhaseKind, WallNs};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

const FORM: BinaryForm = BinaryForm { name: "aiperf run part", version: 3 };

/// The name of a records file that another engine could not write.
const SINK_OF_PART: &str = "records of a part";

/// The results of one engine, or of several merged.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunPart {
    /// The phases that started, in the order of the plan.
    pub phases: Vec<PhasePart>,
    /// Kinds of phases that may have overlapped.
    pub overlapping: Vec<PhaseKind>,
    pub conduct: Conduct,
    pub was_stopped: bool,
    pub given_up: Option<String>,
    pub hook_failure: Option<String>,
    pub sink_failures: Vec<PartSinkFailure>,
    pub lost: Lost,
}

/// The results of one engine in one phase.
pub type PhasePart = PhaseOutcome<Records>;

/// A records file that could not be written to its end, on the machine that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSinkFailure {
    pub sink: String,
    pub path: PathBuf,
    pub error: String,
}

/// Why the outcome of a run cannot be a part of another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartError {
    /// The run reached its limit of lists.
    #[error("phase {0} kept no gaps between responses, which curves of several parts need")]
    NoGaps(String),
}

impl RunPart {
    /// Turns the results of a run into a part of another. Calls of its hooks that still run are not in it.
    pub fn of(outcome: EngineOutcome) -> Result<Self, PartError> {
        let EngineOutcome {
            phases,
            overlapping,
            conduct,
            was_stopped,
            given_up,
            hook_failure,
            hooks: _,
            sink_failures,
            lost,
        } = outcome;
        let phases = phases.into_iter().map(|phase| match phase.with_records(Accumulator::into_records) {
            phase if phase.records.keeps_gaps() => Ok(phase),
            phase => Err(PartError::NoGaps(phase.id.name.to_string())),
        });
        let failure = |SinkFailure { sink, path, error }| PartSinkFailure {
            sink: String::from(sink),
            path,
            error: io::Error::to_string(&error),
        };
        Ok(Self {
            phases: phases.collect::<Result<_, _>>()?,
            overlapping: overlapping.into_iter().map(|(kind, _)| kind).collect(),
            conduct,
            was_stopped,
            given_up,
            hook_failure,
            sink_failures: sink_failures.into_iter().map(failure).collect(),
            lost,
        })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>, FormError> {
        FORM.write(self)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormError> {
        FORM.read(bytes)
    }

    /// Merges two parts.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for phase in other.phases {
            let place = self.phases.partition_point(|known| known.id.index < phase.id.index);
            match self.phases.get_mut(place).filter(|known| known.id.index == phase.id.index) {
                Some(known) => known.merge(phase),
                None => self.phases.insert(place, phase),
            }
        }
        for kind in other.overlapping {
            if !self.overlapping.contains(&kind) {
                self.overlapping.push(kind);
            }
        }
        self.conduct.merge(other.conduct);
        self.was_stopped |= other.was_stopped;
        self.given_up = self.given_up.or(other.given_up);
        self.hook_failure = self.hook_failure.or(other.hook_failure);
        self.sink_failures.extend(other.sink_failures);
        self.lost.merge(other.lost);
        self
    }

    /// The results of the run whose parts are all merged here, with the curves of all its requests. `metrics` are the
    /// metrics that the parts measured.
    pub fn into_outcome(self, metrics: &Metrics) -> EngineOutcome {
        let profiling = self.phases.iter().filter(|phase| phase.id.kind == PhaseKind::Profiling);
        let first_start = profiling.filter_map(|phase| phase.records.first_start()).min();
        let sweep = |kind| sweep_line(kind, metrics, first_start);
        let joint = |kind| {
            let members = self.phases.iter().filter(move |phase| phase.id.kind == kind);
            (kind, Records::sweep(members.map(|phase| &phase.records), sweep(kind)))
        };
        let kinds = [PhaseKind::Warmup, PhaseKind::Profiling].into_iter();
        let overlapping = kinds.filter(|kind| self.may_overlap(*kind)).map(joint).collect();
        let with_curves = |phase: PhasePart| {
            let sweep = Records::sweep([&phase.records], sweep(phase.id.kind));
            phase.with_records(|records| Accumulator::of_records(records, sweep, Limits::default()))
        };
        let failure = |PartSinkFailure { sink, path, error }| SinkFailure {
            sink: SINK_OF_PART,
            path,
            error: io::Error::other(format!("{sink}: {error}")),
        };
        EngineOutcome {
            phases: self.phases.into_iter().map(with_curves).collect(),
            overlapping,
            conduct: self.conduct,
            was_stopped: self.was_stopped,
            given_up: self.given_up,
            hook_failure: self.hook_failure,
            hooks: None,
            sink_failures: self.sink_failures.into_iter().map(failure).collect(),
            lost: self.lost,
        }
    }

    /// Whether phases of a kind may have overlapped: by the plan, or because machines ended a phase at different
    /// instants.
    fn may_overlap(&self, kind: PhaseKind) -> bool {
        let mut phases: Vec<&PhasePart> = self.phases.iter().filter(|phase| phase.id.kind == kind).collect();
        phases.sort_by_key(|phase| phase.start);
        let mut last_end = WallNs(0);
        let overlaps = phases.into_iter().any(|phase| {
            let overlaps = last_end > phase.start;
            last_end = last_end.max(phase.end);
            overlaps
        });
        overlaps || self.overlapping.contains(&kind)
    }
}

/// All profiling phases share the slices of the run.
fn sweep_line(kind: PhaseKind, metrics: &Metrics, first_start: Option<WallNs>) -> SweepLine {
    match kind {
        PhaseKind::Warmup => SweepLine::new(None),
        PhaseKind::Profiling => {
            let mut sweep = SweepLine::new(metrics.slice());
            first_start.into_iter().for_each(|origin| sweep.align_slices(origin));
            sweep
        }
    }
}

impl<R> PhaseOutcome<R> {
    /// The same phase with its records in another form.
    fn with_records<T>(self, change: impl FnOnce(R) -> T) -> PhaseOutcome<T> {
        PhaseOutcome {
            id: self.id,
            start: self.start,
            sent_end: self.sent_end,
            last_sent: self.last_sent,
            end: self.end,
            counts: self.counts,
            cut_off: self.cut_off,
            never_left: self.never_left,
            was_stopped: self.was_stopped,
            quality: self.quality,
            until: self.until,
            records: change(self.records),
        }
    }
}

impl PhasePart {
    /// Adds another part of the same phase.
    fn merge(&mut self, other: Self) {
        self.start = self.start.min(other.start);
        self.sent_end = self.sent_end.max(other.sent_end);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.end = self.end.max(other.end);
        self.counts.merge(&other.counts);
        self.cut_off += other.cut_off;
        self.never_left += other.never_left;
        self.was_stopped |= other.was_stopped;
        self.quality.merge(&other.quality);
        // Each engine looked at its own records: what the first one found is not that of the whole.
        self.until = None;
        self.records = std::mem::take(&mut self.records).merge(other.records);
    }
}

impl Lost {
    fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.record_threads += other.record_threads;
    }
}

#[cfg(test)]
mod tests;
