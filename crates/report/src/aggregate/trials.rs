//! Several runs of one benchmark: which succeeded, and each statistic over them.

use super::verdicts::RunVerdicts;
use serde_json::{Map, Value};

/// Which of several runs succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunTally {
    pub runs: usize,
    /// Labels of those that succeeded.
    pub successful: Vec<String>,
    pub failed: Vec<FailedRun>,
}

/// A run without results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRun {
    pub label: String,
    pub error: String,
}

/// One statistic of one metric over several runs. Values that need more runs are absent.
#[derive(Clone, Debug, PartialEq)]
pub struct AcrossRuns {
    pub mean: Option<f64>,
    /// Sample deviation.
    pub std: Option<f64>,
    pub min: f64,
    pub max: f64,
    /// Deviation relative to the absolute mean; infinite if the mean is zero.
    pub cv: Option<f64>,
    /// Standard error of the mean.
    pub se: Option<f64>,
    /// Lower end of the confidence interval.
    pub ci_low: Option<f64>,
    /// Upper end of the confidence interval.
    pub ci_high: Option<f64>,
    /// Student's t at the confidence level.
    pub t_critical: Option<f64>,
    /// The unit of the metric.
    pub unit: String,
}

/// The results of several runs of one benchmark.
#[derive(Clone, Debug)]
pub struct ConfidenceReport {
    /// The version of this program.
    pub version: String,
    pub tally: RunTally,
    /// The level of the intervals: 0.95.
    pub level: f64,
    pub cooldown_seconds: f64,
    /// The cell of these runs, if they belong to a sweep.
    pub cell: Option<CellOfSweep>,
    /// The source of the dataset.
    pub dataset: Option<Value>,
    pub verdicts: RunVerdicts,
    /// By `<tag>_<statistic>`, in the order of the file.
    pub metrics: Vec<(String, AcrossRuns)>,
}

/// The settings that distinguish these runs from others of a sweep.
#[derive(Clone, Debug)]
pub struct CellOfSweep {
    pub label: String,
    /// By path.
    pub values: Map<String, Value>,
    pub sweep_mode: String,
    pub model: Option<String>,
}

impl ConfidenceReport {
    /// Whether only one run succeeded, so that nothing is known about how runs differ.
    pub fn is_single_run(&self) -> bool {
        self.tally.successful.len() == 1
    }

    /// The entries of the files besides the counts of runs, in the order of the files.
    pub(crate) fn metadata(&self) -> Map<String, Value> {
        let mut members = Map::new();
        let mut add = |key: &str, value: Value| drop(members.insert(key.to_owned(), value));
        add("confidence_level", self.level.into());
        add("run_labels", self.tally.successful.clone().into());
        if self.is_single_run() {
            add("single_run", true.into());
        }
        add("cooldown_seconds", self.cooldown_seconds.into());
        if let Some(cell) = &self.cell {
            add("variation_label", cell.label.clone().into());
            add("variation_values", cell.values.clone().into());
            add("sweep_mode", cell.sweep_mode.clone().into());
            if let Some(model) = &cell.model {
                add("model", model.clone().into());
            }
        }
        if let Some(dataset) = &self.dataset {
            add("dataset", dataset.clone());
        }
        members
    }
}
