//! The layout of a file: the named one, or the one that its first row looks like.
//!
//! A row must have the fields of exactly one layout. The reader of that layout reports missing fields of a row.

use super::super::{not_yet, subject};
use crate::choice::Choice;
use crate::error::Problem;
use crate::resolve::Tree;
use crate::row_file;
use crate::sections::layout::{Layout, Unread};
use aiperf_plan::{FileFormat, SPEED_BENCH, SpeedBench, TraceFormat};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Fields with content.
const CONTENT: &[&str] = &["text", "texts", "image", "images", "audio", "audios", "video", "videos", "image_uuids"];
/// Members of a trace's row that a body does not have.
const TRACED: &[&str] =
    &["output_length", "timestamp", "hash_ids", "conversation_id", "session_id", "delay", "input_length"];

/// Why the layout of a file is unknown.
#[derive(Debug, PartialEq)]
pub(crate) enum NoLayout {
    /// The file does not begin with a JSON object.
    NoRow,
    /// No layout has such rows; the rest of the message.
    None(String),
    /// Several layouts have such rows.
    Several(Vec<Layout>),
}

/// The reader of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reader {
    File(FileFormat),
    Trace(TraceFormat),
}

/// The reader of a layout, if there is one.
fn reader(layout: Layout) -> Option<Reader> {
    match layout {
        Layout::File(format) => Some(Reader::File(format)),
        Layout::Trace(format) => Some(Reader::Trace(format)),
        Layout::Unread(_) => None,
    }
}

/// The reader of a file, or the problem if its layout is unknown or not supported yet.
pub(super) fn of(tree: &Tree, path: &Path, named: Option<Layout>) -> Result<Reader, Problem> {
    if let Some(format) = named {
        return self::named(tree, format);
    }
    let file = subject(tree, "benchmark.datasets.0.path");
    let ask = if tree.places.file.is_some() { "format:" } else { "--custom-dataset-type" };
    let problem = |what: String, hint: String| Problem::new(what).hint(hint).at("benchmark.datasets.0.format");
    match looks_like(path) {
        Ok(format) => reader(format).ok_or_else(|| unread(&format!("{file} looks like {}, which", format.name()))),
        // The reader of the most common layout reports a broken row, with its line and column.
        Err(NoLayout::NoRow) => Ok(Reader::File(FileFormat::SingleTurn)),
        Err(NoLayout::None(why)) => {
            let unknown = problem(format!("{file} {why}"), format!("{ask} NAME, the layout of its rows"));
            Err(unknown.because(format!("layouts: {}, and speed_bench_* for SPEED-Bench", readable().join(", "))))
        }
        Err(NoLayout::Several(formats)) => {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let what = format!("{file} has a first row that may be one of {}", names.join(" and "));
            Err(problem(what, format!("{ask} {}", names.join(" or "))))
        }
    }
}

/// The reader of a layout that the user named.
pub(super) fn named(tree: &Tree, layout: Layout) -> Result<Reader, Problem> {
    reader(layout).ok_or_else(|| unread(&subject(tree, "benchmark.datasets.0.format")))
}

/// The layouts that can be read, without the splits of SPEED-Bench.
fn readable() -> Vec<&'static str> {
    let is_split = |name: &&str| name.starts_with("speed_bench");
    let traces = TraceFormat::ALL.iter().map(|format| format.name());
    FileFormat::all().map(FileFormat::name).filter(|name| !is_split(name)).chain(traces).collect()
}

fn unread(what: &str) -> Problem {
    not_yet(what, &format!("files of {} and of SPEED-Bench are read", readable().join(", ")))
        .hint("rows of single_turn, as in {\"text\": \"hello\"}")
        .at("benchmark.datasets.0.format")
}

/// The only layout whose rows look like the first row of a file, or of the files of a folder.
pub(crate) fn looks_like(path: &Path) -> Result<Layout, NoLayout> {
    if path.is_dir() {
        return one_of(folder_looks_like(path), || "is a folder whose files are of no known layout".to_owned());
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if row_file::is_columnar(path) || ["parquet", "arrow", "ipc"].contains(&ending.as_str()) {
        return Ok(Layout::Trace(TraceFormat::Baseten));
    }
    let text = row_file::beginning(path, row_file::LOOKED_AT).unwrap_or_default();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if ["Timestamp", "Request tokens", "Response tokens"].iter().all(|column| first.contains(column)) {
        return Ok(Layout::Trace(TraceFormat::BurstGpt));
    }
    if ending == "csv" {
        return Err(NoLayout::None("is a table without the columns of a known trace".into()));
    }
    if text.len() as u64 >= row_file::LOOKED_AT && !text.trim_start().contains('\n') {
        return Err(NoLayout::None(format!("has a first row of over {} MiB", row_file::LOOKED_AT >> 20)));
    }
    // One value over many lines is a file of one row.
    let row = serde_json::from_str(first).or_else(|_| serde_json::from_str(&text));
    match row {
        Ok(row @ Value::Object(_)) => row_looks_like(&row, path),
        _ => Err(NoLayout::NoRow),
    }
}

fn one_of(found: Vec<Layout>, none: impl FnOnce() -> String) -> Result<Layout, NoLayout> {
    match found[..] {
        [] => Err(NoLayout::None(none())),
        [one] => Ok(one),
        _ => Err(NoLayout::Several(found)),
    }
}

fn row_looks_like(row: &Value, path: &Path) -> Result<Layout, NoLayout> {
    // A request of Bailian has a type too, which names no layout.
    let named = row.get("type").and_then(Value::as_str).filter(|_| row.get("chat_id").is_none());
    if is_speed_bench(row) {
        return split_of(path).ok_or_else(|| {
            NoLayout::None(
                "holds rows of SPEED-Bench, and is not named after one of its files (such as qualitative.jsonl)".into(),
            )
        });
    }
    let found = layouts(row);
    let Some(named) = named else {
        return one_of(found, || "has a first row of no known layout".to_owned());
    };
    match Layout::parse(named) {
        Some(Layout::File(FileFormat::RandomPool)) if has_content(row) => Ok(Layout::File(FileFormat::RandomPool)),
        Some(format) if found.contains(&format) => Ok(format),
        Some(format) => {
            Err(NoLayout::None(format!("has a first row of type {}, without the fields of that type", format.name())))
        }
        // A body may have any `type` member.
        None if found == [Layout::File(FileFormat::RawPayload)] => Ok(Layout::File(FileFormat::RawPayload)),
        None => Err(NoLayout::None(format!("has a first row of type '{}', which is not a known layout", shown(named)))),
    }
}

fn shown(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Every layout with such rows.
fn layouts(row: &Value) -> Vec<Layout> {
    let has = |key: &str| row.get(key).is_some_and(|value| !value.is_null());
    let list = |key: &str| row.get(key).and_then(Value::as_array).filter(|items| !items.is_empty());
    let all = |keys: &[&str]| keys.iter().all(|key| has(key));
    let is_body = row.get("messages").is_some_and(Value::is_array);
    let is_bailian = all(&["chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"]);
    let is_traced = TRACED.iter().any(|key| has(key));
    let turns = list("turns").map_or(&[][..], Vec::as_slice);
    let is_branching = |turn: &Value| {
        turn.get("messages").is_some_and(Value::is_array) || turn.get("forks").is_some() || turn.get("spawns").is_some()
    };
    let is_graph = row["session_id"].is_string() && turns.iter().any(is_branching);
    let is_inputs = list("data").is_some_and(|items| items[0].get("payloads").is_some_and(Value::is_array));
    let is_round = all(&["session_id", "round_index", "input_tokens_total", "prefix_tokens", "timing_events"]);
    let is_mooncake =
        !is_bailian && (has("input_length") || has("text_input") || has("payload") || is_body && is_traced);
    let found = [
        (Layout::File(FileFormat::SingleTurn), has_content(row)),
        (Layout::File(FileFormat::MultiTurn), !turns.is_empty() && (turns.iter().all(has_content) || !is_graph)),
        (Layout::Unread(Unread::DagJsonl), is_graph),
        (Layout::Trace(TraceFormat::Bailian), is_bailian),
        (Layout::Trace(TraceFormat::Mooncake), is_mooncake),
        (Layout::File(FileFormat::RawPayload), is_body && !is_traced && !is_inputs),
        (Layout::File(FileFormat::InputsJson), is_inputs),
        (Layout::File(FileFormat::SagemakerDataCapture), all(&["captureData", "eventMetadata"])),
        (Layout::Unread(Unread::Tracelab), is_round),
        (Layout::Unread(Unread::WekaTrace), all(&["requests", "block_size"])),
    ];
    found.into_iter().filter(|(_, is)| *is).map(|(format, _)| format).collect()
}

/// Whether the row itself has content.
fn has_content(row: &Value) -> bool {
    let is_filled = |key: &&str| match row.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
    };
    CONTENT.iter().any(is_filled)
}

fn is_speed_bench(row: &Value) -> bool {
    ["question_id", "category", "messages"].iter().all(|key| row.get(key).is_some_and(|value| !value.is_null()))
}

/// The split of SPEED-Bench with the name of the file, with all its categories, or the layout with that name.
fn split_of(path: &Path) -> Option<Layout> {
    let name = path.file_name()?.to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let is_it = |split: &&SpeedBench| {
        (split.category.is_none() && split.file == name) || name.strip_suffix(".jsonl") == Some(split.name)
    };
    let split = SPEED_BENCH.iter().find(is_it)?;
    Layout::parse(split.name)
}

fn folder_looks_like(folder: &Path) -> Vec<Layout> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.is_file() && path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] != b'.'));
    files.sort();
    let ends = |path: &PathBuf, ending: &str| path.extension().is_some_and(|it| it == ending);
    let first_row = |path: &PathBuf| {
        let text = row_file::beginning(path, row_file::LOOKED_AT)?;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        serde_json::from_str::<Value>(line).or_else(|_| serde_json::from_str(&text)).ok()
    };
    let is = |row: &Value, format: Layout| layouts(row).contains(&format);
    let of_ending = |ending: &'static str| files.iter().filter(move |path| ends(path, ending)).find_map(first_row);
    let is_pool = |path: &PathBuf| first_row(path).is_some_and(|row| has_content(&row));
    let found = [
        (Layout::File(FileFormat::RawPayload), of_ending("jsonl").is_some_and(|row| row["messages"].is_array())),
        (Layout::File(FileFormat::SagemakerDataCapture), {
            let first = first_inside(folder, 0);
            first
                .and_then(|path| first_row(&path))
                .is_some_and(|row| is(&row, Layout::File(FileFormat::SagemakerDataCapture)))
        }),
        (
            Layout::Unread(Unread::WekaTrace),
            of_ending("json").is_some_and(|row| is(&row, Layout::Unread(Unread::WekaTrace))),
        ),
        (Layout::File(FileFormat::RandomPool), !files.is_empty() && files.iter().all(is_pool)),
    ];
    found.into_iter().filter(|(_, is)| *is).map(|(format, _)| format).collect()
}

/// The most levels of folders that are searched.
const DEEPEST: usize = 32;

/// The first file of rows in a folder, by name; files in its folders come last.
fn first_inside(folder: &Path, depth: usize) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let holds_rows = |path: &&PathBuf| path.is_file() && path.extension().is_some_and(|it| it == "jsonl");
    let here = paths.iter().find(holds_rows).cloned();
    let folders = || paths.iter().filter(|path| depth < DEEPEST && path.is_dir() && !path.is_symlink());
    here.or_else(|| folders().find_map(|path| first_inside(path, depth + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::Write;

    fn of_row(row: Value) -> Result<Layout, NoLayout> {
        row_looks_like(&row, Path::new("rows.jsonl"))
    }

    #[test]
    fn rows_are_recognised_as_their_layout() {
        for (row, format) in [
            (json!({"text": "a"}), Layout::File(FileFormat::SingleTurn)),
            (json!({"text": "a", "timestamp": 1, "output_length": 2}), Layout::File(FileFormat::SingleTurn)),
            (json!({"messages": [], "model": "m"}), Layout::File(FileFormat::RawPayload)),
            (json!({"messages": [], "output_length": 3}), Layout::Trace(TraceFormat::Mooncake)),
            (json!({"input_length": 1, "hash_ids": [1]}), Layout::Trace(TraceFormat::Mooncake)),
            (json!({"turns": [{"text": "a"}]}), Layout::File(FileFormat::MultiTurn)),
            (json!({"turns": [{"delay": 5}]}), Layout::File(FileFormat::MultiTurn)),
            (json!({"session_id": "s", "turns": [{"messages": []}]}), Layout::Unread(Unread::DagJsonl)),
            (json!({"type": "random_pool", "text": "a"}), Layout::File(FileFormat::RandomPool)),
            (json!({"data": [{"payloads": []}]}), Layout::File(FileFormat::InputsJson)),
            (json!({"messages": [], "type": "response.create"}), Layout::File(FileFormat::RawPayload)),
        ] {
            assert_eq!(of_row(row.clone()), Ok(format), "{row}");
        }
    }

    #[test]
    fn rows_of_two_layouts_or_none_are_refused() {
        let both = of_row(json!({"text": "a", "input_length": 5}));
        assert_eq!(
            both,
            Err(NoLayout::Several(vec![Layout::File(FileFormat::SingleTurn), Layout::Trace(TraceFormat::Mooncake)]))
        );
        for row in [json!({"foo": 1}), json!({"type": "zzz", "text": "a"}), json!({"type": "multi_turn", "text": "a"})]
        {
            assert!(matches!(of_row(row.clone()), Err(NoLayout::None(_))), "{row}");
        }
    }

    #[test]
    fn rows_of_speed_bench_belong_to_the_split_that_names_their_file() {
        let row = json!({"question_id": "q", "category": "math", "messages": [{"role": "user", "content": "1+1?"}]});
        let found = |name: &str| row_looks_like(&row, Path::new(name));
        assert_eq!(found("a/qualitative.jsonl").map(Layout::name), Ok("speed_bench_qualitative"));
        assert_eq!(found("throughput_8k.jsonl.gz").map(Layout::name), Ok("speed_bench_throughput_8k"));
        assert_eq!(found("speed_bench_math.jsonl").map(Layout::name), Ok("speed_bench_math"));
        assert!(matches!(found("rows.jsonl"), Err(NoLayout::None(_))));
    }

    #[test]
    fn the_layout_of_a_row_that_is_too_long_to_look_at_must_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.jsonl");
        let text = "a".repeat(row_file::LOOKED_AT as usize);
        std::fs::write(&path, format!("\n{{\"messages\": [{{\"role\": \"user\", \"content\": \"{text}\"}}]}}\n"))
            .unwrap();
        assert_eq!(looks_like(&path), Err(NoLayout::None("has a first row of over 16 MiB".into())));
    }

    #[test]
    fn the_first_row_decides_between_files_and_traces_compressed_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let read_by = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            looks_like(&path).ok().and_then(reader)
        };
        let packed = |text: &str| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(text.as_bytes()).unwrap();
            gzip.finish().unwrap()
        };
        let mooncake = "{\"timestamp\": 0, \"input_length\": 5, \"output_length\": 2, \"hash_ids\": [1]}\n";
        let burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,m,1,2,3,x\n";
        for (text, expected) in [
            (mooncake, Reader::Trace(TraceFormat::Mooncake)),
            (burst, Reader::Trace(TraceFormat::BurstGpt)),
            ("{\"text\": \"a\"}\n", Reader::File(FileFormat::SingleTurn)),
        ] {
            assert_eq!(read_by("rows", text.as_bytes()), Some(expected), "{text}");
            assert_eq!(read_by("rows.gz", &packed(text)), Some(expected), "{text}");
        }
        for start in [&b"PAR1\0\0"[..], b"ARROW1\0\0", &[0xff; 8]] {
            assert_eq!(read_by("columns", start), Some(Reader::Trace(TraceFormat::Baseten)));
        }
    }
}
