//! Cells, tables and panels against golden data.
#![allow(clippy::unwrap_used)]

mod support;

use aiperf_metrics::ConsoleGroup;
use aiperf_plan::FileNames;
use aiperf_report::summary_csv::summary_csv;
use aiperf_report::summary_json::summary_json;
use aiperf_report::{ExitError, Page, RunResult, exit_panel, report};
use aiperf_types::EndpointKind;
use serde_json::Value;
use support::*;

fn page(input: &Value) -> Page {
    Page::plain(input["width"].as_u64().unwrap() as usize)
}

#[test]
fn golden_csv_numbers() {
    let mut skipped = 0;
    each_case("csv_numbers.json", |input, expected| {
        let value = &input["value"];
        // Skipped: integers and booleans, for every number of a run is a float and nothing else gets into this file.
        if value.is_boolean() || input["is_integer_type"] == true {
            skipped += 1;
            return;
        }
        let mut metric = result("a", &serde_json::json!({ "unit": "count" }));
        metric.stats.avg = number(value);
        let text = summary_csv(&summary(vec![metric]));
        let cell = text.strip_prefix("Metric,Value\r\na,").unwrap().strip_suffix("\r\n").unwrap();
        let expected = expected["summary_csv"].as_str().unwrap();
        // What is no number leaves its cell empty; the reference prints it.
        let expected = if ["nan", "inf", "-inf"].contains(&expected) { "" } else { expected };
        assert_eq!(cell, expected, "{value}");
    });
    println!("csv_numbers.json: {skipped} of them skipped");
}

#[test]
fn golden_metric_rendering() {
    each_case("metric_rendering.json", |input, expected| {
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
        let nan_is_absent = |text: &str| text.replace(" nan ", " N/A ").replace(",nan\r", ",\r");
        // The case is about tables and the hint below them: warnings have goldens of their own.
        let drawn = report(&run, page(input));
        let drawn = drawn.split("\n╭").next().unwrap();
        assert_eq!(drawn, nan_is_absent(&without_usage_table(expected["console"].as_str().unwrap())));
        assert_eq!(summary_csv(&run.metrics), nan_is_absent(expected["csv"].as_str().unwrap()));

        let document: Value = serde_json::from_slice(&summary_json(&run)).unwrap();
        for (tag, block) in expected["json_blocks"].as_object().unwrap() {
            // Compared as text: the order of the members counts.
            assert_eq!(document[tag].to_string(), block.to_string(), "{tag}");
        }
    });
}

#[test]
fn golden_console_error_table() {
    each_case("console_error_table.json", |input, expected| {
        let errors = input["errors"].as_array().unwrap().iter();
        let errors =
            errors.map(|error| (serde_json::from_value(error.clone()).unwrap(), error["count"].as_u64().unwrap()));
        let drawn = report(&RunResult { errors: errors.collect(), ..empty_run() }, page(input));
        let expected = expected.as_str().unwrap();
        let message = input["errors"][0]["message"].as_str().unwrap();
        if message.contains("[bold]") {
            // Messages are shown as they are; the reference takes them for markup.
            assert!(drawn.contains("│ [bold]markup[/bold] text │"), "{drawn}");
        } else if expected.contains('…') {
            // A long word is wrapped; the reference cuts it.
            let rows: String = drawn.lines().filter(|line| line.starts_with("│")).collect();
            let words: String = rows.chars().filter(|c| c.is_ascii_lowercase()).collect();
            assert!(words.contains(message.trim_start_matches("unbroken")), "{drawn}");
            assert!(drawn.lines().all(|line| line.chars().count() <= 140));
        } else {
            assert_eq!(drawn, expected);
        }
    });
}

#[test]
fn golden_exit_errors_panel() {
    each_case("exit_errors_panel.json", |input, expected| {
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
    });
}

#[test]
fn golden_file_names() {
    each_case("file_names.json", |input, expected| {
        let prefix = input["prefix"].as_str();
        let names = FileNames::new(prefix);
        let got = [
            ("csv", &names.summary_csv),
            ("json", &names.summary_json),
            ("timeslices_csv", &names.timeslices_csv),
            ("timeslices_json", &names.timeslices_json),
            ("records_jsonl", &names.records_jsonl),
            ("raw_jsonl", &names.raw_jsonl),
            ("console_txt", &names.console_txt),
        ];
        for (key, name) in got {
            let expected = expected[key].as_str().unwrap();
            // Any plain extension is taken off; the reference keeps those it does not know.
            let expected = ["foo.txt", "foo.JSON", "my.run"].iter().fold(expected.to_owned(), |name, unknown| {
                let stem = unknown.split('.').next().unwrap();
                if prefix == Some(unknown) { name.replacen(unknown, stem, 1) } else { name }
            });
            assert_eq!(*name, expected, "{key} of {prefix:?}");
        }
    });
}
