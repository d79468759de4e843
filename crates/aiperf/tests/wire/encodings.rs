//! Compressed answers are what they would be without compression, at the instants they came.

use crate::bench::quick;
use crate::kinds::{Kind, Server, over_every_kind, run, value};
use aiperf_sim::{ContentEncoding, Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

const ENCODINGS: [Option<ContentEncoding>; 3] = [None, Some(ContentEncoding::Gzip), Some(ContentEncoding::Deflate)];

fn records(kind: &'static Kind, encoding: Option<ContentEncoding>, streaming: &[&str]) -> Vec<Value> {
    let itl = Latency::constant(Duration::from_millis(4));
    let server = Server::start(kind, SimConfig { encoding, itl, ..quick() });
    let args = ["--request-count", "4", "--random-seed", "3", "--export-http-trace"];
    let run = run(server.bench().with(&args).with(streaming));
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let records = run.records();
    let named = encoding.map_or(Value::Null, |encoding| encoding.name().into());
    assert!(records.iter().all(|record| record["trace_data"]["response_headers"]["content-encoding"] == named));
    records
}

fn counts(record: &Value) -> [f64; 4] {
    ["output_sequence_length", "output_token_count", "usage_prompt_tokens", "usage_completion_tokens"]
        .map(|tag| value(record, tag))
}

#[test]
fn compressed_streams_have_the_same_words_and_keep_their_timing() {
    over_every_kind(|kind| {
        let [plain, others @ ..] = ENCODINGS.map(|encoding| records(kind, encoding, &["--streaming"]));
        for encoded in &others {
            for (record, plain) in encoded.iter().zip(&plain) {
                assert_eq!(counts(record), counts(plain));
                let between = |record: &Value| record["metrics"]["inter_chunk_latency"]["value"].clone();
                let (gaps, usual) = (between(record), between(plain));
                assert_eq!(gaps.as_array().unwrap().len(), usual.as_array().unwrap().len());
                // Seven gaps of 4 ms: some may close on a busy machine, all of them would be one decoded at the end.
                let open = gaps.as_array().unwrap().iter().filter(|gap| gap.as_f64().unwrap() > 1.0).count();
                assert!(open >= 2, "{gaps}");
            }
        }
    });
}

#[test]
fn compressed_bodies_have_the_same_words() {
    over_every_kind(|kind| {
        let [plain, others @ ..] = ENCODINGS.map(|encoding| records(kind, encoding, &[]));
        for encoded in &others {
            for (record, plain) in encoded.iter().zip(&plain) {
                assert_eq!(counts(record), counts(plain));
                let received = |record: &Value| value(record, "http_req_data_received");
                assert!(received(record) < received(plain), "what came is counted before it is decoded");
            }
        }
    });
}
