//! Names, units and error types as the reference exports them by OTLP.

use aiperf_golden::kinds::telemetry::{ERROR_TYPE, INSTRUMENT};
use aiperf_metrics::{ErrorType, Instrument, registry};
use aiperf_types::RequestError;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn golden_types_of_errors() {
    let skip = |case: &Value| {
        let kind = case["input"]["type"].as_str().unwrap_or_default().to_ascii_lowercase();
        let is_by_message = case["expected"]["ok"] == "parse_error" && !kind.starts_with("json");
        let reason = match () {
            () if case["input"].is_null() => "a record without an error has no type",
            () if is_by_message => "the type of an error decides, not its message",
            () => return None,
        };
        Some(reason.to_owned())
    };
    ERROR_TYPE.run(skip, |case| {
        let mut input = case["input"].clone();
        if input.get("message").is_none() {
            input["message"] = "".into();
        }
        let error: RequestError = serde_json::from_value(input).unwrap();
        // The codes of these cases are response codes.
        let status = error.code.and_then(|code| u16::try_from(code).ok());
        assert_eq!(json!(ErrorType::of(&error, status).name()), case["expected"]["ok"], "{}", case["input"]);
    });
}

/// What section 12 decides otherwise: instants have no histogram, input tokens have the name of the conventions.
const DECIDED: [&str; 3] =
    ["aiperf.min_request_timestamp", "aiperf.max_response_timestamp", "aiperf.input_sequence_length"];

#[test]
fn golden_histograms_of_a_captured_run_have_our_names_units_and_words() {
    let ours: BTreeMap<String, Instrument> = registry::all()
        .iter()
        .copied()
        .filter_map(Instrument::of)
        .map(|instrument| (instrument.name.to_string(), instrument))
        .collect();
    let skip = |theirs: &Value| {
        let is_decided = DECIDED.contains(&theirs["name"].as_str().unwrap());
        let is_histogram = theirs["kind"] == "histogram";
        (is_decided || !is_histogram).then(|| "no histogram, or named otherwise by decision".to_owned())
    };
    INSTRUMENT.run(skip, |theirs| {
        let name = theirs["name"].as_str().unwrap();
        let ours = ours.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(ours.unit, theirs["unit"], "{name}");
        assert_eq!(&*ours.description, theirs["description"], "{name}");
        if ours.is_convention {
            assert_eq!(json!(&*ours.bounds), theirs["bounds"], "{name}");
        }
    });
}
