//! A benchmark of one run or of many: which runs, in which order, what lies between them, and when enough is known.

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
    /// The first run, or the only one. What belongs to all runs is taken from it: log level, API, names of files.
    pub base: Plan,
    /// Cells that are known before the first run, in their order: those of a grid, or the only one. A search lists none.
    pub listed: Vec<Arc<Cell>>,
    /// Makes the cells of points that are not listed.
    pub make_cell: MakeCell,
    pub trials: Trials,
    /// `None`: nothing is varied.
    pub sweep: Option<SweepPlan>,
    /// Below which the folders of all runs lie.
    pub dir: PathBuf,
    /// What all runs of it have in common, a UUID; `None` for a run on its own.
    pub id: Option<String>,
    /// Only what an earlier command left undone is run.
    pub resumes: bool,
    /// Where CI is told whether limits were kept.
    pub junit: Option<PathBuf>,
}

/// One point of a sweep, or the whole of a benchmark that is not swept.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its number among all, from 0.
    pub index: usize,
    /// What differs, in words.
    pub label: String,
    /// Its folder, and its name in results.
    pub name: String,
    /// What differs, by path.
    pub values: Map<String, Value>,
    /// The first run of it, on its own.
    pub plan: Plan,
    /// The seed of each trial.
    pub seeds: Vec<Option<u64>>,
    /// The identity of each trial.
    pub ids: Vec<String>,
    /// The user's files of each trial, which may name its folder; empty where there are none.
    pub user_files: Vec<Vec<UserFile>>,
}

/// How often each cell is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trials {
    /// At most so often.
    pub count: u32,
    /// Between two trials.
    pub cooldown: Nanos,
    /// Only the first trial of a cell warms up.
    pub warmup_once: bool,
    /// Of intervals over trials.
    pub confidence_level: f64,
    /// What ends them early.
    pub convergence: Option<Convergence>,
}

/// When trials have shown enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    pub metric: String,
    pub stat: String,
    pub mode: ConvergenceMode,
    pub threshold: f64,
    /// Trials before it is asked.
    pub min_runs: u32,
}

/// What having shown enough means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvergenceMode {
    /// The interval of the mean is narrow.
    CiWidth,
    /// Trials vary little.
    Cv,
    /// Requests of the last trial are distributed as those before it.
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

    /// The threshold where none is given.
    pub const fn usual_threshold(self) -> f64 {
        match self {
            Self::CiWidth => 0.10,
            Self::Cv | Self::Distribution => 0.05,
        }
    }
}

/// What is varied, and what is made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    pub order: Order,
    /// Between two cells.
    pub cooldown: Nanos,
    /// What a cell must hold to count among the best.
    pub sla_filters: Vec<SlaFilter>,
    /// What is made of all cells.
    pub post_process: Option<PostProcess>,
    /// The recipe that it was made by.
    pub recipe: Option<String>,
    /// How its points were drawn, where they were.
    pub design: Option<Value>,
    /// Who watches is shown the cells that are done.
    pub shows_table: bool,
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

/// What is made of all cells, by the name of what makes it.
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

/// What a strategy chooses: one run, and the values of what is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub run: RunId,
    /// By path.
    pub values: Map<String, Value>,
}

/// A point that no run can have, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PointError(pub String);

type Make = dyn Fn(&Point) -> Result<Cell, PointError> + Send + Sync;

/// The function that makes a cell of the values of a point. `config` hands it over: it alone knows settings by path.
#[derive(Clone)]
pub struct MakeCell(Arc<Make>);

impl MakeCell {
    pub fn new(make: impl Fn(&Point) -> Result<Cell, PointError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// For a benchmark that varies nothing.
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
    /// A run on its own.
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

    /// The cell of a point: one that is listed, by its number, or a new one of these values.
    pub fn cell(&self, point: &Point) -> Result<Arc<Cell>, PointError> {
        match self.listed.get(point.run.cell) {
            Some(cell) => Ok(cell.clone()),
            None => (self.make_cell.0)(point).map(Arc::new),
        }
    }

    /// What hides the secrets of all runs. A point that is not listed brings no other: [`MakeCell`] refuses one that would.
    pub fn redactor(&self) -> Redactor {
        Redactor::of_all(self.listed.iter().map(|cell| &cell.plan).chain([&self.base]))
    }

    /// Whether it is one run, with its files where a run on its own has them.
    pub fn is_single(&self) -> bool {
        self.trials.count == 1 && self.sweep.is_none()
    }

    /// Which loop is the outer one; without a sweep there is no other.
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

    /// The same on a server that is warm from a run of the same cell.
    pub fn run_when_warm(&self, cell: &Cell, trial: usize) -> Plan {
        let mut plan = self.run(cell, trial);
        if self.trials.warmup_once {
            plan.phases.retain(|phase| phase.kind != PhaseKind::Warmup);
        }
        plan
    }

    /// A trial's name, as its folder has it: trials of a sweep lie in folders of their own, where there are several.
    pub fn label(&self, trial: usize) -> String {
        let word = if self.sweep.is_some() && self.trials.count > 1 { "trial" } else { "run" };
        format!("{word}_{:04}", trial + 1)
    }

    /// What one run is called among all.
    pub fn name(&self, cell: &Cell, trial: usize) -> String {
        let (cell, label) = (&cell.label, self.label(trial));
        match (&self.sweep, self.trials.count) {
            (None, _) => label,
            (Some(_), 1) => cell.clone(),
            (Some(_), _) => format!("{cell}, {label}"),
        }
    }

    /// Where the files of one run go.
    pub fn run_dir(&self, cell: &Cell, trial: usize) -> PathBuf {
        let (runs, label) = ("profile_runs", self.label(trial));
        let Some(sweep) = &self.sweep else { return self.dir.join(runs).join(label) };
        match (self.trials.count, sweep.order) {
            (1, _) => self.dir.join(&cell.name),
            (_, Order::Repeated) => self.dir.join(runs).join(label).join(&cell.name),
            (_, Order::Independent) => self.dir.join(&cell.name).join(runs).join(label),
        }
    }

    /// Where what the trials of a cell have in common goes.
    pub fn aggregate_dir(&self, cell: &Cell) -> PathBuf {
        let Some(sweep) = &self.sweep else { return self.dir.join("aggregate") };
        match sweep.order {
            Order::Repeated => self.dir.join("aggregate").join(&cell.name),
            Order::Independent => self.dir.join(&cell.name).join("aggregate"),
        }
    }

    /// Where what is said of all cells goes.
    pub fn sweep_dir(&self) -> PathBuf {
        match (self.trials.count, self.order()) {
            (1, _) | (_, Order::Independent) => self.dir.join("sweep_aggregate"),
            (_, Order::Repeated) => self.dir.join("aggregate").join("sweep_aggregate"),
        }
    }
}

impl Trials {
    /// The level where none is given.
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
