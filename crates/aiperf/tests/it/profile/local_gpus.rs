//! GPUs of this machine: a stand-in for NVIDIA's library with known values, loaded like the real one.

use crate::bench::{Bench, Run, answering, avg, quick, response, serve};
use aiperf_sim::{Latency, SimConfig};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tempfile::TempDir;

const JSONL: &str = "gpu_telemetry_export.jsonl";
const SOURCE: &str = "pynvml://localhost";

/// A folder with the library, without these symbols.
pub(crate) fn library(left_out: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/profile/nvml.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.path().join("libnvidia-ml.so.1"));
    compiler.args(left_out.iter().map(|symbol| format!("-DLEAVE_OUT_{symbol}"))).arg(source);
    assert!(compiler.status().unwrap().success());
    folder
}

/// A benchmark that reads the GPUs of this machine three times: before its start, at its start, and at its end.
fn reading(url: &str, library: &Path) -> Bench {
    Bench::of(url)
        .without("--no-gpu-telemetry")
        .with(&["--streaming", "--concurrency", "4", "--request-count", "20", "--gpu-telemetry", "pynvml"])
        .env("AIPERF_GPU_COLLECTION_INTERVAL", "300")
        // The last reading may be late on a busy machine.
        .env("AIPERF_GPU_FINAL_SCRAPE_GRACE_NS", "60000000000")
        .env("LD_LIBRARY_PATH", library.to_str().unwrap())
}

/// A slow server, so that samples of a GPU's parts are apart.
fn slow() -> SimConfig {
    SimConfig { ttft: Latency::constant(Duration::from_millis(40)), ..quick() }
}

/// A server that counts its requests.
fn counting() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let address = answering(move |_, _, _| {
        counted.fetch_add(1, SeqCst);
        response("503 Service Unavailable", "text/plain", "")
    });
    (format!("http://{address}"), asked)
}

fn succeeded(run: Run) -> Run {
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

fn samples(run: &Run) -> Vec<Value> {
    run.text(JSONL).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The metrics that occur in any sample.
fn fields(run: &Run) -> BTreeSet<String> {
    samples(run).iter().flat_map(|line| line["telemetry_data"].as_object().unwrap().keys().cloned()).collect()
}

#[test]
fn gpus_of_this_machine_are_in_every_file_and_their_energy_beside_the_tokens() {
    let (sim, library) = (serve(slow()), library(&[]));
    let run = succeeded(reading(&sim.url(), library.path()).run());
    let lines = samples(&run);
    assert_eq!(lines.len(), 3 * 2, "before the start, at the start, at the end");
    assert_eq!(lines[0]["timestamp_ns"], lines[1]["timestamp_ns"], "all GPUs have one stamp");
    let mut first = lines[1].clone();
    first["telemetry_data"].as_object_mut().unwrap().remove("nvidia_sm_utilization");
    let expected = json!({
        "gpu_index": 1,
        "gpu_uuid": "GPU-11111111-2222",
        "gpu_model_name": "NVIDIA Stand-in",
        "pci_bus_id": "00000000:01:00.0",
        "device": "nvidia1",
        "hostname": "localhost",
        "platform": "nvidia",
        "timestamp_ns": first["timestamp_ns"],
        "telemetry_source_url": SOURCE,
        "telemetry_data": {
            "nvidia_power_usage": 400.5,
            "nvidia_energy_consumption": 5_002_500_000.0 * 1e-9,
            "nvidia_gpu_utilization": 91.0,
            "nvidia_memory_utilization": 42.0,
            "nvidia_memory_used": 71_500_000_000.0 * 1e-9,
            "nvidia_temperature": 61.0,
            "nvidia_decoder_utilization": 11.0,
            "nvidia_encoder_utilization": 12.0,
            "nvidia_jpg_utilization": 13.0,
            "nvidia_power_violation": 1.0,
        },
    });
    assert_eq!(first, expected);
    // The GPU's own samples need time: the last reading has them, and earlier ones omit the metric instead of reporting
    // zero.
    let sampled: Vec<&Value> =
        lines.iter().filter_map(|line| line["telemetry_data"].get("nvidia_sm_utilization")).collect();
    assert!(lines[5]["telemetry_data"]["nvidia_sm_utilization"] == 41.0, "{}", lines[5]);
    assert!(sampled.iter().all(|percent| **percent == 41.0), "{sampled:?}");
    // Requests and GPUs share one clock: the last reading is later than every request, but not by much.
    let stamps: Vec<u64> = lines.iter().step_by(2).map(|line| line["timestamp_ns"].as_u64().unwrap()).collect();
    let instants = |name: &str| -> Vec<u64> {
        run.records().iter().map(|record| record["metadata"][name].as_u64().unwrap()).collect()
    };
    let (first, last) = (instants("request_start_ns").into_iter().min(), instants("request_end_ns").into_iter().max());
    assert!(stamps[0] < first.unwrap() && stamps.is_sorted(), "{stamps:?}");
    assert!((last.unwrap()..last.unwrap() + 60_000_000_000).contains(&stamps[2]), "{stamps:?} {last:?}");
    let summary = run.summary();
    let telemetry = &summary["telemetry_data"];
    assert_eq!(telemetry["summary"]["endpoints_configured"], json!([SOURCE]));
    assert_eq!(telemetry["summary"]["endpoints_successful"], json!([SOURCE]));
    let gpus = telemetry["endpoints"]["localhost"]["gpus"].as_object().unwrap();
    assert_eq!(gpus.keys().collect::<Vec<_>>(), ["gpu_0", "gpu_1"]);
    // From the reading before the phase to the last one, for two GPUs.
    let energy = 2.0 * 2.0 * 2500.0;
    let near = |reported: f64, value: f64| assert!((reported - value).abs() <= value * 1e-9, "{reported} for {value}");
    near(avg(&summary, "total_gpu_energy"), energy);
    near(avg(&summary, "output_tokens_per_joule"), avg(&summary, "total_output_tokens") / energy);
    near(avg(&summary, "energy_per_user"), energy / 4.0);
    near(avg(&summary, "total_gpu_power"), 300.5 + 400.5);
    let console = run.text("profile_export_console.txt");
    for words in
        ["localhost | GPU 1 | NVIDIA Stand-in", "NVIDIA JPEG Utilization (%)", "Platform: nvidia", "1/1 telemetry"]
    {
        assert!(console.contains(words), "{words}\n{console}");
    }
    assert!(run.text("logs/aiperf.log").contains("2 GPU(s) of this machine: NVIDIA Stand-in"));
}

#[test]
fn each_call_that_fails_costs_its_field_alone() {
    let (sim, library) = (serve(slow()), library(&[]));
    let failing = |call: &str| {
        let run = succeeded(reading(&sim.url(), library.path()).env("NVML_FAILS", call).run());
        assert_eq!(samples(&run).len(), 3 * 2, "{call}");
        run
    };
    let whole = fields(&failing("none"));
    assert_eq!(whole.len(), 11);
    for (call, costs) in [
        ("nvmlDeviceGetPowerUsage", &["nvidia_power_usage"][..]),
        ("nvmlDeviceGetTotalEnergyConsumption", &["nvidia_energy_consumption"]),
        ("nvmlDeviceGetUtilizationRates", &["nvidia_gpu_utilization", "nvidia_memory_utilization"]),
        ("nvmlDeviceGetMemoryInfo", &["nvidia_memory_used"]),
        ("nvmlDeviceGetTemperature", &["nvidia_temperature"]),
        ("nvmlDeviceGetDecoderUtilization", &["nvidia_decoder_utilization"]),
        ("nvmlDeviceGetEncoderUtilization", &["nvidia_encoder_utilization"]),
        ("nvmlDeviceGetJpgUtilization", &["nvidia_jpg_utilization"]),
        ("nvmlDeviceGetViolationStatus", &["nvidia_power_violation"]),
        ("nvmlDeviceGetProcessesUtilizationInfo", &[]),
    ] {
        let left: BTreeSet<String> = fields(&failing(call));
        let missing: Vec<&String> = whole.difference(&left).collect();
        assert_eq!(missing, costs, "{call}");
    }
    // A GPU without a counter has no energy.
    let summary = failing("nvmlDeviceGetTotalEnergyConsumption").summary();
    for (tag, is_there) in [("total_gpu_power", true), ("total_gpu_energy", false), ("output_tokens_per_joule", false)]
    {
        assert_eq!(summary[tag].is_object(), is_there, "{tag}");
    }
}

#[test]
fn without_gpm_the_sm_utilization_is_that_of_the_processes() {
    let (sim, library) = (serve(quick()), library(&[]));
    for call in ["nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleGet"] {
        let run = succeeded(reading(&sim.url(), library.path()).env("NVML_FAILS", call).run());
        let used: Vec<Value> =
            samples(&run).iter().map(|line| line["telemetry_data"]["nvidia_sm_utilization"].clone()).collect();
        assert_eq!(used, vec![json!(55.0); 6], "{call}");
    }
    let sim = serve(slow());
    let run = succeeded(reading(&sim.url(), library.path()).env("NVML_FAILS", "nvmlGpmMetricsGet").run());
    assert_eq!(samples(&run)[5]["telemetry_data"]["nvidia_sm_utilization"], 55.0);
}

#[test]
fn gpus_without_names_are_still_read() {
    let (sim, library) = (serve(quick()), library(&[]));
    let first = |call: &str| {
        let run = succeeded(reading(&sim.url(), library.path()).env("NVML_FAILS", call).run());
        samples(&run).swap_remove(0)
    };
    assert_eq!(first("nvmlDeviceGetUUID")["gpu_uuid"], "GPU-unknown-0");
    assert_eq!(first("nvmlDeviceGetName")["gpu_model_name"], "Unknown GPU");
    assert!(first("nvmlDeviceGetPciInfo_v3").get("pci_bus_id").is_none());
}

#[test]
fn symbols_that_an_older_library_lacks_cost_only_their_metrics() {
    let sim = serve(quick());
    let without = |symbols: &[&str]| {
        let library = library(symbols);
        let run = succeeded(reading(&sim.url(), library.path()).run());
        samples(&run).swap_remove(0)["telemetry_data"].clone()
    };
    let jpg = without(&["nvmlDeviceGetJpgUtilization"]);
    assert!(jpg.get("nvidia_jpg_utilization").is_none() && jpg["nvidia_encoder_utilization"] == 12.0, "{jpg}");
    let free = without(&["nvmlGpmSampleFree"]);
    assert_eq!(free["nvidia_sm_utilization"], 55.0, "samples that could not be freed are not taken");
    let neither = without(&["nvmlGpmSampleFree", "nvmlDeviceGetProcessesUtilizationInfo"]);
    assert!(neither.get("nvidia_sm_utilization").is_none());
}

#[test]
fn a_gpu_that_is_lost_midway_costs_its_later_samples_and_one_message() {
    let (sim, library) = (serve(quick()), library(&[]));
    let run = succeeded(reading(&sim.url(), library.path()).env("NVML_LOST_AFTER", "1").run());
    let indices: Vec<i64> = samples(&run).iter().map(|line| line["gpu_index"].as_i64().unwrap()).collect();
    assert_eq!(indices, [0, 1, 0, 0]);
    let log = run.text("logs/aiperf.log");
    let messages =
        log.lines().filter(|line| line.contains("GPU 1 (GPU-11111111-2222) does not respond any more")).count();
    assert_eq!(messages, 1, "{log}");
    let errors = &run.summary()["telemetry_data"]["error_summary"];
    assert_eq!(errors[0]["count"], 2, "{errors}");
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("Total GPU Power (1 GPUs)"), "{console}");
}

#[test]
fn a_requested_source_that_is_missing_is_refused_before_anything_is_sent() {
    let ((url, asked), library) = (counting(), library(&[]));
    let refused = |bench: Bench, words: &[&str]| {
        let run = bench.run();
        let message = run.stderr();
        assert_eq!(run.code(), Some(2), "{message}");
        words.iter().for_each(|words| assert!(message.contains(words), "{words}: {message}"));
        assert!(!run.path(".").exists(), "nothing is written");
    };
    let broken = TempDir::new().unwrap();
    std::fs::write(broken.path().join("libnvidia-ml.so.1"), "no library").unwrap();
    let words =
        ["--gpu-telemetry pynvml: NVML cannot be loaded", "libnvidia-ml.so.1 comes with NVIDIA's driver", "try:"];
    refused(reading(&url, broken.path()), &words);
    let stopped = reading(&url, library.path()).env("NVML_FAILS", "nvmlInit_v2");
    refused(stopped, &["NVML does not start (NVIDIA driver is not loaded)", "try: nvidia-smi"]);
    refused(reading(&url, library.path()).env("NVML_GPUS", "0"), &["NVML finds no GPU", "docker run --gpus all"]);
    assert_eq!(asked.load(SeqCst), 0);
}

#[test]
fn the_driver_of_amd_is_named_if_it_has_no_gpu() {
    let cards = std::fs::read_dir("/sys/class/drm").into_iter().flatten().flatten();
    let vendor = |card: std::fs::DirEntry| std::fs::read_to_string(card.path().join("device/vendor")).ok();
    if cards.filter_map(vendor).any(|vendor| vendor.trim() == "0x1002") {
        eprintln!("skipped: this machine has a GPU of AMD");
        return;
    }
    let (url, asked) = counting();
    let bench = Bench::of(&url).without("--no-gpu-telemetry");
    let run = bench.with(&["--request-count", "4", "--gpu-telemetry", "AMDSMI"]).run();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("no AMD GPU is found in /sys/class/drm"), "{}", run.stderr());
    assert!(run.stderr().contains("try: modprobe amdgpu"), "{}", run.stderr());
    assert_eq!(asked.load(SeqCst), 0);
}

#[test]
fn the_library_is_loaded_only_on_request() {
    let (sim, library) = (serve(quick()), library(&[]));
    let called = library.path().join("called");
    let bench = || {
        let bench = reading(&sim.url(), library.path()).env("NVML_CALLED", called.to_str().unwrap());
        bench.env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", "[]")
    };
    let run = succeeded(bench().without("--gpu-telemetry").without("pynvml").run());
    assert!(!called.exists() && run.summary()["telemetry_data"]["endpoints"] == json!({}));
    succeeded(bench().run());
    assert_eq!(std::fs::read_to_string(&called).unwrap(), "started\n", "once, however often it is asked");
}

#[test]
fn a_remote_server_gives_a_warning_and_a_missing_dashboard_a_note() {
    let (sim, library) = (serve(SimConfig { host: "0.0.0.0".parse().unwrap(), ..quick() }), library(&[]));
    let elsewhere = sim.url().replace("0.0.0.0", "127.0.0.2");
    let log = |url: &str| {
        let run = succeeded(reading(url, library.path()).with(&["dashboard"]).run());
        run.text("logs/aiperf.log")
    };
    let far = "--gpu-telemetry pynvml reads the GPUs of this machine";
    let logged = log(&elsewhere);
    assert!(logged.lines().any(|line| line.contains("WARNING") && line.contains(far)), "{logged}");
    assert!(logged.contains("--gpu-telemetry dashboard: there is no dashboard (--ui none)"), "{logged}");
    assert!(!log(&sim.url().replace("0.0.0.0", "127.0.0.1")).contains(far));
}
