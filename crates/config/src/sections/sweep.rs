//! Runs over a range of settings.

use super::scale::{SlaFilter, Stat};
use crate::range::{at_least, between, more_than};
use crate::setting::{List, names, section};
use serde_json::Value;

names! {
    /// How settings are varied.
    SweepType = ["grid", "zip", "scenarios", "sobol", "latin_hypercube", "adaptive_search"]
    /// Which loop is the outer one.
    IterationOrder = ["repeated", "independent"]
    /// What picks the next point.
    Planner = ["bayesian", "monotonic_sla", "smooth_isotonic", "optuna"]
    /// Kind of a dimension.
    DimensionKind = ["int", "real"]
    /// Where a search looks first.
    Prior = ["uniform", "log-uniform"]
    /// Scale of a sampled dimension.
    Scale = ["linear", "log"]
    /// Labels of sampled points.
    LabelFormat = ["index", "kv"]
    /// What is better.
    Direction = ["maximize", "minimize"]
    /// How a bound is compared.
    BoundOp = ["<=", ">=", "=="]
    /// Statistic of an objective.
    SearchStat = ["avg", "p50", "p90", "p95", "p99"]
    /// Sampler of planner optuna.
    OptunaSampler = ["gp", "tpe", "botorch"]
    /// Acquisition of sampler botorch.
    OptunaAcquisition = ["logei", "qlogei", "qnei", "qlognei", "qehvi", "qnehvi", "qlognehvi"]
    /// When planner optuna stops.
    OptunaTerminator = ["regret", "emmr", "none"]
    /// How percentiles of several runs are joined.
    Pooling = ["mean", "pooled"]
    /// How objectives constrain a search.
    ConstraintMode = ["penalty", "eic"]
    /// How finely an objective is located.
    SlaPrecision = ["tight", "normal", "coarse"]
}

section! {
    /// Runs over a range of settings.
    Sweep {
        /// How settings are varied
        r#type: SweepType;
        /// Seconds between two runs
        cooldown_seconds: f64 [at_least(0.0)] = "0";
        /// Objectives a run must hold
        sla_filters: List<SlaFilter>;
        /// What is made of the results
        post_process: PostProcess;
        /// Recipe this came from
        recipe_name: String;
        /// Which loop is the outer one
        iteration_order: IterationOrder = "repeated";
        /// Use the same seed everywhere
        same_seed: bool = "false";
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
        label_format: LabelFormat = "index";
        /// sobol: scramble
        scramble: bool = "true";
        /// latin_hypercube: optimisation
        optimization: String = "random-cd";
        /// adaptive_search: what picks the next point
        planner: Planner = "bayesian";
        /// adaptive_search: what is searched
        search_space: List<SearchDimension>;
        /// adaptive_search: what is wanted
        objectives: List<Objective>;
        /// adaptive_search: what must hold
        outcome_constraints: List<OutcomeConstraint>;
        /// adaptive_search: points at most
        max_iterations: i64 [between(2.0, true, 200.0, true)];
        /// adaptive_search: points before the planner takes over
        n_initial_points: i64 [at_least(1.0)] = "5";
        /// adaptive_search: points over which nothing may have improved
        plateau_window: i64 [at_least(1.0)] = "8";
        /// adaptive_search: what counts as improved
        plateau_threshold: f64 [at_least(0.0)] = "0.01";
        /// adaptive_search: points without improvement that end it
        improvement_patience: i64 [at_least(1.0)] = "10";
        /// adaptive_search: seed of the planner
        random_seed: i64 [at_least(0.0)];
        /// adaptive_search: sampler of planner optuna
        optuna_sampler: OptunaSampler = "botorch";
        /// adaptive_search: acquisition of sampler botorch
        optuna_acquisition: OptunaAcquisition;
        /// adaptive_search: when planner optuna stops
        optuna_terminator: OptunaTerminator = "none";
        /// adaptive_search: how percentiles of several runs are joined
        objective_pooling: Pooling = "mean";
        /// adaptive_search: runs that must agree
        monotonic_stability_trials: i64 [at_least(1.0)] = "2";
        /// adaptive_search: repeated probes
        sla_replicates: i64 [at_least(0.0)] = "0";
        /// adaptive_search: how finely an objective is located
        sla_precision: SlaPrecision = "normal";
        /// adaptive_search: seconds of warmup for each probe
        sla_warmup_seconds: f64 [more_than(0.0)];
        /// adaptive_search: how objectives constrain the search
        constraint_mode: ConstraintMode = "penalty";
        /// adaptive_search: groups of objectives
        sla_tiers: List<SlaTier>;
    }
    /// What is made of the results.
    PostProcess {
        /// What makes it
        handler: String;
        /// Its settings
        params: Value;
        /// The file it writes
        output_filename: String;
    }
    /// One run of a scenario sweep.
    Scenario {
        /// Name
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
        /// Path
        path: String;
        /// From
        lo: f64;
        /// To
        hi: f64;
        /// Scale
        scale: Scale = "linear";
        /// Kind
        kind: DimensionKind = "real";
        /// Values to pick from instead of a range
        choices: Value;
    }
    /// One searched setting.
    SearchDimension {
        /// Path
        path: String;
        /// From
        lo: f64;
        /// To
        hi: f64;
        /// Kind
        kind: DimensionKind = "real";
        /// Where the search looks first
        prior: Prior = "uniform";
    }
    /// What is wanted.
    Objective {
        /// Metric
        metric: String;
        /// Its statistic
        stat: Stat = "avg";
        /// What is better
        direction: Direction;
        /// Reference value
        threshold: f64;
    }
    /// What must hold.
    OutcomeConstraint {
        /// Metric
        metric: String;
        /// How it is compared
        op: BoundOp;
        /// With what
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

/// Keys that only some types of sweep have, and which.
pub const KEYS_OF: &[(&str, &[&str])] = &[
    ("parameters", &["grid", "zip"]),
    ("runs", &["scenarios"]),
    ("samples", &["sobol", "latin_hypercube"]),
    ("seed", &["sobol", "latin_hypercube"]),
    ("dimensions", &["sobol", "latin_hypercube"]),
    ("label_format", &["sobol", "latin_hypercube"]),
    ("scramble", &["sobol"]),
    ("optimization", &["latin_hypercube"]),
    ("iteration_order", &["grid", "zip", "scenarios", "sobol", "latin_hypercube"]),
    ("same_seed", &["grid", "zip", "scenarios", "sobol", "latin_hypercube"]),
    ("planner", &["adaptive_search"]),
    ("search_space", &["adaptive_search"]),
    ("objectives", &["adaptive_search"]),
    ("outcome_constraints", &["adaptive_search"]),
    ("max_iterations", &["adaptive_search"]),
    ("n_initial_points", &["adaptive_search"]),
    ("plateau_window", &["adaptive_search"]),
    ("plateau_threshold", &["adaptive_search"]),
    ("improvement_patience", &["adaptive_search"]),
    ("random_seed", &["adaptive_search"]),
    ("optuna_sampler", &["adaptive_search"]),
    ("optuna_acquisition", &["adaptive_search"]),
    ("optuna_terminator", &["adaptive_search"]),
    ("objective_pooling", &["adaptive_search"]),
    ("monotonic_stability_trials", &["adaptive_search"]),
    ("sla_replicates", &["adaptive_search"]),
    ("sla_precision", &["adaptive_search"]),
    ("sla_warmup_seconds", &["adaptive_search"]),
    ("constraint_mode", &["adaptive_search"]),
    ("sla_tiers", &["adaptive_search"]),
];
