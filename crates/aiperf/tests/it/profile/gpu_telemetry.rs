//! GPUs: pages of exporters over real sockets, compared with the results of the run.

use crate::bench::{Bench, Gate, Run, answering, avg, quick, response, serve, wait_until};
use aiperf_sim::{Latency, SimConfig};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const JSONL: &str = "gpu_telemetry_export.jsonl";
const NOWHERE: &str = "http://127.0.0.1:9";

/// A benchmark of forty requests that samples GPUs often, without a named exporter.
fn sampling(url: &str) -> Bench {
    sampling_without_end(url).with(&["--request-count", "40"])
}

fn sampling_without_end(url: &str) -> Bench {
    Bench::of(url)
        .without("--no-gpu-telemetry")
        .with(&["--streaming", "--concurrency", "4"])
        .env("AIPERF_GPU_COLLECTION_INTERVAL", "0.02")
        .env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", "[]")
        .env("AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT", "1")
}

/// An exporter whose page depends on the number of the fetch; counts the fetches.
fn exporter(page: impl Fn(usize) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = fetches.clone();
    let address = answering(move |number, _, _| {
        counted.fetch_add(1, SeqCst);
        response("200 OK", "text/plain; version=0.0.4", &page(number))
    });
    (format!("http://{address}/metrics"), fetches)
}

/// An exporter that works while a condition holds; counts the fetches.
fn exporter_while(works: impl Fn() -> bool + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let fetches = Arc::new(AtomicUsize::new(0));
    let counted = fetches.clone();
    let address = answering(move |number, _, _| {
        counted.fetch_add(1, SeqCst);
        match works() {
            true => response("200 OK", "text/plain; version=0.0.4", &eight(number)),
            false => response("503 Service Unavailable", "text/plain", "gone"),
        }
    });
    (format!("http://{address}/metrics"), fetches)
}

/// A sample line of a GPU.
fn sample(field: &str, index: usize, labels: &str, value: f64) -> String {
    format!("{field}{{gpu=\"{index}\",modelName=\"NVIDIA H100\",{labels}}} {value}\n")
}

/// Eight GPUs: the first draws 100 W, each other 10 W more. Each fetch adds a kilojoule.
fn eight(number: usize) -> String {
    let gpu = |index: usize| {
        let labels = format!("UUID=\"GPU-{index}\",Hostname=\"node1\"");
        let watts = 100.0 + 10.0 * index as f64;
        sample("DCGM_FI_DEV_POWER_USAGE", index, &labels, watts)
            + &sample("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", index, &labels, 1e6 * number as f64)
            + &sample("DCGM_FI_DEV_GPU_UTIL", index, &labels, 50.0)
    };
    (0..8).map(gpu).collect()
}

/// Runs a benchmark of a server that stops at these requests until there are a few more samples. So samples lie within
/// the phases of these requests, however slow the machine is.
fn with_samples_at(requests: &[usize], fetches: &AtomicUsize, bench: impl FnOnce(&str) -> Bench) -> Run {
    let server = Gate::after(requests[0]);
    // The last sample may be late for the same reason.
    let bench = bench(&server.url).without("--streaming").env("AIPERF_GPU_FINAL_SCRAPE_GRACE_NS", "60000000000");
    let running = bench.start();
    for next in requests[1..].iter().copied().chain([usize::MAX]) {
        server.wait_until_it_holds();
        some_more(fetches);
        server.open_for(next);
    }
    succeeded(running.finish_soon())
}

/// Waits until a page was fetched from its begin to its end.
fn some_more(fetches: &AtomicUsize) {
    let before = fetches.load(SeqCst);
    wait_until("no more fetches", || fetches.load(SeqCst) >= before + 3);
}

fn succeeded(run: Run) -> Run {
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

fn samples(run: &Run) -> Vec<Value> {
    run.text(JSONL).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn eight_gpus_are_in_every_file_and_their_energy_beside_the_tokens() {
    let (url, fetches) = exporter(eight);
    let run = with_samples_at(&[4, 16], &fetches, |server| {
        sampling(server).with(&["--gpu-telemetry", &url, "--warmup-request-count", "8"])
    });
    let summary = run.summary();
    let telemetry = &summary["telemetry_data"];
    assert_eq!(telemetry["summary"]["endpoints_configured"], json!([url]));
    assert_eq!(telemetry["summary"]["endpoints_successful"], json!([url]));
    assert_eq!(telemetry["error_summary"], json!([]));
    let display = url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let gpus = telemetry["endpoints"][display]["gpus"].as_object().unwrap();
    assert_eq!(
        gpus.keys().collect::<Vec<_>>(),
        (0..8).map(|i| format!("gpu_{i}")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    let power = &gpus["gpu_3"]["metrics"]["nvidia_power_usage"];
    assert_eq!((&power["avg"], &power["std"], &power["unit"]), (&130.0.into(), &0.0.into(), &"W".into()));
    assert!(power["count"].as_u64().unwrap() >= 2, "equal pages are samples too: {power}");
    assert_eq!(avg(&summary, "total_gpu_power"), 1080.0);
    let energy = avg(&summary, "total_gpu_energy");
    let pages = energy / 8000.0;
    assert!(pages > 0.5 && (pages - pages.round()).abs() < 1e-6, "each page adds a kilojoule per GPU: {energy}");
    assert_eq!(avg(&summary, "energy_per_user"), energy / 4.0);
    let tokens = avg(&summary, "total_output_tokens");
    assert!((avg(&summary, "output_tokens_per_joule") - tokens / energy).abs() < 1e-9);
    assert_eq!((avg(&summary, "nvidia_total_gpu_power"), avg(&summary, "nvidia_total_gpu_energy")), (1080.0, energy));
    assert_eq!(summary["nvidia_energy_per_output_token"]["unit"], "mJ/token");
    assert!(
        (avg(&summary, "nvidia_energy_per_output_token") - 1000.0 * energy / avg(&summary, "total_osl")).abs() < 1e-6
    );
    let per_watt = avg(&summary, "request_throughput") / avg(&summary, "nvidia_average_gpu_power");
    assert!((avg(&summary, "nvidia_performance_per_watt") - per_watt).abs() < 1e-9);
    assert!(summary.as_object().unwrap().keys().all(|tag| !tag.starts_with("amd_")));
    let lines = samples(&run);
    assert!(lines.len().is_multiple_of(8) && lines.len() >= 5 * 8, "first, two starts, two ends: {}", lines.len());
    assert!(lines.iter().all(|line| line["telemetry_source_url"] == url.as_str()));
    let csv = run.text("profile_export_aiperf.csv");
    let (_, table) = csv.split_once("\r\n\r\n\r\nEndpoint,GPU_Index,").unwrap();
    assert_eq!(table.lines().count(), 1 + 8 * 3, "{table}");
    assert!(csv.contains("\r\nTotal GPU Power (8 GPUs) (W),1080.00\r\n"), "{csv}");
    assert!(csv.contains("\r\nTotal GPU Power (W),1080.00\r\n"), "{csv}");
    let console = run.text("profile_export_console.txt");
    for words in ["Total GPU Power (8 GPUs)", "1/1 telemetry sources reachable", "Platform: nvidia", "| GPU 7 |"] {
        assert!(console.contains(words), "{words}\n{console}");
    }
    assert!(!console.contains("Performance per Watt"), "{console}");
    let columns = std::fs::read(run.path("records/profile_export.parquet")).unwrap();
    let columns = String::from_utf8_lossy(&columns).into_owned();
    assert!(columns.contains("\"nvidia_performance_per_watt\""), "the metadata of the columns has the run's metrics");
    let manifest = run.text("phase_manifest.json");
    for phase in ["warmup", "profiling"] {
        let document: Value = serde_json::from_str(&run.text(&format!("phases/{phase}/gpu_telemetry.json"))).unwrap();
        assert_eq!(document["phase"]["phase_name"], phase);
        assert_eq!(document["data"]["endpoints"][display]["gpus"].as_object().unwrap().len(), 8);
        assert!(manifest.contains(&format!("phases/{phase}/gpu_telemetry.json")));
    }
}

#[test]
fn two_machines_and_the_parts_of_a_gpu_are_distinguished() {
    let (url, fetches) = exporter(|_| {
        let power = |labels: &str, watts| sample("DCGM_FI_DEV_POWER_USAGE", 0, labels, watts);
        power("UUID=\"GPU-aaaaaaaa-1\",Hostname=\"one\"", 100.0)
            + &power("UUID=\"GPU-bbbbbbbb-1\",Hostname=\"two\",GPU_I_ID=\"1\"", 200.0)
            + &power("UUID=\"GPU-bbbbbbbb-1\",Hostname=\"two\",GPU_I_ID=\"2\"", 200.0)
    });
    let run = with_samples_at(&[8], &fetches, |server| sampling(server).with(&["--gpu-telemetry", &url]));
    let summary = run.summary();
    let endpoints = summary["telemetry_data"]["endpoints"].as_object().unwrap();
    let gpus = endpoints.values().next().unwrap()["gpus"].as_object().unwrap();
    let keys: Vec<&str> = gpus.keys().map(String::as_str).collect();
    assert_eq!(keys, ["gpu_0_aaaaaaaa", "gpu_0_bbbbbbbb_1", "gpu_0_bbbbbbbb_2"]);
    assert_eq!(avg(&summary, "total_gpu_power"), 300.0, "the parts of a GPU report the power of all of it");
}

/// A page that never ends.
fn endless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
                let line = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-x\"} 1\n".repeat(100);
                while stream.write_all(line.as_bytes()).is_ok() {}
            });
        }
    });
    format!("http://{address}/metrics")
}

#[test]
fn sources_that_misbehave_cost_one_message_each_and_nothing_else() {
    let sim = serve(quick());
    let (good, _) = exporter(eight);
    let json = answering(|_, _, _| response("200 OK", "application/json", "{\"gpus\": 8}"));
    let gone = answering(|number, _, _| match number {
        0 => response("200 OK", "text/plain", &eight(0)),
        _ => response("503 Service Unavailable", "text/plain", "gone"),
    });
    let (json, gone) = (format!("http://{json}/metrics"), format!("http://{gone}/metrics"));
    let endless = endless();
    let bench = sampling(&sim.url()).env("AIPERF_GPU_REACHABILITY_TIMEOUT", "1");
    let run = succeeded(bench.with(&["--gpu-telemetry", &good, &json, &endless, &gone, NOWHERE]).run());
    let summary = run.summary();
    let telemetry = &summary["telemetry_data"]["summary"];
    let nowhere = format!("{NOWHERE}/metrics");
    assert_eq!(telemetry["endpoints_configured"], json!([good, json, endless, gone, nowhere]));
    assert_eq!(telemetry["endpoints_successful"], json!([good, gone]));
    assert_eq!(avg(&summary, "request_count"), 40.0);
    let log = run.text("logs/aiperf.log");
    let warned = |url: &str| log.lines().filter(|line| line.contains("WARNING") && line.contains(url)).count();
    assert_eq!((warned(&json), warned(&good)), (1, 0), "{log}");
    assert!((1..=2).contains(&warned(&gone)), "{log}");
    assert!(warned(&endless) >= 1 && warned(&nowhere) == 1, "{log}");
    assert!(log.contains("Disabling GPU telemetry collection for"), "{log}");
}

/// The sources of a run without GPUs; the rest of its telemetry is empty.
fn without_gpus(summary: &Value) -> Value {
    let mut telemetry = summary["telemetry_data"].clone();
    for time in ["start_time", "end_time"] {
        let text = telemetry["summary"].as_object_mut().unwrap().remove(time).unwrap();
        assert_eq!(text, summary[time]);
    }
    let sources = telemetry["summary"]["endpoints_configured"].take();
    let empty = json!({
        "summary": {"endpoints_configured": null, "endpoints_successful": []},
        "endpoints": {},
        "error_summary": telemetry["error_summary"],
    });
    assert_eq!(telemetry, empty);
    sources
}

#[test]
fn without_an_exporter_at_the_default_ports_nothing_is_reported() {
    let sim = serve(quick());
    let run = succeeded(sampling(&sim.url()).env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", NOWHERE).run());
    let output = [run.stderr(), run.stdout(), run.text("profile_export_console.txt")].concat();
    assert!(!output.to_lowercase().contains("telemetry") && !output.contains("DCGM"), "{output}");
    let summary = run.summary();
    assert_eq!((without_gpus(&summary), run.path(JSONL).exists()), (json!([]), false));
    let csv = run.text("profile_export_aiperf.csv");
    assert!(csv.ends_with("\r\n\r\n\r\nEndpoint,GPU_Index,GPU_Name,GPU_UUID,Platform,Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\r\n"), "{csv}");
    // The same if no address is tried.
    assert_eq!(without_gpus(&succeeded(sampling(&sim.url()).run()).summary()), json!([]));
    assert_eq!(summary["input_config"]["gpu_telemetry"]["enabled"], true);
}

#[test]
fn an_exporter_at_a_default_port_is_found_without_a_flag() {
    let sim = serve(quick());
    let (url, _) = exporter(eight);
    let usual = format!("{NOWHERE},{url}");
    let run = succeeded(sampling(&sim.url()).env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", &usual).run());
    let telemetry = &run.summary()["telemetry_data"]["summary"];
    assert_eq!(telemetry["endpoints_configured"], json!([url]), "sources that do not respond are not shown");
    let off = Bench::of(&sim.url()).env("AIPERF_GPU_DEFAULT_DCGM_ENDPOINTS", &usual);
    let off = succeeded(off.with(&["--request-count", "4"]).run());
    assert!(off.summary()["telemetry_data"].is_null(), "--no-gpu-telemetry");
}

#[test]
fn a_requested_source_without_gpus_gives_a_warning() {
    let sim = serve(quick());
    let run = succeeded(sampling(&sim.url()).with(&["--gpu-telemetry"]).run());
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("No GPU telemetry data collected during the benchmarking run."), "{console}");
    let run = succeeded(sampling(&sim.url()).with(&["--gpu-telemetry", NOWHERE]).run());
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("Unreachable endpoints:\n  • 127.0.0.1:9\n"), "{console}");
    assert_eq!(without_gpus(&run.summary()), json!([format!("{NOWHERE}/metrics")]));
}

#[test]
fn pages_are_fetched_before_the_start_at_the_start_and_at_the_end_but_not_after_a_cancel() {
    let rarely = |bench: Bench, exporter: &str| {
        bench.env("AIPERF_GPU_COLLECTION_INTERVAL", "300").with(&["--gpu-telemetry", exporter])
    };
    let sim = serve(quick());
    let (url, fetches) = exporter(eight);
    succeeded(rarely(sampling(&sim.url()), &url).run());
    assert_eq!(fetches.load(SeqCst), 3);
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let (url, fetches) = exporter(eight);
    let bench = rarely(sampling_without_end(&sim.url()), &url);
    let running = bench.with(&["--request-count", "100000", "--num-dataset-entries", "10"]).start();
    running.wait_for_records(8);
    running.signal("INT");
    let run = running.finish();
    assert_eq!((run.code(), fetches.load(SeqCst)), (Some(130), 2), "{}", run.stderr());
    assert_eq!(samples(&run).len(), 2 * 8);
}

#[test]
fn metrics_of_the_user_are_collected_and_a_file_without_any_is_refused() {
    let sim = serve(quick());
    let (url, _) = exporter(|number| {
        let labels = "UUID=\"GPU-0\"";
        sample("DCGM_FI_DEV_SM_CLOCK", 0, labels, 1980.0)
            + &sample("DCGM_FI_DEV_FB_FREE", 0, labels, 1000.0)
            + &sample("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", 0, labels, 10.0 * number as f64)
    });
    let bench = sampling(&sim.url()).with(&["--gpu-telemetry", &url, "own.csv"]);
    let rows = "# own\nDCGM_FI_DEV_SM_CLOCK, gauge, SM clock frequency (in MHz).\n\
                DCGM_FI_DEV_FB_FREE, gauge, Framebuffer memory free (in MiB).\n\
                DCGM_FI_DEV_PCIE_REPLAY_COUNTER, counter, Total number of PCIe retries.\nFOO, gauge, x\n";
    std::fs::write(bench.dir.path().join("own.csv"), rows).unwrap();
    let run = succeeded(bench.run());
    let endpoints = run.summary()["telemetry_data"]["endpoints"].clone();
    let metrics = &endpoints.as_object().unwrap().values().next().unwrap()["gpus"]["gpu_0"]["metrics"];
    assert_eq!(metrics["nvidia_sm_clock"]["avg"], 1980.0);
    let free = &metrics["nvidia_fb_free"];
    assert_eq!(free["unit"], "MB");
    assert!((free["avg"].as_f64().unwrap() - 1048.576).abs() < 1e-6, "{free}");
    let retries = &metrics["nvidia_pcie_replay_counter"];
    assert!(
        retries["avg"].as_f64().unwrap() >= 10.0 && retries["max"].is_null(),
        "the value of a counter is its growth: {retries}"
    );
    assert!(run.text("profile_export_console.txt").contains("SM Clock Frequency (MHz)"));
    assert!(run.text("logs/aiperf.log").contains("own.csv, line 5: 'FOO' does not begin with DCGM_FI_"));

    let bench = sampling(NOWHERE).with(&["--gpu-telemetry", "none.csv"]);
    std::fs::write(bench.dir.path().join("none.csv"), "FOO, gauge, x\n").unwrap();
    let run = bench.run();
    assert_eq!(run.code(), Some(2));
    assert!(
        run.stderr().contains("none.csv gives no metric: line 1: 'FOO' does not begin with DCGM_FI_"),
        "{}",
        run.stderr()
    );
}

#[test]
fn a_missing_file_of_metrics_is_refused() {
    let run = sampling(NOWHERE).with(&["--gpu-telemetry", "missing.csv"]).run();
    assert_eq!(run.code(), Some(2));
    assert!(run.stderr().contains("GPU metrics file not found: missing.csv"), "{}", run.stderr());
}

#[test]
fn energy_of_a_part_of_the_phase_is_left_out_with_a_warning() {
    // One fails midway. The other one works only from then on.
    for works_at_first in [true, false] {
        let is_midway = Arc::new(AtomicBool::new(false));
        let midway = is_midway.clone();
        let (exporter, fetches) = exporter_while(move || works_at_first != midway.load(SeqCst));
        let server = Gate::after(8);
        let bench = sampling(&server.url).without("--streaming").env("AIPERF_GPU_FINAL_SCRAPE_GRACE_NS", "50000000");
        let running = bench.with(&["--gpu-telemetry", &exporter]).start();
        running.wait_for_records(8);
        some_more(&fetches);
        is_midway.store(true, SeqCst);
        some_more(&fetches);
        server.open();
        let run = succeeded(running.finish_soon());
        let summary = run.summary();
        for tag in ["total_gpu_energy", "output_tokens_per_joule", "energy_per_user"] {
            for tag in [tag.to_owned(), format!("nvidia_{tag}")] {
                assert!(summary[&tag].is_null(), "{tag}: {}", summary[&tag]);
            }
        }
        for tag in ["total_gpu_power", "nvidia_total_gpu_power"] {
            assert_eq!(avg(&summary, tag), 1080.0);
        }
        let log = run.text("logs/aiperf.log");
        let warnings: Vec<&str> = log.lines().filter(|line| line.contains("of the profiling phase")).collect();
        let [warning] = warnings.as_slice() else { panic!("{log}") };
        for words in
            ["WARNING", &exporter, "GPU 0 (GPU-0)", "and 4 more", "output_tokens_per_joule", "mean over that part"]
        {
            assert!(warning.contains(words), "{words}: {warning}");
        }
    }
}

#[test]
fn a_named_exporter_that_refuses_gives_a_warning() {
    let sim = serve(quick());
    let run = succeeded(sampling(&sim.url()).with(&["--gpu-telemetry", NOWHERE]).run());
    let log = run.text("logs/aiperf.log");
    let is_warned = |line: &&str| line.contains("WARNING") && line.contains(NOWHERE);
    assert_eq!(log.lines().filter(is_warned).count(), 1, "{log}");
}

#[test]
fn a_page_without_gpus_is_reachable_to_the_end() {
    let sim = serve(quick());
    let (bare, _) = exporter(|_| "up 1\n".to_owned());
    let display = bare.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
    let run = succeeded(sampling(&sim.url()).with(&["--gpu-telemetry", &bare]).run());
    let (log, console) = (run.text("logs/aiperf.log"), run.text("profile_export_console.txt"));
    assert!(log.contains("1/1 telemetry source(s) reachable"), "{log}");
    let message = format!("reachable, but reports no GPU: {bare}");
    assert!(log.lines().any(|line| line.contains("WARNING") && line.contains(&message)), "{log}");
    assert!(!console.contains("nreachable") && console.contains("Endpoints without a GPU:"), "{console}");
    let (good, _) = exporter(eight);
    let run = succeeded(sampling(&sim.url()).with(&["--gpu-telemetry", &bare, &good]).run());
    let console = run.text("profile_export_console.txt");
    assert!(console.contains("2/2 telemetry sources reachable"), "{console}");
    assert!(console.contains(&format!("• {display} ✘ (without a GPU)")), "{console}");
}
