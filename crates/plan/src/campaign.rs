//! A benchmark of one run or several: which runs, in which order, with which pauses, and when they end early.

use crate::redact::Redactor;
use crate::{Plan, RunPlace, UserFile};
use aiperf_types::{Nanos, PhaseKind, SlaFilter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// All runs of a benchmark.
#[derive(Clone, Debug)]
pub struct CampaignPlan {
    /// The first run, or the only one. It has the settings that all runs share: log level, API, file names.
    pub base: Plan,
    /// Cells that are known before the first run, in order: those of a grid, or the only one. A search lists none.
    pub listed: Vec<Arc<Cell>>,
    /// Makes the cells of points that are not listed.
    pub make_cell: MakeCell,
    pub trials: Trials,
    /// `None`: nothing is swept.
    pub sweep: Option<SweepPlan>,
    /// The parent of the folders of all runs.
    pub dir: PathBuf,
    /// The id that all runs share, a UUID; `None` for a single run.
    pub id: Option<String>,
    /// Executes only the runs that an earlier command did not complete.
    pub resumes: bool,
    /// The JUnit file with the verdicts of limits, for CI.
    pub junit: Option<PathBuf>,
}

/// One point of a sweep, or the only cell of a benchmark without a sweep.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its number among all cells, from 0.
    pub index: usize,
    /// The swept values, in words.
    pub label: String,
    /// Its folder, and its name in results.
    pub name: String,
    /// The swept values, by path.
    pub values: Map<String, Value>,
    /// The plan of its first run as a single run.
    pub plan: Plan,
    /// The seed of each trial.
    pub seeds: Vec<Option<u64>>,
    /// The benchmark id of each trial.
    pub ids: Vec<String>,
    /// The user's files of each trial, which may name its folder; empty if there are none.
    pub user_files: Vec<Vec<UserFile>>,
}

/// How often each cell is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// At most this many times.
    pub count: u32,
    /// Between two trials.
    pub cooldown: Nanos,
    /// Only the first trial of a cell has a warm-up.
    pub warmup_once: bool,
    /// The level of intervals over trials.
    pub confidence_level: f64,
    /// What ends trials early.
    pub convergence: Option<Convergence>,
}

/// When trials have converged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    pub metric: String,
    pub stat: String,
    pub mode: ConvergenceMode,
    pub threshold: f64,
    /// The fewest trials.
    pub min_runs: u32,
}

/// The criterion of convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceMode {
    /// The confidence interval of the mean is narrow.
    CiWidth,
    /// Trials vary little.
    Cv,
    /// The requests of the last trial have the same distribution as those before it.
    Distribution,
}

impl ConvergenceMode {
    pub const fn name(self) -> &'static str {
        match self {
            Self::CiWidth => "ci_width",
            Self::Cv => "cv",
            Self::Distribution => "distribution",
        }
    }

    /// The default threshold.
    pub const fn usual_threshold(self) -> f64 {
        match self {
            Self::CiWidth => 0.10,
            Self::Cv | Self::Distribution => 0.05,
        }
    }
}

/// What is swept, and what is computed from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    pub order: Order,
    /// Between two cells.
    pub cooldown: Nanos,
    /// The limits that a cell must meet to count among the best.
    pub sla_filters: Vec<SlaFilter>,
    /// The step over the results of all cells.
    pub post_process: Option<PostProcess>,
    /// The trade-off between cells that the recipe asks about.
    pub pareto_axes: Option<ParetoAxes>,
    /// How its points were drawn, if they were drawn.
    pub design: Option<Value>,
    /// Shows the finished cells to users who watch.
    pub shows_table: bool,
}

/// A trade-off: less of `x` for more of `y`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParetoAxes {
    pub x: ParetoAxis,
    pub y: ParetoAxis,
    /// Parameters that separate the points into curves.
    pub series: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParetoAxis {
    Metric { tag: String, stat: String },
    Parameter { path: String },
}

/// Which loop is the outer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// All cells, then all of them again.
    Repeated,
    /// All trials of a cell, then the next cell.
    Independent,
}

impl Order {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repeated => "repeated",
            Self::Independent => "independent",
        }
    }
}

/// A step over the results of all cells, by the name of its handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostProcess {
    pub handler: String,
    pub params: Map<String, Value>,
    pub output_filename: String,
}

/// One run: a cell and a trial of it, both counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId {
    pub cell: usize,
    pub trial: usize,
}

/// The choice of a strategy: one run, and the swept values.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub run: RunId,
    /// By path.
    pub values: Map<String, Value>,
}

/// Why a point cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PointError(pub String);

type Make = dyn Fn(&Point) -> Result<Cell, PointError> + Send + Sync;

/// The function that makes a cell from the values of a point. `config` provides it: only `config` knows settings by
/// path.
#[derive(Clone)]
pub struct MakeCell(Arc<Make>);

impl MakeCell {
    pub fn new(make: impl Fn(&Point) -> Result<Cell, PointError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// For a benchmark without a sweep.
    pub fn none() -> Self {
        Self::new(|_| Err(PointError("nothing is varied".to_owned())))
    }
}

impl fmt::Debug for MakeCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeCell")
    }
}

impl CampaignPlan {
    /// The folder with one folder per trial.
    pub const RUNS: &str = "profile_runs";
    /// The folder of results over trials.
    pub const AGGREGATE: &str = "aggregate";
    /// The folder of results over cells.
    pub const SWEEP: &str = "sweep_aggregate";

    /// A campaign of a single run.
    pub fn single(plan: Plan) -> Self {
        let place = &plan.run.place;
        let cell = Cell {
            index: 0,
            label: place.variation_label.clone(),
            name: place.variation_label.clone(),
            values: Map::new(),
            seeds: vec![plan.run.random_seed],
            ids: vec![plan.run.benchmark_id.clone()],
            user_files: Vec::new(),
            plan: plan.clone(),
        };
        Self {
            dir: plan.artifacts.dir.clone(),
            base: plan,
            listed: vec![Arc::new(cell)],
            make_cell: MakeCell::none(),
            trials: Trials::once(),
            sweep: None,
            id: None,
            resumes: false,
            junit: None,
        }
    }

    /// The cell of a point: the listed one with its number, or a new one with these values.
    pub fn cell(&self, point: &Point) -> Result<Arc<Cell>, PointError> {
        match self.listed.get(point.run.cell) {
            Some(cell) => Ok(cell.clone()),
            None => (self.make_cell.0)(point).map(Arc::new),
        }
    }

    /// Hides the secrets of all runs. A point that is not listed adds none: [`MakeCell`] rejects a point that would.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.listed.iter().map(|cell| &cell.plan).chain([&self.base]).flat_map(Plan::all_secrets))
    }

    /// Whether it is a single run, with its files in the directory itself.
    pub fn is_single(&self) -> bool {
        self.trials.count == 1 && self.sweep.is_none()
    }

    /// Which loop is the outer one; without a sweep there is only one.
    pub fn order(&self) -> Order {
        self.sweep.as_ref().map_or(Order::Repeated, |sweep| sweep.order)
    }

    /// The plan of one trial of a cell, with its warm-up.
    pub fn run(&self, cell: &Cell, trial: usize) -> Plan {
        let mut plan = cell.plan.clone();
        if self.is_single() {
            return plan;
        }
        plan.artifacts.dir = self.run_dir(cell, trial);
        if let Some(files) = cell.user_files.get(trial) {
            plan.artifacts.user_files.clone_from(files);
        }
        plan.run.benchmark_id.clone_from(&cell.ids[trial]);
        plan.run.random_seed = cell.seeds[trial];
        plan.run.place = RunPlace {
            sweep_id: self.id.clone(),
            trial: trial as u32,
            label: self.label(trial),
            variation: cell.label.clone(),
            variation_label: cell.name.clone(),
            variation_index: cell.index as u32,
            variation_values: cell.values.clone(),
        };
        plan
    }

    /// The same for a server that is warm from a run of the same cell.
    pub fn run_when_warm(&self, cell: &Cell, trial: usize) -> Plan {
        let mut plan = self.run(cell, trial);
        if self.trials.warmup_once {
            plan.phases.retain(|phase| phase.kind != PhaseKind::Warmup);
        }
        plan
    }

    /// The label of a trial, which is its folder: with several trials, those of a sweep have folders of their own.
    pub fn label(&self, trial: usize) -> String {
        let word = if self.sweep.is_some() && self.trials.count > 1 { "trial" } else { "run" };
        format!("{word}_{:04}", trial + 1)
    }

    /// The name of one run among all.
    pub fn name(&self, cell: &Cell, trial: usize) -> String {
        let (cell, label) = (&cell.label, self.label(trial));
        match (&self.sweep, self.trials.count) {
            (None, _) => label,
            (Some(_), 1) => cell.clone(),
            (Some(_), _) => format!("{cell}, {label}"),
        }
    }

    /// The folder of one run.
    pub fn run_dir(&self, cell: &Cell, trial: usize) -> PathBuf {
        let (runs, label) = (Self::RUNS, self.label(trial));
        let Some(sweep) = &self.sweep else { return self.dir.join(runs).join(label) };
        match (self.trials.count, sweep.order) {
            (1, _) => self.dir.join(&cell.name),
            (_, Order::Repeated) => self.dir.join(runs).join(label).join(&cell.name),
            (_, Order::Independent) => self.dir.join(&cell.name).join(runs).join(label),
        }
    }

    /// The folder for the results over the trials of a cell.
    pub fn aggregate_dir(&self, cell: &Cell) -> PathBuf {
        let Some(sweep) = &self.sweep else { return self.dir.join(Self::AGGREGATE) };
        match sweep.order {
            Order::Repeated => self.dir.join(Self::AGGREGATE).join(&cell.name),
            Order::Independent => self.dir.join(&cell.name).join(Self::AGGREGATE),
        }
    }

    /// The folder for the results over all cells.
    pub fn sweep_dir(&self) -> PathBuf {
        match (self.trials.count, self.order()) {
            (1, _) | (_, Order::Independent) => self.dir.join(Self::SWEEP),
            (_, Order::Repeated) => self.dir.join(Self::AGGREGATE).join(Self::SWEEP),
        }
    }
}

impl Trials {
    /// The default level.
    pub const CONFIDENCE_LEVEL: f64 = 0.95;

    /// One run.
    pub const fn once() -> Self {
        Self {
            count: 1,
            cooldown: Nanos(0),
            warmup_once: true,
            confidence_level: Self::CONFIDENCE_LEVEL,
            convergence: None,
        }
    }
}
