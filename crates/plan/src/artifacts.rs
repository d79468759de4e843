//! What a run writes, and the names of its files.

use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// How much is written, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportLevel {
    Summary,
    /// Also one line per request.
    #[default]
    Records,
    /// Also the raw payloads and responses.
    Raw,
}

impl ExportLevel {
    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Summary => "summary",
            Self::Records => "records",
            Self::Raw => "raw",
        }
    }
}

/// Which files are written, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactPlan {
    /// Absolute directory.
    pub dir: PathBuf,
    pub summary: SummaryFiles,
    pub records: RecordFiles,
    /// Requests and responses as they were sent and received.
    pub raw: bool,
    /// Generated texts, in `outputs.json`.
    pub outputs: bool,
    /// Files with a text of the user.
    pub user_files: Vec<UserFile>,
    /// Files that settings were read from: no file of the run may replace one.
    pub inputs: Vec<InputFile>,
    /// Records hold the HTTP trace of their request.
    pub http_trace: bool,
    pub names: FileNames,
    /// Columns of `console.txt`, and of the report if no terminal shows it.
    pub report_width: u16,
}

impl ArtifactPlan {
    /// The default columns of the report.
    pub const REPORT_WIDTH: u16 = 140;

    /// The default artifacts.
    pub fn new(dir: impl Into<PathBuf>, names: FileNames) -> Self {
        Self {
            dir: dir.into(),
            summary: SummaryFiles::default(),
            records: RecordFiles::default(),
            raw: false,
            outputs: false,
            user_files: Vec::new(),
            inputs: Vec::new(),
            http_trace: false,
            names,
            report_width: Self::REPORT_WIDTH,
        }
    }

    /// The same, without record files.
    pub fn without_records(mut self) -> Self {
        self.records = RecordFiles { jsonl: false, parquet: false };
        self
    }

    /// Whether the HTTP trace of each request is written.
    pub fn records_hold_traces(&self) -> bool {
        self.http_trace && self.records.jsonl
    }
}

/// Which record files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordFiles {
    pub jsonl: bool,
    pub parquet: bool,
}

impl Default for RecordFiles {
    fn default() -> Self {
        Self { jsonl: true, parquet: true }
    }
}

/// A file that the user defined by its path and text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFile {
    /// Relative to the directory.
    pub path: PathBuf,
    /// The final text, with secrets redacted.
    pub text: String,
}

/// A file that a setting was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The setting that names it, as the user knows it.
    pub setting: String,
    pub path: PathBuf,
}

/// Which files the summary of a run is written to; the screen shows it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryFiles {
    pub json: bool,
    pub csv: bool,
}

impl Default for SummaryFiles {
    fn default() -> Self {
        Self { json: true, csv: true }
    }
}

/// File names of a run, relative to its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNames {
    pub summary_json: String,
    pub summary_csv: String,
    /// Records, one line of JSON per request.
    pub records_jsonl: String,
    /// The same as columns, in a folder of its own: `*.parquet` in the directory matches the servers' metrics only.
    pub records_parquet: String,
    pub raw_jsonl: String,
    pub console_txt: String,
    pub timeslices_json: String,
    pub timeslices_csv: String,
    pub server_metrics_json: String,
    pub server_metrics_csv: String,
    pub server_metrics_jsonl: String,
    pub server_metrics_parquet: String,
    pub network_latency_jsonl: String,
    pub gpu_telemetry_jsonl: String,
}

/// Endings that are removed from a prefix: the first that matches, once.
const ENDINGS: &[&str] = &[
    "_server_metrics.parquet",
    "_server_metrics.jsonl",
    FileNames::SERVER_METRICS_JSON,
    "_server_metrics.csv",
    "_network_latency.jsonl",
    "_gpu_telemetry.jsonl",
    "_timeslices.csv",
    FileNames::TIMESLICES_JSON,
    "_console.txt",
    "_raw.jsonl",
    ".parquet",
    ".csv",
    ".json",
    ".jsonl",
];

impl FileNames {
    /// The content of requests, written before the first is sent.
    pub const INPUTS: &str = "inputs.json";
    /// Generated texts.
    pub const OUTPUTS: &str = "outputs.json";
    /// The folder of the log.
    pub const LOGS: &str = "logs";
    pub const LOG: &str = "logs/aiperf.log";
    /// The index of a run of several phases.
    pub const PHASE_MANIFEST: &str = "phase_manifest.json";
    /// The folder of the records as columns.
    pub const RECORDS: &str = "records";
    /// The folder with one folder per phase.
    pub const PHASES: &str = "phases";
    /// The servers' metrics of one phase, in its folder next to its summary.
    pub const PHASE_SERVER_METRICS: &str = "server_metrics.json";
    /// The GPU metrics of one phase, likewise.
    pub const PHASE_GPU_TELEMETRY: &str = "gpu_telemetry.json";
    /// The configuration of one run of several.
    pub const RUN_CONFIG: &str = "run_config.json";
    /// Written last.
    pub const READY_MARKER: &str = ".aiperf_results_ready.json";

    /// What follows the prefix of a JSON file that is no summary.
    pub const TIMESLICES_JSON: &str = "_timeslices.json";
    pub const SERVER_METRICS_JSON: &str = "_server_metrics.json";
    /// The name of the last one without a prefix.
    pub const SERVER_METRICS_EXPORT: &str = "server_metrics_export.json";

    /// Names that do not depend on the prefix.
    pub const FIXED: &[&str] = &[
        Self::INPUTS,
        Self::OUTPUTS,
        Self::LOG,
        Self::PHASE_MANIFEST,
        Self::PHASES,
        Self::RUN_CONFIG,
        Self::READY_MARKER,
    ];

    /// Names that depend on the prefix.
    pub fn prefixed(&self) -> [&str; 14] {
        let Self {
            summary_json,
            summary_csv,
            records_jsonl,
            records_parquet,
            raw_jsonl,
            console_txt,
            timeslices_json,
            timeslices_csv,
            server_metrics_json,
            server_metrics_csv,
            server_metrics_jsonl,
            server_metrics_parquet,
            network_latency_jsonl,
            gpu_telemetry_jsonl,
        } = self;
        [
            summary_json,
            summary_csv,
            records_jsonl,
            records_parquet,
            raw_jsonl,
            console_txt,
            timeslices_json,
            timeslices_csv,
            server_metrics_json,
            server_metrics_csv,
            server_metrics_jsonl,
            server_metrics_parquet,
            network_latency_jsonl,
            gpu_telemetry_jsonl,
        ]
    }

    /// Where earlier versions wrote the records as columns: next to the servers' metrics.
    pub fn earlier_records_parquet(&self) -> Option<&str> {
        self.records_parquet.strip_prefix(Self::RECORDS)?.strip_prefix('/')
    }

    /// Every file name of a run, even of files that are switched off; without the user's files.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.prefixed().into_iter().chain(Self::FIXED.iter().copied())
    }

    /// The names for the user's prefix; an empty or absent one gives the default names.
    pub fn new(prefix: Option<&str>) -> Self {
        let base = prefix.map(base_name).unwrap_or_default();
        let name = |usual: &str, ending: &str| match base {
            "" => usual.to_owned(),
            base => format!("{base}{ending}"),
        };
        Self {
            summary_json: name("profile_export_aiperf.json", ".json"),
            summary_csv: name("profile_export_aiperf.csv", ".csv"),
            records_jsonl: name("profile_export.jsonl", ".jsonl"),
            records_parquet: format!("{}/{}", Self::RECORDS, name("profile_export.parquet", ".parquet")),
            raw_jsonl: name("profile_export_raw.jsonl", "_raw.jsonl"),
            console_txt: name("profile_export_console.txt", "_console.txt"),
            timeslices_json: name("profile_export_aiperf_timeslices.json", Self::TIMESLICES_JSON),
            timeslices_csv: name("profile_export_aiperf_timeslices.csv", "_timeslices.csv"),
            server_metrics_json: name(Self::SERVER_METRICS_EXPORT, Self::SERVER_METRICS_JSON),
            server_metrics_csv: name("server_metrics_export.csv", "_server_metrics.csv"),
            server_metrics_jsonl: name("server_metrics_export.jsonl", "_server_metrics.jsonl"),
            server_metrics_parquet: name("server_metrics_export.parquet", "_server_metrics.parquet"),
            network_latency_jsonl: name("profile_export_network_latency.jsonl", "_network_latency.jsonl"),
            gpu_telemetry_jsonl: name("gpu_telemetry_export.jsonl", "_gpu_telemetry.jsonl"),
        }
    }
}

/// Whether two paths below one directory conflict: they are equal, or one is a folder of the other.
pub fn collide(one: &Path, other: &Path) -> bool {
    fn parts(path: &Path) -> impl Iterator<Item = Component<'_>> {
        path.components().filter(|part| *part != Component::CurDir)
    }
    parts(one).zip(parts(other)).all(|(one, other)| one == other)
}

fn base_name(prefix: &str) -> &str {
    let name = if prefix.starts_with('/') { prefix.rsplit('/').next().unwrap_or(prefix) } else { prefix };
    if let Some(stem) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
        return stem;
    }
    match name.rsplit_once('.') {
        Some((stem, ext))
            if (1..=8).contains(&ext.len())
                && ext.starts_with(|c: char| c.is_ascii_alphabetic())
                && ext.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            stem
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_loses_one_known_ending_or_a_plain_extension() {
        for (given, stem) in [
            ("foo", "foo"),
            ("foo.json", "foo"),
            ("foo_raw.jsonl", "foo"),
            ("foo.txt", "foo"),
            ("v1.5", "v1.5"),
            ("/a/b/foo.csv", "foo"),
            ("sub/foo", "sub/foo"),
        ] {
            assert_eq!(base_name(given), stem, "{given}");
        }
    }

    #[test]
    fn a_file_of_a_run_as_prefix_gives_the_same_names_again() {
        let names = FileNames::new(Some("foo"));
        for name in names.prefixed().into_iter().filter(|name| *name != names.records_parquet) {
            assert_eq!(FileNames::new(Some(name)), names, "{name}");
        }
        assert!(FileNames::LOG.strip_prefix(FileNames::LOGS).is_some_and(|name| name.starts_with('/')));
    }

    #[test]
    fn no_two_files_of_a_run_conflict() {
        for prefix in [None, Some("run"), Some("sub/run"), Some("records"), Some("records/run")] {
            let names = FileNames::new(prefix);
            let all: Vec<&Path> = names.all().map(Path::new).collect();
            for (at, one) in all.iter().enumerate() {
                assert!(!all[..at].iter().any(|other| collide(one, other)), "{one:?}");
            }
        }
    }

    #[test]
    fn a_path_conflicts_with_itself_and_with_paths_below_it() {
        for (one, other, is_so) in [
            ("a.json", "a.json", true),
            ("./a.json", "a.json", true),
            ("a//b", "a/b", true),
            ("phases", "phases/x/y.json", true),
            ("a/b", "a/c", false),
            ("a", "ab", false),
        ] {
            assert_eq!(collide(Path::new(one), Path::new(other)), is_so, "{one} {other}");
            assert_eq!(collide(Path::new(other), Path::new(one)), is_so, "{other} {one}");
        }
    }

    #[test]
    fn the_records_as_columns_have_a_folder_of_their_own_for_every_prefix() {
        for (prefix, file, earlier) in [
            (None, "records/profile_export.parquet", "profile_export.parquet"),
            (Some("run"), "records/run.parquet", "run.parquet"),
            (Some("sub/run.parquet"), "records/sub/run.parquet", "sub/run.parquet"),
            (Some("records"), "records/records.parquet", "records.parquet"),
            (Some("records/run"), "records/records/run.parquet", "records/run.parquet"),
        ] {
            let names = FileNames::new(prefix);
            assert_eq!(names.records_parquet, file, "{prefix:?}");
            assert_eq!(names.earlier_records_parquet(), Some(earlier), "{prefix:?}");
            assert_ne!(Path::new(&names.server_metrics_parquet).parent(), Path::new(file).parent(), "{prefix:?}");
        }
    }

    #[test]
    fn no_prefix_gives_the_default_names() {
        assert_eq!(FileNames::new(Some(".json")).summary_json, "profile_export_aiperf.json");
        assert_eq!(FileNames::new(None).records_jsonl, "profile_export.jsonl");
    }
}
