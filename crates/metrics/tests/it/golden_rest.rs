//! Golden data of what surrounds a run: GPU efficiency and objectives.

use crate::support;

use aiperf_golden::kinds::exports::ADJUSTED_STATISTICS;
use aiperf_golden::kinds::metrics::{OBJECTIVES, POWER};
use aiperf_golden::kinds::telemetry::GPU_SAMPLES;
use aiperf_metrics::gpu::OverGpus;
use aiperf_metrics::{
    ConsoleGroup, FINAL_SAMPLE_GRACE, Flags, GpuSamples, GpuTotals, MetricResult, RunTraits, Stats, Summary,
    VendorTotals, Window, stats_with_errors,
};
use aiperf_types::{EndpointKind, GpuVendor, Slo, WallNs};
use serde_json::Value;
use support::{close, each_case, number};

#[test]
fn golden_statistics_that_count_failed_requests() {
    ADJUSTED_STATISTICS.run(
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

/// The reference has a family of metrics per vendor; ours are over all GPUs, with energy from counters only, and output
/// tokens as given.
#[test]
fn golden_power_efficiency() {
    let several = "the reference sums by vendor, and several reported";
    let skip =
        |case: &Value| (case["gpus"].as_object().is_some_and(|vendors| vendors.len() > 1)).then(|| several.to_owned());
    POWER.run(skip, |case| {
        let (totals, ours) = power(case);
        for theirs in case["expected"].as_array().unwrap() {
            let tag = theirs["tag"].as_str().unwrap();
            let tag = tag.trim_start_matches("nvidia_").trim_start_matches("amd_");
            // Energy that the reference estimates from power is not reported.
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
    each_case(POWER, |case| {
        let (totals, ours) = power(case);
        assert_eq!(ours("total_gpu_power"), totals.power_w.map(|power| power.sum));
        assert_eq!(ours("total_gpu_energy"), totals.energy_j.map(|energy| energy.sum));
    });
}

/// Samples of GPUs, as far as one vendor made them and energy was counted: the reference makes it up from power elsewhere.
#[test]
fn golden_power_and_energy_of_samples() {
    let vendors = |case: &Value| {
        let gpus = case["input"]["gpus"].as_array().unwrap().iter();
        gpus.filter_map(|gpu| gpu["platform"].as_str().map(str::to_owned)).collect::<std::collections::BTreeSet<_>>()
    };
    let skip = |case: &Value| match vendors(case).into_iter().collect::<Vec<_>>().as_slice() {
        [one] if ["nvidia", "amd"].contains(&one.as_str()) => None,
        [_] => Some("an unknown vendor".to_owned()),
        _ => Some("the reference sums by vendor, and several reported".to_owned()),
    };
    GPU_SAMPLES.run(skip, |case| {
        let input = &case["input"];
        let gpus: Vec<_> = input["gpus"].as_array().unwrap().iter().map(signals).collect();
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

/// The metrics of each vendor's GPUs, by the totals of a case.
fn vendor_metrics(case: &Value, totals: impl Fn(&str) -> Option<VendorTotals>) -> Vec<MetricResult> {
    let given = case["metrics"].as_object().unwrap().iter();
    let result = |(tag, value): (&String, &Value)| MetricResult {
        tag: tag.clone().into(),
        header: "".into(),
        unit: "",
        group: ConsoleGroup::None,
        order: None,
        flags: Flags::NONE,
        stats: Stats::of(value.as_f64().unwrap()),
    };
    let summary = Summary { results: given.map(result).collect(), ..Summary::default() };
    let traits = RunTraits::new(EndpointKind::Chat, true);
    let concurrency = case["concurrency"].as_u64();
    let of = |vendor: GpuVendor| Some(totals(vendor.name())?.metrics(vendor, &traits, &summary, concurrency));
    GpuVendor::ALL.into_iter().filter_map(of).flatten().collect()
}

#[track_caller]
fn are_those_of_the_reference(ours: &[MetricResult], expected: &Value) {
    let expected = expected.as_array().unwrap();
    let tags = |theirs: &Value| theirs["tag"].as_str().unwrap().to_owned();
    assert_eq!(
        ours.iter().map(|result| result.tag.to_string()).collect::<Vec<_>>(),
        expected.iter().map(tags).collect::<Vec<_>>()
    );
    for (ours, theirs) in ours.iter().zip(expected) {
        assert_eq!((Some(ours.header.as_ref()), Some(ours.unit)), (theirs["header"].as_str(), theirs["unit"].as_str()));
        let (ours, theirs) = (ours.stats.avg.unwrap(), theirs["avg"].as_f64().unwrap());
        assert!(close(ours, theirs), "{ours}, not {theirs}");
    }
}

#[test]
fn golden_metrics_of_a_vendor_have_the_tags_and_values_of_the_reference() {
    each_case(POWER, |case| {
        let over = |signal: &Value| {
            let (sum, gpus) = (signal[0].as_f64().unwrap_or(0.0), signal[1].as_u64().unwrap_or(0) as usize);
            (gpus > 0).then_some(OverGpus { sum, gpus })
        };
        let seconds = case["duration_ns"].as_f64().unwrap() / 1e9;
        let ours = vendor_metrics(case, |vendor| {
            let gpus = case["gpus"].get(vendor)?;
            let totals = GpuTotals { power_w: over(&gpus["power"]), energy_j: over(&gpus["energy"]) };
            Some(VendorTotals::of(&totals, seconds))
        });
        are_those_of_the_reference(&ours, &case["expected"]);
    });
}

#[test]
fn golden_metrics_of_a_vendor_from_samples_are_those_of_the_reference() {
    GPU_SAMPLES.run(
        |_| None,
        |case| {
            let input = &case["input"];
            let instants = |gpu: &Value| -> Vec<u64> {
                gpu["samples"].as_array().unwrap().iter().map(|sample| sample["t"].as_u64().unwrap()).collect()
            };
            let all: Vec<u64> = input["gpus"].as_array().unwrap().iter().flat_map(instants).collect();
            let at = |key: &str| input[key].as_u64().filter(|at| *at > 0);
            let seconds = match (at("start_ns"), at("end_ns")) {
                (Some(start), Some(end)) => end.saturating_sub(start) as f64 / 1e9,
                _ => all.iter().max().zip(all.iter().min()).map_or(0.0, |(last, first)| (last - first) as f64 / 1e9),
            };
            let window =
                Window { start: WallNs(at("start_ns").unwrap_or(0)), end: WallNs(at("end_ns").unwrap_or(u64::MAX)) };
            let ours = vendor_metrics(input, |vendor| {
                let gpus = input["gpus"].as_array().unwrap().iter().filter(|gpu| gpu["platform"] == vendor);
                let gpus: Vec<_> = gpus.map(signals).collect();
                let gpus: Vec<GpuSamples<'_>> =
                    gpus.iter().map(|(power_w, energy_mj)| GpuSamples { power_w, energy_mj }).collect();
                Some(VendorTotals::of(&GpuTotals::of(&gpus, window, FINAL_SAMPLE_GRACE), seconds))
            });
            are_those_of_the_reference(&ours, &case["expected"]);
        },
    );
}

type Samples = Vec<(WallNs, f64)>;

/// Power and energy of a GPU in a case.
fn signals(gpu: &Value) -> (Samples, Samples) {
    let samples = |keys: [&str; 2]| -> Samples {
        let value = |sample: &Value| keys.iter().find_map(|key| sample["m"][key].as_f64()).unwrap_or(f64::NAN);
        let samples = gpu["samples"].as_array().unwrap().iter();
        samples.map(|sample| (WallNs(sample["t"].as_u64().unwrap()), value(sample))).collect()
    };
    (samples(["nvidia_power_usage", "amd_power"]), samples(["nvidia_energy_consumption", "amd_energy_consumption"]))
}

/// The sums of a case, and the metrics computed from them.
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
    let skip = |case: &Value| {
        let has_other_digits = |text: &str| text.chars().any(|c| c.is_numeric() && !c.is_ascii());
        let input = case["input"].as_str().unwrap_or_default();
        has_other_digits(input).then(|| "only ASCII digits make a number".to_owned())
    };
    OBJECTIVES.run(skip, |case| {
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
