//! Golden data: cases recorded from AIPerf, found by `aiperf_golden`.
//!
//! A file is recognised by the shape of its cases. A case with a whole command line or file takes the path of a user's.
//! A case that names one function of AIPerf (`config/parsers.json`) goes to ours.
//!
//! These tests are in the library, because they call functions that it does not export: parsers of values and of YAML,
//! the expansion of sweeps, seeds and folder names of runs, the detection of layouts, settings of OTLP.

mod configuration;
mod exports;
mod input_config;
mod load;
mod parsers;
mod runs;
mod telemetry;

use crate::context::Context;
use crate::error::ConfigError;
use crate::plan::resolve_profile;
use crate::resolve::{Tree, resolve_config};
use crate::values;
use aiperf_golden::{GoldenKind, Tally};
use aiperf_plan::FileNames;
use aiperf_plan::redact::is_sensitive_header;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is done with a case of a kind.
type Check = fn(&Value, &mut Tally);

/// Runs every case of these kinds, which lie in one area. A list is of the first kind that it looks like.
#[track_caller]
fn run(kinds: &[(&GoldenKind, Check)]) {
    let (first, _) = kinds[0];
    let mut tally = Tally::of(first);
    let mut seen = BTreeSet::new();
    for (kind, check) in kinds {
        tally.begin(kind);
        let lists = kind.lists().into_iter().filter(|list| seen.insert(list.path.clone()));
        lists.for_each(|list| list.cases().iter().for_each(|case| check(case, &mut tally)));
    }
    tally.finish();
}

/// Paths of a recorded configuration that ours lacks, or at which ours has another value. Ours may have more paths.
fn lacking(found: &Value, wanted: &Value) -> Vec<String> {
    fn walk(found: Option<&Value>, wanted: &Value, path: &str, out: &mut Vec<String>) {
        match (found, wanted) {
            (Some(Value::Object(_)), Value::Object(members)) => {
                for (key, member) in members {
                    walk(found.and_then(|found| found.get(key)), member, &format!("{path}/{key}"), out);
                }
            }
            (Some(Value::Array(items)), Value::Array(members)) if items.len() == members.len() => {
                for (index, member) in members.iter().enumerate() {
                    walk(items.get(index), member, &format!("{path}/{index}"), out);
                }
            }
            (found, wanted) if found == Some(wanted) => {}
            (found, wanted) => out.push(format!("{path}: {found:?}, wanted {wanted}")),
        }
    }
    let mut out = Vec::new();
    walk(Some(found), wanted, "", &mut out);
    out
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

/// Runs a function in a directory with these files.
fn in_directory<T>(files: &Value, env: &Value, then: impl FnOnce(&Context<'_>) -> T) -> T {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files.as_object().into_iter().flatten() {
        std::fs::write(dir.path().join(name), text.as_str().unwrap()).unwrap();
    }
    let env: BTreeMap<String, String> =
        env.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect();
    then(&Context { env: &env, stdout_is_terminal: false, cwd: dir.path(), benchmark_id: "0123456789ab".into() })
}

/// Resolves a command line as for a user.
fn resolve(argv: &[String]) -> Result<Tree, ConfigError> {
    in_directory(&Value::Null, &Value::Null, |ctx| resolve_config(argv, ctx))
}

/// Resolves a configuration as from a file.
fn resolve_document(document: &Value) -> Result<Tree, ConfigError> {
    let files = json!({"c.yaml": document.to_string()});
    in_directory(&files, &Value::Null, |ctx| resolve_config(&strings(&["-f", "c.yaml"]), ctx))
}

/// The file names of a run with this prefix, as for a user.
fn names_for(prefix: Option<&str>) -> FileNames {
    let mut args = strings(&["-m", "m"]);
    args.extend(prefix.map(|prefix| format!("--profile-export-prefix={prefix}")));
    let resolved = in_directory(&Value::Null, &Value::Null, |ctx| resolve_profile(&args, ctx));
    resolved.unwrap_or_else(|error| panic!("{prefix:?}: {error}")).into_plan().artifacts.names
}

/// Tokens, a map, or a list of pairs, as for `--extra-inputs` and files.
fn key_values(input: &Value) -> Result<Value, String> {
    let coerced = |value: &Value| value.as_str().map_or_else(|| value.clone(), values::coerce);
    match input {
        Value::String(text) => values::pairs(std::slice::from_ref(text)).map_err(|(_, rule)| rule),
        Value::Object(map) => {
            Ok(map.iter().map(|(key, value)| (key.clone(), coerced(value))).collect::<Map<_, _>>().into())
        }
        Value::Array(items) if items.iter().all(Value::is_array) && !items.is_empty() => Ok(items
            .iter()
            .map(|pair| (pair[0].as_str().unwrap().to_owned(), coerced(&pair[1])))
            .collect::<Map<_, _>>()
            .into()),
        _ => values::pairs(&texts(input)).map_err(|(_, rule)| rule),
    }
}

fn ordered(map: Value) -> Value {
    map.as_object().unwrap().iter().map(|(key, value)| json!([key, value])).collect()
}

fn headers(map: &Map<String, Value>) -> Value {
    map.iter()
        .map(|(name, value)| {
            (name.clone(), if is_sensitive_header(name) { "<redacted>".into() } else { value.clone() })
        })
        .collect::<Map<_, _>>()
        .into()
}

/// The words of a command line, as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = line.chars().peekable();
    while let Some(c) = letters.next() {
        match (c, quote) {
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => word.get_or_insert_default().extend(letters.next()),
            ('\\', Some('"')) if letters.peek().is_some_and(|next| ['"', '\\'].contains(next)) => {
                word.get_or_insert_default().extend(letters.next());
            }
            (c, None) if c.is_whitespace() => out.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word);
    out
}

#[test]
fn a_line_is_split_as_by_a_shell() {
    let line = r#"a 'b c' "d 'e'" f\ g 'it'"'"'s' 'it'\''s' "q\"" ''"#;
    assert_eq!(words(line), ["a", "b c", "d 'e'", "f g", "it's", "it's", "q\"", ""]);
}

/// Whether a text in a value has digits other than those of ASCII. They make no number here.
fn has_other_digits(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(|c| c.is_numeric() && !c.is_ascii()),
        Value::Array(items) => items.iter().any(has_other_digits),
        Value::Object(members) => members.values().any(has_other_digits),
        _ => false,
    }
}

/// Whether a prefix has an extension that is removed here and stays in AIPerf: any plain one that is not among the
/// known endings.
fn unknown_extension(prefix: &str) -> bool {
    let known = [".parquet", ".csv", ".json", ".jsonl", "_console.txt"];
    let plain = prefix.rsplit_once('.').is_some_and(|(_, end)| {
        (1..=8).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    plain && !known.iter().any(|ending| prefix.ends_with(ending))
}

/// Whether a token has a list or an object after a colon: its JSON value here, but split at commas in AIPerf.
fn has_json_value(input: &Value) -> bool {
    let is_value = |text: &str| {
        text.starts_with(['[', '{'])
            && matches!(serde_json::Deserializer::from_str(text).into_iter::<Value>().next(), Some(Ok(_)))
    };
    let mut tokens = input.as_str().into_iter().chain(list(input).iter().filter_map(Value::as_str));
    tokens.any(|token| {
        !token.starts_with('{') && token.match_indices(':').any(|(at, _)| is_value(token[at + 1..].trim_start()))
    })
}

/// Turns texts with an exponent into numbers, which AIPerf keeps as text.
fn exponents(value: &Value) -> Value {
    match value {
        Value::String(text) if text.contains(['e', 'E']) => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(exponents).collect(),
        other => other.clone(),
    }
}
