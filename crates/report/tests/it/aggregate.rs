//! The files and tables of many runs.

use aiperf_metrics::{Grade, Reason, Stats, Verdict};
use aiperf_plan::{ParetoAxes, ParetoAxis};
use aiperf_report::aggregate::collated_json::collated_json;
use aiperf_report::aggregate::confidence_csv::confidence_csv;
use aiperf_report::aggregate::confidence_json::confidence_json;
use aiperf_report::aggregate::sweep_csv::sweep_csv;
use aiperf_report::aggregate::sweep_json::sweep_json;
use aiperf_report::aggregate::{
    AcrossRuns, Best, CellMetrics, CellOfSweep, CellStats, Collated, Combined, ConfidenceReport, FailedRun, Pooled,
    RunMean, RunTally, RunVerdicts, SlaConstraints, Sweep, SweepCell, SweptParameter,
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
        verdicts: RunVerdicts::default(),
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
        verdict: None,
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
        cells: vec![cell(1, metrics(12.5)), cell(64, metrics(1234.5))],
        best_throughput: Some(best("Highest throughput", 64, 1234.5, "requests/sec")),
        best_latency: Some(best("Lowest p99 time to first token", 1, 39.5, "ms")),
        pareto_optimal: vec![at(1), at(64)],
        pareto_names: vec!["concurrency 1".to_owned(), "concurrency 64".to_owned()],
        pareto_verdicts: vec![None, None],
        verdicts: RunVerdicts::default(),
    }
}

fn cell(concurrency: u64, metrics: CellMetrics) -> SweepCell {
    let (label, parameters) = (format!("c={concurrency}"), at(concurrency));
    SweepCell { label, parameters, metrics, verdicts: RunVerdicts::default() }
}

fn client_bound() -> Verdict {
    let (text, fix) = ("this client held requests back for 5.3% of the time of sending", "a second machine");
    let (code, grade) = ("held".into(), Grade::ClientBound);
    let reason = Reason { code, grade, value: 0.053, limit: 0.01, text: text.into(), fix: fix.into() };
    Verdict { grade, reasons: vec![reason] }
}

/// Runs of which the last is not trustworthy.
fn verdicts(labels: &[&str]) -> RunVerdicts {
    let last = labels.len() - 1;
    let verdict = |at| if at == last { client_bound() } else { Verdict::default() };
    RunVerdicts { runs: labels.iter().enumerate().map(|(at, label)| ((*label).to_owned(), verdict(at))).collect() }
}

/// A sweep whose second cell is not trustworthy; it has the best throughput.
fn doubted_sweep() -> Sweep {
    let mut sweep = sweep(1);
    sweep.cells[0].verdicts = RunVerdicts { runs: vec![("c=1".to_owned(), Verdict::default())] };
    sweep.cells[1].verdicts = verdicts(&["c=64"]);
    sweep.best_throughput.as_mut().unwrap().verdict = Some(Grade::ClientBound);
    sweep.best_latency.as_mut().unwrap().verdict = Some(Grade::Trustworthy);
    sweep.pareto_verdicts = vec![Some(Grade::Trustworthy), Some(Grade::ClientBound)];
    sweep.verdicts = verdicts(&["c=1", "c=64"]);
    sweep
}

fn table() -> SweepTable {
    let row = |concurrency: u64, throughput: f64, failed_trials, is_optimal| SweepRow {
        parameters: vec![Some(json!(16)), Some(json!(concurrency))],
        numbers: [Some(throughput), Some(37.1), None, Some(1071.2)],
        too_few: [false; 4],
        trials: 2,
        failed_trials,
        is_pareto_optimal: Some(is_optimal),
        verdicts: RunVerdicts::default(),
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

#[test]
fn the_files_of_trials_have_the_worst_verdict_and_how_many_runs_have_each() {
    let report = ConfidenceReport { verdicts: verdicts(&["run_0001", "run_0003"]), metrics: Vec::new(), ..trials() };
    let document: Value = serde_json::from_slice(&confidence_json(&report)).unwrap();
    let verdict = &document["measurement"]["verdict"];
    assert_eq!((&verdict["is"], &verdict["runs"]["trustworthy"]), (&json!("client-bound"), &json!(1)));
    assert_eq!((&verdict["runs"]["doubtful"], &verdict["runs"]["client-bound"]), (&json!(0), &json!(1)));
    assert_eq!(verdict["reasons"].as_array().map(Vec::len), Some(1));
    let reason = &verdict["reasons"][0];
    assert_eq!((&reason["run"], &reason["code"]), (&json!("run_0003"), &json!("held")));
    assert_eq!(reason["fix"], "a second machine");
    let csv = confidence_csv(&report);
    assert!(csv.contains("Verdict,client-bound\r\nRuns by Verdict,\"1 trustworthy, 1 client-bound\"\r\n"), "{csv}");
    let text = multi_run_summary(&report).join("\n");
    let lines = "Verdict: client-bound (1 trustworthy, 1 client-bound)\n  - run_0003: this client held requests back for 5.3% of \
                 the time of sending\n    try: a second machine\n";
    assert!(text.contains(lines), "{text}");
}

#[test]
fn the_files_of_a_sweep_have_the_verdict_of_each_cell_and_of_what_is_best() {
    let document: Value = serde_json::from_slice(&sweep_json(&doubted_sweep())).unwrap();
    let cells = document["per_combination_metrics"].as_array().unwrap();
    let verdicts: Vec<&Value> = cells.iter().map(|cell| &cell["measurement"]["verdict"]["is"]).collect();
    assert_eq!(verdicts, ["trustworthy", "client-bound"]);
    let best = &document["best_configurations"];
    assert_eq!(best["best_throughput"]["measurement_verdict"], "client-bound");
    assert_eq!(best["best_latency_p99"]["measurement_verdict"], "trustworthy");
    assert_eq!(document["pareto_optimal"], json!([at(1), at(64)]), "points have parameters only");
    assert_eq!(document["pareto_optimal_verdicts"], json!(["trustworthy", "client-bound"]));
    assert_eq!(document["measurement"]["verdict"]["runs"]["client-bound"], 1);
    let csv = sweep_csv(&doubted_sweep());
    let bests =
        csv.split("\r\n").filter(|line| line.starts_with("Best Throughput") || line.starts_with("Best Latency"));
    let last: Vec<&str> = bests.map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(last, ["client-bound", "trustworthy"]);
}

#[test]
fn the_conclusion_marks_what_is_best_by_a_run_that_is_not_trustworthy() {
    let text = sweep_conclusion(&doubted_sweep()).join("\n");
    assert!(text.contains("1,234.50 requests/sec at concurrency 64 (client-bound)"), "{text}");
    assert!(text.contains("39.50 ms at concurrency 1\n"), "{text}");
    assert!(text.contains("concurrency 1; concurrency 64 (client-bound)"), "{text}");
}

#[test]
fn rows_whose_runs_are_not_trustworthy_are_marked_and_the_mark_is_explained() {
    let mut table = table();
    table.rows[0].verdicts = RunVerdicts { runs: vec![("c=1".to_owned(), Verdict::default())] };
    table.rows[1].verdicts = verdicts(&["c=64"]);
    assert_snapshot!(table.draw(Page::screen(80)));
}

#[test]
fn numbers_of_too_few_requests_are_marked_in_the_table_of_a_sweep() {
    let mut table = table();
    table.rows[0].too_few = [false, true, true, true];
    let text = table.draw(Page::screen(80));
    assert!(text.contains(" ~37.10 │    N/A │ ~1,071.20 │"), "{text}");
    assert!(text.contains("│  37.10 │    N/A │  1,071.20 │"), "{text}");
    assert!(text.contains("\n~ too few independent requests: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
