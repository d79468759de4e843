//! Golden data of GPUs: what the reference makes of pages of DCGM exporters, of files of metrics, and of samples.

use aiperf_golden::kinds::telemetry::{DCGM_PAGE, GPU_METRICS_FILE, GPU_SERIES, SOURCE_NAME};
use aiperf_golden::skips_mark;
use aiperf_observe::exposition::document;
use aiperf_observe::gpu::live::display_name;
use aiperf_observe::gpu::{Dcgm, Gpu, GpuMetricKind, GpuReading, Span, custom, of_kind};
use aiperf_plan::redact;
use aiperf_types::WallNs;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A reading as the lines of the export have it, but for its instant.
fn as_json(reading: &GpuReading, dcgm: &Dcgm) -> Value {
    let Gpu { index, uuid, model, pci_bus_id, device, hostname, namespace, pod, vendor, .. } = &*reading.gpu;
    let mut line = json!({ "gpu_index": index, "gpu_uuid": **uuid, "gpu_model_name": **model });
    let names = [
        ("pci_bus_id", pci_bus_id),
        ("device", device),
        ("hostname", hostname),
        ("namespace", namespace),
        ("pod_name", pod),
    ];
    for (key, text) in names {
        text.iter().for_each(|text| line[key] = (**text).into());
    }
    line["platform"] = vendor.name().into();
    let value = |(metric, value): &(_, f64)| (dcgm.table().metric(*metric).key.to_string(), json!(value));
    line["telemetry_data"] = reading.values.iter().map(value).collect::<Map<String, Value>>().into();
    line
}

/// What section 12 wants done otherwise.
fn skip_page(case: &Value) -> Option<String> {
    if let Some(reason) = skips_mark(&case["input"]) {
        return Some(reason);
    }
    let page = document::parse(case["input"].as_str().unwrap());
    if page.bad_lines.is_some() {
        return Some("12: a bad line costs that line".to_owned());
    }
    let samples = page.families.iter().flat_map(|family| &family.samples);
    let label = |sample, name: &str| {
        page.labels(sample).iter().find(|(known, _)| known == name).map(|(_, value)| value.to_string())
    };
    let mut uuids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in samples {
        let Some(index) = label(sample, "gpu") else { continue };
        if label(sample, "modelName").is_none() {
            return Some("12: a GPU without a name costs no other".to_owned());
        }
        match label(sample, "UUID") {
            None => return Some("12: a GPU without a UUID costs no other".to_owned()),
            Some(uuid) => uuids.entry(index).or_default().insert(uuid),
        };
    }
    uuids.values().any(|uuids| uuids.len() > 1).then(|| "12: GPUs are distinguished by UUID".to_owned())
}

#[test]
fn golden_pages_of_dcgm_exporters() {
    let dcgm = Dcgm::new(&[]);
    DCGM_PAGE.run(skip_page, |case| {
        let readings = dcgm.read(case["input"].as_str().unwrap()).unwrap().readings;
        let ours: Vec<Value> = readings.iter().map(|reading| as_json(reading, &dcgm)).collect();
        let mut expected = case["expected"]["records"].clone();
        for record in expected.as_array_mut().unwrap() {
            let source = record.as_object_mut().unwrap().shift_remove("telemetry_source_url").unwrap();
            assert!(source.is_string());
        }
        // As texts, because maps are equal in any order.
        assert_eq!(json!(ours).to_string(), expected.to_string());
    });
}

#[test]
fn golden_names_of_sources() {
    let skip = |case: &Value| {
        let has_scheme = case["input"].as_str().is_some_and(|text| text.contains("://"));
        (!has_scheme).then(|| "a URL has its scheme before it is shown".to_owned())
    };
    SOURCE_NAME.run(skip, |case| {
        // Credentials are taken out before.
        let shown = |text: &str| redact::url(text);
        let (text, wanted) = (case["input"].as_str().unwrap(), case["expected"]["ok"].as_str().unwrap());
        let (scheme, _) = text.split_once("://").unwrap();
        let wanted = shown(&format!("{scheme}://{wanted}"));
        assert_eq!(Some(display_name(&shown(text))), wanted.split_once("://").map(|(_, rest)| rest));
    });
}

fn skip_file(case: &Value) -> Option<String> {
    let rows = case["expected"]["metrics"].as_array().unwrap();
    let keys: BTreeSet<&str> = rows.iter().filter_map(|row| row["key"].as_str()).collect();
    let text = case["input"].as_str().unwrap().to_lowercase();
    if let Some(reason) = skips_mark(&case["input"]) {
        return Some(reason);
    }
    if keys.len() < rows.len() {
        return Some("a metric that is there already is not there twice".to_owned());
    }
    ["(in mj)", "ib)"].iter().any(|unit| text.contains(unit)).then(|| "12: units are converted".to_owned())
}

#[test]
fn golden_files_of_metrics() {
    GPU_METRICS_FILE.run(skip_file, |case| {
        let metrics = custom::parse(case["input"].as_str().unwrap()).metrics;
        let rows: Vec<Value> = metrics
            .iter()
            .map(|row| json!({ "display": row.metric.name, "key": row.metric.key, "unit": row.metric.unit }))
            .collect();
        let mapping: Map<String, Value> =
            metrics.iter().map(|row| (row.field.clone(), json!(row.metric.key))).collect();
        assert_eq!(json!(rows), case["expected"]["metrics"]);
        assert_eq!(json!(mapping), case["expected"]["mapping"]);
    });
}

#[test]
fn golden_statistics_of_samples() {
    GPU_SERIES.run(
        |_| None,
        |case| {
            let input = &case["input"];
            let metric = input["metric"].as_str().unwrap();
            let mut samples: Vec<(WallNs, f64)> = input["snapshots"]
                .as_array()
                .unwrap()
                .iter()
                .map(|snapshot| {
                    (WallNs(snapshot["t"].as_u64().unwrap()), snapshot["m"][metric].as_f64().unwrap_or(f64::NAN))
                })
                .collect();
            samples.sort_by_key(|(at, _)| *at);
            let (times, values): (Vec<WallNs>, Vec<f64>) = samples.into_iter().unzip();
            let at = |key: &str| input[key].as_u64().map(WallNs);
            let span = Span { start: at("start_ns"), end: at("end_ns") };
            let kind = if input["counter"] == true { GpuMetricKind::Counter } else { GpuMetricKind::Gauge };
            let ours = of_kind(kind, &times, &values, span).map(|(stats, _)| stats);
            let Some(expected) = case["expected"]["stats"].as_object() else {
                assert_eq!((ours, &case["expected"]["no_value"]), (None, &json!(true)));
                return;
            };
            let ours = ours.unwrap();
            for (name, theirs) in expected {
                let theirs = theirs.as_f64().unwrap();
                let is_seen = |(at, value): (&WallNs, &f64)| {
                    value.is_nan()
                        && span.start.is_none_or(|start| start <= *at)
                        && span.end.is_none_or(|end| *at <= end)
                };
                // 12: what is not a number is not counted.
                let unseen = times.iter().zip(&values).filter(|sample| is_seen(*sample)).count() as f64;
                let theirs = if name == "count" { theirs - unseen } else { theirs };
                let value = ours.get(name).unwrap_or_else(|| panic!("{name} is missing"));
                assert!((value - theirs).abs() <= 1e-12 * theirs.abs().max(1.0), "{name}: {value}, not {theirs}");
            }
            let names = ["avg", "min", "max", "sum", "p1", "p99", "std", "count"];
            assert!(names.iter().all(|name| ours.get(name).is_some() == expected.contains_key(*name)), "{ours:?}");
        },
    );
}
