//! Golden data: cases recorded from the reference, read from `tests/golden/<area>` or `$AIPERF_GOLDEN_DIR/<area>`.
//!
//! A file is known by what its cases look like. Where a case gives a whole command line or file, it goes the way of a
//! user's; where it names one function of the reference (`config/parsers.json`), to ours.

mod configuration;
mod exports;
mod load;
mod parsers;
mod runs;

use crate::context::Context;
use crate::error::ConfigError;
use crate::plan::resolve_profile;
use crate::resolve::{Tree, resolve_config};
use aiperf_golden::{Area, File, Tally};
use aiperf_plan::FileNames;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A kind of golden cases: how a list of them is known, and what is done with one.
struct Kind {
    looks_like: fn(&[Value]) -> bool,
    run: fn(&Value, &mut Tally),
}

/// Runs every case of an area that some kind knows; `groups` are the lists of a file that has several, by their keys.
#[track_caller]
fn run(area: &str, kinds: &[Kind], groups: fn(&str, &[Value], &mut Tally) -> bool) {
    let mut tally = Tally::new(format!("golden {area}"));
    for file in Area::of(env!("CARGO_MANIFEST_DIR"), area).files() {
        for (group, file) in lists(&file) {
            let cases = file.cases();
            if group.is_some_and(|group| groups(&group, cases, &mut tally)) {
                continue;
            }
            match kinds.iter().find(|kind| !cases.is_empty() && (kind.looks_like)(cases)) {
                Some(kind) => cases.iter().for_each(|case| (kind.run)(case, &mut tally)),
                None => tally.leave_unread(&file),
            }
        }
    }
    tally.finish();
}

/// The lists of cases of a file: the file itself, its `cases`, or each list by its key.
fn lists(file: &File) -> Vec<(Option<String>, File)> {
    let part = |name: Option<&String>, cases: &Value| {
        let stem = name.map_or_else(|| file.name(), |name| format!("{} {name}", file.name()));
        let path = file.path.with_file_name(format!("{stem}.json"));
        (name.cloned(), File { path, content: json!({"cases": cases}) })
    };
    match &file.content {
        Value::Array(_) => vec![part(None, &file.content)],
        Value::Object(map) if !map.contains_key("cases") => {
            map.iter().filter(|(_, cases)| cases.is_array()).map(|(name, cases)| part(Some(name), cases)).collect()
        }
        content => vec![part(None, &content["cases"])],
    }
}

/// For areas whose files hold one list each.
fn no_groups(_: &str, _: &[Value], _: &mut Tally) -> bool {
    false
}

/// Whether every case has these keys.
fn all_have(cases: &[Value], keys: &[&str]) -> bool {
    cases.iter().all(|case| keys.iter().all(|key| case.pointer(key).is_some()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    list(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

/// Runs something in a directory of its own that holds these files.
fn in_directory<T>(files: &Value, env: &Value, then: impl FnOnce(&Context<'_>) -> T) -> T {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files.as_object().into_iter().flatten() {
        std::fs::write(dir.path().join(name), text.as_str().unwrap()).unwrap();
    }
    let env: BTreeMap<String, String> =
        env.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect();
    then(&Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() })
}

/// Resolves a command line as a user gives it.
fn resolve(argv: &[String]) -> Result<Tree, ConfigError> {
    in_directory(&Value::Null, &Value::Null, |ctx| resolve_config(argv, ctx))
}

/// Resolves a configuration as a file gives it.
fn resolve_document(document: &Value) -> Result<Tree, ConfigError> {
    let files = json!({"c.yaml": document.to_string()});
    in_directory(&files, &Value::Null, |ctx| resolve_config(&strings(&["-f", "c.yaml"]), ctx))
}

/// The names of the files of a run with this prefix, as a user gets them.
fn names_for(prefix: Option<&str>) -> FileNames {
    let mut args = strings(&["-m", "m"]);
    args.extend(prefix.map(|prefix| format!("--profile-export-prefix={prefix}")));
    let resolved = in_directory(&Value::Null, &Value::Null, |ctx| resolve_profile(&args, ctx));
    resolved.unwrap_or_else(|error| panic!("{prefix:?}: {error}")).plan.artifacts.names
}
