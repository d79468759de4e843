//! Runs over a range of settings.

use super::scale::{SlaFilter, Stat};
use crate::choice::choices;
use crate::range::{at_least, between, more_than};
use crate::setting::{List, section};
use serde_json::Value;

choices! {
    /// How settings are varied.
    SweepType {
        Grid = "grid",
        Zip = "zip",
        Scenarios = "scenarios",
        Sobol = "sobol",
        LatinHypercube = "latin_hypercube",
        AdaptiveSearch = "adaptive_search",
    }
    /// Which loop is the outer one.
    IterationOrder {
        Repeated = "repeated",
        Independent = "independent",
    }
    /// What picks the next point.
    Planner {
        Bayesian = "bayesian",
        MonotonicSla = "monotonic_sla",
        SmoothIsotonic = "smooth_isotonic",
        Optuna = "optuna",
    }
    /// Kind of a dimension.
    DimensionKind {
        Int = "int",
        Real = "real",
    }
    /// Where a search looks first.
    Prior {
        Uniform = "uniform",
        LogUniform = "log-uniform",
    }
    /// Scale of a sampled dimension.
    Scale {
        Linear = "linear",
        Log = "log",
    }
    /// Labels of sampled points.
    LabelFormat {
        Index = "index",
        Kv = "kv",
    }
    /// What is better.
    Direction {
        Maximize = "maximize",
        Minimize = "minimize",
    }
    /// How a bound is compared.
    BoundOp {
        AtMost = "<=",
        AtLeast = ">=",
        Equal = "==",
    }
    /// Statistic of an objective.
    SearchStat {
        Avg = "avg",
        P50 = "p50",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
    }
    /// Algorithm of the recipe for the largest concurrency.
    SearchStyle {
        SmoothIsotonic = "smooth_isotonic",
        Monotonic = "monotonic",
        Bo = "bo",
        Optuna = "optuna",
        Grid = "grid",
    }
    /// Sampler of planner optuna.
    OptunaSampler {
        Gp = "gp",
        Tpe = "tpe",
        Botorch = "botorch",
    }
    /// Acquisition of sampler botorch.
    OptunaAcquisition {
        Logei = "logei",
        Qlogei = "qlogei",
        Qnei = "qnei",
        Qlognei = "qlognei",
        Qehvi = "qehvi",
        Qnehvi = "qnehvi",
        Qlognehvi = "qlognehvi",
    }
    /// When planner optuna stops.
    OptunaTerminator {
        Regret = "regret",
        Emmr = "emmr",
        None = "none",
    }
    /// How percentiles of several runs are joined.
    Pooling {
        Mean = "mean",
        Pooled = "pooled",
    }
    /// How objectives constrain a search.
    ConstraintMode {
        Penalty = "penalty",
        Eic = "eic",
    }
    /// How finely an objective is located.
    SlaPrecision {
        Tight = "tight",
        Normal = "normal",
        Coarse = "coarse",
    }
}

section! {
    /// Runs over a range of settings.
    Sweep {
        /// How settings are varied
        r#type: SweepType;
        /// Seconds between two runs
        cooldown_seconds: f64 [at_least(0.0)] = 0.0;
        /// Objectives of a run
        sla_filters: List<SlaFilter>;
        /// What is computed from the results
        post_process: PostProcess;
        /// Recipe this came from
        recipe_name: String;
        /// Which loop is the outer one
        iteration_order: IterationOrder = IterationOrder::Repeated;
        /// Use the same seed everywhere
        same_seed: bool = false;
        /// grid, zip: values for each path
        parameters: Vec<(String, Value)>;
        /// scenarios: the runs
        runs: List<Scenario>;
        /// sobol, latin_hypercube: how many points
        samples: i64 [between(2.0, true, 1_048_576.0, true)];
        /// sobol, latin_hypercube: seed
        seed: i64 [at_least(0.0)];
        /// sobol, latin_hypercube: what is sampled
        dimensions: List<Dimension>;
        /// sobol, latin_hypercube: labels
        label_format: LabelFormat = LabelFormat::Index;
        /// sobol: scramble
        scramble: bool = true;
        /// latin_hypercube: optimisation
        optimization: String = "random-cd";
        /// adaptive_search: what picks the next point
        planner: Planner = Planner::Bayesian;
        /// adaptive_search: what is searched
        search_space: List<SearchDimension>;
        /// adaptive_search: objectives
        objectives: List<Objective>;
        /// adaptive_search: what must hold
        outcome_constraints: List<OutcomeConstraint>;
        /// adaptive_search: maximum number of points
        max_iterations: i64 [between(2.0, true, 200.0, true)];
        /// adaptive_search: points before the planner takes over
        n_initial_points: i64 [at_least(1.0)] = 5;
        /// adaptive_search: points of the plateau window
        plateau_window: i64 [at_least(1.0)] = 8;
        /// adaptive_search: what counts as improved
        plateau_threshold: f64 [at_least(0.0)] = 0.01;
        /// adaptive_search: points without improvement that end it
        improvement_patience: i64 [at_least(1.0)] = 10;
        /// adaptive_search: seed of the planner
        random_seed: i64 [at_least(0.0)];
        /// adaptive_search: sampler of planner optuna
        optuna_sampler: OptunaSampler = OptunaSampler::Botorch;
        /// adaptive_search: acquisition of sampler botorch
        optuna_acquisition: OptunaAcquisition;
        /// adaptive_search: when planner optuna stops
        optuna_terminator: OptunaTerminator = OptunaTerminator::None;
        /// adaptive_search: how percentiles of several runs are joined
        objective_pooling: Pooling = Pooling::Mean;
        /// adaptive_search: runs that must agree
        monotonic_stability_trials: i64 [at_least(1.0)] = 2;
        /// adaptive_search: repeated probes
        sla_replicates: i64 [at_least(0.0)] = 0;
        /// adaptive_search: how finely an objective is located
        sla_precision: SlaPrecision = SlaPrecision::Normal;
        /// adaptive_search: seconds of warmup for each probe
        sla_warmup_seconds: f64 [more_than(0.0)];
        /// adaptive_search: how objectives constrain the search
        constraint_mode: ConstraintMode = ConstraintMode::Penalty;
        /// adaptive_search: groups of objectives
        sla_tiers: List<SlaTier>;
    }
    /// What is computed from the results.
    PostProcess {
        /// The post-processor
        handler: String;
        /// Its settings
        params: Value;
        /// The file it writes
        output_filename: String;
    }
    /// One run of a scenario sweep.
    Scenario {
        name: String;
        /// What differs from the base
        benchmark: Value;
        /// Variables that differ
        variables: Value;
        /// What the run is labelled with
        values: Vec<(String, Value)>;
    }
    /// One sampled setting.
    Dimension {
        path: String;
        /// From
        lo: f64;
        /// To
        hi: f64;
        scale: Scale = Scale::Linear;
        kind: DimensionKind = DimensionKind::Real;
        /// Values to pick from instead of a range
        choices: Value;
    }
    /// One searched setting.
    SearchDimension {
        path: String;
        /// From
        lo: f64;
        /// To
        hi: f64;
        kind: DimensionKind = DimensionKind::Real;
        /// Where the search looks first
        prior: Prior = Prior::Uniform;
    }
    /// An objective.
    Objective {
        metric: String;
        /// Its statistic
        stat: Stat = Stat::Avg;
        /// What is better
        direction: Direction;
        /// Reference value
        threshold: f64;
    }
    /// What must hold.
    OutcomeConstraint {
        metric: String;
        /// How it is compared
        op: BoundOp;
        /// Threshold
        bound: f64;
    }
    /// A group of objectives.
    SlaTier {
        /// Name
        label: String;
        /// Objectives
        filters: List<SlaFilter>;
        /// Place among the groups
        ordering_rank: i64;
    }
}

impl SweepType {
    /// The default type.
    pub(crate) const DEFAULT: Self = Self::Grid;

    /// Whether it combines lists of values.
    pub fn is_of_lists(self) -> bool {
        matches!(self, Self::Grid | Self::Zip)
    }

    /// Whether its runs are drawn or found as it goes, not listed in the configuration.
    pub fn is_drawn(self) -> bool {
        matches!(self, Self::Sobol | Self::LatinHypercube | Self::AdaptiveSearch)
    }
}

impl OptunaAcquisition {
    /// Whether it weighs several objectives against each other.
    pub fn is_of_several_objectives(self) -> bool {
        matches!(self, Self::Qehvi | Self::Qnehvi | Self::Qlognehvi)
    }
}

/// Types whose runs are known before the first starts.
const LISTED: &[SweepType] =
    &[SweepType::Grid, SweepType::Zip, SweepType::Scenarios, SweepType::Sobol, SweepType::LatinHypercube];
const SAMPLED: &[SweepType] = &[SweepType::Sobol, SweepType::LatinHypercube];
const SEARCHED: &[SweepType] = &[SweepType::AdaptiveSearch];

/// Keys that only some types of sweep have, and which.
pub const KEYS_OF: &[(&str, &[SweepType])] = &[
    ("parameters", &[SweepType::Grid, SweepType::Zip]),
    ("runs", &[SweepType::Scenarios]),
    ("samples", SAMPLED),
    ("seed", SAMPLED),
    ("dimensions", SAMPLED),
    ("label_format", SAMPLED),
    ("scramble", &[SweepType::Sobol]),
    ("optimization", &[SweepType::LatinHypercube]),
    ("iteration_order", LISTED),
    ("same_seed", LISTED),
    ("planner", SEARCHED),
    ("search_space", SEARCHED),
    ("objectives", SEARCHED),
    ("outcome_constraints", SEARCHED),
    ("max_iterations", SEARCHED),
    ("n_initial_points", SEARCHED),
    ("plateau_window", SEARCHED),
    ("plateau_threshold", SEARCHED),
    ("improvement_patience", SEARCHED),
    ("random_seed", SEARCHED),
    ("optuna_sampler", SEARCHED),
    ("optuna_acquisition", SEARCHED),
    ("optuna_terminator", SEARCHED),
    ("objective_pooling", SEARCHED),
    ("monotonic_stability_trials", SEARCHED),
    ("sla_replicates", SEARCHED),
    ("sla_precision", SEARCHED),
    ("sla_warmup_seconds", SEARCHED),
    ("constraint_mode", SEARCHED),
    ("sla_tiers", SEARCHED),
];
