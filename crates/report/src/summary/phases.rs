//! `phase_manifest.json`: an index of the phases of a run with several.

use super::csv::summary_csv;
use super::json::phase_summary_json;
use crate::export::{Exporter, Folder};
use crate::files;
use crate::format::json::Pretty;
use crate::gpu;
use crate::run::{PhaseResult, RunResult};
use crate::server_metrics;
use crate::server_metrics::phases::write_phase_metrics;
use aiperf_plan::{ArtifactPlan, FileNames};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Name of the index in the artifact directory.
pub const PHASE_MANIFEST: &str = FileNames::PHASE_MANIFEST;
/// The folder with the folders of phases.
pub(crate) const PHASES: &str = FileNames::PHASES;

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "phases",
    label: "Phase Manifest",
    file: |_| PHASE_MANIFEST,
    applies: Some(|run| run.phases.len() > 1),
    needs_observers: true,
    write: write_phases,
};

fn write_phases(run: &RunResult, folder: &mut Folder<'_>) {
    let (names, wanted) = (&run.artifacts.names, &run.artifacts.summary);
    for phase in &run.phases {
        let of_phase = phase_folder(&phase.id.name);
        if wanted.csv {
            folder.write(&format!("{of_phase}/{}", names.summary_csv), |out| {
                out.write_all(summary_csv(&phase.metrics).as_bytes())
            });
        }
        if wanted.json {
            let json = || phase_summary_json(run, phase);
            folder.write(&format!("{of_phase}/{}", names.summary_json), |out| out.write_all(&json()));
        }
        if let Some(observed) = run.observed() {
            folder.write(&server_metrics_file(phase), |out| write_phase_metrics(out, run, phase, observed));
        }
        if let Some(gpus) = run.gpus() {
            folder.write(&gpu_telemetry_file(phase), |out| out.write_all(&as_text(&gpus.phase_document(phase))));
        }
    }
    folder.write(PHASE_MANIFEST, |out| out.write_all(&phase_manifest(run)));
}

fn server_metrics_file(phase: &PhaseResult) -> String {
    format!("{}/{}", phase_folder(&phase.id.name), server_metrics::phases::FILE)
}

fn gpu_telemetry_file(phase: &PhaseResult) -> String {
    format!("{}/{}", phase_folder(&phase.id.name), gpu::json::PHASE_FILE)
}

/// A document with a line break at the end.
fn as_text(document: &Value) -> Vec<u8> {
    let mut text = Pretty::default();
    text.value(document);
    let mut bytes = text.finish();
    bytes.push(b'\n');
    bytes
}

/// The folder of a phase's own files, relative to the artifact directory.
pub fn phase_folder(name: &str) -> String {
    let safe: String = name.chars().map(|c| if matches!(c, '/' | '\\' | '\0') { '_' } else { c }).collect();
    format!("{PHASES}/{}", if safe.starts_with('.') { format!("_{safe}") } else { safe })
}

/// Removes the phase files of an earlier run, and their folders unless they contain other files.
pub(crate) fn remove_phases(plan: &ArtifactPlan) -> io::Result<()> {
    let phases = plan.dir.join(PHASES);
    let Ok(folders) = std::fs::read_dir(&phases) else { return Ok(()) };
    for folder in folders.flatten().map(|entry| entry.path()) {
        let own = [&plan.names.summary_csv, &plan.names.summary_json].map(String::as_str);
        let own = own.into_iter().chain([server_metrics::phases::FILE, gpu::json::PHASE_FILE]);
        files::remove_with_temporaries(&own.map(|name| folder.join(name)).collect::<Vec<_>>())?;
        let _ = std::fs::remove_dir(&folder);
    }
    let _ = std::fs::remove_dir(&phases);
    Ok(())
}

/// The index: keys sorted, a line break at the end.
pub fn phase_manifest(run: &RunResult) -> Vec<u8> {
    let mut phases: Vec<&PhaseResult> = run.phases.iter().collect();
    phases.sort_by_key(|phase| phase.id.index);
    let entries: Vec<Value> = phases.iter().map(|phase| entry(phase, run)).collect();
    let mut document = json!({ "phases": entries, "schema_version": 1 });
    document.sort_all_objects();
    as_text(&document)
}

fn entry(phase: &PhaseResult, run: &RunResult) -> Value {
    let names = &run.artifacts.names;
    let folder = phase_folder(&phase.id.name);
    let errors: Vec<Value> =
        phase.errors.iter().map(|(error, count)| json!({ "error_details": error, "count": count })).collect();
    let mut entry = json!({
        "phase_index": phase.id.index,
        "phase_kind": phase.id.kind.name(),
        "phase_name": phase.id.name,
        "profiling_index": phase.id.profiling_index,
        "start_ns": phase.start.0,
        "end_ns": phase.end.0,
        "successful_request_count": phase.successful,
        "error_request_count": phase.failed,
        "total_request_count": phase.successful + phase.failed,
        "was_cancelled": phase.was_cancelled,
        "error_summary": errors,
    });
    if run.artifacts.summary.csv {
        entry["metrics_csv"] = format!("{folder}/{}", names.summary_csv).into();
    }
    if run.artifacts.summary.json {
        entry["metrics_json"] = format!("{folder}/{}", names.summary_json).into();
    }
    if run.observed().is_some() {
        entry["server_metrics_json"] = server_metrics_file(phase).into();
    }
    if run.gpus().is_some() {
        entry["gpu_telemetry_json"] = gpu_telemetry_file(phase).into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_name_cannot_leave_the_artifact_directory() {
        assert_eq!(phase_folder("warmup"), "phases/warmup");
        assert_eq!(phase_folder("../x"), "phases/_.._x");
        assert_eq!(phase_folder(".."), "phases/_..");
    }
}
