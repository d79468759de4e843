//! Which layout a file has: the one that was named, or the one its first row looks like.

use super::super::{not_yet, subject};
use crate::choice::Choice;
use crate::error::Problem;
use crate::resolve::Tree;
use crate::sections::dataset::FileFormat;
use aiperf_plan::{FileFormat as Read, TraceFormat};
use serde_json::Value;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Of a file, what is looked at.
const LOOKED_AT: u64 = 16 << 20;

/// Layouts that are read.
const READ: &[(FileFormat, Read)] = &[
    (FileFormat::SingleTurn, Read::SingleTurn),
    (FileFormat::MultiTurn, Read::MultiTurn),
    (FileFormat::RawPayload, Read::RawPayload),
];

/// Traces that are replayed.
const TRACES: &[(FileFormat, TraceFormat)] = &[
    (FileFormat::MooncakeTrace, TraceFormat::Mooncake),
    (FileFormat::BailianTrace, TraceFormat::Bailian),
    (FileFormat::BurstGptTrace, TraceFormat::BurstGpt),
    (FileFormat::BasetenTrace, TraceFormat::Baseten),
];

/// The trace that a file is, if it is one that is replayed.
pub(super) fn trace(path: &Path, named: Option<FileFormat>) -> Option<TraceFormat> {
    let format = named.unwrap_or_else(|| looks_like(path));
    TRACES.iter().find(|(known, _)| *known == format).map(|(_, trace)| *trace)
}

/// Whether files of a layout are read.
pub(crate) fn can_be_read(format: FileFormat) -> bool {
    READ.iter().any(|(known, _)| *known == format) || TRACES.iter().any(|(known, _)| *known == format)
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
        let traces = TRACES.iter().map(|(format, _)| format.name());
        let there: Vec<&str> = READ.iter().map(|(format, _)| format.name()).chain(traces).collect();
        not_yet(&what, &format!("files of {} are read", there.join(", ")))
            .hint("rows of single_turn, as in {\"text\": \"hello\"}")
            .at(at)
    })
}

/// The layout of the first row; one that looks like none is left to the reader of `single_turn`, which says what it
/// lacks. Compressed files are looked at when they are read.
pub(crate) fn looks_like(path: &Path) -> FileFormat {
    if path.is_dir() {
        let inside = first_inside(path).map(|file| looks_like(&file));
        return inside.filter(|format| !can_be_read(*format)).unwrap_or(FileFormat::RawPayload);
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match ending.as_str() {
        "csv" => return FileFormat::BurstGptTrace,
        "parquet" | "arrow" | "ipc" => return FileFormat::BasetenTrace,
        _ => {}
    }
    let Some(text) = beginning(path) else { return FileFormat::SingleTurn };
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if ["Timestamp", "Request tokens", "Response tokens"].iter().all(|column| first.contains(column)) {
        return FileFormat::BurstGptTrace;
    }
    // What is one value over many lines is a file of one row.
    let row = serde_json::from_str(first).or_else(|_| serde_json::from_str(&text));
    row.map_or(FileFormat::SingleTurn, |row| row_looks_like(&row))
}

/// The first file of a folder that may hold rows, by name; those of its folders come last.
fn first_inside(folder: &Path) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let holds_rows =
        |path: &&PathBuf| path.is_file() && path.extension().is_some_and(|it| it == "jsonl" || it == "json");
    let here = paths.iter().find(holds_rows).cloned();
    here.or_else(|| paths.iter().filter(|path| path.is_dir() && !path.is_symlink()).find_map(|path| first_inside(path)))
}

fn beginning(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut bytes)).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_start_matches('\u{feff}').to_owned())
}

fn row_looks_like(row: &Value) -> FileFormat {
    let has = |key: &str| row.get(key).is_some_and(|value| !value.is_null());
    let list = |key: &str| row.get(key).and_then(Value::as_array).filter(|items| !items.is_empty());
    if let Some(named) = row.get("type").and_then(Value::as_str).and_then(FileFormat::parse) {
        return named;
    }
    if has("question_id") && has("category") {
        return FileFormat::SpeedBenchQualitative;
    }
    if has("chat_id") && has("parent_chat_id") {
        return FileFormat::BailianTrace;
    }
    let mooncake = ["input_length", "hash_ids", "output_length", "timestamp", "conversation_id"];
    let is_traced = mooncake.into_iter().any(has);
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
    if has("requests") && has("block_size") {
        return FileFormat::WekaTrace;
    }
    if has("input_length") || has("hash_ids") || has("text_input") {
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
