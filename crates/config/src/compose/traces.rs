//! What a dataset file says about when and how much to send. Plain text only: compressed and columnar files are
//! looked at when they are loaded.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Whether the first record of a file has a timestamp.
pub(super) fn has_timestamps(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    // Those of traces have a column of times, without which they are refused when they are read.
    if is_columnar(path) {
        return true;
    }
    let first = lines(path).next();
    let Some(record) = first.and_then(|line| serde_json::from_str::<Value>(&line).ok()) else { return false };
    !record["timestamp"].is_null() || !record["timing_events"][0]["timestamp"].is_null()
}

/// How many records a file, or the files of a directory, hold.
pub(super) fn records(path: &Path) -> Option<i64> {
    if path.is_dir() {
        return Some(jsonl_files(path).iter().map(|file| lines(file).count() as i64).sum());
    }
    if is_columnar(path) {
        return None;
    }
    let count = lines(path).count() as i64;
    (count > 0).then_some(count)
}

/// Whether a file is Parquet or Arrow, by how it begins.
fn is_columnar(path: &Path) -> bool {
    let mut start = Vec::new();
    if !path.is_file() {
        return false;
    }
    let read = File::open(path).and_then(|file| file.take(6).read_to_end(&mut start));
    read.is_ok() && [&b"PAR1"[..], b"ARROW1", &[0xff; 4]].iter().any(|magic| start.starts_with(magic))
}

/// How many sessions of a file no other session starts.
pub(super) fn roots(path: &Path) -> Option<i64> {
    let (mut ids, mut children) = (BTreeSet::new(), BTreeSet::new());
    for line in lines(path) {
        let session: Value = serde_json::from_str(&line).ok()?;
        ids.insert(session["session_id"].as_str()?.to_owned());
        collect_children(&session, &mut children);
    }
    Some(ids.difference(&children).count() as i64)
}

fn collect_children(value: &Value, children: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if ["forks", "spawns", "pre_session_spawns"].contains(&key.as_str()) {
                    names(value, children);
                } else {
                    collect_children(value, children);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_children(item, children)),
        _ => {}
    }
}

fn names(value: &Value, children: &mut BTreeSet<String>) {
    match value {
        Value::String(name) => {
            children.insert(name.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, children)),
        Value::Object(map) => map.values().for_each(|item| names(item, children)),
        _ => {}
    }
}

/// Lines that are not blank; reading stops at the first that is not text.
fn lines(path: &Path) -> impl Iterator<Item = String> {
    // A pipe would be waited for, and a device never end.
    let reader = if path.is_file() { File::open(path).ok().map(BufReader::new) } else { None };
    reader.into_iter().flat_map(|reader| reader.lines().map_while(Result::ok)).filter(|line| !line.trim().is_empty())
}

fn jsonl_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ext| ext == "jsonl") {
                found.push(path);
            }
        }
    }
    found
}
