//! Compressed responses have the same content and timestamps as uncompressed ones.

use crate::bench::quick;
use crate::wire::kinds::{Kind, Server, over_every_kind, run, value};
use aiperf_sim::{ContentEncoding, Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

const ENCODINGS: [Option<ContentEncoding>; 3] = [None, Some(ContentEncoding::Gzip), Some(ContentEncoding::Deflate)];

fn records(kind: &'static Kind, encoding: Option<ContentEncoding>, streaming: &[&str]) -> Vec<Value> {
    let itl = Latency::constant(Duration::from_millis(10));
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
        for encoded in others.iter().chain([&plain]) {
            for (record, plain) in encoded.iter().zip(&plain) {
                assert_eq!(counts(record), counts(plain));
                assert_eq!(words(record).len(), 8);
                check_instants(record);
            }
            // On a busy machine one stream may arrive all at once, but not every one.
            assert!(encoded.iter().any(|record| distinct(words(record)) > 1));
        }
    });
}

/// When each word arrived, by the wall clock.
fn words(record: &Value) -> Vec<i64> {
    let ns = |ms: f64| (ms * 1e6).round() as i64;
    let start = record["metadata"]["request_start_ns"].as_i64().unwrap();
    let mut at = vec![start + ns(value(record, "time_to_first_token"))];
    for gap in record["metrics"]["inter_chunk_latency"]["value"].as_array().unwrap() {
        at.push(at.last().unwrap() + ns(gap.as_f64().unwrap()));
    }
    at
}

fn distinct(mut instants: Vec<i64>) -> usize {
    instants.dedup();
    instants.len()
}

/// Every word came with a read, and all but a few reads contained one.
fn check_instants(record: &Value) {
    let trace = &record["trace_data"];
    let reads: Vec<i64> =
        trace["response_chunks"].as_array().unwrap().iter().map(|chunk| chunk[0].as_i64().unwrap()).collect();
    let words = words(record);
    for word in &words {
        // Sums of rounded numbers.
        assert!(reads.iter().any(|read| (read - word).abs() <= 100), "{word} in {record}");
    }
    // Reads without a word: the role before them; usage, [DONE] and the ends of encoding and framing after them.
    assert!(distinct(words) + 5 >= distinct(reads), "{record}");
}

#[test]
fn compressed_bodies_have_the_same_words() {
    over_every_kind(|kind| {
        let [plain, others @ ..] = ENCODINGS.map(|encoding| records(kind, encoding, &[]));
        for encoded in &others {
            for (record, plain) in encoded.iter().zip(&plain) {
                assert_eq!(counts(record), counts(plain));
                let received = |record: &Value| value(record, "http_req_data_received");
                assert!(received(record) < received(plain), "received bytes are counted before decoding");
            }
        }
    });
}
