//! `--search-recipe`: a sweep or search that answers a common question.

use crate::choice::Choice;
use crate::error::Problem;
use crate::nearest::nearest;
use crate::parse::isl_osl_pairs;
use crate::sections::sweep::{Planner, Prior, SearchStyle};
use serde_json::{Map, Value, json};

/// What a recipe is made from.
pub(crate) struct Inputs<'a> {
    /// The value of a flag, by its name without dashes.
    pub value: &'a dyn Fn(&str) -> Option<Value>,
    pub streaming: bool,
}

/// What a recipe makes.
#[derive(Debug, PartialEq)]
pub(crate) struct Expansion {
    pub sweep: Value,
    pub slos: Option<Value>,
    pub auto_plot: bool,
}

/// A recipe: its name, whether it needs streaming, and what it makes.
struct Recipe {
    name: &'static str,
    streaming: Option<&'static str>,
    make: fn(&Inputs<'_>) -> Result<Expansion, Problem>,
}

const RECIPES: &[Recipe] = &[
    Recipe {
        name: "max-throughput-ttft-sla",
        streaming: Some("only a stream shows its first token"),
        make: throughput_by_ttft,
    },
    Recipe {
        name: "max-throughput-itl-sla",
        streaming: Some("only a stream shows its tokens one by one"),
        make: throughput_by_itl,
    },
    Recipe { name: "max-concurrency-under-sla", streaming: None, make: concurrency_under_sla },
    Recipe {
        name: "max-goodput-under-slo",
        streaming: Some("only a stream shows its tokens one by one"),
        make: goodput,
    },
    Recipe { name: "concurrency-ramp", streaming: None, make: ramp },
    Recipe { name: "prefill-ttft-curve", streaming: Some("only a stream shows its first token"), make: prefill_curve },
    Recipe {
        name: "decode-itl-curve",
        streaming: Some("only a stream shows its tokens one by one"),
        make: decode_curve,
    },
    Recipe { name: "pareto-sweep", streaming: Some("only a stream shows its first token"), make: pareto },
];

const CONCURRENCY: &str = "phases.profiling.concurrency";

/// Makes a recipe's sweep.
pub(crate) fn recipe(name: &str, inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let Some(recipe) = RECIPES.iter().find(|recipe| recipe.name == name) else {
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
    (recipe.make)(inputs).map_err(|problem| Problem { what: problem.what.replace("{recipe}", name), ..problem })
}

fn needs_streaming(name: &str, why: &str) -> Problem {
    Problem::new(format!("--search-recipe {name} needs --streaming")).because(why).hint("add --streaming")
}

fn missing(flags: &str) -> Problem {
    Problem::new(format!("--search-recipe {{recipe}} needs {flags}")).hint(format!("add {flags}"))
}

fn number(inputs: &Inputs<'_>, key: &str) -> Option<f64> {
    (inputs.value)(key).and_then(|value| value.as_f64())
}

fn whole(inputs: &Inputs<'_>, key: &str) -> Option<i64> {
    (inputs.value)(key).and_then(|value| value.as_i64())
}

/// The objective for the time between tokens, which has two names.
fn itl(inputs: &Inputs<'_>) -> Result<Option<f64>, Problem> {
    match (number(inputs, "itl_sla_ms"), number(inputs, "tpot_sla_ms")) {
        (Some(itl), Some(tpot)) if itl != tpot => {
            Err(Problem::new(format!("--itl-sla-ms {itl} and --tpot-sla-ms {tpot} differ"))
                .because("they are two names of one objective")
                .hint("leave one out"))
        }
        (itl, tpot) => Ok(itl.or(tpot)),
    }
}

fn bounds(inputs: &Inputs<'_>, what: &str, low: i64, high: i64) -> Result<(i64, i64), Problem> {
    let (low, high) =
        (whole(inputs, &format!("{what}_min")).unwrap_or(low), whole(inputs, &format!("{what}_max")).unwrap_or(high));
    if low >= high {
        return Err(Problem::new(format!("--{what}-min {low} must be less than --{what}-max {high}"))
            .because("there would be nothing between them"));
    }
    Ok((low, high))
}

fn filter(metric: &str, stat: &str, op: &str, threshold: f64) -> Value {
    json!({"metric_tag": metric, "stat": stat, "op": op, "threshold": threshold})
}

/// A search for the concurrency that is best by an objective.
fn search(
    inputs: &Inputs<'_>,
    recipe: &str,
    objective: &str,
    filters: Vec<Value>,
    plan: Plan,
) -> Result<Value, Problem> {
    let (low, high) = bounds(inputs, "concurrency", 1, 1000)?;
    Ok(json!({
        "cooldown_seconds": 0.0,
        "sla_filters": filters,
        "recipe_name": recipe,
        "type": "adaptive_search",
        "planner": plan.planner.name(),
        "search_space": [{"path": CONCURRENCY, "lo": low as f64, "hi": high as f64, "kind": "int", "prior": plan.prior.name()}],
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

fn throughput_by_ttft(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let ttft = number(inputs, "ttft_sla_ms").ok_or_else(|| missing("--ttft-sla-ms MS"))?;
    let filters = vec![filter("time_to_first_token", "p95", "lt", ttft)];
    search(inputs, "max-throughput-ttft-sla", "output_token_throughput", filters, BAYESIAN).map(plain)
}

fn throughput_by_itl(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let itl = itl(inputs)?.ok_or_else(|| missing("--itl-sla-ms MS (or --tpot-sla-ms MS)"))?;
    let filters = vec![filter("inter_token_latency", "p95", "lt", itl)];
    search(inputs, "max-throughput-itl-sla", "output_token_throughput", filters, BAYESIAN).map(plain)
}

fn concurrency_under_sla(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    const NAME: &str = "max-concurrency-under-sla";
    let (ttft, itl) = (number(inputs, "ttft_sla_ms"), itl(inputs)?);
    if (ttft.is_some() || itl.is_some()) && !inputs.streaming {
        return Err(needs_streaming(NAME, "only a stream shows its tokens one by one"));
    }
    let mut filters = Vec::new();
    filters.extend(ttft.map(|ms| filter("time_to_first_token", "p95", "lt", ms)));
    filters.extend(itl.map(|ms| filter("inter_token_latency", "p95", "lt", ms)));
    filters.extend(number(inputs, "e2e_sla_ms").map(|ms| filter("request_latency", "p99", "lt", ms)));
    filters
        .extend(number(inputs, "error_rate_sla").map(|share| filter("request_error_rate", "avg", "lt", share * 100.0)));
    if filters.is_empty() {
        return Err(missing(
            "at least one of --ttft-sla-ms, --itl-sla-ms, --tpot-sla-ms, --e2e-sla-ms and --error-rate-sla",
        ));
    }
    let style = (inputs.value)("search_style").and_then(|style| SearchStyle::parse(style.as_str()?));
    let plan = match style.unwrap_or(SearchStyle::SmoothIsotonic) {
        SearchStyle::Grid => {
            let steps = steps(inputs, "concurrency", 1, 1000, 8)?;
            let params = json!({"sla_filters": filters, "swept_param": CONCURRENCY});
            let mut sweep = grid(NAME, [(CONCURRENCY, steps)], "sla_breach_knee", params, "sla_breach.json");
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
    search(inputs, NAME, "output_token_throughput", filters, plan).map(plain)
}

fn goodput(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let (ttft, itl, e2e) = (number(inputs, "ttft_sla_ms"), itl(inputs)?, number(inputs, "e2e_sla_ms"));
    let (Some(ttft), Some(itl), Some(e2e)) = (ttft, itl, e2e) else {
        let absent: Vec<&str> = [(ttft, "--ttft-sla-ms MS"), (itl, "--tpot-sla-ms MS"), (e2e, "--e2e-sla-ms MS")]
            .into_iter()
            .filter(|(value, _)| value.is_none())
            .map(|(_, flag)| flag)
            .collect();
        return Err(missing(&absent.join(", ")).because("the three together say which request is good"));
    };
    let share = number(inputs, "slo_attainment_fraction").unwrap_or(0.95);
    let filters = vec![filter("good_request_fraction", "avg", "ge", share)];
    let sweep = search(inputs, "max-goodput-under-slo", "goodput", filters, BAYESIAN)?;
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

fn steps(inputs: &Inputs<'_>, what: &str, low: i64, high: i64, count: i64) -> Result<Vec<i64>, Problem> {
    let (low, high) = bounds(inputs, what, low, high)?;
    let count = whole(inputs, &format!("{what}_steps")).unwrap_or(count);
    logspace(low, high, count).map_err(|rule| Problem::new(format!("--{what}-steps {count} {rule}")))
}

fn ramp(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let steps = steps(inputs, "concurrency", 1, 1000, 8)?;
    let params = json!({
        "threshold_pct": number(inputs, "degradation_threshold").unwrap_or(0.2),
        "metric_tag": (inputs.value)("degradation_metric_tag").unwrap_or_else(|| "request_latency".into()),
        "stat": (inputs.value)("degradation_stat").unwrap_or_else(|| "p99".into()),
        "swept_param": CONCURRENCY,
    });
    let sweep =
        grid("concurrency-ramp", [(CONCURRENCY, steps)], "degradation_knee_detect", params, "degradation_knee.json");
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn prefill_curve(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    const ISL: &str = "datasets.main.prompts.isl";
    let steps = steps(inputs, "isl", 256, 32768, 8)?;
    let params = json!({"metric_tag": "time_to_first_token", "stat": "avg", "swept_param": ISL});
    let sweep = grid(
        "prefill-ttft-curve",
        [(ISL, steps), (CONCURRENCY, vec![1])],
        "ttft_curve_fit",
        params,
        "prefill_curve.json",
    );
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn decode_curve(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    const OSL: &str = "datasets.main.prompts.osl";
    let concurrency = steps(inputs, "concurrency", 1, 200, 6)?;
    let osl = steps(inputs, "osl", 64, 1024, 4)?;
    let params =
        json!({"metric_tag": "inter_token_latency", "stat": "avg", "concurrency_param": CONCURRENCY, "osl_param": OSL});
    let sweep = grid(
        "decode-itl-curve",
        [(CONCURRENCY, concurrency), (OSL, osl)],
        "itl_surface_fit",
        params,
        "decode_itl_surface.json",
    );
    Ok(Expansion { sweep, slos: None, auto_plot: true })
}

fn pareto(inputs: &Inputs<'_>) -> Result<Expansion, Problem> {
    let text = (inputs.value)("isl_osl_pairs").and_then(|value| value.as_str().map(str::to_owned));
    let text = text.ok_or_else(|| missing("--isl-osl-pairs 128/128,256/256"))?;
    let pairs = isl_osl_pairs(&text).map_err(|rule| {
        Problem::new(format!("--isl-osl-pairs '{text}' {rule}")).hint("--isl-osl-pairs 128/128,256/256")
    })?;
    let concurrency: Vec<i64> = match (inputs.value)("concurrency") {
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
        "recipe_name": "pareto-sweep",
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
