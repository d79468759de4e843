//! Flags: Multi-Run.

use super::flag::Status::NotYet;
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::range::{at_least, between, more_than};
use crate::sections::{runs, sweep};
use crate::sweep::recipes_in_words;

flags! { MULTI_RUN_FLAGS:
    NUM_PROFILE_RUNS {
        name: "--num-profile-runs",
        kind: FlagType::Int,
        to: To::Envelope("multi_run.num_runs"),
    }
    PROFILE_RUN_COOLDOWN_SECONDS {
        name: "--profile-run-cooldown-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Envelope("multi_run.cooldown_seconds"),
    }
    CONFIDENCE_LEVEL {
        name: "--confidence-level",
        kind: FlagType::Float,
        to: To::Envelope("multi_run.confidence_level"),
    }
    PROFILE_RUN_DISABLE_WARMUP_AFTER_FIRST {
        name: "--profile-run-disable-warmup-after-first",
        kind: FlagType::Bool,
        negation: Some("--no-profile-run-disable-warmup-after-first"),
        takes: Takes::Nothing,
        to: To::Envelope("multi_run.disable_warmup_after_first"),
    }
    SET_CONSISTENT_SEED {
        name: "--set-consistent-seed",
        kind: FlagType::Bool,
        negation: Some("--no-set-consistent-seed"),
        takes: Takes::Nothing,
        to: To::Envelope("multi_run.set_consistent_seed"),
        summary: "Use seed 42 for sweeps or several trials without a seed",
    }
    VARY_SEED_PER_TRIAL {
        name: "--vary-seed-per-trial",
        kind: FlagType::Bool,
        negation: Some("--no-vary-seed-per-trial"),
        takes: Takes::Nothing,
        to: To::Envelope("multi_run.vary_seed_per_trial"),
    }
    CONVERGENCE_METRIC {
        name: "--convergence-metric",
        kind: FlagType::Text,
        to: To::Envelope("multi_run.convergence.metric"),
    }
    CONVERGENCE_STAT {
        name: "--convergence-stat",
        kind: FlagType::Choice(runs::ConvergenceStat::NAMES),
        to: To::Envelope("multi_run.convergence.stat"),
    }
    CONVERGENCE_THRESHOLD {
        name: "--convergence-threshold",
        kind: FlagType::Float,
        to: To::Envelope("multi_run.convergence.threshold"),
    }
    CONVERGENCE_MODE {
        name: "--convergence-mode",
        kind: FlagType::Choice(runs::ConvergenceMode::NAMES),
        to: To::Envelope("multi_run.convergence.mode"),
    }
    CONVERGENCE_MIN_RUNS {
        name: "--convergence-min-runs",
        kind: FlagType::Int,
        to: To::Envelope("multi_run.convergence.min_runs"),
    }
    RESUME {
        name: "--resume",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Envelope("resume"),
    }
    PARAMETER_SWEEP_COOLDOWN_SECONDS {
        name: "--parameter-sweep-cooldown-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        default: Some(WhenAbsent::DefaultOfKey),
        to: To::EnvelopeRule("sweep.cooldown_seconds"),
        summary: "Pause between sweep variations",
    }
    PARAMETER_SWEEP_SAME_SEED {
        name: "--parameter-sweep-same-seed",
        kind: FlagType::Bool,
        negation: Some("--no-parameter-sweep-same-seed"),
        takes: Takes::Nothing,
        to: To::EnvelopeRule("sweep.same_seed"),
        summary: "Same seed for every variation",
    }
    PARAMETER_SWEEP_MODE {
        name: "--parameter-sweep-mode",
        kind: FlagType::Choice(sweep::IterationOrder::NAMES),
        default: Some(WhenAbsent::DefaultOfKey),
        to: To::EnvelopeRule("sweep.iteration_order"),
        summary: "Nesting of trials and variations",
    }
    SWEEP_TYPE {
        name: "--sweep-type",
        kind: FlagType::Literal(&["grid", "zip"]),
        default: Some(WhenAbsent::Made(|| sweep::SweepType::DEFAULT.name().to_owned())),
        to: To::EnvelopeRule("sweep.type"),
        summary: "Combine list flags as a product or in lockstep",
    }
    NO_SWEEP_TABLE {
        name: "--no-sweep-table",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Envelope("no_sweep_table"),
    }
    SEARCH_SPACE {
        name: "--search-space",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("sweep.search_space"),
        status: NotYet("settings are not searched"),
        summary: "Search dimension path:lo,hi[:kind]",
    }
    SEARCH_METRIC {
        name: "--search-metric",
        kind: FlagType::Text,
        to: To::EnvelopeRule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Metric to optimise",
    }
    SEARCH_STAT {
        name: "--search-stat",
        kind: FlagType::Literal(sweep::SearchStat::NAMES),
        to: To::EnvelopeRule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Statistic of the optimised metric",
    }
    SEARCH_DIRECTION {
        name: "--search-direction",
        kind: FlagType::Literal(sweep::Direction::NAMES),
        to: To::EnvelopeRule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Maximise or minimise",
    }
    SEARCH_MAX_ITERATIONS {
        name: "--search-max-iterations",
        kind: FlagType::Int,
        to: To::EnvelopeRule("sweep.max_iterations"),
        status: NotYet("settings are not searched"),
        summary: "Search iteration limit",
    }
    SEARCH_INITIAL_POINTS {
        name: "--search-initial-points",
        kind: FlagType::Int,
        to: To::EnvelopeRule("sweep.n_initial_points"),
        status: NotYet("settings are not searched"),
        summary: "Quasi-random points before modelling",
    }
    SEARCH_RANDOM_SEED {
        name: "--search-random-seed",
        kind: FlagType::Int,
        to: To::EnvelopeRule("sweep.random_seed"),
        status: NotYet("settings are not searched"),
        summary: "Planner seed",
    }
    SEARCH_PLANNER {
        name: "--search-planner",
        kind: FlagType::Choice(sweep::Planner::NAMES),
        to: To::EnvelopeRule("sweep.planner"),
        status: NotYet("settings are not searched"),
        summary: "Search algorithm",
    }
    OPTUNA_SAMPLER {
        name: "--optuna-sampler",
        kind: FlagType::Literal(sweep::OptunaSampler::NAMES),
        to: To::EnvelopeRule("sweep.optuna_sampler"),
        status: NotYet("settings are not searched"),
        summary: "Sampler used by the optuna planner",
    }
    OPTUNA_ACQUISITION {
        name: "--optuna-acquisition",
        kind: FlagType::Literal(sweep::OptunaAcquisition::NAMES),
        to: To::EnvelopeRule("sweep.optuna_acquisition"),
        status: NotYet("settings are not searched"),
        summary: "Acquisition override; botorch sampler only",
    }
    OPTUNA_TERMINATOR {
        name: "--optuna-terminator",
        kind: FlagType::Literal(sweep::OptunaTerminator::NAMES),
        to: To::EnvelopeRule("sweep.optuna_terminator"),
        status: NotYet("settings are not searched"),
        summary: "Extra regret-based stop rule",
    }
    SEARCH_PERCENTILE_POOLING {
        name: "--search-percentile-pooling",
        kind: FlagType::Literal(sweep::Pooling::NAMES),
        to: To::EnvelopeRule("sweep.objective_pooling"),
        status: NotYet("settings are not searched"),
        summary: "Average per-trial percentiles or pool raw samples",
    }
    BO_CONSTRAINT_MODE {
        name: "--bo-constraint-mode",
        kind: FlagType::Literal(sweep::ConstraintMode::NAMES),
        to: To::EnvelopeRule("sweep.constraint_mode"),
        status: NotYet("settings are not searched"),
        summary: "How constraints enter the acquisition",
    }
    VARIANT {
        name: "--variant",
        kind: FlagType::Texts,
        aliases: &["--sweep-variant"],
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("sweep"),
        with_file: false,
        summary: "Named scenario of flag=value pairs; pass two or more",
    }
    SEARCH_SLA {
        name: "--search-sla",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("sweep.sla_filters"),
        summary: "SLA filter metric:stat:op:threshold",
    }
    SEARCH_SLA_TIER {
        name: "--search-sla-tier",
        kind: FlagType::Texts,
        takes: Takes::Many { comma: false, space: false },
        to: To::EnvelopeRule("sweep.sla_tiers"),
        status: NotYet("settings are not searched"),
        summary: "Labelled group of SLA filters; 2 to 10 tiers",
    }
    SEARCH_RECIPE {
        name: "--search-recipe",
        kind: FlagType::Text,
        value_name: Some("RECIPE"),
        values: Some(recipes_in_words),
        to: To::EnvelopeRule("sweep"),
        summary: "Named preset that fills the sweep",
    }
    TTFT_SLA_MS {
        name: "--ttft-sla-ms",
        kind: FlagType::Float,
        range: Some(more_than(0.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "TTFT limit for recipes, milliseconds",
    }
    ISL_OSL_PAIRS {
        name: "--isl-osl-pairs",
        kind: FlagType::Text,
        to: To::EnvelopeRule("sweep"),
        summary: "ISL/OSL pairs for the pareto recipe",
    }
    ITL_SLA_MS {
        name: "--itl-sla-ms",
        kind: FlagType::Float,
        range: Some(more_than(0.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Inter-token latency limit for recipes, milliseconds",
    }
    TPOT_SLA_MS {
        name: "--tpot-sla-ms",
        kind: FlagType::Float,
        range: Some(more_than(0.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Same limit as --itl-sla-ms",
    }
    E2E_SLA_MS {
        name: "--e2e-sla-ms",
        kind: FlagType::Float,
        range: Some(more_than(0.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Request latency limit for recipes, milliseconds",
    }
    ERROR_RATE_SLA {
        name: "--error-rate-sla",
        kind: FlagType::Float,
        range: Some(between(0.0, false, 1.0, false)),
        to: To::EnvelopeRule("sweep"),
        summary: "Error share limit for recipes, 0 to 1",
    }
    SLO_ATTAINMENT_FRACTION {
        name: "--slo-attainment-fraction",
        kind: FlagType::Float,
        range: Some(between(0.0, false, 1.0, true)),
        to: To::EnvelopeRule("sweep"),
        status: NotYet("settings are not searched"),
        summary: "Share of good requests the goodput recipe requires",
    }
    SEARCH_STYLE {
        name: "--search-style",
        kind: FlagType::Literal(sweep::SearchStyle::NAMES),
        to: To::EnvelopeRule("sweep"),
        summary: "Algorithm of the max-concurrency recipe",
        limited_to: Some("only grid so far"),
    }
    DEGRADATION_THRESHOLD {
        name: "--degradation-threshold",
        kind: FlagType::Float,
        range: Some(between(0.0, false, 1.0, false)),
        to: To::EnvelopeRule("sweep"),
        summary: "Relative worsening that marks the knee",
    }
    DEGRADATION_METRIC_TAG {
        name: "--degradation-metric-tag",
        kind: FlagType::Text,
        to: To::EnvelopeRule("sweep"),
        summary: "Metric watched for the knee",
    }
    DEGRADATION_STAT {
        name: "--degradation-stat",
        kind: FlagType::Literal(sweep::SearchStat::NAMES),
        to: To::EnvelopeRule("sweep"),
        summary: "Statistic watched for the knee",
    }
    ISL_MIN {
        name: "--isl-min",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Lowest ISL of a recipe sweep",
    }
    ISL_MAX {
        name: "--isl-max",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Highest ISL of a recipe sweep",
    }
    ISL_STEPS {
        name: "--isl-steps",
        kind: FlagType::Int,
        range: Some(between(2.0, true, 1000.0, true)),
        to: To::EnvelopeRule("sweep"),
        summary: "ISL points of a recipe sweep",
    }
    CONCURRENCY_MIN {
        name: "--concurrency-min",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Lowest concurrency of a recipe",
    }
    CONCURRENCY_MAX {
        name: "--concurrency-max",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Highest concurrency of a recipe",
    }
    CONCURRENCY_STEPS {
        name: "--concurrency-steps",
        kind: FlagType::Int,
        range: Some(between(2.0, true, 1000.0, true)),
        to: To::EnvelopeRule("sweep"),
        summary: "Concurrency points of a recipe sweep",
    }
    OSL_MIN {
        name: "--osl-min",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Lowest OSL of a recipe sweep",
    }
    OSL_MAX {
        name: "--osl-max",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::EnvelopeRule("sweep"),
        summary: "Highest OSL of a recipe sweep",
    }
    OSL_STEPS {
        name: "--osl-steps",
        kind: FlagType::Int,
        range: Some(between(2.0, true, 1000.0, true)),
        to: To::EnvelopeRule("sweep"),
        summary: "OSL points of a recipe sweep",
    }
}
