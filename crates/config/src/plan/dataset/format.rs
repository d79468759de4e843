//! Which layout a file has: the one that was named, or the one its first row looks like.

use super::super::{not_yet, subject};
use crate::choice::Choice;
use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::dataset::FileFormat;
use aiperf_plan::FileFormat as Read;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

/// Of a file, what is looked at.
const LOOKED_AT: u64 = 16 << 20;

/// Layouts that are read.
const READ: &[(FileFormat, Read)] =
    &[(FileFormat::SingleTurn, Read::SingleTurn), (FileFormat::RawPayload, Read::RawPayload)];

/// Whether files of a layout are read.
pub(crate) fn can_be_read(format: FileFormat) -> bool {
    READ.iter().any(|(known, _)| *known == format)
}

/// The layout of a file, or what is said where it is not read yet.
pub(super) fn of(path: &Path, named: Option<FileFormat>) -> Result<Read, impl FnOnce(&Tree) -> Problem> {
    let format = named.unwrap_or_else(|| looks_like(path));
    let read = READ.iter().find(|(known, _)| *known == format).map(|(_, read)| *read);
    read.ok_or(move |tree: &Tree| {
        let at = "benchmark.datasets.0.format";
        let what = match (named, tree.node.find(at)) {
            (Some(_), Some(node)) => tree.places.subject(node, at),
            _ => format!("{} looks like {}, which", subject(tree, "benchmark.datasets.0.path"), format.name()),
        };
        let there: Vec<&str> = READ.iter().map(|(format, _)| format.name()).collect();
        not_yet(&what, &format!("files of {} are read", there.join(" and ")))
            .hint("rows of single_turn, as in {\"text\": \"hello\"}")
            .at(at)
    })
}

/// The layout of the first row; one that looks like none is left to the reader of `single_turn`, which says what it
/// lacks.
fn looks_like(path: &Path) -> FileFormat {
    if path.is_dir() {
        return FileFormat::RawPayload;
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match ending.as_str() {
        "csv" => return FileFormat::BurstGptTrace,
        "parquet" | "arrow" | "ipc" => return FileFormat::BasetenTrace,
        _ => {}
    }
    first_row(path).map_or(FileFormat::SingleTurn, |row| row_looks_like(&row))
}

fn first_row(path: &Path) -> Option<Value> {
    let lines = BufReader::new(File::open(path).ok()?.take(LOOKED_AT)).lines().map_while(Result::ok);
    let first =
        lines.map(|line| line.trim_start_matches('\u{feff}').trim().to_owned()).find(|line| !line.is_empty())?;
    serde_json::from_str(&first).ok()
}

fn row_looks_like(row: &Value) -> FileFormat {
    let has = |key: &str| row.get(key).is_some_and(|value| !value.is_null());
    let list = |key: &str| row.get(key).and_then(Value::as_array).filter(|items| !items.is_empty());
    if let Some(named) = row.get("type").and_then(Value::as_str).and_then(FileFormat::parse) {
        return named;
    }
    let is_traced = ["input_length", "hash_ids", "output_length", "timestamp"].into_iter().any(has);
    if row.get("messages").is_some_and(Value::is_array) {
        return if is_traced { FileFormat::MooncakeTrace } else { FileFormat::RawPayload };
    }
    if let Some(turns) = list("turns") {
        let is_graph = |turn: &Value| ["messages", "forks", "spawns"].iter().any(|key| turn.get(key).is_some());
        return if turns.iter().any(is_graph) { FileFormat::DagJsonl } else { FileFormat::MultiTurn };
    }
    if list("data").is_some_and(|items| items[0].get("payloads").is_some()) {
        return FileFormat::InputsJson;
    }
    if has("captureData") && has("eventMetadata") {
        return FileFormat::SagemakerDataCapture;
    }
    if has("round_index") && has("timing_events") {
        return FileFormat::Tracelab;
    }
    if has("input_length") || has("hash_ids") {
        return FileFormat::MooncakeTrace;
    }
    FileFormat::SingleTurn
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_look_like_the_layout_they_are_of() {
        for (row, format) in [
            (json!({"text": "a"}), FileFormat::SingleTurn),
            (json!({"text": "a", "timestamp": 1, "output_length": 2}), FileFormat::SingleTurn),
            (json!({"messages": [], "model": "m"}), FileFormat::RawPayload),
            (json!({"messages": [], "output_length": 3}), FileFormat::MooncakeTrace),
            (json!({"input_length": 1, "hash_ids": [1]}), FileFormat::MooncakeTrace),
            (json!({"turns": [{"text": "a"}]}), FileFormat::MultiTurn),
            (json!({"session_id": "s", "turns": [{"messages": []}]}), FileFormat::DagJsonl),
            (json!({"type": "random_pool", "text": "a"}), FileFormat::RandomPool),
            (json!({"data": [{"payloads": []}]}), FileFormat::InputsJson),
            (json!([1]), FileFormat::SingleTurn),
            (json!(5), FileFormat::SingleTurn),
        ] {
            assert_eq!(row_looks_like(&row), format, "{row}");
        }
    }
}
