//! How sure the numbers of a run are: its verdict, and what is known of each main statistic.
//!
//! It is made from the `measurement` block of a summary, so that a run of an earlier command has it too.

use crate::measurement::verdict::{Grade, Verdict};
use std::collections::BTreeMap;

/// How sure the numbers of a run are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Certainty {
    /// The verdict of the run on its own numbers; `None` if it gave none.
    pub verdict: Option<Verdict>,
    /// By metric and statistic.
    statistics: BTreeMap<(String, String), StatisticCertainty>,
}

/// How sure one statistic is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StatisticCertainty {
    /// How far the truth can be from the reported value, in milliseconds.
    pub bound_ms: Option<f64>,
    /// The requests of the run, if they are too few for this statistic.
    pub too_few: Option<u64>,
}

impl Certainty {
    pub fn new(verdict: Option<Verdict>) -> Self {
        Self { verdict, ..Self::default() }
    }

    /// Adds what is known of a statistic.
    pub fn add(&mut self, tag: &str, statistic: &str, known: StatisticCertainty) {
        self.statistics.insert((tag.to_owned(), statistic.to_owned()), known);
    }

    /// What is known of a statistic.
    pub fn of(&self, tag: &str, statistic: &str) -> StatisticCertainty {
        self.statistics.get(&(tag.to_owned(), statistic.to_owned())).copied().unwrap_or_default()
    }

    pub fn grade(&self) -> Option<Grade> {
        self.verdict.as_ref().map(|verdict| verdict.grade)
    }
}
