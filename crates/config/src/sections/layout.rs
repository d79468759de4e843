//! Layouts of dataset files: the formats of the plan, and those that are not supported yet.

use crate::choice::Choice;
use aiperf_plan::{FileFormat, SPEED_BENCH, TraceFormat};

/// Layout of a dataset file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    File(FileFormat),
    Trace(TraceFormat),
    Unread(Unread),
}

/// Named layouts that are not supported yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    DagJsonl,
    Tracelab,
    WekaTrace,
}

/// The layouts that help lists before the splits of SPEED-Bench, and after them.
const BEFORE: [Layout; 11] = [
    Layout::Trace(TraceFormat::BurstGpt),
    Layout::Trace(TraceFormat::Bailian),
    Layout::Trace(TraceFormat::Baseten),
    Layout::Trace(TraceFormat::Mooncake),
    Layout::File(FileFormat::RawPayload),
    Layout::File(FileFormat::InputsJson),
    Layout::Unread(Unread::DagJsonl),
    Layout::File(FileFormat::SagemakerDataCapture),
    Layout::File(FileFormat::MultiTurn),
    Layout::File(FileFormat::RandomPool),
    Layout::File(FileFormat::SingleTurn),
];
const AFTER: [Layout; 2] = [Layout::Unread(Unread::Tracelab), Layout::Unread(Unread::WekaTrace)];

const ALL: [Layout; BEFORE.len() + SPEED_BENCH.len() + AFTER.len()] = {
    let mut all = [BEFORE[0]; BEFORE.len() + SPEED_BENCH.len() + AFTER.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = if index < BEFORE.len() {
            BEFORE[index]
        } else if index < BEFORE.len() + SPEED_BENCH.len() {
            Layout::File(FileFormat::SpeedBench(&SPEED_BENCH[index - BEFORE.len()]))
        } else {
            AFTER[index - BEFORE.len() - SPEED_BENCH.len()]
        };
        index += 1;
    }
    all
};

const NAMES: [&str; ALL.len()] = {
    let mut names = [""; ALL.len()];
    let mut index = 0;
    while index < ALL.len() {
        names[index] = ALL[index].name();
        index += 1;
    }
    names
};

impl Choice for Layout {
    const ALL: &'static [Self] = &ALL;
    const NAMES: &'static [&'static str] = &NAMES;
}

impl Layout {
    /// The layouts whose records name hash blocks of a size.
    pub const HASHED: &'static [Self] = &[
        Self::Trace(TraceFormat::Mooncake),
        Self::Trace(TraceFormat::Bailian),
        Self::Trace(TraceFormat::Baseten),
        Self::Unread(Unread::Tracelab),
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::File(format) => format.name(),
            Self::Trace(format) => format.name(),
            Self::Unread(Unread::DagJsonl) => "dag_jsonl",
            Self::Unread(Unread::Tracelab) => "tracelab",
            Self::Unread(Unread::WekaTrace) => "weka_trace",
        }
    }

    /// Whether files of this layout can be read.
    pub fn is_read(self) -> bool {
        !matches!(self, Self::Unread(_))
    }

    /// Whether it is a trace: it can be reshaped, and its timestamps set the schedule by default.
    pub fn is_trace(self) -> bool {
        match self {
            Self::File(format) => format.is_recorded(),
            Self::Trace(_) => true,
            Self::Unread(layout) => layout != Unread::DagJsonl,
        }
    }

    /// Whether prompts are defined by hash blocks, which represent text that repeats.
    pub fn repeats_blocks(self) -> bool {
        match self {
            Self::File(format) => format.is_recorded(),
            Self::Trace(format) => format != TraceFormat::Baseten,
            Self::Unread(layout) => layout == Unread::WekaTrace,
        }
    }
}
