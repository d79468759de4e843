//! Flags: Multi-Run.

use super::flag::Status::NotYet;
use super::flag::{BASE, Flag, Kind, Takes, To};
use crate::choice::Choice;
use crate::range::{at_least, between, more_than};
use crate::sections::{runs, sweep};

pub(super) static MULTI_RUN: &[Flag] = &[
    Flag {
        name: "--num-profile-runs",
        kind: Kind::Int(between(1.0, true, 10.0, true)),
        default: Some("1"),
        to: To::Envelope("multi_run.num_runs"),
        status: NotYet("a benchmark is one run"),
        summary: "Trials per configuration",
        ..BASE
    },
    Flag {
        name: "--profile-run-cooldown-seconds",
        kind: Kind::Float(at_least(0.0)),
        default: Some("0"),
        to: To::Envelope("multi_run.cooldown_seconds"),
        status: NotYet("a benchmark is one run"),
        summary: "Pause between trials; needs several trials",
        ..BASE
    },
    Flag {
        name: "--confidence-level",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        default: Some("0.95"),
        to: To::Envelope("multi_run.confidence_level"),
        status: NotYet("a benchmark is one run"),
        summary: "Level of confidence intervals over trials",
        ..BASE
    },
    Flag {
        name: "--profile-run-disable-warmup-after-first",
        kind: Kind::Bool,
        negation: Some("--no-profile-run-disable-warmup-after-first"),
        takes: Takes::Nothing,
        default: Some("true"),
        to: To::Envelope("multi_run.disable_warmup_after_first"),
        status: NotYet("a benchmark is one run"),
        summary: "Skip warmup from the second trial on",
        ..BASE
    },
    Flag {
        name: "--set-consistent-seed",
        kind: Kind::Bool,
        negation: Some("--no-set-consistent-seed"),
        takes: Takes::Nothing,
        default: Some("true"),
        to: To::Envelope("multi_run.set_consistent_seed"),
        status: NotYet("a benchmark is one run"),
        summary: "Use seed 42 for sweeps or several trials without a seed",
        ..BASE
    },
    Flag {
        name: "--vary-seed-per-trial",
        kind: Kind::Bool,
        negation: Some("--no-vary-seed-per-trial"),
        takes: Takes::Nothing,
        to: To::Envelope("multi_run.vary_seed_per_trial"),
        status: NotYet("a benchmark is one run"),
        summary: "Derive a different seed for each trial",
        ..BASE
    },
    Flag {
        name: "--convergence-metric",
        kind: Kind::Text,
        to: To::Envelope("multi_run.convergence.metric"),
        status: NotYet("a benchmark is one run"),
        summary: "Stop trials early once this metric settles",
        ..BASE
    },
    Flag {
        name: "--convergence-stat",
        kind: Kind::Choice(runs::ConvergenceStat::NAMES),
        default: Some("avg"),
        to: To::Envelope("multi_run.convergence.stat"),
        status: NotYet("a benchmark is one run"),
        summary: "Statistic watched for convergence",
        ..BASE
    },
    Flag {
        name: "--convergence-threshold",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        to: To::Envelope("multi_run.convergence.threshold"),
        status: NotYet("a benchmark is one run"),
        summary: "Convergence bound; default depends on the mode",
        ..BASE
    },
    Flag {
        name: "--convergence-mode",
        kind: Kind::Choice(runs::ConvergenceMode::NAMES),
        default: Some("ci_width"),
        to: To::Envelope("multi_run.convergence.mode"),
        status: NotYet("a benchmark is one run"),
        summary: "Convergence test",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-cooldown-seconds",
        kind: Kind::Float(at_least(0.0)),
        default: Some("0"),
        to: To::Rule("sweep.cooldown_seconds"),
        status: NotYet("settings are not swept"),
        summary: "Pause between sweep variations",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-same-seed",
        kind: Kind::Bool,
        negation: Some("--no-parameter-sweep-same-seed"),
        takes: Takes::Nothing,
        to: To::Rule("sweep.same_seed"),
        status: NotYet("settings are not swept"),
        summary: "Same seed for every variation",
        ..BASE
    },
    Flag {
        name: "--parameter-sweep-mode",
        kind: Kind::Choice(sweep::IterationOrder::NAMES),
        default: Some("repeated"),
        to: To::Rule("sweep.iteration_order"),
        status: NotYet("settings are not swept"),
        summary: "Nesting of trials and variations",
        ..BASE
    },
    Flag {
        name: "--sweep-type",
        kind: Kind::Literal(&["grid", "zip"]),
        default: Some("grid"),
        to: To::Rule("sweep.type"),
        status: NotYet("settings are not swept"),
        summary: "Combine list flags as a product or in lockstep",
        ..BASE
    },
    Flag {
        name: "--no-sweep-table",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        to: To::Envelope("no_sweep_table"),
        status: NotYet("settings are not swept"),
        summary: "Do not log the per-cell sweep table",
        ..BASE
    },
    Flag {
        name: "--search-space",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::Rule("sweep.search_space"),
        status: NotYet("settings are not searched"),
        summary: "Search dimension path:lo,hi[:kind]",
        ..BASE
    },
    Flag {
        name: "--search-metric",
        kind: Kind::Text,
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Metric to optimise",
        ..BASE
    },
    Flag {
        name: "--search-stat",
        kind: Kind::Literal(sweep::SearchStat::NAMES),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Statistic of the optimised metric",
        ..BASE
    },
    Flag {
        name: "--search-direction",
        kind: Kind::Literal(sweep::Direction::NAMES),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Maximise or minimise",
        ..BASE
    },
    Flag {
        name: "--search-max-iterations",
        kind: Kind::Int(between(2.0, true, 200.0, true)),
        to: To::Rule("sweep.max_iterations"),
        status: NotYet("settings are not searched"),
        summary: "Search iteration limit",
        ..BASE
    },
    Flag {
        name: "--search-initial-points",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep.n_initial_points"),
        status: NotYet("settings are not searched"),
        summary: "Quasi-random points before modelling",
        ..BASE
    },
    Flag {
        name: "--search-random-seed",
        kind: Kind::Int(at_least(0.0)),
        to: To::Rule("sweep.random_seed"),
        status: NotYet("settings are not searched"),
        summary: "Planner seed",
        ..BASE
    },
    Flag {
        name: "--search-planner",
        kind: Kind::Choice(sweep::Planner::NAMES),
        to: To::Rule("sweep.planner"),
        status: NotYet("settings are not searched"),
        summary: "Search algorithm",
        ..BASE
    },
    Flag {
        name: "--optuna-sampler",
        kind: Kind::Literal(sweep::OptunaSampler::NAMES),
        to: To::Rule("sweep.optuna_sampler"),
        status: NotYet("settings are not searched"),
        summary: "Sampler used by the optuna planner",
        ..BASE
    },
    Flag {
        name: "--optuna-acquisition",
        kind: Kind::Literal(sweep::OptunaAcquisition::NAMES),
        to: To::Rule("sweep.optuna_acquisition"),
        status: NotYet("settings are not searched"),
        summary: "Acquisition override; botorch sampler only",
        ..BASE
    },
    Flag {
        name: "--optuna-terminator",
        kind: Kind::Literal(sweep::OptunaTerminator::NAMES),
        to: To::Rule("sweep.optuna_terminator"),
        status: NotYet("settings are not searched"),
        summary: "Extra regret-based stop rule",
        ..BASE
    },
    Flag {
        name: "--search-percentile-pooling",
        kind: Kind::Literal(sweep::Pooling::NAMES),
        to: To::Rule("sweep.objective_pooling"),
        status: NotYet("settings are not searched"),
        summary: "Average per-trial percentiles or pool raw samples",
        ..BASE
    },
    Flag {
        name: "--bo-constraint-mode",
        kind: Kind::Literal(sweep::ConstraintMode::NAMES),
        to: To::Rule("sweep.constraint_mode"),
        status: NotYet("settings are not searched"),
        summary: "How constraints enter the acquisition",
        ..BASE
    },
    Flag {
        name: "--variant",
        kind: Kind::Texts,
        aliases: &["--sweep-variant"],
        takes: Takes::Many { comma: false, space: false },
        to: To::Rule("sweep"),
        with_file: false,
        status: NotYet("settings are not swept"),
        summary: "Named scenario of flag=value pairs; pass two or more",
        ..BASE
    },
    Flag {
        name: "--search-sla",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::Rule("sweep.sla_filters"),
        status: NotYet("settings are not searched"),
        summary: "SLA filter metric:stat:op:threshold",
        ..BASE
    },
    Flag {
        name: "--search-sla-tier",
        kind: Kind::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::Rule("sweep.sla_tiers"),
        status: NotYet("settings are not searched"),
        summary: "Labelled group of SLA filters; 2 to 10 tiers",
        ..BASE
    },
    Flag {
        name: "--search-recipe",
        kind: Kind::Text,
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Named preset that fills the sweep",
        ..BASE
    },
    Flag {
        name: "--ttft-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "TTFT limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--isl-osl-pairs",
        kind: Kind::Text,
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "ISL/OSL pairs for the pareto recipe",
        ..BASE
    },
    Flag {
        name: "--itl-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Inter-token latency limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--tpot-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Same limit as --itl-sla-ms",
        ..BASE
    },
    Flag {
        name: "--e2e-sla-ms",
        kind: Kind::Float(more_than(0.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Request latency limit for recipes, milliseconds",
        ..BASE
    },
    Flag {
        name: "--error-rate-sla",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Error share limit for recipes, 0 to 1",
        ..BASE
    },
    Flag {
        name: "--slo-attainment-fraction",
        kind: Kind::Float(between(0.0, false, 1.0, true)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Share of good requests the goodput recipe requires",
        ..BASE
    },
    Flag {
        name: "--search-style",
        kind: Kind::Literal(sweep::SearchStyle::NAMES),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Algorithm of the max-concurrency recipe",
        ..BASE
    },
    Flag {
        name: "--degradation-threshold",
        kind: Kind::Float(between(0.0, false, 1.0, false)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Relative worsening that marks the knee",
        ..BASE
    },
    Flag {
        name: "--degradation-metric-tag",
        kind: Kind::Text,
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Metric watched for the knee",
        ..BASE
    },
    Flag {
        name: "--degradation-stat",
        kind: Kind::Literal(sweep::SearchStat::NAMES),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Statistic watched for the knee",
        ..BASE
    },
    Flag {
        name: "--isl-min",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Lowest ISL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--isl-max",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Highest ISL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--isl-steps",
        kind: Kind::Int(at_least(2.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "ISL points of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--concurrency-min",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Lowest concurrency of a recipe",
        ..BASE
    },
    Flag {
        name: "--concurrency-max",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Highest concurrency of a recipe",
        ..BASE
    },
    Flag {
        name: "--concurrency-steps",
        kind: Kind::Int(at_least(2.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Concurrency points of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-min",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Lowest OSL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-max",
        kind: Kind::Int(at_least(1.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Highest OSL of a recipe sweep",
        ..BASE
    },
    Flag {
        name: "--osl-steps",
        kind: Kind::Int(at_least(2.0)),
        to: To::Rule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "OSL points of a recipe sweep",
        ..BASE
    },
];
