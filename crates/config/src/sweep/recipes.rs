//! `--search-recipe`: a sweep or search that answers a common question.

use crate::choice::Choice;
use crate::error::Problem;
use crate::flags::{
    CONCURRENCY, CONCURRENCY_MAX, CONCURRENCY_MIN, CONCURRENCY_STEPS, DEGRADATION_METRIC_TAG, DEGRADATION_STAT,
    DEGRADATION_THRESHOLD, E2E_SLA_MS, ERROR_RATE_SLA, Flag, ISL_MAX, ISL_MIN, ISL_OSL_PAIRS, ISL_STEPS, ITL_SLA_MS,
    OSL_MAX, OSL_MIN, OSL_STEPS, SEARCH_STYLE, SLO_ATTAINMENT_FRACTION, TPOT_SLA_MS, TTFT_SLA_MS,
};
use crate::nearest::nearest;
use crate::parse::isl_osl_pairs;
use crate::sections::sweep::{Planner, Prior, SearchStyle};
use aiperf_plan::{ParetoAxes, ParetoAxis};
use serde_json::{Map, Value, json};

/// The inputs of a recipe.
pub(crate) struct Inputs<'a> {
    /// The value of a flag, if it was given.
    pub value: &'a dyn Fn(&Flag) -> Option<Value>,
    pub streaming: bool,
}

/// The result of a recipe.
#[derive(Debug, PartialEq)]
pub(crate) struct Expansion {
    pub sweep: Value,
    pub slos: Option<Value>,
    pub auto_plot: bool,
}

/// Whether a recipe searches, which is not supported yet, or runs fixed steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searches {
    Always,
    /// With any `--search-style` except `grid`.
    UnlessGrid,
    Never,
}

/// A recipe: its name, its conditions, and what it makes.
struct Recipe {
    name: &'static str,
    /// Why it needs streaming.
    streaming: Option<&'static str>,
    searches: Searches,
    /// Flags of which a user may give several values, because the recipe varies them.
    varies: &'static [&'static Flag],
    trade_off: Option<TradeOff>,
    make: fn(&str, &Inputs<'_>) -> Result<Expansion, Problem>,
}

/// The trade-off of a recipe: less of `x`, a metric and a statistic, for more of `y`.
struct TradeOff {
    x: (&'static str, &'static str),
    y: Y,
    series: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Y {
    Metric(&'static str, &'static str),
    Parameter(&'static str),
}

const THROUGHPUT: Y = Y::Metric("output_token_throughput", "avg");

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "max-throughput-ttft-sla",
        streaming: Some("only a stream shows its first token"),
        searches: Searches::Always,
        varies: &[],
        trade_off: None,
        make: throughput_by_ttft,
    },
    Recipe {
        name: "max-throughput-itl-sla",
        streaming: Some("only a stream shows its tokens one by one"),
        searches: Searches::Always,
        varies: &[],
        trade_off: None,
        make: throughput_by_itl,
    },
    Recipe {
        name: "max-concurrency-under-sla",
        streaming: None,
        searches: Searches::UnlessGrid,
        varies: &[],
        trade_off: Some(TradeOff { x: ("request_latency", "p95"), y: Y::Parameter(CONCURRENCIES.path), series: &[] }),
        make: concurrency_under_sla,
    },
    Recipe {
        name: "max-goodput-under-slo",
        streaming: Some("only a stream shows its tokens one by one"),
        searches: Searches::Always,
        varies: &[],
        trade_off: None,
        make: goodput,
    },
    Recipe {
        name: "concurrency-ramp",
        streaming: None,
        searches: Searches::Never,
        varies: &[],
        trade_off: Some(TradeOff { x: ("request_latency", "p95"), y: THROUGHPUT, series: &[] }),
        make: ramp,
    },
    Recipe {
        name: "prefill-ttft-curve",
        streaming: Some("only a stream shows its first token"),
        searches: Searches::Never,
        varies: &[],
        trade_off: None,
        make: prefill_curve,
    },
    Recipe {
        name: "decode-itl-curve",
        streaming: Some("only a stream shows its tokens one by one"),
        searches: Searches::Never,
        varies: &[],
        trade_off: None,
        make: decode_curve,
    },
    Recipe {
        name: "pareto-sweep",
        streaming: Some("only a stream shows its first token"),
        searches: Searches::Never,
        varies: &[CONCURRENCY],
        trade_off: Some(TradeOff { x: ("time_to_first_token", "p95"), y: THROUGHPUT, series: &["isl", "osl"] }),
        make: pareto,
    },
];

fn named(name: &str) -> Option<&'static Recipe> {
    RECIPES.iter().find(|recipe| recipe.name == name)
}

/// The names of all recipes: those that run, and those that would need a search.
pub(crate) fn in_words() -> String {
    let shown = |recipe: &Recipe| match recipe.searches {
        Searches::UnlessGrid => format!("{} (with --search-style grid)", recipe.name),
        Searches::Always | Searches::Never => recipe.name.to_owned(),
    };
    let (later, run): (Vec<&Recipe>, Vec<&Recipe>) =
        RECIPES.iter().partition(|recipe| recipe.searches == Searches::Always);
    let list = |recipes: Vec<&Recipe>| recipes.into_iter().map(shown).collect::<Vec<_>>().join(", ");
    format!("{}; not there yet: {}", list(run), list(later))
}

/// Whether a recipe searches; an unknown one does not.
pub(crate) fn searches(name: &str, style: Option<SearchStyle>) -> Searches {
    match named(name).map(|recipe| recipe.searches) {
        Some(Searches::UnlessGrid) if style == Some(SearchStyle::Grid) => Searches::Never,
        searches => searches.unwrap_or(Searches::Never),
    }
}

/// Whether a recipe varies the values of a flag.
pub(super) fn varies(name: &str, flag: &Flag) -> bool {
    named(name).is_some_and(|recipe| recipe.varies.contains(&flag))
}

/// The trade-off of a recipe, if it has one.
pub(crate) fn trade_off(name: &str) -> Option<ParetoAxes> {
    let TradeOff { x: (tag, stat), y, series } = named(name)?.trade_off.as_ref()?;
    let metric = |tag: &str, stat: &str| ParetoAxis::Metric { tag: tag.to_owned(), stat: stat.to_owned() };
    let y = match y {
        Y::Metric(tag, stat) => metric(tag, stat),
        Y::Parameter(path) => ParetoAxis::Parameter { path: (*path).to_owned() },
    };
    Some(ParetoAxes { x: metric(tag, stat), y, series: series.iter().map(|name| (*name).to_owned()).collect() })
}

/// Makes a recipe's sweep.
pub(crate) fn recipe(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let Some(recipe) = named(name) else {
        let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        let problem = Problem::new(format!("--search-recipe '{name}' is not a recipe"))
            .because(format!("recipes: {}", names.join(", ")));
        return Err(match nearest(name, names) {
            Some(near) => problem.hint(format!("--search-recipe {near}")),
            None => problem,
        });
    };
    if let (Some(why), false) = (recipe.streaming, inputs.streaming) {
        return Err(needs_streaming(name, why));
    }
    (recipe.make)(name, inputs).map_err(|problem| Problem { what: problem.what.replace("{recipe}", name), ..problem })
}

fn needs_streaming(name: &str, why: &str) -> Problem {
    Problem::new(format!("--search-recipe {name} needs --streaming")).because(why).hint("add --streaming")
}

fn missing(flags: &str) -> Problem {
    Problem::new(format!("--search-recipe {{recipe}} needs {flags}")).hint(format!("add {flags}"))
}

fn number(inputs: &Inputs<'_>, flag: &Flag) -> Option<f64> {
    (inputs.value)(flag).and_then(|value| value.as_f64())
}

fn whole(inputs: &Inputs<'_>, flag: &Flag) -> Option<i64> {
    (inputs.value)(flag).and_then(|value| value.as_i64())
}

/// The objective for the time between tokens, which has two names.
fn itl(inputs: &Inputs<'_>) -> Result<Option<f64>, Problem> {
    match (number(inputs, ITL_SLA_MS), number(inputs, TPOT_SLA_MS)) {
        (Some(itl), Some(tpot)) if itl != tpot => {
            Err(Problem::new(format!("--itl-sla-ms {itl} and --tpot-sla-ms {tpot} differ"))
                .because("they are two names of one objective")
                .hint("leave one out"))
        }
        (itl, tpot) => Ok(itl.or(tpot)),
    }
}

/// A setting that recipes vary, and the flags for its bounds and its number of steps.
struct Axis {
    path: &'static str,
    min: &'static Flag,
    max: &'static Flag,
    steps: &'static Flag,
}

const CONCURRENCIES: Axis =
    Axis { path: "phases.profiling.concurrency", min: CONCURRENCY_MIN, max: CONCURRENCY_MAX, steps: CONCURRENCY_STEPS };
const INPUT_LENGTHS: Axis = Axis { path: "datasets.main.prompts.isl", min: ISL_MIN, max: ISL_MAX, steps: ISL_STEPS };
const OUTPUT_LENGTHS: Axis = Axis { path: "datasets.main.prompts.osl", min: OSL_MIN, max: OSL_MAX, steps: OSL_STEPS };

impl Axis {
    fn bounds(&self, inputs: &Inputs<'_>, low: i64, high: i64) -> Result<(i64, i64), Problem> {
        let low = whole(inputs, self.min).unwrap_or(low);
        let high = whole(inputs, self.max).unwrap_or(high);
        if low >= high {
            let what = format!("{} {low} must be less than {} {high}", self.min.name, self.max.name);
            return Err(Problem::new(what).because("there would be nothing between them"));
        }
        Ok((low, high))
    }

    fn steps(&self, inputs: &Inputs<'_>, low: i64, high: i64, count: i64) -> Result<Vec<i64>, Problem> {
        let (low, high) = self.bounds(inputs, low, high)?;
        let count = whole(inputs, self.steps).unwrap_or(count);
        logspace(low, high, count).map_err(|rule| Problem::new(format!("{} {count} {rule}", self.steps.name)))
    }
}

fn filter(metric: &str, stat: &str, op: &str, threshold: f64) -> Value {
    json!({"metric_tag": metric, "stat": stat, "op": op, "threshold": threshold})
}

/// A search for the best concurrency by an objective.
fn search(
    inputs: &Inputs<'_>,
    recipe: &str,
    objective: &str,
    filters: Vec<Value>,
    plan: Plan,
) -> Result<Value, Problem> {
    let (low, high) = CONCURRENCIES.bounds(inputs, 1, 1000)?;
    Ok(json!({
        "cooldown_seconds": 0.0,
        "sla_filters": filters,
        "recipe_name": recipe,
        "type": "adaptive_search",
        "planner": plan.planner.name(),
        "search_space": [{"path": CONCURRENCIES.path, "lo": low as f64, "hi": high as f64, "kind": "int", "prior": plan.prior.name()}],
        "objectives": [{"metric": objective, "stat": "avg", "direction": "maximize"}],
        "outcome_constraints": [],
        "max_iterations": plan.iterations,
        "n_initial_points": plan.initial,
        "plateau_window": 8,
        "plateau_threshold": 0.01,
        "improvement_patience": 10,
        "optuna_sampler": "botorch",
        "optuna_terminator": "none",
        "objective_pooling": "mean",
        "monotonic_stability_trials": 2,
        "sla_replicates": 0,
        "sla_precision": "normal",
        "constraint_mode": "penalty",
        "sla_tiers": [],
    }))
}

struct Plan {
    planner: Planner,
    prior: Prior,
    iterations: i64,
    initial: i64,
}

const BAYESIAN: Plan = Plan { planner: Planner::Bayesian, prior: Prior::LogUniform, iterations: 30, initial: 5 };

fn plain(sweep: Value) -> Expansion {
    Expansion { sweep, slos: None, auto_plot: false }
}

fn throughput_by_ttft(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let ttft = number(inputs, TTFT_SLA_MS).ok_or_else(|| missing("--ttft-sla-ms MS"))?;
    let filters = vec![filter("time_to_first_token", "p95", "lt", ttft)];
    search(inputs, name, "output_token_throughput", filters, BAYESIAN).map(plain)
}

fn throughput_by_itl(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let itl = itl(inputs)?.ok_or_else(|| missing("--itl-sla-ms MS (or --tpot-sla-ms MS)"))?;
    let filters = vec![filter("inter_token_latency", "p95", "lt", itl)];
    search(inputs, name, "output_token_throughput", filters, BAYESIAN).map(plain)
}

fn concurrency_under_sla(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let (ttft, itl) = (number(inputs, TTFT_SLA_MS), itl(inputs)?);
    if (ttft.is_some() || itl.is_some()) && !inputs.streaming {
        return Err(needs_streaming(name, "only a stream shows its tokens one by one"));
    }
    let mut filters = Vec::new();
    filters.extend(ttft.map(|ms| filter("time_to_first_token", "p95", "lt", ms)));
    filters.extend(itl.map(|ms| filter("inter_token_latency", "p95", "lt", ms)));
    filters.extend(number(inputs, E2E_SLA_MS).map(|ms| filter("request_latency", "p99", "lt", ms)));
    filters
        .extend(number(inputs, ERROR_RATE_SLA).map(|share| filter("request_error_rate", "avg", "lt", share * 100.0)));
    if filters.is_empty() {
        return Err(missing(
            "at least one of --ttft-sla-ms, --itl-sla-ms, --tpot-sla-ms, --e2e-sla-ms and --error-rate-sla",
        ));
    }
    let style = (inputs.value)(SEARCH_STYLE).and_then(|style| SearchStyle::parse(style.as_str()?));
    let plan = match style.unwrap_or(SearchStyle::SmoothIsotonic) {
        SearchStyle::Grid => {
            let steps = CONCURRENCIES.steps(inputs, 1, 1000, 8)?;
            let params = json!({"sla_filters": filters, "swept_param": CONCURRENCIES.path});
            let mut sweep = grid(name, [(CONCURRENCIES.path, steps)], "sla_breach_knee", params, "sla_breach.json");
            sweep["sla_filters"] = filters.into();
            return Ok(plain(sweep));
        }
        SearchStyle::Monotonic => {
            Plan { planner: Planner::MonotonicSla, prior: Prior::Uniform, iterations: 20, initial: 1 }
        }
        SearchStyle::Bo => BAYESIAN,
        SearchStyle::Optuna => Plan { planner: Planner::Optuna, ..BAYESIAN },
        SearchStyle::SmoothIsotonic => {
            Plan { planner: Planner::SmoothIsotonic, prior: Prior::Uniform, iterations: 30, initial: 1 }
        }
    };
    search(inputs, name, "output_token_throughput", filters, plan).map(plain)
}

fn goodput(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let (ttft, itl, e2e) = (number(inputs, TTFT_SLA_MS), itl(inputs)?, number(inputs, E2E_SLA_MS));
    let (Some(ttft), Some(itl), Some(e2e)) = (ttft, itl, e2e) else {
        let absent: Vec<&str> = [(ttft, "--ttft-sla-ms MS"), (itl, "--tpot-sla-ms MS"), (e2e, "--e2e-sla-ms MS")]
            .into_iter()
            .filter(|(value, _)| value.is_none())
            .map(|(_, flag)| flag)
            .collect();
        return Err(missing(&absent.join(", ")).because("the three together say which request is good"));
    };
    let share = number(inputs, SLO_ATTAINMENT_FRACTION).unwrap_or(0.95);
    let filters = vec![filter("good_request_fraction", "avg", "ge", share)];
    let sweep = search(inputs, name, "goodput", filters, BAYESIAN)?;
    let slos = json!({"time_to_first_token": ttft, "inter_token_latency": itl, "request_latency": e2e});
    Ok(Expansion { sweep, slos: Some(slos), auto_plot: false })
}

fn grid<const N: usize>(name: &str, axes: [(&str, Vec<i64>); N], handler: &str, params: Value, file: &str) -> Value {
    let parameters: Map<String, Value> =
        axes.into_iter().map(|(path, steps)| (path.to_owned(), steps.into())).collect();
    json!({
        "post_process": {"handler": handler, "params": params, "output_filename": file},
        "recipe_name": name,
        "type": "grid",
        "parameters": parameters,
    })
}

fn ramp(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let steps = CONCURRENCIES.steps(inputs, 1, 1000, 8)?;
    let params = json!({
        "threshold_pct": number(inputs, DEGRADATION_THRESHOLD).unwrap_or(0.2),
        "metric_tag": (inputs.value)(DEGRADATION_METRIC_TAG).unwrap_or_else(|| "request_latency".into()),
        "stat": (inputs.value)(DEGRADATION_STAT).unwrap_or_else(|| "p99".into()),
        "swept_param": CONCURRENCIES.path,
    });
    let sweep = grid(name, [(CONCURRENCIES.path, steps)], "degradation_knee_detect", params, "degradation_knee.json");
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn prefill_curve(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let steps = INPUT_LENGTHS.steps(inputs, 256, 32768, 8)?;
    let params = json!({"metric_tag": "time_to_first_token", "stat": "avg", "swept_param": INPUT_LENGTHS.path});
    let sweep = grid(
        name,
        [(INPUT_LENGTHS.path, steps), (CONCURRENCIES.path, vec![1])],
        "ttft_curve_fit",
        params,
        "prefill_curve.json",
    );
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn decode_curve(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let concurrency = CONCURRENCIES.steps(inputs, 1, 200, 6)?;
    let osl = OUTPUT_LENGTHS.steps(inputs, 64, 1024, 4)?;
    let params = json!({"metric_tag": "inter_token_latency", "stat": "avg", "concurrency_param": CONCURRENCIES.path, "osl_param": OUTPUT_LENGTHS.path});
    let sweep = grid(
        name,
        [(CONCURRENCIES.path, concurrency), (OUTPUT_LENGTHS.path, osl)],
        "itl_surface_fit",
        params,
        "decode_itl_surface.json",
    );
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn pareto(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let text = (inputs.value)(ISL_OSL_PAIRS).and_then(|value| value.as_str().map(str::to_owned));
    let text = text.ok_or_else(|| missing("--isl-osl-pairs 128/128,256/256"))?;
    let pairs = isl_osl_pairs(&text).map_err(|rule| {
        Problem::new(format!("--isl-osl-pairs '{text}' {rule}")).hint("--isl-osl-pairs 128/128,256/256")
    })?;
    let concurrency: Vec<i64> = match (inputs.value)(CONCURRENCY) {
        None => vec![1, 4, 16, 64, 256],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_i64).collect(),
        Some(one) => one.as_i64().into_iter().collect(),
    };
    if pairs.len() * concurrency.len() < 2 {
        return Err(Problem::new("--search-recipe {recipe} needs at least two points")
            .because("one point has nothing to be compared with")
            .hint("more --isl-osl-pairs, or several values of --concurrency"));
    }
    let runs: Vec<Value> = pairs
        .iter()
        .flat_map(|(isl, osl)| {
            concurrency.iter().map(move |concurrency| {
                json!({
                    "name": format!("shape_{isl}_{osl}_c{concurrency}"),
                    "values": {"isl": isl, "osl": osl, "concurrency": concurrency},
                    "benchmark": {
                        "datasets": [{"name": "main", "prompts": {"isl": isl, "osl": osl}}],
                        "phases": [{"name": "profiling", "concurrency": concurrency}],
                    },
                })
            })
        })
        .collect();
    let params = json!({
        "x_metric": "time_to_first_token", "x_stat": "p95", "y_metric": "output_token_throughput", "y_stat": "avg",
        "isl_key": "isl", "osl_key": "osl", "concurrency_key": "concurrency",
    });
    Ok(plain(json!({
        "post_process": {"handler": "pareto_sweep_export", "params": params, "output_filename": "pareto_sweep.json"},
        "recipe_name": name,
        "type": "scenarios",
        "runs": runs,
    })))
}

/// Whole numbers evenly spaced by logarithm, each once.
pub(crate) fn logspace(low: i64, high: i64, steps: i64) -> Result<Vec<i64>, &'static str> {
    if steps < 2 {
        return Err("must be at least 2");
    }
    if low < 1 || high <= low {
        return Err("needs a start of at least 1 and an end above it");
    }
    let (from, to) = ((low as f64).ln(), (high as f64).ln());
    let mut out: Vec<i64> = (0..steps)
        .map(|i| (from + (to - from) * i as f64 / (steps - 1) as f64).exp().round_ties_even() as i64)
        .map(|n| n.max(1))
        .collect();
    out.sort_unstable();
    out.dedup();
    Ok(out)
}
