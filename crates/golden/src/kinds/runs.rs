//! Whole runs of the reference: their commands, and the files that they left.

use crate::Found::Whole;
use crate::{GoldenFile, has};

/// What is kept of a run beside the files that it left.
const OF_COMMAND: [&str; 3] = ["command.txt", "files.txt", "rc.txt"];

kinds! {
    /// A command, its exit code, and every file that it left.
    COMMANDS = ["exports/runs"], ["aiperf"], Whole(is_of_run);
    SUMMARY = ["exports/runs"], ["config", "report"],
        Whole(|file| has(&file.json, "run_info") && has(&file.json, "schema_version"));
    SUMMARY_TABLE = ["exports/runs"], ["report"], Whole(|file| file.text.starts_with("Metric,"));
    SLICES = ["exports/runs"], ["report"], Whole(|file| file.json["timeslices"].is_array());
    SLICES_TABLE = ["exports/runs"], ["report"], Whole(|file| file.text.starts_with("Timeslice,"));
    CONSOLE = ["exports/runs"], ["report"],
        Whole(|file| file.json.is_null() && file.text.contains("NVIDIA AIPerf | "));
    INPUTS = ["exports/runs"], ["report"], Whole(|file| has(&file.json["data"][0], "payloads"));
    PHASE_MANIFEST = ["exports/runs"], ["report"], Whole(|file| has(&file.json["phases"][0], "phase_kind"));
    READY_MARKER = ["exports/runs"], ["report"],
        Whole(|file| has(&file.json, "ready") && has(&file.json, "was_cancelled"));
    RECORDS = ["exports/runs"], ["report"], Whole(|file| file.has_line_with(&["metadata", "metrics"]));
    RAW_RECORDS = ["exports/runs"], ["report"], Whole(|file| file.has_line_with(&["metadata", "responses"]));
    OUTPUTS = ["exports/runs"], ["report"], Whole(|file| has(&file.json["data"][0], "response_text"));
    /// Statistics over the trials of a run.
    TRIALS_FILE = ["exports/runs"], ["campaign"], Whole(|file| is_aggregate(file, "confidence"));
    /// Statistics over the records of all trials.
    COLLATED_FILE = ["exports/runs"], ["campaign"], Whole(|file| is_aggregate(file, "detailed"));
    /// Statistics over the cells of a sweep.
    SWEEP_FILE = ["exports/runs"], ["campaign"], Whole(|file| is_aggregate(file, "sweep"));
}

fn is_aggregate(file: &GoldenFile, kind: &str) -> bool {
    file.json["metadata"]["aggregation_type"] == kind
}

/// Whether a file describes a run, or is in the run's list of files.
fn is_of_run(file: &GoldenFile) -> bool {
    let Some(folder) = file.path.ancestors().skip(1).find(|folder| folder.join("command.txt").is_file()) else {
        return false;
    };
    let listed = std::fs::read_to_string(folder.join("files.txt")).unwrap_or_default();
    let path = file.path.strip_prefix(folder).unwrap_or(&file.path);
    OF_COMMAND.iter().any(|name| path.as_os_str() == *name) || listed.lines().any(|line| path.as_os_str() == line)
}
