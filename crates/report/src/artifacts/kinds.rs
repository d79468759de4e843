//! Every kind of file of a run. One table decides which files are removed before a run, which the footer lists and
//! which the ready marker names.

use crate::export::{Exporter, RecordFile};
use crate::{console, gpu, network_latency_jsonl, records, server_metrics, summary};
use aiperf_plan::FileNames;

pub(crate) const INPUTS: &str = FileNames::INPUTS;
pub(crate) const LOG: &str = FileNames::LOG;

/// Every kind, in the order the footer lists them.
pub(crate) const KINDS: &[FileKind] = &[
    FileKind::Export(&summary::csv::EXPORTER),
    FileKind::Export(&summary::json::EXPORTER),
    FileKind::Records(&records::jsonl::SINK),
    FileKind::Records(&records::parquet::SINK),
    FileKind::Records(&records::raw_jsonl::SINK),
    FileKind::Export(&server_metrics::csv::EXPORTER),
    FileKind::Export(&server_metrics::json::EXPORTER),
    FileKind::Export(&server_metrics::parquet::EXPORTER),
    FileKind::Scrapes { label: server_metrics::jsonl::LABEL, file: |names| &names.server_metrics_jsonl },
    FileKind::Scrapes { label: network_latency_jsonl::LABEL, file: |names| &names.network_latency_jsonl },
    FileKind::Scrapes { label: gpu::jsonl::LABEL, file: |names| &names.gpu_telemetry_jsonl },
    FileKind::Export(&summary::timeslices_csv::EXPORTER),
    FileKind::Export(&summary::timeslices_json::EXPORTER),
    FileKind::Records(&records::outputs_json::SINK),
    FileKind::Prepared { label: "Inputs JSON", file: INPUTS },
    FileKind::Export(&console::EXPORTER),
    FileKind::Export(&summary::phases::EXPORTER),
    FileKind::Prepared { label: "Log File", file: LOG },
];

/// One kind of file, by when it is written.
pub(crate) enum FileKind {
    /// Before the load, or from outside, independent of the plan.
    Prepared { label: &'static str, file: &'static str },
    /// While the run is on, record by record.
    Records(&'static RecordFile),
    /// While the run is on, by observers of the servers, for each scrape or probe.
    Scrapes { label: &'static str, file: fn(&FileNames) -> &str },
    /// When the run is over.
    Export(&'static Exporter),
}

impl FileKind {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::Prepared { label, .. } | Self::Scrapes { label, .. } => label,
            Self::Records(kind) => kind.label,
            Self::Export(kind) => kind.label,
        }
    }

    pub(crate) fn file<'a>(&self, names: &'a FileNames) -> &'a str {
        match self {
            Self::Prepared { file, .. } => file,
            Self::Scrapes { file, .. } => file(names),
            Self::Records(kind) => (kind.file)(names),
            Self::Export(kind) => (kind.file)(names),
        }
    }

    /// Whether it is removed before a run: after a kill no earlier summary may remain beside new records. A prepared
    /// file replaces its predecessor at once.
    pub(crate) fn is_removed_before_a_run(&self) -> bool {
        !matches!(self, Self::Prepared { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_kinds_share_a_file_or_a_label() {
        let names = FileNames::new(Some("run"));
        let files: BTreeSet<&str> = KINDS.iter().map(|kind| kind.file(&names)).collect();
        let labels: BTreeSet<&str> = KINDS.iter().map(FileKind::label).collect();
        assert_eq!((files.len(), labels.len()), (KINDS.len(), KINDS.len()));
    }

    #[test]
    fn every_kind_has_a_name_that_no_other_file_may_take() {
        for names in [FileNames::new(None), FileNames::new(Some("run"))] {
            for kind in KINDS {
                assert!(names.all().any(|name| name == kind.file(&names)), "{}", kind.label());
            }
        }
    }
}
