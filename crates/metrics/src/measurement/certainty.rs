//! How sure the numbers of a run are: its verdict, and what is known of each main statistic.
//!
//! A run of an earlier command has it too: it can be read back from the `measurement` block of a summary.

use crate::measurement::Measurement;
use aiperf_types::{Grade, Verdict};
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
    /// That of a finished run.
    pub fn of_run(measurement: &Measurement) -> Self {
        let clock_ms = measurement.conduct.clock_error.as_millis_f64();
        let judgement = &measurement.judgement;
        let mut certainty = Self::new(Some(judgement.verdict.clone()));
        for metric in &judgement.bounds {
            for (statistic, bound) in &metric.bounds {
                certainty.statistic(metric.tag, statistic).bound_ms = Some(bound.bound() + clock_ms);
            }
        }
        for metric in &judgement.intervals {
            for (statistic, interval) in metric.intervals.iter().filter(|(_, interval)| !interval.is_enough) {
                certainty.statistic(metric.tag, statistic).too_few = Some(interval.count);
            }
        }
        certainty
    }

    fn statistic(&mut self, tag: &str, statistic: &str) -> &mut StatisticCertainty {
        self.statistics.entry((tag.to_owned(), statistic.to_owned())).or_default()
    }

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

    /// What is known of every statistic of a metric, by name.
    pub fn of_metric<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = (&'a str, StatisticCertainty)> {
        let of_metric = self.statistics.iter().filter(move |((known, _), _)| known == tag);
        of_metric.map(|((_, statistic), known)| (statistic.as_str(), *known))
    }

    pub fn grade(&self) -> Option<Grade> {
        self.verdict.as_ref().map(|verdict| verdict.grade)
    }
}
