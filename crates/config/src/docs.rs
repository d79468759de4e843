//! The documents in `docs/` match the tables: blocks between `<!-- table: NAME -->` and `<!-- end -->` are generated
//! here. `UPDATE_DOCS=1 cargo test -p aiperf-config docs` writes them.

use crate::environment::{self, variables};
use crate::flags::{self, GROUPS, Status};
use crate::init::TEMPLATES;
use crate::keys;
use crate::sections::dataset::SYNTHETIC_ENTRIES;
use crate::sections::envelope::Envelope;
use crate::sections::phases::DEFAULT_CONCURRENCY;
use crate::setting::{Setting, join};
use serde_json::Value;
use std::path::PathBuf;

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

fn status(status: Status) -> String {
    match status {
        Status::Acts => "acts".to_owned(),
        Status::NoEffect(reason) => format!("no effect: {}", cell(reason)),
        Status::NotYet(reason) => format!("not yet: {}", cell(reason)),
    }
}

fn every_flag() -> String {
    let mut out = String::new();
    for group in GROUPS {
        out.push_str(&format!(
            "\n### {}\n\n| flag | value | default | what it does | status |\n| --- | --- | --- | --- | --- |\n",
            group.title
        ));
        for flag in group.flags {
            let mut names = vec![flag.usual()];
            names.extend(flag.short());
            names.extend(flag.others());
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let value = match flag.rule() {
                Some(rule) if rule.len() > 160 && flag.values.is_none() => {
                    format!("`{}`: {} names, see `--help`", flag.placeholder(), rule.split(", ").count())
                }
                Some(rule) => format!("`{}`: {}", flag.placeholder(), cell(&rule)),
                None if flag.placeholder().is_empty() => "switch".to_owned(),
                None => format!("`{}`", flag.placeholder()),
            };
            out.push_str(&format!(
                "| {} | {value} | {} | {} | {} |\n",
                names.join(" "),
                flag.default().map(|text| cell(&text)).unwrap_or_default(),
                cell(flag.about()),
                flag.limited_to.map_or_else(|| status(flag.status), |limit| format!("acts; {limit}"))
            ));
        }
    }
    out
}

/// One table per section of the configuration.
fn settings() -> String {
    let mut out = String::new();
    section(&Envelope::schema(), "", &mut out);
    out
}

type Made = fn() -> String;

/// Defaults that depend on another setting, generated from the constants that rules use.
const FILLED_IN: &[(&str, Made)] = &[
    ("benchmark.datasets.*.entries", || format!("{SYNTHETIC_ENTRIES} of type synthetic")),
    ("benchmark.phases.*.concurrency", || format!("{DEFAULT_CONCURRENCY} of type concurrency")),
];

fn section(schema: &Value, path: &str, out: &mut String) {
    let title = if path.is_empty() { "The file".to_owned() } else { format!("`{}`", path.replace(".*", "[]")) };
    out.push_str(&format!(
        "\n### {title}\n\n{}\n\n| key | value | default | what it is | status |\n| --- | --- | --- | --- | --- |\n",
        schema["description"].as_str().unwrap_or_default()
    ));
    let mut below = Vec::new();
    for (key, child) in schema["properties"].as_object().into_iter().flatten() {
        let at = join(path, key);
        let default = child
            .get("default")
            .map(|default| default.as_str().map_or_else(|| default.to_string(), str::to_owned))
            .or_else(|| FILLED_IN.iter().find(|(key, _)| *key == at).map(|(_, made)| made()))
            .unwrap_or_default();
        let inner = object(child, &at);
        let acts = keys::status(&at).map(status).unwrap_or_default();
        let acts = if inner.is_some() && acts == "acts" { String::new() } else { acts };
        out.push_str(&format!(
            "| `{key}` | {} | {} | {} | {acts} |\n",
            kind(child),
            cell(&default),
            cell(child["description"].as_str().unwrap_or_default())
        ));
        below.extend(inner);
    }
    for (child, at) in below {
        section(&child, &at, out);
    }
}

/// The section below a setting, unless it is a length, which is explained once.
fn object(schema: &Value, path: &str) -> Option<(Value, String)> {
    let one = |schema: &Value| schema.get("properties").is_some() && schema["properties"].get("median").is_none();
    if one(schema) {
        return Some((schema.clone(), path.to_owned()));
    }
    if one(&schema["items"]) {
        return Some((schema["items"].clone(), format!("{path}.*")));
    }
    let among =
        |choices: &Value| choices.as_array().and_then(|choices| choices.iter().find(|schema| one(schema)).cloned());
    let item = among(&schema["items"]["anyOf"]).map(|schema| (schema, format!("{path}.*")));
    item.or_else(|| among(&schema["anyOf"]).map(|schema| (schema, path.to_owned())))
}

fn kind(schema: &Value) -> String {
    let bounds: Vec<String> = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
    ]
    .iter()
    .filter_map(|(key, words)| Some(format!("{words} {}", schema.get(key)?.as_f64()?)))
    .collect();
    let with =
        |what: &str| if bounds.is_empty() { what.to_owned() } else { format!("{what}, {}", bounds.join(" and ")) };
    if let Some(names) = schema["enum"].as_array() {
        let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        return if names.len() > 12 {
            format!("one of {} names", names.len())
        } else {
            format!("`{}`", names.join("` `"))
        };
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let length = any.iter().any(|one| one["properties"].get("median").is_some());
        let time = any.iter().any(|one| one.get("pattern").is_some());
        return match (length, time) {
            (true, _) => "length".to_owned(),
            (_, true) => with("time"),
            _ => any.iter().map(kind).collect::<Vec<_>>().join(" or "),
        };
    }
    match schema["type"].as_str() {
        Some("object") if schema.get("properties").is_some() => "section".to_owned(),
        Some("object") => "map".to_owned(),
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("integer") => with("whole number"),
        Some("number") => with("number"),
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "text".to_owned(),
        _ if schema.get("const").is_some() => "`false`".to_owned(),
        _ => "any".to_owned(),
    }
}

fn environment(wanted: fn(environment::Status) -> bool) -> String {
    let mut out = String::from("\n| variable | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for variable in variables().filter(|variable| wanted(variable.status)) {
        use environment::VariableType::*;
        let bounds = |what: &str, range: crate::range::Range| {
            if range.low.is_none() && range.high.is_none() {
                what.to_owned()
            } else {
                format!("{what}, {}", range.in_words())
            }
        };
        let value = match variable.kind {
            Bool => "true or false".to_owned(),
            Int(range) => bounds("whole number", range),
            Float(range) => bounds("number", range),
            Text | Secret => "text".to_owned(),
            Choice(choices) => choices.join(", "),
            List => "list".to_owned(),
            Json => "JSON".to_owned(),
        };
        out.push_str(&format!(
            "| `{}` | {value} | {} | {} |\n",
            variable.name,
            cell(variable.default),
            match variable.status {
                environment::Status::Always(reason) => format!("{}: {}", cell(variable.about), cell(reason)),
                _ => cell(variable.about),
            }
        ));
    }
    out
}

/// Names without effect, by the reason.
fn idle_variables() -> String {
    let row = |ignored: &environment::Ignored| {
        let names: Vec<String> = ignored.names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {} | {} |\n", cell(ignored.reason), names.join(", "))
    };
    let rows: String = environment::IGNORED.iter().map(row).collect();
    format!("\n| why | variables |\n| --- | --- |\n{rows}")
}

fn templates() -> String {
    let rows: String = TEMPLATES
        .iter()
        .filter(|template| template.not_yet.is_none())
        .map(|template| format!("| `{}` | {} |\n", template.name, template.about))
        .collect();
    format!("\n| template | what it is |\n| --- | --- |\n{rows}")
}

/// Refused features by reason, and the number of their flags.
fn refused_flags() -> String {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for flag in flags::all() {
        let Status::NotYet(reason) = flag.status else { continue };
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(flag.name),
            None => by_reason.push((reason, vec![flag.name])),
        }
    }
    let refused: usize = by_reason.iter().map(|(_, names)| names.len()).sum();
    let row = |(reason, names): &(&str, Vec<&str>)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("| {} | {} | {} |\n", cell(reason), names.len(), names.join(", "))
    };
    let rows: String = by_reason.iter().map(row).collect();
    format!("\n{refused} flags:\n\n| why | flags | names |\n| --- | --- | --- |\n{rows}")
}

fn table(name: &str) -> String {
    match name {
        "refused flags" => refused_flags(),
        "flags" => every_flag(),
        "settings" => settings(),
        "acting variables" => environment(|status| status == environment::Status::Acts),
        "later variables" => environment(|status| status == environment::Status::NotYet),
        "fixed variables" => environment(|status| matches!(status, environment::Status::Always(_))),
        "idle variables" => idle_variables(),
        "templates" => templates(),
        other => panic!("no table {other}"),
    }
}

fn with_tables(text: &str) -> String {
    let (open, close) = ("<!-- table: ", "<!-- end -->");
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let (name, _) = rest[at + open.len()..].split_once(" -->").unwrap();
        let end = at + rest[at..].find(close).unwrap_or_else(|| panic!("no end of table {name}"));
        out.push_str(&format!("{}{open}{name} -->\n{}\n{close}", &rest[..at], table(name)));
        rest = &rest[end + close.len()..];
    }
    out + rest
}

#[test]
fn the_readme_states_how_many_flags_are_refused() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let refused = flags::all().filter(|flag| matches!(flag.status, Status::NotYet(_))).count();
    let wanted = format!("{refused} of AIPerf's 265 flags are refused");
    assert!(text.contains(&wanted), "README.md does not say that {wanted}");
}

#[test]
fn docs_match_the_tables() {
    for file in ["cli.md", "configuration.md", "differences.md", "environment.md"] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let made = with_tables(&text);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &made).unwrap();
        } else {
            assert!(text == made, "docs/{file} is out of date: UPDATE_DOCS=1 cargo test -p aiperf-config docs");
        }
    }
}
