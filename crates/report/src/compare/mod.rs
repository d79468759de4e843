//! The comparison of runs: what differs, how certain that is, and whether limits hold.
//!
//! The values come from the caller; nothing is computed here except shares of them.
//!
//! # Layout
//! - [`table`]: for people; [`compare_json`](mod@json): for programs; [`cases`]: for CI systems

pub mod cases;
pub mod json;
pub mod table;

use crate::aggregate::verdicts::RunVerdicts;

/// Several sides, each compared with the first.
#[derive(Clone, Debug)]
pub struct CompareReport {
    /// The version of this program.
    pub version: String,
    /// The level of the intervals: 0.95.
    pub level: f64,
    pub sides: Vec<Side>,
    pub pairs: Vec<Pair>,
    /// Notes on the sides that matter for their interpretation.
    pub notes: Vec<String>,
}

/// One directory.
#[derive(Clone, Debug)]
pub struct Side {
    /// `A` for the first.
    pub label: String,
    /// As the user gave it.
    pub path: String,
    pub runs: usize,
    /// Requests whose records were read; `None` if records were not needed or do not exist.
    pub records: Option<usize>,
    /// The verdicts of its runs on their own numbers.
    pub verdicts: RunVerdicts,
}

/// Two of the sides.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Their indexes among the sides.
    pub first: usize,
    pub second: usize,
    pub method: Method,
    pub rows: Vec<Row>,
    /// Settings in which they differ.
    pub settings: Vec<SettingDifference>,
    /// Failed requests; `None` if a side has no counts of requests.
    pub failures: Option<Failures>,
    pub judgements: Vec<Judgement>,
}

/// Failed requests of a side, among all of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRequests {
    pub failed: u64,
    /// At least one.
    pub requests: u64,
}

impl FailedRequests {
    pub fn share(self) -> f64 {
        self.failed as f64 / self.requests as f64
    }
}

/// Failed requests of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    pub first: FailedRequests,
    pub second: FailedRequests,
    /// By Fisher's exact test.
    pub p: f64,
    /// The same, corrected for the number of sides.
    pub corrected_p: Option<f64>,
    pub change: FailureChange,
}

impl Failures {
    /// Whether the second side fails significantly more.
    pub fn rose(&self) -> bool {
        self.change == FailureChange::Rose
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureChange {
    Rose,
    Fell,
    Undecided,
}

impl FailureChange {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rose => "rose",
            Self::Fell => "fell",
            Self::Undecided => "undecided",
        }
    }
}

/// The basis of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Records of one run per side.
    Records,
    /// Several runs per side.
    Trials,
    /// There is no basis.
    Summaries,
}

/// One setting that differs between the sides; `None` if a side does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingDifference {
    pub path: String,
    pub first: Option<String>,
    pub second: Option<String>,
}

/// One statistic of one metric.
#[derive(Clone, Debug)]
pub struct Row {
    pub tag: String,
    /// The metric's name for people, and a shorter one.
    pub header: String,
    pub short: String,
    pub unit: String,
    /// `avg`, `p99`.
    pub stat: String,
    /// `None` if neither direction is better.
    pub larger_is_better: Option<bool>,
    pub numbers: Numbers,
    /// Whether it was compared by counts of requests.
    pub is_share: bool,
    /// How far each side's value can be from the truth, in the unit of the metric; `None` if neither side knows.
    pub bounds: Option<(f64, f64)>,
    /// Whether each side has too few requests for it.
    pub too_few: (bool, bool),
    pub verdict: RowVerdict,
}

impl Row {
    /// How far the difference can be from the truth because of the measurement.
    pub fn bound(&self) -> f64 {
        self.bounds.map_or(0.0, |(first, second)| first + second)
    }
}

/// The result for a statistic. Differences are the second side minus the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    pub first: f64,
    pub second: f64,
    pub difference: f64,
    /// As a share of the first side's absolute value.
    pub relative: Option<f64>,
    /// The interval of the difference; an end is infinite if the data do not bound it.
    pub interval: Option<(f64, f64)>,
    pub p: Option<f64>,
    /// The same, corrected for the number of comparisons.
    pub corrected_p: Option<f64>,
    /// The number of independent values with the same evidence, per side.
    pub effective: Option<(f64, f64)>,
}

impl Numbers {
    /// The interval as shares of the first side's absolute value.
    pub fn relative_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval?;
        let size = self.first.abs();
        (size > 0.0).then(|| (low / size, high / size))
    }
}

/// The verdict on the second side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowVerdict {
    Better,
    Worse,
    /// Neither direction is better.
    Neutral,
    /// Both sides are zero throughout.
    Equal,
    Undecided(Reason),
}

impl RowVerdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Neutral => "neutral",
            Self::Equal => "equal",
            Self::Undecided(_) => "undecided",
        }
    }
}

/// Why the comparison is inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    WithinNoise,
    /// The measurements can be off by as much.
    ErrorBound,
    /// It would be a verdict if it were the only comparison.
    ManyComparisons,
    FewRecords,
    FewRuns,
    NoRecords,
    IncompleteRecords,
    OneValue,
    Lists,
}

impl Reason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::WithinNoise => "within_noise",
            Self::ErrorBound => "error_bound",
            Self::ManyComparisons => "many_comparisons",
            Self::FewRecords => "few_records",
            Self::FewRuns => "few_runs",
            Self::NoRecords => "no_records",
            Self::IncompleteRecords => "incomplete_records",
            Self::OneValue => "one_value_a_run",
            Self::Lists => "lists",
        }
    }

    /// The reason, and what would help.
    pub const fn words(self) -> &'static str {
        match self {
            Self::WithinNoise => "chance alone would differ as much",
            Self::ErrorBound => "the measurement itself can be off by as much",
            Self::ManyComparisons => {
                "would be a verdict alone, but not among so many comparisons (Holm); --metrics and --stats ask for fewer"
            }
            Self::FewRecords => {
                "too little data: a mean needs 30 independent requests a side, p90 100, p99 1,000, and requests that \
                 wait for each other count for fewer; longer runs would help"
            }
            Self::FewRuns => "fewer than 3 runs on a side, so it is not known how runs differ from each other",
            Self::NoRecords => "a side has no records, only a summary; runs with --export-level records would help",
            Self::IncompleteRecords => "a side's records are not complete",
            Self::OneValue => "one value a run: several runs a side would help (--num-profile-runs 3 or more)",
            Self::Lists => "several values a request, which are not compared",
        }
    }
}

/// A limit, and whether it holds.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// As the user gave it: `time_to_first_token:p99:+5%`.
    pub rule: String,
    pub unit: String,
    pub first: f64,
    pub second: f64,
    pub relative: Option<f64>,
    /// The value of the second side at the limit.
    pub limit: f64,
    /// The interval of the second side minus the limit.
    pub interval: Option<(f64, f64)>,
    pub p: Option<f64>,
    /// The same, corrected for the number of limits.
    pub corrected_p: Option<f64>,
    /// Whether it is a metric of successful requests: then the limit does not hold if more requests fail.
    pub is_of_successes: bool,
    /// Shares of failed requests, if more failures break the limit.
    pub more_failures: Option<(f64, f64)>,
    /// How far the second side minus the limit can be from the truth because of the measurement.
    pub bound: f64,
    pub outcome: LimitOutcome,
}

/// Whether a limit holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    Within,
    Beyond,
    Undecided(Reason),
}

impl LimitOutcome {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Beyond => "beyond",
            Self::Undecided(_) => "undecided",
        }
    }
}

impl CompareReport {
    pub(crate) fn labels(&self, pair: &Pair) -> (&str, &str) {
        (&self.sides[pair.first].label, &self.sides[pair.second].label)
    }

    /// Every judgement with its pair.
    pub fn judgements(&self) -> impl Iterator<Item = (&Pair, &Judgement)> {
        self.pairs.iter().flat_map(|pair| pair.judgements.iter().map(move |judgement| (pair, judgement)))
    }
}
