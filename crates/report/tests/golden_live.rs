//! Lines printed of metrics against golden data: the block of a run that is on, and the line of accepted drafts.

use aiperf_golden::Area;
use aiperf_report::{LiveBlock, ServerLine, accepted_drafts_line, live_block};
use aiperf_types::ServerSnapshot;
use serde_json::Value;

/// What a server's snapshot may hold.
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

fn area() -> Area {
    Area::of(env!("CARGO_MANIFEST_DIR"), "metrics")
}

fn is_block(case: &Value) -> bool {
    case["phase"]["total_records"].is_u64() && case["metrics"].is_object() && case["expected"].is_string()
}

fn is_drafts_line(case: &Value) -> bool {
    case["histogram"].is_object() && (case["expected"].is_string() || case["expected"].is_null())
}

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    area().tell_unread("report: metrics", &[is_block, is_drafts_line]);
}

#[test]
fn golden_live_blocks() {
    area().run_cases(
        "live blocks",
        is_block,
        |_| None,
        |case| {
            let server = case["server"].as_object().map(|_| {
                let value = |name: &&'static str| Some((*name, case["server"][*name].as_f64()?));
                ServerLine::of(&ServerSnapshot { values: SERVER_KEYS.iter().filter_map(value).collect() })
            });
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
    area().run_cases(
        "lines of accepted drafts",
        is_drafts_line,
        |_| None,
        |case| {
            let histogram = case["histogram"].as_object().unwrap();
            let histogram =
                histogram.iter().map(|(key, count)| (key.parse().unwrap(), count.as_u64().unwrap())).collect();
            assert_eq!(accepted_drafts_line(&histogram).as_deref(), case["expected"].as_str());
        },
    );
}
