//! Flags: multi-run.

use super::Status::*;
use super::*;

pub(super) const MULTI_RUN: &[Flag] = &[
    Flag {
        name: "--num-profile-runs",
        kind: Kind::Int(between(1.0, true, 10.0, true)),
        default: Some("1"),
        path: "multi_run.num_runs",
        status: NotYet("its feature does not exist yet"),
        summary: "Trials per configuration",
        ..BASE
    },
    Flag {
        name: "--profile-run-cooldown-seconds",
        kind: Kind::Float(at_least(0.0)),
        path: "multi_run.cooldown_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Pause between trials; needs several trials",
        ..BASE
    },
    Flag {
        name: "--confidence-level",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        default: Some("0.95"),
        path: "multi_run.confidence_level",
        status: NotYet("its feature does not exist yet"),
        summary: "Level of confidence intervals over trials",
        ..BASE
    },
    Flag {
        name: "--profile-run-disable-warmup-after-first",
        kind: Kind::Bool,
        negation: Some("--no-profile-run-disable-warmup-after-first"),
        takes: Takes::Nothing,
        default: Some("true"),
        path: "multi_run.disable_warmup_after_first",
        status: NotYet("its feature does not exist yet"),
        summary: "Skip warmup from the second trial on",
        ..BASE
    },
    Flag {
        name: "--set-consistent-seed",
        kind: Kind::Bool,
        negation: Some("--no-set-consistent-seed"),
        takes: Takes::Nothing,
        default: Some("true"),
        path: "multi_run.set_consistent_seed",
        status: NotYet("its feature does not exist yet"),
        summary: "Use seed 42 for sweeps or several trials without a seed",
        ..BASE
    },
    Flag {
        name: "--vary-seed-per-trial",
        kind: Kind::Bool,
        negation: Some("--no-vary-seed-per-trial"),
        takes: Takes::Nothing,
        path: "multi_run.vary_seed_per_trial",
        status: NotYet("its feature does not exist yet"),
        summary: "Derive a different seed for each trial",
        ..BASE
    },
    Flag {
        name: "--convergence-metric",
        kind: Kind::Text,
        path: "multi_run.convergence.metric",
        status: NotYet("its feature does not exist yet"),
        summary: "Stop trials early once this metric settles",
        ..BASE
    },
    Flag {
        name: "--convergence-stat",
        kind: Kind::Choice(&["avg", "p50", "p90", "p95", "p99", "min", "max"]),
        default: Some("avg"),
        path: "multi_run.convergence.stat",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Statistic watched for convergence",
        ..BASE
    },
    Flag {
        name: "--convergence-threshold",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        path: "multi_run.convergence.threshold",
        status: NotYet("its feature does not exist yet"),
        summary: "Convergence bound; default depends on the mode",
        ..BASE
    },
    Flag {
        name: "--convergence-mode",
        kind: Kind::Choice(&["ci_width", "cv", "distribution"]),
        default: Some("ci_width"),
        path: "multi_run.convergence.mode",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Convergence test",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-cooldown-seconds",
        kind: Kind::Float(at_least(0.0)),
        path: "sweep.cooldown_seconds",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Pause between sweep variations",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-same-seed",
        kind: Kind::Bool,
        negation: Some("--no-parameter-sweep-same-seed"),
        takes: Takes::Nothing,
        path: "sweep.same_seed",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Same seed for every variation",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-mode",
        kind: Kind::Choice(&["independent", "repeated"]),
        default: Some("repeated"),
        path: "sweep.iteration_order",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Nesting of trials and variations",
        ..BASE
    },
    Flag {
        name: "--sweep-type",
        kind: Kind::Literal(&["grid", "zip"]),
        default: Some("grid"),
        path: "sweep.type",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Combine list flags as a product or in lockstep",
        ..BASE
    },
    Flag {
        name: "--no-sweep-table",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "no_sweep_table",
        status: NotYet("its feature does not exist yet"),
        summary: "Do not log the per-cell sweep table",
        ..BASE
    },
    Flag {
        name: "--search-space",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        path: "sweep.search_space",
        status: NotYet("its feature does not exist yet"),
        summary: "Search dimension path:lo,hi[:kind]",
        ..BASE
    },
    Flag {
        name: "--search-metric",
        kind: Kind::Text,
        path: "sweep.objectives[0].metric",
        status: NotYet("its feature does not exist yet"),
        summary: "Metric to optimise",
        ..BASE
    },
    Flag {
        name: "--search-stat",
        kind: Kind::Literal(&["avg", "p50", "p90", "p95", "p99"]),
        path: "sweep.objectives[0].stat",
        status: NotYet("its feature does not exist yet"),
        summary: "Statistic of the optimised metric",
        ..BASE
    },
    Flag {
        name: "--search-direction",
        kind: Kind::Literal(&["maximize", "minimize"]),
        path: "sweep.objectives[0].direction",
        status: NotYet("its feature does not exist yet"),
        summary: "Maximise or minimise",
        ..BASE
    },
    Flag {
        name: "--search-max-iterations",
        kind: Kind::Int(between(2.0, true, 200.0, true)),
        path: "sweep.max_iterations",
        status: NotYet("its feature does not exist yet"),
        summary: "Search iteration limit",
        ..BASE
    },
    Flag {
        name: "--search-initial-points",
        kind: Kind::Int(at_least(1.0)),
        path: "sweep.n_initial_points",
        status: NotYet("its feature does not exist yet"),
        summary: "Quasi-random points before modelling",
        ..BASE
    },
    Flag {
        name: "--search-random-seed",
        kind: Kind::Int(at_least(0.0)),
        path: "sweep.random_seed",
        status: NotYet("its feature does not exist yet"),
        summary: "Planner seed",
        ..BASE
    },
    Flag {
        name: "--search-planner",
        kind: Kind::Choice(&["bayesian", "monotonic_sla", "smooth_isotonic", "optuna"]),
        path: "sweep.planner",
        status: NotYet("its feature does not exist yet"),
        summary: "Search algorithm",
        ..BASE
    },
    Flag {
        name: "--optuna-sampler",
        kind: Kind::Literal(&["gp", "tpe", "botorch"]),
        path: "sweep.optuna_sampler",
        status: NotYet("its feature does not exist yet"),
        summary: "Sampler used by the optuna planner",
        ..BASE
    },
    Flag {
        name: "--optuna-acquisition",
        kind: Kind::Literal(&["logei", "qlogei", "qnei", "qlognei", "qehvi", "qnehvi", "qlognehvi"]),
        path: "sweep.optuna_acquisition",
        status: NotYet("its feature does not exist yet"),
        summary: "Acquisition override; botorch sampler only",
        ..BASE
    },
    Flag {
        name: "--optuna-terminator",
        kind: Kind::Literal(&["regret", "emmr", "none"]),
        path: "sweep.optuna_terminator",
        status: NotYet("its feature does not exist yet"),
        summary: "Extra regret-based stop rule",
        ..BASE
    },
    Flag {
        name: "--search-percentile-pooling",
        kind: Kind::Literal(&["mean", "pooled"]),
        path: "sweep.objective_pooling",
        status: NotYet("its feature does not exist yet"),
        summary: "Average per-trial percentiles or pool raw samples",
        ..BASE
    },
    Flag {
        name: "--bo-constraint-mode",
        kind: Kind::Literal(&["penalty", "eic"]),
        path: "sweep.constraint_mode",
        status: NotYet("its feature does not exist yet"),
        summary: "How constraints enter the acquisition",
        ..BASE
    },
    Flag {
        name: "--variant",
        kind: Kind::Texts,
        aliases: &["--sweep-variant"],
        takes: Takes::Many { comma: false, space: false },
        path: "sweep.runs (type scenarios)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Named scenario of flag=value pairs; pass two or more",
        ..BASE
    },
    Flag {
        name: "--search-sla",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        path: "sweep.sla_filters",
        status: NotYet("its feature does not exist yet"),
        summary: "SLA filter metric:stat:op:threshold",
        ..BASE
    },
    Flag {
        name: "--search-sla-tier",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        path: "sweep.sla_tiers",
        status: NotYet("its feature does not exist yet"),
        summary: "Labelled group of SLA filters; 2 to 10 tiers",
        ..BASE
    },
    Flag {
        name: "--search-recipe",
        kind: Kind::Text,
        path: "sweep.*",
        status: NotYet("its feature does not exist yet"),
        summary: "Named preset that fills the sweep",
        ..BASE
    },
    Flag {
        name: "--ttft-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "TTFT limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--isl-osl-pairs",
        kind: Kind::Text,
        path: "(recipe input)",
        status: NotYet("its feature does not exist yet"),
        summary: "ISL/OSL pairs for the pareto recipe",
        ..BASE
    },
    Flag {
        name: "--itl-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Inter-token latency limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--tpot-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Same limit as --itl-sla-ms",
        ..BASE
    },
    Flag {
        name: "--e2e-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Request latency limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--error-rate-sla",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        path: "(recipe input)",
        status: NotYet("its feature does not exist yet"),
        summary: "Error share limit for recipes, 0 to 1",
        ..BASE
    },
    Flag {
        name: "--slo-attainment-fraction",
        kind: Kind::Float(between(0.0, false, 1.0, true)),
        path: "(recipe input)",
        status: NotYet("its feature does not exist yet"),
        summary: "Share of good requests the goodput recipe requires",
        ..BASE
    },
    Flag {
        name: "--search-style",
        kind: Kind::Literal(&["smooth_isotonic", "monotonic", "bo", "optuna", "grid"]),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Algorithm of the max-concurrency recipe",
        ..BASE
    },
    Flag {
        name: "--degradation-threshold",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        path: "(recipe input)",
        status: NotYet("its feature does not exist yet"),
        summary: "Relative worsening that marks the knee",
        ..BASE
    },
    Flag {
        name: "--degradation-metric-tag",
        kind: Kind::Text,
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Metric watched for the knee",
        ..BASE
    },
    Flag {
        name: "--degradation-stat",
        kind: Kind::Literal(&["avg", "p50", "p90", "p95", "p99"]),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Statistic watched for the knee",
        ..BASE
    },
    Flag {
        name: "--isl-min",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Lowest ISL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--isl-max",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Highest ISL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--isl-steps",
        kind: Kind::Int(at_least(2.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "ISL points of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--concurrency-min",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Lowest concurrency of a recipe",
        ..BASE
    },
    Flag {
        name: "--concurrency-max",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Highest concurrency of a recipe",
        ..BASE
    },
    Flag {
        name: "--concurrency-steps",
        kind: Kind::Int(at_least(2.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Concurrency points of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-min",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Lowest OSL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-max",
        kind: Kind::Int(at_least(1.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "Highest OSL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-steps",
        kind: Kind::Int(at_least(2.0)),
        path: "(recipe input)",
        with_file: false,
        status: NotYet("its feature does not exist yet"),
        summary: "OSL points of a recipe sweep",
        ..BASE
    },
];
