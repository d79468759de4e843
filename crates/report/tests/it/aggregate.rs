//! The files and tables of many runs.

use aiperf_metrics::Stats;
use aiperf_plan::{ParetoAxes, ParetoAxis};
use aiperf_report::aggregate::collated_json::collated_json;
use aiperf_report::aggregate::confidence_csv::confidence_csv;
use aiperf_report::aggregate::confidence_json::confidence_json;
use aiperf_report::aggregate::sweep_csv::sweep_csv;
use aiperf_report::aggregate::sweep_json::sweep_json;
use aiperf_report::aggregate::{
    AcrossRuns, Best, CellMetrics, CellOfSweep, CellStats, Collated, Combined, ConfidenceReport, FailedRun, Pooled,
    RunMean, RunTally, SlaConstraints, Sweep, SweepCell, SweptParameter,
};
use aiperf_report::{MultiRunPlan, Page, SweepRow, SweepTable, multi_run_banner, multi_run_summary, sweep_conclusion};
use aiperf_types::{SlaFilter, SlaOp};
use insta::assert_snapshot;
use serde_json::{Map, Value, json};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn across(mean: f64, unit: &str) -> AcrossRuns {
    AcrossRuns {
        mean: Some(mean),
        std: Some(0.5),
        min: mean - 1.0,
        max: mean + 1.0,
        cv: Some(if mean == 0.0 { f64::INFINITY } else { 0.5 / mean }),
        se: Some(0.25),
        ci_low: Some(mean - 2.0),
        ci_high: Some(mean + 2.0),
        t_critical: Some(8.0),
        unit: unit.to_owned(),
    }
}

/// A value that only one of several runs has.
fn lone(value: f64, unit: &str) -> AcrossRuns {
    let (mean, std, cv, se, ci_low, ci_high, t_critical) = (None, None, None, None, None, None, None);
    AcrossRuns { mean, std, min: value, max: value, cv, se, ci_low, ci_high, t_critical, unit: unit.to_owned() }
}

fn tally() -> RunTally {
    RunTally {
        runs: 3,
        successful: vec!["run_0001".into(), "run_0003".into()],
        failed: vec![FailedRun { label: "run_0002".into(), error: "All 6 requests failed\nand more".into() }],
    }
}

fn trials() -> ConfidenceReport {
    ConfidenceReport {
        version: "1.2.3".into(),
        tally: tally(),
        level: 0.95,
        cooldown_seconds: 1.5,
        cell: None,
        dataset: None,
        metrics: vec![
            ("input_sequence_length_std".into(), across(0.0, "tokens")),
            ("request_latency_avg".into(), lone(70.0, "ms")),
            ("request_throughput_avg".into(), across(12.5, "requests/sec")),
            ("time_to_first_token_p50".into(), across(30.0, "ms")),
            ("time_to_first_token_p99".into(), across(40.0, "ms")),
        ],
    }
}

fn at(concurrency: u64) -> Map<String, Value> {
    Map::from_iter([("osl".to_owned(), json!(16)), ("concurrency".to_owned(), json!(concurrency))])
}

fn sweep(trials: usize) -> Sweep {
    let parameter = |path: &str, name: &str, values: Value| SweptParameter {
        path: path.into(),
        name: name.into(),
        values: values.as_array().cloned().unwrap_or_default(),
    };
    let one = |throughput: f64| {
        let latency = Stats { avg: Some(35.0), min: Some(31.0), max: Some(40.0), p99: Some(39.5), ..Stats::default() };
        let latency = Stats { count: Some(6), sum: Some(210.0), ..latency };
        CellMetrics::One(vec![
            ("request_throughput".into(), CellStats { unit: "requests/sec".into(), stats: Stats::of(throughput) }),
            ("request_latency".into(), CellStats { unit: "ms".into(), stats: latency }),
        ])
    };
    let several = |throughput: f64| {
        CellMetrics::Several(vec![
            ("error_isl_avg".into(), lone(3.0, "tokens")),
            ("request_latency_p99".into(), across(0.0, "ms")),
            ("request_throughput_avg".into(), across(throughput, "requests/sec")),
        ])
    };
    let metrics = |throughput| if trials > 1 { several(throughput) } else { one(throughput) };
    let best = |what, concurrency, metric, unit: &str| Best {
        what,
        at: format!("concurrency {concurrency}"),
        parameters: at(concurrency),
        metric,
        unit: unit.into(),
    };
    let filter = SlaFilter { metric_tag: "request_latency".into(), stat: "p99".into(), op: SlaOp::Lt, threshold: 40.0 };
    let metric = |tag: &str, stat: &str| ParetoAxis::Metric { tag: tag.into(), stat: stat.into() };
    Sweep {
        tally: tally(),
        parameters: vec![
            parameter("datasets.main.prompts.osl", "osl", json!([16])),
            parameter("phases.profiling.concurrency", "concurrency", json!([1, 64])),
        ],
        sla: (trials > 1).then(|| SlaConstraints { filters: vec![filter], feasible: 2, infeasible: 0 }),
        sweep_mode: "repeated".into(),
        confidence_level: 0.95,
        trials,
        pareto_axes: (trials > 1).then(|| ParetoAxes {
            x: metric("time_to_first_token", "p95"),
            y: metric("output_token_throughput", "avg"),
            series: vec!["osl".into()],
        }),
        cells: vec![
            SweepCell { label: "c=1".to_owned(), parameters: at(1), metrics: metrics(12.5) },
            SweepCell { label: "c=64".to_owned(), parameters: at(64), metrics: metrics(1234.5) },
        ],
        best_throughput: Some(best("Highest throughput", 64, 1234.5, "requests/sec")),
        best_latency: Some(best("Lowest p99 time to first token", 1, 39.5, "ms")),
        pareto_optimal: vec![at(1), at(64)],
        pareto_names: vec!["concurrency 1".to_owned(), "concurrency 64".to_owned()],
    }
}

fn table() -> SweepTable {
    let row = |concurrency: u64, throughput: f64, failed_trials, is_optimal| SweepRow {
        parameters: vec![Some(json!(16)), Some(json!(concurrency))],
        numbers: [Some(throughput), Some(37.1), None, Some(1071.2)],
        trials: 2,
        failed_trials,
        is_pareto_optimal: Some(is_optimal),
    };
    SweepTable { parameters: sweep(1).parameters, rows: vec![row(1, 1291.5, 0, true), row(64, 643.0, 1, false)] }
}

#[test]
fn trials_as_json() {
    assert_snapshot!(text(confidence_json(&trials())));
}

#[test]
fn trials_of_a_cell_name_the_cell() {
    let one = |key: &str| {
        let mut report = trials();
        report.tally.successful.truncate(1);
        report.metrics.clear();
        report.cell = Some(CellOfSweep {
            label: "concurrency=1".into(),
            values: Map::from_iter([("phases.profiling.concurrency".to_owned(), json!(1))]),
            sweep_mode: "independent".into(),
            model: Some("m, n".into()),
        });
        if key == "csv" { confidence_csv(&report) } else { text(confidence_json(&report)) }
    };
    assert_snapshot!(one("json"));
    assert_snapshot!(one("csv"));
}

#[test]
fn trials_as_csv() {
    assert_snapshot!(confidence_csv(&trials()));
}

#[test]
fn records_of_trials_as_json() {
    let combined = Combined { mean: 2.0, std: 1.0, p50: 2.0, p90: 2.8, p95: 2.9, p99: 2.98, count: 3 };
    let per_run = vec![RunMean { label: "run_0001".into(), mean: 2.0, count: 3 }];
    let metrics = vec![("request_latency".into(), Pooled { combined, per_run })];
    let collated = Collated { version: "1.2.3".into(), tally: tally(), cooldown_seconds: 0.0, metrics };
    assert_snapshot!(text(collated_json(&collated)));
}

#[test]
fn a_sweep_of_one_trial() {
    assert_snapshot!(text(sweep_json(&sweep(1))));
    assert_snapshot!(sweep_csv(&sweep(1)));
}

#[test]
fn a_sweep_of_several_trials() {
    assert_snapshot!(text(sweep_json(&sweep(2))));
    assert_snapshot!(sweep_csv(&sweep(2)));
}

#[test]
fn the_banner_shows_what_is_about_to_run() {
    let plan = MultiRunPlan {
        configurations: Some(2),
        trials: 3,
        total_runs: Some(6),
        confidence_level: 0.995,
        cooldown_seconds: 0.0,
        notes: vec!["Estimated duration: 12s".into()],
    };
    assert_snapshot!(multi_run_banner(&plan).join("\n"));
}

#[test]
fn the_summary_shows_the_first_statistic_there_is_of_each_key_metric() {
    assert_snapshot!(multi_run_summary(&trials()).join("\n"));
}

#[test]
fn a_wide_page_has_whole_names_of_settings_and_metrics() {
    assert_snapshot!(table().draw(Page::plain(180)));
}

#[test]
fn a_screen_of_eighty_columns_has_short_ones() {
    assert_snapshot!(table().draw(Page::screen(80)));
}

#[test]
fn the_conclusion_of_a_sweep_names_the_best_and_what_failed() {
    assert_snapshot!(sweep_conclusion(&sweep(2)).join("\n"));
}
