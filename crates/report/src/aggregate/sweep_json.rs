//! A sweep as JSON.

use super::confidence_json::{push_spread, push_tally};
use super::sweep::{Best, CellMetrics, CellStats, SlaConstraints, Sweep};
use super::trials::AcrossRuns;
use crate::format::json::Pretty;
use aiperf_metrics::Grade;
use aiperf_plan::{ParetoAxes, ParetoAxis};
use aiperf_types::{SlaFilter, Stats};
use serde_json::{Map, Value};

/// The document.
pub fn sweep_json(sweep: &Sweep) -> Vec<u8> {
    let mut json = Pretty::default();
    json.begin_object();
    json.text("aggregation_type", "sweep");
    push_tally(&mut json, &sweep.tally);
    push_metadata(&mut json, sweep);
    json.key("per_combination_metrics");
    json.begin_list();
    for cell in &sweep.cells {
        json.begin_object();
        push_parameters(&mut json, &cell.parameters);
        json.key("metrics");
        push_metrics(&mut json, &cell.metrics);
        cell.verdicts.push(&mut json);
        json.end_object();
    }
    json.end_list();
    json.key("best_configurations");
    json.begin_object();
    for (name, best) in bests(sweep) {
        json.key(name);
        json.begin_object();
        push_parameters(&mut json, &best.parameters);
        json.number("metric", Some(best.metric));
        json.text("unit", &best.unit);
        if let Some(verdict) = best.verdict {
            json.text("measurement_verdict", verdict.name());
        }
        json.end_object();
    }
    json.end_object();
    json.key("pareto_optimal");
    json.begin_list();
    for parameters in &sweep.pareto_optimal {
        push_map(&mut json, parameters);
    }
    json.end_list();
    // The points themselves have only parameters: readers take every member for one.
    if sweep.pareto_verdicts.iter().any(Option::is_some) {
        json.key("pareto_optimal_verdicts");
        json.begin_list();
        for verdict in &sweep.pareto_verdicts {
            json.value(&verdict.map(Grade::name).into());
        }
        json.end_list();
    }
    sweep.verdicts.push(&mut json);
    json.end_object();
    json.finish()
}

/// The best configurations there are, by name.
pub(super) fn bests(sweep: &Sweep) -> impl Iterator<Item = (&'static str, &Best)> {
    let named = [("best_throughput", &sweep.best_throughput), ("best_latency_p99", &sweep.best_latency)];
    named.into_iter().filter_map(|(name, best)| Some((name, best.as_ref()?)))
}

fn push_metadata(json: &mut Pretty, sweep: &Sweep) {
    json.key("metadata");
    json.begin_object();
    json.key("sweep_parameters");
    json.begin_list();
    for parameter in &sweep.parameters {
        json.begin_object();
        json.text("name", &parameter.name);
        json.key("values");
        json.begin_list();
        parameter.values.iter().for_each(|value| json.value(value));
        json.end_list();
        json.end_object();
    }
    json.end_list();
    json.key("num_combinations");
    json.int(sweep.combinations());
    if let Some(sla) = &sweep.sla {
        push_constraints(json, sla);
    }
    json.text("sweep_mode", &sweep.sweep_mode);
    json.number("confidence_level", Some(sweep.confidence_level));
    json.key("num_trials_per_value");
    json.int(sweep.trials);
    if let Some(axes) = &sweep.pareto_axes {
        push_axes(json, axes);
    }
    json.text("aggregation_type", "sweep");
    json.end_object();
}

fn push_constraints(json: &mut Pretty, sla: &SlaConstraints) {
    json.key("sla_constraints");
    json.begin_object();
    json.key("active_filters");
    json.begin_list();
    for SlaFilter { metric_tag, stat, op, threshold } in &sla.filters {
        json.begin_object();
        json.text("metric_tag", metric_tag);
        json.text("stat", stat);
        json.text("op", op.name());
        json.number("threshold", Some(*threshold));
        json.end_object();
    }
    json.end_list();
    json.key("feasible_count");
    json.int(sla.feasible);
    json.key("infeasible_count");
    json.int(sla.infeasible);
    json.end_object();
}

fn push_axes(json: &mut Pretty, axes: &ParetoAxes) {
    json.key("pareto_axes");
    json.begin_object();
    for (key, axis, direction) in [("x", &axes.x, "minimize"), ("y", &axes.y, "maximize")] {
        json.key(key);
        json.begin_object();
        match axis {
            ParetoAxis::Metric { tag, stat } => {
                json.text("metric", tag);
                json.text("stat", stat);
            }
            ParetoAxis::Parameter { path } => json.text("parameter", path),
        }
        json.text("direction", direction);
        json.end_object();
    }
    json.key("series");
    json.begin_list();
    axes.series.iter().for_each(|name| json.str(name));
    json.end_list();
    json.end_object();
}

fn push_parameters(json: &mut Pretty, parameters: &Map<String, Value>) {
    json.key("parameters");
    push_map(json, parameters);
}

fn push_map(json: &mut Pretty, members: &Map<String, Value>) {
    json.begin_object();
    for (key, value) in members {
        json.key(key);
        json.value(value);
    }
    json.end_object();
}

fn push_metrics(json: &mut Pretty, metrics: &CellMetrics) {
    json.begin_object();
    match metrics {
        CellMetrics::One(metrics) => metrics.iter().for_each(|(tag, metric)| push_one(json, tag, metric)),
        CellMetrics::Several(metrics) => metrics.iter().for_each(|(key, across)| push_several(json, key, across)),
    }
    json.end_object();
}

/// A single run is its own mean, and has no spread.
fn push_one(json: &mut Pretty, tag: &str, CellStats { unit, stats }: &CellStats) {
    json.key(tag);
    json.begin_object();
    json.number("mean", stats.avg);
    json.number("avg", stats.avg);
    json.number("std", Some(0.0));
    json.number("min", stats.min.or(stats.avg));
    json.number("max", stats.max.or(stats.avg));
    json.number("cv", Some(0.0));
    json.number("ci_low", stats.avg);
    json.number("ci_high", stats.avg);
    json.text("unit", unit);
    for percentile in Stats::PERCENTILE_NAMES {
        if let Some(value) = stats.get(percentile) {
            json.number(percentile, Some(value));
        }
    }
    if let Some(count) = stats.count {
        json.key("count");
        json.int(count);
    }
    if let Some(sum) = stats.sum {
        json.number("sum", Some(sum));
    }
    json.end_object();
}

fn push_several(json: &mut Pretty, key: &str, across: &AcrossRuns) {
    json.key(key);
    json.begin_object();
    push_spread(json, across);
    json.number("ci_low", across.ci_low);
    json.number("ci_high", across.ci_high);
    json.text("unit", &across.unit);
    json.end_object();
}
