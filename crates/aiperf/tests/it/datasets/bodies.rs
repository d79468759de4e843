//! Bodies that are encoded before the run, and those encoded during it.

use crate::datasets::recorded::{Recorded, chat_as};
use serde_json::Value;

/// A run with so many bytes of bodies encoded before it.
fn prepared(bytes: &str, args: &[&str]) -> Recorded {
    let always = ["--random-seed", "7", "--isl", "40", "--num-dataset-entries", "12", "--request-count", "30"];
    chat_as(|bench| bench.with(&always).with(args).env("AIPERF_DATASET_PREPARED_BYTES", bytes)).good()
}

fn measurement(recorded: &Recorded) -> Value {
    recorded.run.summary()["measurement"].clone()
}

#[test]
fn the_number_of_preencoded_bodies_does_not_change_what_is_sent() {
    for sampling in ["sequential", "shuffle", "random"] {
        let args = ["--dataset-sampling-strategy", sampling];
        let all = prepared("1073741824", &args);
        assert_eq!(measurement(&all)["late_bodies"], 0);
        let [some, none] = ["1000", "0"].map(|bytes| prepared(bytes, &args));
        assert_eq!(all.bodies(), some.bodies());
        assert_eq!(all.bodies(), none.bodies());
        assert_eq!(all.run.text("inputs.json"), none.run.text("inputs.json"));
    }
}

#[test]
fn every_request_is_counted_whenever_its_body_was_encoded() {
    let lengths = |recorded: &Recorded| -> Vec<f64> {
        let length = |record: &Value| record["metrics"]["input_sequence_length"]["value"].as_f64().unwrap();
        recorded.run.records().iter().map(length).collect()
    };
    let (all, none) = (prepared("1073741824", &[]), prepared("0", &[]));
    assert_eq!(lengths(&all), lengths(&none));
    assert_eq!(lengths(&all), vec![40.0; 30]);
}

#[test]
fn later_turns_contain_earlier_responses_whenever_bodies_are_encoded() {
    let turns = ["--session-turns-mean", "3", "--session-turns-stddev", "1"];
    let (all, none) = (prepared("1073741824", &turns), prepared("0", &turns));
    assert_eq!(all.bodies(), none.bodies());
    let has_response =
        |body: &&Value| body["messages"].as_array().unwrap().iter().any(|message| message["content"] == "yes");
    assert!(all.bodies().iter().any(has_response));
}

#[test]
fn a_warm_up_and_the_users_after_it_get_their_bodies() {
    let args = ["--warmup-request-count", "5"];
    let (all, none) = (prepared("1073741824", &args), prepared("0", &args));
    assert_eq!(all.bodies(), none.bodies());
    assert_eq!(all.requests.len(), 35);
}

#[test]
fn an_invalid_size_is_refused() {
    let recorded = chat_as(|bench| bench.env("AIPERF_DATASET_PREPARED_BYTES", "-1"));
    let message = recorded.refused();
    assert!(message.contains("AIPERF_DATASET_PREPARED_BYTES=-1"), "{message}");
}
