//! How the settings of two sides differ: if they do, the comparison is one of the benchmarks too.
//!
//! `run_config::changes` is another question: whether a run is exactly the planned one. Here, files of different programs
//! are compared. A default that only one of them writes, 8 against 8.0, and a list of one item are no differences.

use aiperf_report::compare::SettingDifference;
use serde_json::Value;
use std::collections::BTreeMap;

/// Sections of a configuration that define what was measured. Output paths and display settings do not.
const SECTIONS: &[&str] = &["models", "endpoint", "datasets", "phases", "tokenizer", "slos", "prefill", "sampling"];
/// Characters of a value that are shown.
const LONGEST_VALUE: usize = 60;

/// If one side alone has more settings than this, its file contains the defaults and the other's does not.
const MOST_ALONE: usize = 8;

/// Which programs wrote the two configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// The same program, so a missing setting may be a difference.
    Alike,
    Differently,
}

/// The settings that differ, by path.
pub(super) fn differences(first: &Value, second: &Value, written: Written) -> Vec<SettingDifference> {
    let (first, second) = (leaves(first), leaves(second));
    let paths: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let alone = |these: &BTreeMap<String, String>, those: &BTreeMap<String, String>| {
        these.keys().filter(|path| !those.contains_key(*path)).count()
    };
    let has_defaults = match (alone(&first, &second), alone(&second, &first)) {
        (0, alone) | (alone, 0) => alone > MOST_ALONE,
        _ => false,
    };
    let difference = |path: &String| {
        let (a, b) = (first.get(path), second.get(path));
        let is_on_both = a.is_some() && b.is_some();
        let counts = a != b && (is_on_both || (written == Written::Alike && !has_defaults));
        counts.then(|| SettingDifference { path: path.clone(), first: a.cloned(), second: b.cloned() })
    };
    paths.into_iter().filter_map(difference).collect()
}

fn leaves(config: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for section in SECTIONS {
        if let Some(value) = config.get(section) {
            collect(value, (*section).to_owned(), &mut found);
        }
    }
    found
}

fn collect(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| collect(value, format!("{path}.{key}"), found));
        }
        // Most often there is one of each.
        Value::Array(items) if items.len() == 1 => collect(&items[0], path, found),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| collect(value, format!("{path}.{at}"), found));
        }
        // 8 and 8.0 are one setting.
        Value::Number(number) => {
            found.insert(path, number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()));
        }
        Value::String(text) => drop(found.insert(path, shortened(text))),
        Value::Bool(flag) => drop(found.insert(path, flag.to_string())),
    }
}

/// Shortens long values and adds their length, so that values that differ only further on still look different.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_of_the_benchmark_count_and_output_paths_do_not() {
        let first = json!({
            "phases": [{"concurrency": 2, "requests": 10}], "artifacts": {"dir": "/a"}, "endpoint": {"urls": ["u"]},
        });
        let second = json!({
            "phases": [{"concurrency": 4.0, "requests": 10.0, "ramp": 1}], "artifacts": {"dir": "/b"},
            "endpoint": {"urls": ["u"], "headers": {}},
        });
        let found = differences(&first, &second, Written::Alike);
        let paths: Vec<&str> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["phases.concurrency", "phases.ramp"]);
        assert_eq!((found[0].first.as_deref(), found[0].second.as_deref()), (Some("2"), Some("4")));
        assert_eq!(differences(&first, &second, Written::Differently).len(), 1);
    }
}
