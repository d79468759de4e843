//! Search flags and recipes to a sweep.

use super::recipes::{self, Inputs};
use crate::choice::Choice;
use crate::error::{Problem, needs};
use crate::flags::{
    AUTO_PLOT, BO_CONSTRAINT_MODE, CONCURRENCY_MAX, CONCURRENCY_MIN, CONCURRENCY_STEPS, DEGRADATION_METRIC_TAG,
    DEGRADATION_STAT, DEGRADATION_THRESHOLD, E2E_SLA_MS, ERROR_RATE_SLA, Flag, ISL_MAX, ISL_MIN, ISL_OSL_PAIRS,
    ISL_STEPS, ITL_SLA_MS, OPTUNA_ACQUISITION, OPTUNA_SAMPLER, OPTUNA_TERMINATOR, OSL_MAX, OSL_MIN, OSL_STEPS,
    REQUEST_RATE, REQUEST_RATE_SERIES, SEARCH_DIRECTION, SEARCH_INITIAL_POINTS, SEARCH_MAX_ITERATIONS, SEARCH_METRIC,
    SEARCH_PERCENTILE_POOLING, SEARCH_PLANNER, SEARCH_RANDOM_SEED, SEARCH_RECIPE, SEARCH_SLA, SEARCH_SLA_TIER,
    SEARCH_SPACE, SEARCH_STAT, SEARCH_STYLE, SLO_ATTAINMENT_FRACTION, TPOT_SLA_MS, TTFT_SLA_MS,
};
use crate::given::GivenFlags;
use crate::parse::{search_dimension, sla_filter, sla_tier};
use crate::sections::sweep::{DimensionKind, SweepType};
use crate::tree::{Datum, Node, Origin};
use aiperf_types::PhaseKind;
use serde_json::{Value, json};

/// Flags that a search needs besides its space.
const COMPANIONS: &[&Flag] = &[SEARCH_METRIC, SEARCH_DIRECTION, SEARCH_MAX_ITERATIONS];

/// Flags that apply only to the user's own search.
const OWN: &[&Flag] = &[
    SEARCH_SPACE,
    SEARCH_METRIC,
    SEARCH_STAT,
    SEARCH_DIRECTION,
    SEARCH_PLANNER,
    OPTUNA_SAMPLER,
    OPTUNA_ACQUISITION,
    OPTUNA_TERMINATOR,
    SEARCH_PERCENTILE_POOLING,
    BO_CONSTRAINT_MODE,
];

/// Flags that change a search, the user's own or a recipe's.
const SHARED: &[(&Flag, &str)] = &[
    (SEARCH_MAX_ITERATIONS, "max_iterations"),
    (SEARCH_INITIAL_POINTS, "n_initial_points"),
    (SEARCH_RANDOM_SEED, "random_seed"),
];

/// Flags that only recipes read.
const RECIPE_INPUTS: &[&Flag] = &[
    TTFT_SLA_MS,
    ISL_OSL_PAIRS,
    ITL_SLA_MS,
    TPOT_SLA_MS,
    E2E_SLA_MS,
    ERROR_RATE_SLA,
    SLO_ATTAINMENT_FRACTION,
    SEARCH_STYLE,
    DEGRADATION_THRESHOLD,
    DEGRADATION_METRIC_TAG,
    DEGRADATION_STAT,
    ISL_MIN,
    ISL_MAX,
    ISL_STEPS,
    CONCURRENCY_MIN,
    CONCURRENCY_MAX,
    CONCURRENCY_STEPS,
    OSL_MIN,
    OSL_MAX,
    OSL_STEPS,
];

/// Adds the sweep that search flags ask for to the configuration.
pub(crate) fn search(envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let inputs = flags.among(RECIPE_INPUTS);
    let recipe = flags.text(SEARCH_RECIPE);
    if recipe.is_none() && !inputs.is_empty() {
        problems.push(needs(&inputs.join(", "), "--search-recipe NAME", "only recipes read it"));
        return;
    }
    match recipe {
        Some(name) => by_recipe(name, envelope, flags, problems),
        None => own(envelope, flags, problems),
    }
}

fn by_recipe(name: &str, envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let own = flags.among(OWN);
    if !own.is_empty() {
        problems.push(
            Problem::exclusive(own.join(", "), "--search-recipe")
                .because("the recipe defines what is searched")
                .hint("with a recipe: --search-max-iterations, --search-initial-points, --search-random-seed"),
        );
        return;
    }
    let lists: Vec<&str> = flags
        .0
        .iter()
        .filter(|given| given.sweep().is_some() && !recipes::varies(name, given.flag))
        .map(|given| given.spelled.as_str())
        .collect();
    if !lists.is_empty() {
        problems.push(
            Problem::exclusive(format_args!("several values of {}", lists.join(", ")), "--search-recipe")
                .because("the recipe defines what is varied")
                .hint("one value"),
        );
        return;
    }
    let streaming =
        matches!(envelope.find("benchmark.endpoint.streaming"), Some(Node { datum: Datum::Bool(true), .. }));
    let value = |flag: &Flag| flags.get(flag).map(|given| given.value.clone());
    let made = match recipes::recipe(name, &Inputs { value: &value, streaming }) {
        Ok(made) => made,
        Err(problem) => {
            problems.push(problem);
            return;
        }
    };
    let origin = Origin::Flag(flags.spelled(SEARCH_RECIPE).to_owned());
    let mut sweep = Node::from_json(&made.sweep, &origin);
    let adaptive = sweep.choice("type") == Some(SweepType::AdaptiveSearch);
    for (flag, key) in SHARED {
        match flags.node(flag) {
            Some(node) if adaptive => sweep.put(key, node),
            Some(_) => problems.push(
                Problem::new(format!("{} cannot be used with --search-recipe {name}", flag.name))
                    .because("its points are fixed, not searched"),
            ),
            None => {}
        }
    }
    filters(&mut sweep, flags, problems);
    envelope.put("sweep", sweep);
    let benchmark = envelope.child("benchmark");
    if let Some(slos) = made.slos {
        benchmark.put("slos", Node::from_json(&slos, &origin));
    }
    if made.auto_plot && !flags.has(AUTO_PLOT) {
        benchmark.child("artifacts").put("auto_plot", Node::rule(true));
    }
}

fn own(envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    if !flags.has(SEARCH_SPACE) {
        let mut others = OWN.to_vec();
        others.extend(SHARED.iter().map(|(flag, _)| *flag));
        others.push(SEARCH_SLA_TIER);
        let given = flags.among(&others);
        if !given.is_empty() {
            problems.push(needs(&given.join(", "), "--search-space PATH:LO,HI", "there is nothing to search"));
        }
        return;
    }
    let absent: Vec<&str> = COMPANIONS.iter().filter(|flag| !flags.has(flag)).map(|flag| flag.name).collect();
    if !absent.is_empty() {
        problems.push(needs(
            SEARCH_SPACE.name,
            &absent.join(", "),
            "a search needs to know what is better and when to stop",
        ));
        return;
    }
    let mut dimensions = Vec::new();
    for text in flags.texts(SEARCH_SPACE) {
        match search_dimension(text) {
            Ok(dimension) => dimensions.push(dimension),
            Err(rule) => problems.push(
                Problem::new(format!("--search-space '{text}' {rule}")).hint("--search-space concurrency:1,1000:int"),
            ),
        }
    }
    let mut objective = json!({"metric": flags.text(SEARCH_METRIC), "direction": flags.text(SEARCH_DIRECTION)});
    if let Some(stat) = flags.text(SEARCH_STAT) {
        objective["stat"] = stat.into();
    }
    let sweep_json = json!({"type": "adaptive_search", "search_space": dimensions, "objectives": [objective]});
    let mut sweep = Node::flag(&sweep_json, SEARCH_SPACE.name);
    let rest = [
        (SEARCH_PLANNER, "planner"),
        (OPTUNA_SAMPLER, "optuna_sampler"),
        (OPTUNA_ACQUISITION, "optuna_acquisition"),
        (OPTUNA_TERMINATOR, "optuna_terminator"),
        (SEARCH_PERCENTILE_POOLING, "objective_pooling"),
        (BO_CONSTRAINT_MODE, "constraint_mode"),
    ];
    for (flag, key) in SHARED.iter().chain(&rest) {
        if let Some(node) = flags.node(flag) {
            sweep.put(key, node);
        }
    }
    filters(&mut sweep, flags, problems);
    seed_base(envelope, &dimensions, flags, problems);
    envelope.put("sweep", sweep);
}

/// Adds the limits for the cells of a plain sweep.
pub(crate) fn held_to(envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    if !flags.has(SEARCH_SLA) || flags.has(SEARCH_SPACE) || flags.has(SEARCH_RECIPE) {
        return;
    }
    match envelope.get_mut("sweep") {
        Some(sweep) => filters(sweep, flags, problems),
        None => {
            let several = "several values, as in --concurrency 1,2,4";
            problems.push(needs(SEARCH_SLA.name, several, "one run is not held against others"));
        }
    }
}

/// Objectives given one by one, and tiers of them.
fn filters(sweep: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let mut list = sweep.get("sla_filters").map(Node::items).unwrap_or_default().to_vec();
    for text in flags.texts(SEARCH_SLA) {
        match sla_filter(text) {
            Ok(filter) => list.push(Node::flag(&filter, SEARCH_SLA.name)),
            Err(rule) => problems.push(
                Problem::new(format!("--search-sla '{text}' {rule}"))
                    .hint("--search-sla time_to_first_token:p95:lt:200"),
            ),
        }
    }
    if flags.has(SEARCH_SLA) {
        sweep.put("sla_filters", Node::rule(list));
    }
    let texts = flags.texts(SEARCH_SLA_TIER);
    if texts.is_empty() {
        return;
    }
    let mut tiers: Vec<Value> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match sla_tier(text, index + 1) {
            Ok(tier) => tiers.push(tier),
            Err(rule) => problems.push(
                Problem::new(format!("--search-sla-tier '{text}' {rule}"))
                    .hint("--search-sla-tier gold:time_to_first_token:p95:lt:200"),
            ),
        }
    }
    sweep.put("sla_tiers", Node::flag(&tiers.into(), SEARCH_SLA_TIER.name));
}

/// The first value of a searched setting without one is the search's lower bound.
fn seed_base(envelope: &mut Node, dimensions: &[Value], flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let low = |setting: &str| {
        let path = format!("phases.profiling.{setting}");
        dimensions
            .iter()
            .find(|dimension| dimension["path"] == path.as_str())
            .map(|dimension| (dimension["lo"].as_f64().unwrap_or(0.0), dimension["kind"] == DimensionKind::Int.name()))
    };
    let shaped = low("smoothness").is_some() || low("rate_ramp").is_some();
    if shaped && low("rate").is_none() && !flags.has(REQUEST_RATE) && !flags.has(REQUEST_RATE_SERIES) {
        problems.push(
            Problem::new("--search-space over the shape of a rate needs --request-rate N")
                .because("there is no rate to shape")
                .hint("add --request-rate N, or search rate too"),
        );
    }
    let Some(Node { datum: Datum::List(phases), .. }) = envelope.child("benchmark").get_mut("phases") else { return };
    let Some(phase) = phases.iter_mut().find(|phase| phase.choice("kind") == Some(PhaseKind::Profiling)) else {
        return;
    };
    for setting in ["rate", "smoothness", "users"] {
        if let Some((lo, int)) = low(setting) {
            if int { phase.put_default(setting, lo as i64) } else { phase.put_default(setting, lo) }
        }
    }
    if let Some((lo, _)) = low("rate_ramp")
        && phase.get("rate_ramp").is_none()
    {
        phase.place("rate_ramp.duration", Node::rule(lo));
    }
}
