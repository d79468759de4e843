//! The artifact directory, from an empty folder to a finished run.

use crate::support;

use aiperf_observe::{
    Family, MetricKind, Observed, ObservedEndpoint, ObservedPhase, Samples, ScalarSample, Scrape, ScrapeError,
    ScrapeTimes, Store, TimeRange, Windowing, summarise,
};
use aiperf_plan::{ArtifactPlan, FileNames, ServerMetricsFormats, SummaryFiles};
use aiperf_report::aggregate::AggregateNames;
use aiperf_report::records::inputs_json::InputsEntry;
use aiperf_report::{Artifacts, ExportFailure, PhaseResult, RunResult, RunsFolder, ServerMetricsResult, scrape_line};
use aiperf_types::{PhaseId, PhaseKind, WallNs};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::*;

fn plan(dir: &Path) -> ArtifactPlan {
    ArtifactPlan::new(dir, FileNames::new(None))
}

fn summary_only(dir: &Path) -> ArtifactPlan {
    plan(dir).without_records()
}

fn run(plan: &ArtifactPlan) -> RunResult {
    let block = json!({ "unit": "ms", "avg": 1.5, "p50": 1.0, "min": 1.0, "max": 2.0, "count": 2 });
    RunResult { artifacts: plan.clone(), metrics: summary(vec![result("request_latency", &block)]), ..empty_run() }
}

fn phase(index: u16, name: &str, kind: PhaseKind) -> PhaseResult {
    let profiling_index = (kind == PhaseKind::Profiling).then_some(0);
    PhaseResult {
        id: PhaseId { index, profiling_index, name: name.into(), kind },
        start: WallNs(1_000),
        end: WallNs(2_000),
        successful: 1,
        failed: 0,
        errors: Vec::new(),
        was_cancelled: false,
        metrics: summary(Vec::new()),
    }
}

/// Every file below a folder, relative to it, sorted.
fn tree(dir: &Path) -> Vec<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let mut names: Vec<String> =
        files.iter().map(|path| path.strip_prefix(dir).unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_run_leaves_its_files_and_the_ready_marker() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&dir.path().join("deep/er"));
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut records = artifacts.open_record_files(&record_run()).unwrap();
    records[0].writing.file.write_all(b"{}\n").unwrap();
    drop(records);
    let inputs = artifacts.stage_inputs(|add| add(&InputsEntry::new("session_000000", [b"{\"a\":1}"]))).unwrap();
    artifacts.publish_inputs(inputs).unwrap();
    let written = write_all(&artifacts, &run(&plan), Vec::new());
    assert!(written.failures.is_empty());
    assert_eq!(
        tree(&plan.dir),
        [
            ".aiperf_results_ready.json",
            "inputs.json",
            "profile_export.jsonl",
            "profile_export_aiperf.csv",
            "profile_export_aiperf.json",
            "profile_export_console.txt"
        ]
    );
    let labels: Vec<&str> = written.files.iter().map(|file| file.label).collect();
    assert_eq!(labels, ["CSV Export", "JSON Export", "Records JSONL", "Inputs JSON", "Console Output"]);
    assert!(written.files.iter().all(|file| file.path.is_absolute() && file.path.is_file()));
}

#[cfg(unix)]
#[test]
fn the_marker_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    write_all(&Artifacts::prepare(&plan).unwrap(), &run(&plan), Vec::new());
    let mode = fs::metadata(dir.path().join(".aiperf_results_ready.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_summary_run_has_no_records() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::prepare(&summary_only(dir.path())).unwrap();
    assert!(artifacts.open_record_files(&record_run()).unwrap().is_empty());
}

#[test]
fn nothing_of_an_earlier_run_is_taken_for_this_one() {
    let dir = tempfile::tempdir().unwrap();
    let stale = [
        "profile_export.jsonl",
        "profile_export_raw.jsonl",
        "profile_export_aiperf.json",
        ".aiperf_results_ready.json",
        ".inputs.json.1.tmp",
        ".run_config.json.1.tmp",
        "phase_manifest.json",
        "phases/warmup/profile_export_aiperf.json",
        "phases/warmup/server_metrics.json",
        "phases/warmup/.profile_export_aiperf.csv.1.tmp",
        "profile_export.parquet",
        "records/profile_export.parquet",
        "records/.profile_export.parquet.1.tmp",
        "server_metrics_export.json",
        "server_metrics_export.csv",
        "server_metrics_export.jsonl",
        "server_metrics_export.parquet",
        ".server_metrics_export.parquet.1.tmp",
    ];
    fs::create_dir_all(dir.path().join("phases/warmup")).unwrap();
    fs::create_dir_all(dir.path().join("records")).unwrap();
    stale.iter().for_each(|name| fs::write(dir.path().join(name), "old").unwrap());
    for mine in ["notes.txt", ".notes.txt.1.tmp"] {
        fs::write(dir.path().join(mine), "mine").unwrap();
    }
    let artifacts = Artifacts::prepare(&plan(dir.path())).unwrap();
    assert_eq!(tree(dir.path()).len(), stale.len() + 2, "only what is sure to run removes anything");
    artifacts.remove_stale().unwrap();
    assert_eq!(tree(dir.path()), [".notes.txt.1.tmp", "notes.txt"]);
    assert!(!dir.path().join("phases").exists() && !dir.path().join("records").exists());
}

#[test]
fn nothing_of_an_earlier_sweep_is_taken_for_this_one() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a_aggregate.json", "a_sweep.csv", ".a_sweep.json.1.tmp", "own.json", ".own.json.1.tmp", "notes.txt"] {
        fs::write(dir.path().join(name), "old").unwrap();
    }
    let names = AggregateNames::of(&FileNames::new(Some("a.json")));
    let folder = RunsFolder::take(dir.path()).unwrap();
    folder.remove_stale([dir.path().to_owned()], &names, ["own.json"]).unwrap();
    assert_eq!(tree(dir.path()), ["notes.txt"]);
    for name in ["profile_export.jsonl", ".profile_export_aiperf.json.1.tmp", ".aiperf_reserve_rest.1.tmp"] {
        fs::write(dir.path().join(name), "of a single run").unwrap();
    }
    folder.remove_lone_run(&plan(dir.path())).unwrap();
    assert_eq!(tree(dir.path()), ["notes.txt"]);
}

#[test]
fn a_directory_belongs_to_one_run_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let first = Artifacts::prepare(&plan).unwrap();
    let refused = Artifacts::prepare(&plan).unwrap_err().to_string();
    assert!(refused.starts_with("another run is writing to the artifact directory"), "{refused}");
    drop(first);
    Artifacts::prepare(&plan).unwrap();
}

#[test]
fn a_folder_in_the_place_of_a_file_is_refused_before_anything_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("profile_export.jsonl")).unwrap();
    let refused = Artifacts::prepare(&plan(dir.path())).unwrap_err().to_string();
    assert!(refused.contains("profile_export.jsonl is a folder"), "{refused}");
}

#[test]
fn inputs_that_are_not_published_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("inputs.json"), "old").unwrap();
    let artifacts = Artifacts::prepare(&plan(dir.path())).unwrap();
    drop(artifacts.stage_inputs(|add| add(&InputsEntry::new("session_000000", [b"{}"]))).unwrap());
    assert_eq!(tree(dir.path()), ["inputs.json"]);
    assert_eq!(fs::read(dir.path().join("inputs.json")).unwrap(), b"old");
}

#[test]
fn a_summary_format_that_is_not_wanted_is_not_written_for_phases_either() {
    for (summary, written) in [
        (SummaryFiles { json: true, csv: false }, ["profile_export_aiperf.json", "metrics_json"]),
        (SummaryFiles { json: false, csv: true }, ["profile_export_aiperf.csv", "metrics_csv"]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let plan = ArtifactPlan { summary, ..summary_only(dir.path()) };
        let phases = vec![phase(0, "warmup", PhaseKind::Warmup), phase(1, "profiling", PhaseKind::Profiling)];
        write_all(&Artifacts::prepare(&plan).unwrap(), &RunResult { phases, ..run(&plan) }, Vec::new());
        let [file, key] = written;
        let summaries = tree(dir.path()).into_iter().filter(|name| name.contains("profile_export_aiperf"));
        assert_eq!(
            summaries.collect::<Vec<_>>(),
            [format!("phases/profiling/{file}"), format!("phases/warmup/{file}"), file.to_owned()]
        );
        let manifest = fs::read(dir.path().join("phase_manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let listed: Vec<&String> =
            manifest["phases"][0].as_object().unwrap().keys().filter(|key| key.starts_with("metrics_")).collect();
        assert_eq!(listed, [key]);
    }
}

#[test]
fn phases_have_folders_of_their_own_when_there_are_several() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let warmup = phase(0, "warmup", PhaseKind::Warmup);
    let profiling = phase(1, "profiling", PhaseKind::Profiling);
    write_all(&artifacts, &RunResult { phases: vec![profiling.clone()], ..run(&plan) }, Vec::new());
    assert!(!dir.path().join("phase_manifest.json").exists());
    write_all(&artifacts, &RunResult { phases: vec![warmup, profiling], ..run(&plan) }, Vec::new());
    let files = tree(dir.path());
    for name in [
        "phase_manifest.json",
        "phases/warmup/profile_export_aiperf.json",
        "phases/profiling/profile_export_aiperf.csv",
    ] {
        assert!(files.iter().any(|file| file == name), "{name} is not in {files:?}");
    }
}

#[test]
fn what_observers_have_no_part_in_is_there_before_they_are_done() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let first = artifacts.write_first(&run(&plan), Vec::new(), Vec::new());
    assert_eq!(tree(dir.path()), ["profile_export_aiperf.csv", "profile_export_aiperf.json"]);
    let written = artifacts.write_rest(&run(&plan), first);
    assert_eq!(written.files.len(), 3);
    assert!(dir.path().join(".aiperf_results_ready.json").is_file());
}

#[test]
fn room_is_kept_for_what_is_written_at_the_end_and_the_next_run_gives_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let reserves = |dir: &Path| tree(dir).into_iter().filter(|name| name.contains("reserve")).count();
    artifacts.keep_room();
    let first = artifacts.write_first(&run(&plan), Vec::new(), Vec::new());
    assert_eq!(reserves(dir.path()), 1, "the other part is for the rest");
    assert!(artifacts.write_rest(&run(&plan), first).failures.is_empty());
    assert_eq!(reserves(dir.path()), 0);
    fs::write(dir.path().join(".aiperf_reserve_rest.7.tmp"), "of a run that was killed").unwrap();
    artifacts.remove_stale().unwrap();
    assert_eq!(reserves(dir.path()), 0);
}

#[test]
fn one_exporter_that_fails_does_not_stop_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    // A folder in its place: the file cannot be renamed to it.
    fs::create_dir_all(dir.path().join("profile_export_aiperf.csv/in the way")).unwrap();
    let earlier =
        ExportFailure::of("records", dir.path().join("profile_export.jsonl"), std::io::Error::other("disk full"));
    let written = write_all(&artifacts, &run(&plan), vec![earlier]);
    let failed: Vec<&str> = written.failures.iter().map(|failure| failure.exporter).collect();
    assert_eq!(failed, ["records", "csv"]);
    let marker = fs::read_to_string(dir.path().join(".aiperf_results_ready.json")).unwrap();
    assert_eq!(marker, r#"{"ready":true,"was_cancelled":false,"partial":true,"failed_exporters":["records","csv"]}"#);
    let labels: Vec<&str> = written.files.iter().map(|file| file.label).collect();
    assert_eq!(labels, ["JSON Export", "Console Output"]);
    assert!(!tree(dir.path()).iter().any(|name| name.ends_with(".tmp")));
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Artifacts::prepare(&plan(&file.join("runs"))).unwrap_err();
    let text = error.to_string().replace(&dir.path().display().to_string(), "<dir>");
    insta::assert_snapshot!(text);
}

/// A page of one endpoint with a gauge.
fn page(at: u64, phase: Option<&PhaseResult>, value: f64) -> Scrape {
    let samples = Samples::Scalars(vec![ScalarSample { labels: Vec::new(), value }]);
    let (name, kind, description) = ("vllm:num_requests_running".into(), MetricKind::Gauge, "Running.".into());
    Scrape {
        endpoint_url: "http://h:8000/metrics".into(),
        times: ScrapeTimes { at: WallNs(at), ..ScrapeTimes::default() },
        phase: phase.map(|phase| Arc::new(phase.id.clone())),
        is_duplicate: false,
        families: vec![Family { name, kind, description, samples }],
    }
}

/// The result of pages in a run of these phases.
fn watched(pages: Vec<Scrape>, phases: &[PhaseResult], formats: ServerMetricsFormats) -> Arc<ServerMetricsResult> {
    let mut store = Store::new();
    pages.into_iter().for_each(|page| drop(store.add(page)));
    let range = |phase: &PhaseResult| TimeRange { start: phase.start, end: phase.end };
    let observed = Observed {
        configured: vec!["http://h:8000/metrics".into()],
        successful: vec!["http://h:8000/metrics".into()],
        endpoints: vec![ObservedEndpoint {
            url: "http://h:8000/metrics".into(),
            display_name: "h:8000".into(),
            errors: 3,
        }],
        profiling: TimeRange { start: WallNs(1_000), end: WallNs(2_000) },
        warmup: None,
        phases: phases
            .iter()
            .map(|phase| ObservedPhase { id: Arc::new(phase.id.clone()), range: range(phase) })
            .collect(),
        slice: None,
        errors: vec![ScrapeError {
            endpoint_url: "http://h:8000/metrics".into(),
            kind: "TimeoutError".into(),
            message: "no answer".into(),
            count: 3,
        }],
        windowing: Windowing::ProfilingWindow,
    };
    Arc::new(ServerMetricsResult {
        metrics: summarise(&store, &observed),
        window: observed.profiling_window(&store),
        store,
        formats,
        hostname: "here".into(),
        exported: WallNs(3_000),
    })
}

const DEFAULT_FORMATS: ServerMetricsFormats =
    ServerMetricsFormats { json: true, csv: true, jsonl: false, parquet: true };

#[test]
fn server_metrics_are_written_in_the_formats_of_the_plan() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let profiling = phase(0, "profiling", PhaseKind::Profiling);
    let server_metrics = watched(vec![page(1_500, Some(&profiling), 2.0)], &[], DEFAULT_FORMATS);
    let run = RunResult { server_metrics: Some(server_metrics), ..run(&plan) };
    let mut scrapes = artifacts.scrape_file();
    let mut line = Vec::new();
    scrape_line(&mut line, &page(1_500, Some(&profiling), 2.0));
    scrapes.write_all(&line).unwrap();
    scrapes.flush().unwrap();
    let written = write_all(&artifacts, &run, Vec::new());
    assert!(written.failures.is_empty());
    let labels: Vec<&str> =
        written.files.iter().map(|file| file.label).filter(|label| label.contains("Server")).collect();
    assert_eq!(
        labels,
        [
            "Server Metrics CSV Export",
            "Server Metrics JSON Export",
            "Server Metrics Parquet Export",
            "Server Metrics JSONL Export",
        ]
    );
    assert!(!tree(dir.path()).iter().any(|name| name.ends_with(".tmp")));
    let document: Value =
        serde_json::from_slice(&fs::read(dir.path().join("server_metrics_export.json")).unwrap()).unwrap();
    assert_eq!(document["summary"]["endpoint_info"]["http://h:8000/metrics"]["errors"], 3);
    let text = fs::read_to_string(dir.path().join("profile_export_console.txt")).unwrap();
    assert!(text.contains("NVIDIA AIPerf | Server Metrics: vLLM"), "{text}");
}

#[test]
fn a_run_without_server_metrics_has_no_file_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let phases = vec![phase(0, "warmup", PhaseKind::Warmup), phase(1, "profiling", PhaseKind::Profiling)];
    let server_metrics = Some(watched(Vec::new(), &phases, DEFAULT_FORMATS));
    artifacts.scrape_file().flush().unwrap();
    write_all(&artifacts, &RunResult { server_metrics, phases, ..run(&plan) }, Vec::new());
    assert!(!tree(dir.path()).iter().any(|name| name.contains("server_metrics")), "{:?}", tree(dir.path()));
    assert!(!fs::read_to_string(dir.path().join("phase_manifest.json")).unwrap().contains("server_metrics"));
}

#[test]
fn samples_outside_of_profiling_give_no_time_series() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let server_metrics = Some(watched(vec![page(500, None, 2.0)], &[], DEFAULT_FORMATS));
    write_all(&artifacts, &RunResult { server_metrics, ..run(&plan) }, Vec::new());
    assert!(!dir.path().join("server_metrics_export.parquet").exists());
}

#[test]
fn each_phase_has_the_server_metrics_of_its_time() {
    let dir = tempfile::tempdir().unwrap();
    let plan = summary_only(dir.path());
    let artifacts = Artifacts::prepare(&plan).unwrap();
    let mut phases = vec![phase(0, "warmup", PhaseKind::Warmup), phase(1, "profiling", PhaseKind::Profiling)];
    (phases[0].start, phases[0].end) = (WallNs(100), WallNs(900));
    let pages = vec![page(200, Some(&phases[0]), 1.0), page(1_500, Some(&phases[1]), 2.0)];
    let server_metrics = Some(watched(pages, &phases, DEFAULT_FORMATS));
    write_all(&artifacts, &RunResult { server_metrics, phases, ..run(&plan) }, Vec::new());
    let text = fs::read_to_string(dir.path().join("phases/warmup/server_metrics.json")).unwrap();
    insta::assert_snapshot!("phase_server_metrics", text);
    let manifest: Value = serde_json::from_slice(&fs::read(dir.path().join("phase_manifest.json")).unwrap()).unwrap();
    let files: Vec<&Value> =
        manifest["phases"].as_array().unwrap().iter().map(|phase| &phase["server_metrics_json"]).collect();
    assert_eq!(files, ["phases/warmup/server_metrics.json", "phases/profiling/server_metrics.json"]);
}
