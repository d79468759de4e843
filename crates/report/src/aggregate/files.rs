//! The files of many runs: their names, and each written as a whole.

use super::collated_json::collated_json;
use super::confidence_csv::confidence_csv;
use super::confidence_json::confidence_json;
use super::pooled::Collated;
use super::sweep::Sweep;
use super::sweep_csv::sweep_csv;
use super::sweep_json::sweep_json;
use super::trials::ConfidenceReport;
use crate::error::ExportFailure;
use crate::export::Folder;
use aiperf_plan::FileNames;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

pub use crate::format::json::document_text;

/// Names of the files, relative to the folder of the aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateNames {
    pub confidence_json: String,
    pub confidence_csv: String,
    pub collated_json: String,
    pub sweep_json: String,
    pub sweep_csv: String,
}

impl AggregateNames {
    /// What follows the name of the runs.
    pub const CONFIDENCE_JSON: &str = "_aggregate.json";
    pub const COLLATED_JSON: &str = "_collated.json";

    /// The names begin like those of the runs' summaries.
    pub fn of(runs: &FileNames) -> Self {
        let stem = runs.summary_json.strip_suffix(".json").unwrap_or(&runs.summary_json);
        Self {
            confidence_json: format!("{stem}{}", Self::CONFIDENCE_JSON),
            confidence_csv: format!("{stem}_aggregate.csv"),
            collated_json: format!("{stem}{}", Self::COLLATED_JSON),
            sweep_json: format!("{stem}_sweep.json"),
            sweep_csv: format!("{stem}_sweep.csv"),
        }
    }

    pub fn all(&self) -> [&str; 5] {
        let Self { confidence_json, confidence_csv, collated_json, sweep_json, sweep_csv } = self;
        [confidence_json, confidence_csv, collated_json, sweep_json, sweep_csv]
    }
}

/// Writes how far several runs agree.
pub fn write_confidence(dir: &Path, names: &AggregateNames, report: &ConfidenceReport) -> Vec<ExportFailure> {
    write_all(
        dir,
        "aggregate",
        &[
            (&names.confidence_json, confidence_json(report)),
            (&names.confidence_csv, confidence_csv(report).into_bytes()),
        ],
    )
}

/// Writes the results of the requests of several runs.
pub fn write_collated(dir: &Path, names: &AggregateNames, collated: &Collated) -> Vec<ExportFailure> {
    write_all(dir, "collated", &[(&names.collated_json, collated_json(collated))])
}

/// Writes the results of the cells of a sweep.
pub fn write_sweep(dir: &Path, names: &AggregateNames, sweep: &Sweep) -> Vec<ExportFailure> {
    write_all(
        dir,
        "sweep",
        &[(&names.sweep_json, sweep_json(sweep)), (&names.sweep_csv, sweep_csv(sweep).into_bytes())],
    )
}

/// Writes a document beside them: what was made of a sweep, or how its points were drawn.
pub fn write_document(dir: &Path, name: &str, document: &Value) -> Vec<ExportFailure> {
    write_all(dir, "sweep", &[(name, document_text(document))])
}

fn write_all(dir: &Path, exporter: &'static str, files: &[(&str, Vec<u8>)]) -> Vec<ExportFailure> {
    let mut folder = Folder::new(dir);
    for (name, text) in files {
        folder.write(name, |out| out.write_all(text));
    }
    let failures = folder.into_failures().into_iter();
    failures.map(|(path, source)| ExportFailure::of(exporter, path, source)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_those_of_the_runs() {
        let names = |prefix| AggregateNames::of(&FileNames::new(prefix));
        assert_eq!(names(None).confidence_json, "profile_export_aiperf_aggregate.json");
        assert_eq!(names(None).sweep_csv, "profile_export_aiperf_sweep.csv");
        assert_eq!(names(Some("sub/run.json")).collated_json, "sub/run_collated.json");
    }
}
