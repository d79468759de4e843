//! The trade-off of each recipe.

use aiperf_report::aggregate::{Axis, ParetoAxes};

/// One recipe: less of `x`, a metric and a statistic, for more of `y`.
struct RecipeAxes {
    recipe: &'static str,
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

const AXES: &[RecipeAxes] = &[
    RecipeAxes { recipe: "concurrency-ramp", x: ("request_latency", "p95"), y: THROUGHPUT, series: &[] },
    RecipeAxes {
        recipe: "max-concurrency-under-sla",
        x: ("request_latency", "p95"),
        y: Y::Parameter("phases.profiling.concurrency"),
        series: &[],
    },
    RecipeAxes { recipe: "pareto-sweep", x: ("time_to_first_token", "p95"), y: THROUGHPUT, series: &["isl", "osl"] },
];

/// The axes of a recipe; `None` if it has none.
pub fn recipe_axes(recipe: &str) -> Option<ParetoAxes> {
    let axes = AXES.iter().find(|axes| axes.recipe == recipe)?;
    let metric = |tag: &str, stat: &str| Axis::Metric { tag: tag.to_owned(), stat: stat.to_owned() };
    Some(ParetoAxes {
        x: metric(axes.x.0, axes.x.1),
        y: match axes.y {
            Y::Metric(tag, stat) => metric(tag, stat),
            Y::Parameter(path) => Axis::Parameter { path: path.to_owned() },
        },
        series: axes.series.iter().map(|name| (*name).to_owned()).collect(),
    })
}
