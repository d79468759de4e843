//! Lines of live metrics compared with golden data: the block of a running benchmark, its numbers, durations and byte
//! counts, and the line of accepted drafts.

use crate::support;

use aiperf_golden::kinds::exports::{LIVE_BLOCK, LIVE_NUMBER, SHOWN_BYTES, SHOWN_DURATION};
use aiperf_golden::kinds::metrics::{BLOCK_OF_METRICS, LINE_OF_DRAFTS};
use aiperf_report::{
    LiveBlock, ServerLine, accepted_drafts_line, bytes_text, clock_text, duration_text, live_block, remaining_text,
};
use aiperf_types::ServerSnapshot;
use serde_json::Value;
use support::number;

/// The members of a server's snapshot.
const SERVER_KEYS: [&str; 10] = [
    "prefix_cache_hit_rate",
    "unique_input_tokens_srv",
    "external_prefix_cache_hit_rate",
    "kv_cache_usage_pct",
    "cpu_kv_cache_usage_pct",
    "num_running",
    "num_waiting",
    "num_preemptions",
    "input_token_throughput_srv",
    "output_token_throughput_srv",
];

/// What a server reports, if anything.
fn server_line(server: &Value) -> Option<ServerLine> {
    server.as_object()?;
    let value = |name: &&'static str| Some((*name, server[*name].as_f64()?));
    let values = SERVER_KEYS.iter().filter_map(value).collect();
    Some(ServerLine::of(&ServerSnapshot { values, ..ServerSnapshot::default() }))
}

#[test]
fn golden_live_blocks() {
    BLOCK_OF_METRICS.run(
        |_| None,
        |case| {
            let server = server_line(&case["server"]);
            let previous = case["previous"].as_array();
            let block = LiveBlock {
                records: case["phase"]["total_records"].as_u64().unwrap(),
                failed: case["phase"]["error_records"].as_u64().unwrap(),
                elapsed: case["phase"]["records_elapsed_time"].as_f64().unwrap(),
                previous: previous.map(|previous| (previous[0].as_u64().unwrap(), previous[1].as_f64().unwrap())),
                theoretical_prefix_cache_hit: case["metrics"]["theoretical_prefix_cache_hit"]["current"].as_f64(),
                server: server.as_ref(),
            };
            let text = live_block(&block, |tag, stat| case["metrics"][tag][stat].as_f64());
            assert_eq!(text, case["expected"].as_str().unwrap());
        },
    );
}

#[test]
fn golden_accepted_draft_lines() {
    LINE_OF_DRAFTS.run(
        |_| None,
        |case| {
            let histogram = case["histogram"].as_object().unwrap();
            let histogram =
                histogram.iter().map(|(key, count)| (key.parse().unwrap(), count.as_u64().unwrap())).collect();
            assert_eq!(accepted_drafts_line(&histogram).as_deref(), case["expected"].as_str());
        },
    );
}

#[test]
fn golden_blocks_of_exports() {
    LIVE_BLOCK.run(
        |_| None,
        |case| {
            let (input, server) = (&case["input"], server_line(&case["input"]["server"]));
            let previous = |shown: &Value| Some((shown["total"].as_u64()?, shown["elapsed_s"].as_f64()?));
            let block = LiveBlock {
                records: input["total"].as_u64().unwrap(),
                failed: input["err"].as_u64().unwrap(),
                elapsed: input["elapsed_s"].as_f64().unwrap(),
                previous: previous(&input["previous"]),
                server: server.as_ref(),
                ..LiveBlock::default()
            };
            let metrics = input["metrics"].as_array().unwrap();
            let stat = |tag: &str, name: &str| number(&metrics.iter().find(|metric| metric["tag"] == tag)?[name]);
            assert_eq!(live_block(&block, stat), case["expected"].as_str().unwrap());
        },
    );
}

#[test]
fn golden_numbers_of_a_block() {
    LIVE_NUMBER.run(
        |_| None,
        |case| {
            let block = live_block(&LiveBlock { records: 1, ..LiveBlock::default() }, |_, _| number(&case["input"]));
            // The first cell of a row: `  ttft    p50=  30ms  p75=...`.
            let cell = |row: &str| {
                let line = block.lines().find(|line| line.trim_start().starts_with(row)).unwrap();
                line.split_once("p50=").unwrap().1.split_whitespace().next().unwrap().to_owned()
            };
            assert_eq!(cell("ttft"), case["expected"]["ms"].as_str().unwrap());
            assert_eq!(cell("intvty"), case["expected"]["int"].as_str().unwrap());
        },
    );
}

#[test]
fn golden_lengths_of_time() {
    SHOWN_DURATION.run(
        |_| None,
        |case| {
            let (seconds, expected) = (number(&case["input"]["seconds"]), &case["expected"]);
            assert_eq!(duration_text(seconds), expected["elapsed"].as_str().unwrap());
            assert_eq!(remaining_text(seconds), expected["eta"].as_str().unwrap());
            assert_eq!(seconds.map(clock_text).as_deref(), expected["clock"].as_str());
        },
    );
}

#[test]
fn golden_counts_of_bytes() {
    let check = |case: &Value| assert_eq!(bytes_text(case["input"].as_u64()), case["expected"].as_str().unwrap());
    SHOWN_BYTES.run(|_| None, check);
}
