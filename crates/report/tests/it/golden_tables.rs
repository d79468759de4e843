//! Cells, tables and panels compared with golden data.

use crate::support;

use aiperf_golden::{Shape, Tally, has};
use aiperf_metrics::{ConsoleGroup, Summary, registry};
use aiperf_report::summary::csv::summary_csv;
use aiperf_report::summary::json::summary_json;
use aiperf_report::{ExitError, Page, RunResult, exit_panel, report};
use aiperf_types::{EndpointKind, RequestError};
use serde_json::Value;
use support::*;

const CSV_CELL: Shape = |case| has(case, "input.value") && has(case, "expected.summary_csv");
const RENDERING: Shape = |case| has(case, "input.metrics") && has(case, "expected.json_blocks");
const ERROR_TABLE: Shape = |case| has(&case["input"]["errors"][0], "count") && case["expected"].is_string();
const EXIT_PANEL: Shape = |case| has(&case["input"]["errors"][0], "operation") && case["expected"].is_string();
/// A histogram of accepted drafts, and its line.
const DRAFTS_LINE: Shape = |case| {
    let is_step = |step: &String| step.parse::<u32>().is_ok();
    let is_line = |line: &str| line.starts_with("Accepted drafts");
    let steps = case["input"].as_object();
    steps.is_some_and(|steps| steps.keys().all(is_step))
        && (case["expected"].is_null() || case["expected"].as_str().is_some_and(is_line))
};

fn page(input: &Value) -> Page {
    Page::plain(input["width"].as_u64().unwrap() as usize)
}

/// Runs the cases of a shape, each with its input and the expected output.
fn each_case(title: &str, shape: Shape, skip: impl Fn(&Value) -> Option<String>, check: impl Fn(&Value, &Value)) {
    let mut tally = Tally::new(title);
    tally.run_files(&exports().files_of(shape), shape, skip, |case| check(&case["input"], &case["expected"]));
    tally.finish();
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    let mut tally = Tally::new("report: exports");
    let shapes = [CSV_CELL, RENDERING, ERROR_TABLE, EXIT_PANEL, DRAFTS_LINE, LIVE_BLOCK, LIVE_NUMBER, DURATION, BYTES];
    for file in exports().files() {
        let is_read = file.cases().iter().any(|case| shapes.iter().any(|shape| shape(case)));
        if !is_read && displayed(&file.content).is_empty() {
            tally.leave_unread(&file);
        }
    }
    tally.finish();
}

#[test]
fn golden_csv_numbers() {
    let skip = |case: &Value| {
        let is_integer = case["input"]["value"].is_boolean() || case["input"]["is_integer_type"] == true;
        is_integer.then(|| "every number of a run is a float: no integer gets into this file".to_owned())
    };
    each_case("cells of the CSV", CSV_CELL, skip, |input, expected| {
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
        "metrics as tables",
        RENDERING,
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
        "error table",
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
        "exit panel",
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
        "line of accepted drafts",
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

/// The display of metrics, from a file that lists all of them.
fn displayed(content: &Value) -> Vec<&Value> {
    let lists = ["registered", "injected", "error_adjusted"].into_iter().filter_map(|list| content[list].as_array());
    lists.flatten().filter(|metric| has(metric, "header") && has(metric, "console_group")).collect()
}

#[test]
fn golden_metrics_are_shown_under_their_labels_in_their_groups() {
    let mut tally = Tally::new("labels, units and groups");
    for file in exports().files() {
        for listed in displayed(&file.content) {
            let text = |key: &str| listed[key].as_str().unwrap_or_default();
            let Some(metric) = registry::find(text("tag")) else {
                let reason = if text("console_group").starts_with("GPU_") { "metrics of GPUs" } else { "a metric" };
                tally.skip(format!("not there yet: {reason}"));
                continue;
            };
            tally.run(text("tag"), || {
                // The reference spells this header without spaces.
                let header = text("header").replace("GoodRequestFraction", "Good Request Fraction");
                assert_eq!(metric.header, header);
                assert_eq!(metric.group.name(), text("console_group").to_lowercase());
                let unit = if has(listed, "display_unit") { text("display_unit") } else { text("unit") };
                assert_eq!(metric.display.name(), unit);
                assert_eq!(metric.order.map(u64::from), listed["display_order"].as_u64());
            });
        }
    }
    tally.finish();
}
