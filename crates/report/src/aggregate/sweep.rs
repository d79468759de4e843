//! One benchmark under several settings: the result of each cell, and the best ones.

use super::trials::{AcrossRuns, RunTally};
use super::verdicts::RunVerdicts;
use aiperf_metrics::{Grade, Stats};
use aiperf_plan::ParetoAxes;
use aiperf_types::SlaFilter;
use serde_json::{Map, Value};

/// The results of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    pub tally: RunTally,
    /// The varied settings, in the order of the columns.
    pub parameters: Vec<SweptParameter>,
    pub sla: Option<SlaConstraints>,
    pub sweep_mode: String,
    pub confidence_level: f64,
    /// The most trials of a cell.
    pub trials: usize,
    pub pareto_axes: Option<ParetoAxes>,
    /// Cells with a successful run, in the order of the plan.
    pub cells: Vec<SweepCell>,
    pub best_throughput: Option<Best>,
    pub best_latency: Option<Best>,
    /// Parameters of the cells that no other cell beats in every respect.
    pub pareto_optimal: Vec<Map<String, Value>>,
    /// The same in words.
    pub pareto_names: Vec<String>,
    /// The worst verdict of each of them.
    pub pareto_verdicts: Vec<Option<Grade>>,
    /// Of all runs.
    pub verdicts: RunVerdicts,
}

impl Sweep {
    /// Cells of the grid that the values span.
    pub fn combinations(&self) -> usize {
        self.parameters.iter().map(|parameter| parameter.values.len()).product()
    }
}

/// A setting that was varied.
#[derive(Clone, Debug, PartialEq)]
pub struct SweptParameter {
    /// Its path in the configuration.
    pub path: String,
    /// The last part of the path, if no other parameter ends in the same.
    pub name: String,
    pub values: Vec<Value>,
}

/// The limits of cells.
#[derive(Clone, Debug, PartialEq)]
pub struct SlaConstraints {
    pub filters: Vec<SlaFilter>,
    pub feasible: usize,
    pub infeasible: usize,
}

/// One cell of a sweep.
#[derive(Clone, Debug)]
pub struct SweepCell {
    /// Its description.
    pub label: String,
    /// By the name of the parameter.
    pub parameters: Map<String, Value>,
    pub metrics: CellMetrics,
    /// Of its runs.
    pub verdicts: RunVerdicts,
}

impl SweepCell {
    /// Its settings, or its name if there are more than a few.
    pub fn in_words(&self) -> String {
        let is_long = |value: &Value| value.is_object() || value.is_array();
        if self.parameters.is_empty() || self.parameters.values().any(is_long) {
            return self.label.clone();
        }
        let setting = |(name, value): (&String, &Value)| match value {
            Value::String(text) => format!("{name} {text}"),
            other => format!("{name} {other}"),
        };
        self.parameters.iter().map(setting).collect::<Vec<_>>().join(", ")
    }

    /// A parameter by its path, or by the last part of the path.
    pub fn parameter(&self, path: &str) -> Option<&Value> {
        let leaf = path.rsplit('.').next().unwrap_or(path);
        self.parameters.get(path).or_else(|| self.parameters.get(leaf))
    }
}

/// The result of a cell: its only run as it is, or how far its trials agree.
#[derive(Clone, Debug)]
pub enum CellMetrics {
    /// By tag.
    One(Vec<(String, CellStats)>),
    /// By `<tag>_<statistic>`.
    Several(Vec<(String, AcrossRuns)>),
}

/// One metric of a run, in display units.
#[derive(Clone, Debug, PartialEq)]
pub struct CellStats {
    pub unit: String,
    pub stats: Stats,
}

impl CellMetrics {
    /// A statistic of a metric with its unit; over trials, their mean. A metric with a single value has this value for
    /// every statistic.
    pub fn value(&self, tag: &str, stat: &str) -> Option<(f64, &str)> {
        let is_number = || Self::DISTRIBUTION.iter().all(|stat| self.exactly(tag, stat).is_none());
        let found = self.exactly(tag, stat).or_else(|| self.exactly(tag, "avg").filter(|_| is_number()));
        found.filter(|(value, _)| value.is_finite())
    }

    /// Statistics that only metrics with many values have.
    const DISTRIBUTION: [&str; 5] = ["p50", "p90", "p95", "p99", "max"];

    fn exactly(&self, tag: &str, stat: &str) -> Option<(f64, &str)> {
        match self {
            Self::One(metrics) => {
                let (_, metric) = metrics.iter().find(|(known, _)| known == tag)?;
                Some((metric.stats.get(stat)?, &metric.unit))
            }
            Self::Several(metrics) => {
                let is_it = |key: &str| key.strip_prefix(tag).and_then(|rest| rest.strip_prefix('_')) == Some(stat);
                let (_, across) = metrics.iter().find(|(key, _)| is_it(key))?;
                Some((across.mean?, &across.unit))
            }
        }
    }
}

/// The best of all cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// What is best, in words.
    pub what: &'static str,
    /// Which cell, in words.
    pub at: String,
    pub parameters: Map<String, Value>,
    pub metric: f64,
    pub unit: String,
    /// The worst verdict of its runs.
    pub verdict: Option<Grade>,
}
