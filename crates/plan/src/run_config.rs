//! `run_config.json`: the configuration of one run of several, so that a complete run need not be repeated.

use crate::Plan;
use crate::redact::Redactor;
use serde_json::{Value, json};
use std::fmt;

/// Members that may differ between two commands for the same run: its identity, the paths of its files, and its
/// display.
const IGNORED: &[&str] = &[
    "benchmark_id",
    "sweep_id",
    "cli_command",
    "artifact_dir",
    // The label of a trial; `trial` itself counts.
    "label",
    "cfg.artifacts.dir",
    "cfg.runtime.ui",
    "cfg.runtime.api_port",
    "cfg.runtime.api_host",
    "cfg.logging",
    "cfg.otel",
    "resolved",
];

/// A setting with a different value.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub path: String,
    /// `None` if it did not exist.
    pub was: Option<Value>,
    pub is: Option<Value>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "not set".to_owned(), Value::to_string);
        write!(f, "{} was {}, is {}", self.path, shown(&self.was), shown(&self.is))
    }
}

/// The document of one run, without secrets.
pub fn run_config(plan: &Plan, redactor: &Redactor) -> Value {
    let (run, place) = (&plan.run, &plan.run.place);
    let mut document = json!({
        "benchmark_id": run.benchmark_id,
        "sweep_id": place.sweep_id,
        "cfg": plan.input_config,
        "variation": {
            "index": place.variation_index,
            "label": place.variation,
            "values": place.variation_values,
        },
        "trial": place.trial,
        "artifact_dir": plan.artifacts.dir,
        "label": place.label,
        "cli_command": run.cli_command,
        "random_seed": run.random_seed,
        "variables": {},
        "resolved": {
            "gpu_telemetry_mode": plan.input_config.pointer("/gpu_telemetry/mode").unwrap_or(&json!("summary")),
            // As in AIPerf: the file is written before the run makes its folder.
            "artifact_dir_created": false,
        },
    });
    redactor.document(&mut document);
    document
}

/// The changes that make it a different run.
pub fn changes(was: &Value, is: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", was, is, &mut found);
    found
}

fn compare(path: &str, was: &Value, is: &Value, found: &mut Vec<Change>) {
    let (was, is) = match (was, is) {
        (Value::Object(was), Value::Object(is)) => (was, is),
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            let pairs = was.iter().zip(is).enumerate();
            return pairs.for_each(|(index, (was, is))| compare(&format!("{path}.{index}"), was, is, found));
        }
        _ if was == is => return,
        _ => return found.push(Change { path: path.to_owned(), was: Some(was.clone()), is: Some(is.clone()) }),
    };
    let added = is.keys().filter(|key| !was.contains_key(*key));
    for key in was.keys().chain(added) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if IGNORED.contains(&path.as_str()) {
            continue;
        }
        match (was.get(key), is.get(key)) {
            (Some(was), Some(is)) => compare(&path, was, is, found),
            (was, is) => found.push(Change { path, was: was.cloned(), is: is.cloned() }),
        }
    }
}

/// The id that all runs share, from the document of one of them.
pub fn sweep_id(document: &Value) -> Option<&str> {
    document.get("sweep_id")?.as_str()
}

/// Whether this is such a document at all.
pub fn is_run_config(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some_and(Value::is_object);
    has("cfg") && has("variation") && document.get("trial").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_and_paths_make_no_different_run() {
        let was = json!({"benchmark_id": "a", "label": "trial_0001", "cfg": {"artifacts": {"dir": "/a", "records": true}, "logging": {"level": "INFO"}}});
        let is = json!({"benchmark_id": "b", "label": "run_0001", "cfg": {"artifacts": {"dir": "/b", "records": true}, "logging": {"level": "DEBUG"}}});
        assert_eq!(changes(&was, &is), []);
    }

    #[test]
    fn changes_are_named_by_their_path() {
        let was = json!({"cfg": {"phases": [{"requests": 10}], "tokenizer": {"name": "a"}}, "trial": 0});
        let is = json!({"cfg": {"phases": [{"requests": 20}], "endpoint": {"streaming": true}}, "trial": 0});
        let shown: Vec<String> = changes(&was, &is).iter().map(Change::to_string).collect();
        assert_eq!(
            shown,
            [
                "cfg.phases.0.requests was 10, is 20",
                r#"cfg.tokenizer was {"name":"a"}, is not set"#,
                r#"cfg.endpoint was not set, is {"streaming":true}"#,
            ]
        );
    }
}
