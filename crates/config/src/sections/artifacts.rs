//! What a run writes.

use crate::choice::{Choice, choices};
use crate::range::more_than;
use crate::setting::{List, Reader, Seconds, Setting, join, section};
use crate::tree::{Datum, Node};
use serde_json::{Value, json};

choices! {
    /// Format of the summary.
    SummaryFormat {
        Json = "json",
        Csv = "csv",
    }
    /// Format of the records.
    RecordFormat {
        Jsonl = "jsonl",
        Parquet = "parquet",
    }
    /// Format of an additional file.
    UserFileFormat {
        Json = "json",
        Yaml = "yaml",
        Text = "text",
    }
}

section! {
    /// What a run writes.
    Artifacts {
        /// Directory
        dir: String = "artifacts";
        /// First part of file names
        prefix: String;
        /// Formats of the summary, or false
        summary: Formats<SummaryFormat> = [SummaryFormat::Json, SummaryFormat::Csv];
        /// Formats of the records, or false
        records: Formats<RecordFormat> = [RecordFormat::Jsonl, RecordFormat::Parquet];
        /// Write raw requests and responses
        raw: bool = false;
        /// Add HTTP trace data to record exports
        trace: bool = false;
        /// Length of a time slice
        slice_duration: Seconds [more_than(0.0)];
        /// Show the HTTP timing table on the console
        show_trace_timing: bool = false;
        /// Additional files with content of your own
        user_files: List<UserFile> = [];
        /// Draw plots after the run
        auto_plot: bool = false;
        /// Fail when they cannot be drawn
        plot_required: bool = false;
        /// Write response texts to outputs.json
        export_outputs_json: bool = false;
    }
    /// An additional file.
    UserFile {
        /// Where, inside the directory
        path: String;
        /// Format; text for a text, json for anything else
        format: UserFileFormat;
        /// Its content
        content: Value;
    }
}

/// Formats, or `false` for none.
#[derive(Clone, Debug, PartialEq)]
pub struct Formats<T>(pub Option<List<T>>);

impl<T: PartialEq> Formats<T> {
    pub fn holds(&self, format: T) -> bool {
        self.0.as_ref().is_some_and(|formats| formats.contains(&format))
    }
}

impl<T, const N: usize> From<[T; N]> for Formats<T> {
    fn from(formats: [T; N]) -> Self {
        Self(Some(formats.into()))
    }
}

/// A format that is requested twice is written once.
fn each_once<T: PartialEq>(List(formats): List<T>) -> List<T> {
    let mut once = Vec::new();
    for format in formats {
        if !once.contains(&format) {
            once.push(format);
        }
    }
    List(once)
}

impl<T: Setting + Choice + PartialEq> Setting for Formats<T> {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match &node.datum {
            Datum::Bool(false) => Some(Self(None)),
            // `true` selects every format.
            Datum::Bool(true) => {
                let problem = reader.places.refuse(node, path, "must be a list of formats, or false");
                reader.problems.push(problem.hint(format!("[{}]", T::NAMES.join(", "))));
                None
            }
            Datum::List(items) if items.is_empty() => {
                let problem = reader.places.refuse(node, path, "must not be an empty list");
                reader.problems.push(problem.hint("false, to write none"));
                None
            }
            Datum::Text(_) => T::read(node, &join(path, "0"), reader).map(|one| Self(Some(List(vec![one])))),
            _ => List::<T>::read(node, path, reader).map(|list| Self(Some(each_once(list)))),
        }
    }
    fn write(&self) -> Value {
        self.0.as_ref().map_or(Value::Bool(false), Setting::write)
    }
    fn schema() -> Value {
        json!({"anyOf": [{"const": false}, List::<T>::schema()]})
    }
}
