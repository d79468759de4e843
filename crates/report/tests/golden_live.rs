//! Lines printed of metrics against golden data: the block of a run that is on, and the line of accepted drafts.

use aiperf_golden::Area;
use aiperf_report::{LiveBlock, ServerLine, accepted_drafts_line, live_block};
use serde_json::Value;

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
                let value = |name: &str| case["server"][name].as_f64();
                let whole = |name: &str| case["server"][name].as_u64();
                ServerLine {
                    prefix_cache_hit: value("prefix_cache_hit_rate"),
                    kv_usage: value("kv_cache_usage_pct"),
                    queue: whole("num_running").zip(whole("num_waiting")),
                    tput_out: value("output_token_throughput_srv"),
                    ..ServerLine::default()
                }
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
