//! Bodies that are encoded before the clock starts, and those that are made while the run is on.

use crate::datasets::recorded::{Recorded, chat_as};
use serde_json::Value;

/// A run of which so many bytes of bodies are encoded beforehand.
fn prepared(bytes: &str, args: &[&str]) -> Recorded {
    let always = ["--random-seed", "7", "--isl", "40", "--num-dataset-entries", "12", "--request-count", "30"];
    chat_as(|bench| bench.with(&always).with(args).env("AIPERF_DATASET_PREPARED_BYTES", bytes)).good()
}

fn measurement(recorded: &Recorded) -> Value {
    recorded.run.summary()["measurement"].clone()
}

#[test]
fn the_same_is_sent_however_many_bodies_are_encoded_beforehand() {
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
fn every_request_is_counted_whether_its_body_was_there_or_made() {
    let lengths = |recorded: &Recorded| -> Vec<f64> {
        let length = |record: &Value| record["metrics"]["input_sequence_length"]["value"].as_f64().unwrap();
        recorded.run.records().iter().map(length).collect()
    };
    let (all, none) = (prepared("1073741824", &[]), prepared("0", &[]));
    assert_eq!(lengths(&all), lengths(&none));
    assert_eq!(lengths(&all), vec![40.0; 30]);
}

#[test]
fn conversations_of_several_turns_go_on_from_their_answers_wherever_their_bodies_come_from() {
    let turns = ["--session-turns-mean", "3", "--session-turns-stddev", "1"];
    let (all, none) = (prepared("1073741824", &turns), prepared("0", &turns));
    assert_eq!(all.bodies(), none.bodies());
    let has_answer = |body: &&Value| body["messages"].as_array().unwrap().iter().any(|said| said["content"] == "yes");
    assert!(all.bodies().iter().any(has_answer));
}

#[test]
fn a_warm_up_and_the_users_after_it_find_their_bodies() {
    let args = ["--warmup-request-count", "5"];
    let (all, none) = (prepared("1073741824", &args), prepared("0", &args));
    assert_eq!(all.bodies(), none.bodies());
    assert_eq!(all.requests.len(), 35);
}

#[test]
fn a_size_that_is_none_is_refused() {
    let recorded = chat_as(|bench| bench.env("AIPERF_DATASET_PREPARED_BYTES", "-1"));
    let message = recorded.refused();
    assert!(message.contains("AIPERF_DATASET_PREPARED_BYTES=-1"), "{message}");
}
