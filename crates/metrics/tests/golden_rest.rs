//! Golden data of what surrounds a run: GPU efficiency and objectives; and which files nothing here reads.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod support;

use aiperf_golden::{Area, Shape, has};
use aiperf_metrics::gpu::OverGpus;
use aiperf_metrics::{FINAL_SAMPLE_GRACE, GpuSamples, GpuTotals, RunTraits, Window, stats_with_errors};
use aiperf_types::{EndpointKind, Slo, WallNs};
use serde_json::Value;
use support::{KINDS, OBJECTIVES, POWER, area, close, each_case, number};

#[test]
fn golden_files_that_nothing_here_reads_are_named() {
    area().tell_unread("metrics", KINDS);
}

#[test]
fn golden_statistics_that_count_failed_requests() {
    let shape: Shape = |case| has(case, "input.values") && has(case, "input.errors") && has(case, "expected.count");
    Area::of(env!("CARGO_MANIFEST_DIR"), "exports").run_cases(
        "statistics that count failed requests",
        shape,
        |_| None,
        |case| {
            let mut values: Vec<f64> = case["input"]["values"].as_array().unwrap().iter().filter_map(number).collect();
            let stats = stats_with_errors(&mut values, case["input"]["errors"].as_u64().unwrap()).unwrap();
            let expected = &case["expected"];
            assert_eq!(stats.count, expected["count"].as_u64());
            for name in ["avg", "min", "max", "std", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99"] {
                let (ours, theirs) = (stats.get(name), number(&expected[name]));
                let agree = match (ours, theirs) {
                    (Some(ours), Some(theirs)) => close(ours, theirs),
                    (ours, theirs) => ours.is_none() && theirs.is_none(),
                };
                assert!(agree, "{name}: {ours:?}, not {theirs:?}");
            }
        },
    );
}

/// The reference has a family of metrics a vendor; ours are over all GPUs, energy from counters alone, output tokens as
/// given.
#[test]
fn golden_power_efficiency() {
    let several = "the reference sums by vendor, and several reported";
    let skip =
        |case: &Value| (case["gpus"].as_object().is_some_and(|vendors| vendors.len() > 1)).then(|| several.to_owned());
    area().run_cases("power and energy of one vendor", POWER, skip, |case| {
        let (totals, ours) = power(case);
        for theirs in case["expected"].as_array().unwrap() {
            let tag = theirs["tag"].as_str().unwrap();
            let tag = tag.trim_start_matches("nvidia_").trim_start_matches("amd_");
            // Energy that was made up from power is not reported.
            let is_known = tag == "total_gpu_power" || totals.energy_j.is_some();
            if is_known
                && ["total_gpu_power", "total_gpu_energy", "output_tokens_per_joule", "energy_per_user"].contains(&tag)
            {
                let ours = ours(tag).unwrap_or_else(|| panic!("{tag} is missing"));
                assert!(close(ours, theirs["avg"].as_f64().unwrap()), "{tag}: {ours}, not {theirs}");
            }
        }
    });
}

#[test]
fn golden_power_and_energy_are_summed_over_vendors() {
    each_case("power and energy of all vendors", POWER, |case| {
        let (totals, ours) = power(case);
        assert_eq!(ours("total_gpu_power"), totals.power_w.map(|power| power.sum));
        assert_eq!(ours("total_gpu_energy"), totals.energy_j.map(|energy| energy.sum));
    });
}

const GPU_SAMPLES: Shape = |case| has(case, "input.gpus") && case["expected"].is_array();

/// Samples of GPUs, as far as one vendor made them and energy was counted: the reference makes it up from power elsewhere.
#[test]
fn golden_power_and_energy_of_samples() {
    let vendors = |case: &Value| {
        let gpus = case["input"]["gpus"].as_array().unwrap().iter();
        gpus.filter_map(|gpu| gpu["platform"].as_str().map(str::to_owned)).collect::<std::collections::BTreeSet<_>>()
    };
    let skip = |case: &Value| match vendors(case).into_iter().collect::<Vec<_>>().as_slice() {
        [one] if ["nvidia", "amd"].contains(&one.as_str()) => None,
        [_] => Some("a vendor that nobody knows".to_owned()),
        _ => Some("the reference sums by vendor, and several reported".to_owned()),
    };
    let area = Area::of(env!("CARGO_MANIFEST_DIR"), "telemetry");
    area.run_cases("power and energy of samples", GPU_SAMPLES, skip, |case| {
        let input = &case["input"];
        let samples = |gpu: &Value, keys: [&str; 2]| -> Vec<(WallNs, f64)> {
            let value = |sample: &Value| keys.iter().find_map(|key| sample["m"][key].as_f64()).unwrap_or(f64::NAN);
            let samples = gpu["samples"].as_array().unwrap().iter();
            samples.map(|sample| (WallNs(sample["t"].as_u64().unwrap()), value(sample))).collect()
        };
        let gpus: Vec<_> = input["gpus"]
            .as_array()
            .unwrap()
            .iter()
            .map(|gpu| {
                let energy = ["nvidia_energy_consumption", "amd_energy_consumption"];
                (samples(gpu, ["nvidia_power_usage", "amd_power"]), samples(gpu, energy))
            })
            .collect();
        let gpus: Vec<GpuSamples<'_>> =
            gpus.iter().map(|(power_w, energy_mj)| GpuSamples { power_w, energy_mj }).collect();
        let at = |key: &str, open: u64| WallNs(input[key].as_u64().filter(|at| *at > 0).unwrap_or(open));
        let window = Window { start: at("start_ns", 0), end: at("end_ns", u64::MAX) };
        let totals = GpuTotals::of(&gpus, window, FINAL_SAMPLE_GRACE);
        let traits = RunTraits::new(EndpointKind::Chat, true);
        let ours = totals.metrics(&traits, input["metrics"]["total_osl"].as_f64(), input["concurrency"].as_u64());
        let is_counted = totals.energy_j.is_some_and(|energy| energy.sum > 0.0);
        for theirs in case["expected"].as_array().unwrap() {
            let tag = theirs["tag"].as_str().unwrap();
            let tag = tag.trim_start_matches("nvidia_").trim_start_matches("amd_");
            let is_ours = match tag {
                "total_gpu_power" => true,
                "total_gpu_energy" | "output_tokens_per_joule" | "energy_per_user" => is_counted,
                _ => false,
            };
            if is_ours {
                let ours = ours.iter().find(|result| result.tag == tag).and_then(|result| result.stats.avg);
                let ours = ours.unwrap_or_else(|| panic!("{tag} is missing"));
                assert!(close(ours, theirs["avg"].as_f64().unwrap()), "{tag}: {ours}, not {theirs}");
            }
        }
    });
}

/// The sums of a case, and the metrics made of them.
fn power(case: &Value) -> (GpuTotals, impl Fn(&str) -> Option<f64>) {
    let over = |signal: &str| {
        let vendors = case["gpus"].as_object().unwrap().values().map(|vendor| &vendor[signal]);
        let sum = vendors.clone().filter_map(|signal| signal[0].as_f64()).sum();
        let gpus = vendors.filter_map(|signal| signal[1].as_u64()).sum::<u64>() as usize;
        (gpus > 0).then_some(OverGpus { sum, gpus })
    };
    let totals = GpuTotals { power_w: over("power"), energy_j: over("energy") };
    let traits = RunTraits::new(EndpointKind::Chat, true);
    let found = totals.metrics(&traits, case["metrics"]["total_osl"].as_f64(), case["concurrency"].as_u64());
    (totals, move |tag| found.iter().find(|result| result.tag == tag).and_then(|result| result.stats.avg))
}

#[test]
fn golden_goodput_texts() {
    each_case("objectives", OBJECTIVES, |case| {
        let input = case["input"].as_str().unwrap();
        match (Slo::parse_all(input), case["error"].as_str()) {
            (Err(fault), Some(expected)) => assert_eq!(format!("User Config: {fault}"), expected),
            (Ok(slos), None) => {
                let expected = case["expected"].as_object().unwrap();
                assert_eq!(slos.len(), expected.len());
                for Slo { tag, threshold } in slos {
                    let expected = number(&expected[&tag]).unwrap();
                    assert!(expected == threshold || expected.is_nan() && threshold.is_nan(), "{tag}: {threshold}");
                }
            }
            (found, expected) => panic!("{found:?}, not {expected:?}"),
        }
    });
}
