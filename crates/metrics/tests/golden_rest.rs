//! Golden data of what surrounds a run: several runs, GPU efficiency, lines of text, objectives.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod support;

use aiperf_metrics::gpu::OverGpus;
use aiperf_metrics::{
    AcrossRuns, ConfidenceError, GpuTotals, LiveBlock, RunMetric, RunOutcome, RunTraits, ServerLine, Stats,
    accepted_drafts_line, confidence, live_block,
};
use aiperf_types::{EndpointKind, Slo};
use serde_json::Value;
use support::{cases, close, golden, name, number};

fn stats(given: &Value) -> Stats {
    let stat = |name: &str| number(&given[name]);
    Stats {
        avg: stat("avg"),
        min: stat("min"),
        max: stat("max"),
        sum: stat("sum"),
        p1: stat("p1"),
        p5: stat("p5"),
        p10: stat("p10"),
        p25: stat("p25"),
        p50: stat("p50"),
        p75: stat("p75"),
        p90: stat("p90"),
        p95: stat("p95"),
        p99: stat("p99"),
        std: stat("std"),
        count: given["count"].as_u64(),
    }
}

fn outcome(run: &Value) -> RunOutcome {
    let metrics = || {
        let given = run["metrics"].as_object().into_iter().flatten();
        given
            .map(|(tag, metric)| RunMetric {
                tag: tag.clone(),
                unit: metric["unit"].as_str().unwrap_or_default().to_owned(),
                stats: stats(metric),
            })
            .collect()
    };
    let result = match run["success"].as_bool() {
        Some(true) => Ok(metrics()),
        _ => Err(run["error"].as_str().unwrap_or_default().to_owned()),
    };
    RunOutcome { label: run["label"].as_str().unwrap_or_default().to_owned(), result }
}

fn check_across(at: &str, ours: &AcrossRuns, theirs: &Value) {
    // What only one of several runs has is reported as it is, without an interval; the reference reports nothing.
    let lone = number(&theirs["mean"]).is_some_and(f64::is_nan);
    let known = |name: &str| number(&theirs[name]).filter(|value| value.is_finite());
    let fields = [
        ("mean", Some(ours.mean), if lone { known("min") } else { known("mean") }),
        ("std", Some(ours.std), if lone { Some(0.0) } else { known("std") }),
        ("min", Some(ours.min), known("min")),
        ("max", Some(ours.max), known("max")),
        // Relative to the size of the mean, so never negative.
        ("cv", ours.cv, if lone { Some(0.0) } else { known("cv").map(f64::abs) }),
        ("se", Some(ours.se), if lone { Some(0.0) } else { known("se") }),
        ("ci_low", ours.ci_low, known("ci_low")),
        ("ci_high", ours.ci_high, known("ci_high")),
        ("t_critical", ours.t_critical, known("t_critical")),
    ];
    for (field, ours, theirs) in fields {
        let agree = match (ours, theirs) {
            (Some(ours), Some(theirs)) => close(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        assert!(agree, "{at}: {field}: {ours:?}, not {theirs:?}");
    }
    assert_eq!(Some(ours.unit.as_str()), theirs["unit"].as_str(), "{at}");
}

#[test]
fn golden_confidence() {
    for case in cases("confidence.json") {
        let runs: Vec<RunOutcome> = case["runs"].as_array().unwrap().iter().map(outcome).collect();
        let found = confidence(case["confidence_level"].as_f64().unwrap(), &runs);
        match case["expected_error_kind"].as_str() {
            Some("all_runs_failed") => assert!(matches!(found, Err(ConfidenceError::AllRunsFailed(_)))),
            Some(_) => assert!(matches!(found, Err(ConfidenceError::InvalidLevel(_))), "{}", name(&case)),
            None => {
                let (found, expected) = (found.unwrap(), &case["expected"]);
                assert_eq!(expected["num_runs"].as_u64(), Some(found.runs as u64));
                assert_eq!(expected["num_successful_runs"].as_u64(), Some(found.successful.len() as u64));
                assert_eq!(expected["failed_runs"].as_array().unwrap().len(), found.failed.len());
                assert_eq!(expected["metadata"]["single_run"].as_bool().unwrap_or(false), found.single_run());
                let metrics = expected["metrics"].as_object().unwrap();
                assert_eq!(metrics.len(), found.metrics.len(), "{}", name(&case));
                for (key, across) in &found.metrics {
                    check_across(&format!("{}: {key}", name(&case)), across, &metrics[key]);
                }
            }
        }
    }
}

/// The reference has a family of metrics a vendor; ours are over all GPUs, energy from counters alone, output tokens as given.
#[test]
fn golden_power_efficiency() {
    let traits = RunTraits::new(EndpointKind::Chat, true);
    for case in cases("power_efficiency.json") {
        let over = |signal: &str| {
            let vendors = case["gpus"].as_object().unwrap().values().map(|vendor| &vendor[signal]);
            let sum = vendors.clone().filter_map(|signal| signal[0].as_f64()).sum();
            let gpus = vendors.filter_map(|signal| signal[1].as_u64()).sum::<u64>() as usize;
            (gpus > 0).then_some(OverGpus { sum, gpus })
        };
        let totals = GpuTotals { power_w: over("power"), energy_j: over("energy") };
        let found = totals.metrics(&traits, case["metrics"]["total_osl"].as_f64(), case["concurrency"].as_u64());
        let ours = |tag: &str| found.iter().find(|result| result.tag == tag).and_then(|result| result.stats.avg);
        let vendors = case["gpus"].as_object().unwrap().len();
        for theirs in case["expected"].as_array().unwrap() {
            let tag = theirs["tag"].as_str().unwrap();
            let tag = tag.trim_start_matches("nvidia_").trim_start_matches("amd_");
            // Sums over one vendor are sums over all; energy that was made up from power is not reported.
            let comparable = vendors == 1 && (tag == "total_gpu_power" || totals.energy_j.is_some());
            if comparable
                && ["total_gpu_power", "total_gpu_energy", "output_tokens_per_joule", "energy_per_user"].contains(&tag)
            {
                assert!(close(ours(tag).unwrap(), theirs["avg"].as_f64().unwrap()), "{}: {tag}", name(&case));
            }
        }
        assert_eq!(ours("total_gpu_power"), totals.power_w.map(|power| power.sum), "{}", name(&case));
        assert_eq!(ours("total_gpu_energy"), totals.energy_j.map(|energy| energy.sum), "{}", name(&case));
    }
}

#[test]
fn golden_live_blocks() {
    let given = golden("misc.json");
    let blocks = given["realtime_block"].as_array().cloned().unwrap_or_default();
    println!("misc.json realtime_block: {} cases", blocks.len());
    for case in blocks {
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
    }
}

#[test]
fn golden_accepted_draft_lines() {
    let given = golden("misc.json");
    let lines = given["spec_decode_histogram_line"].as_array().cloned().unwrap_or_default();
    println!("misc.json spec_decode_histogram_line: {} cases", lines.len());
    for case in lines {
        let histogram = case["histogram"].as_object().unwrap();
        let histogram = histogram.iter().map(|(key, count)| (key.parse().unwrap(), count.as_u64().unwrap())).collect();
        assert_eq!(accepted_drafts_line(&histogram).as_deref(), case["expected"].as_str());
    }
}

#[test]
fn golden_goodput_texts() {
    let given = golden("misc.json");
    let texts = given["goodput_parse"].as_array().cloned().unwrap_or_default();
    println!("misc.json goodput_parse: {} cases", texts.len());
    for case in texts {
        let input = case["input"].as_str().unwrap();
        match (Slo::parse_all(input), case["error"].as_str()) {
            (Err(fault), Some(expected)) => assert_eq!(format!("User Config: {fault}"), expected),
            (Ok(slos), None) => {
                let expected = case["expected"].as_object().unwrap();
                assert_eq!(slos.len(), expected.len());
                for Slo { tag, threshold } in slos {
                    let expected = number(&expected[&tag]).unwrap();
                    assert!(expected == threshold || expected.is_nan() && threshold.is_nan(), "{input}");
                }
            }
            (found, expected) => panic!("{input}: {found:?}, not {expected:?}"),
        }
    }
}
