//! Golden data: cases recorded from the reference, read from `tests/golden/<area>` or `$AIPERF_GOLDEN_DIR/<area>`.

mod configuration;
mod exports;
mod load;
mod parsers;
mod runs;

use crate::context::Context;
use crate::error::ConfigError;
use crate::resolve::{Tree, resolve_config};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The cases of a file; a file missing from a folder given by the environment has none.
fn cases(area: &str, file: &str) -> Value {
    let given = std::env::var_os("AIPERF_GOLDEN_DIR");
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = given.as_ref().map_or(own, PathBuf::from).join(area).join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        Err(_) if given.is_some() => Value::Null,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Resolves a case in a directory of its own that holds its files.
fn resolve(case: &Value) -> Result<Tree, ConfigError> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in case["files"].as_object().into_iter().flatten() {
        std::fs::write(dir.path().join(name), text.as_str().unwrap()).unwrap();
    }
    let env: BTreeMap<String, String> = case["env"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned()))
        .collect();
    let ctx = Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() };
    resolve_config(&texts(&case["argv"]), &ctx)
}
