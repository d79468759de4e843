//! A resolved configuration as YAML, each value with its origin.

use crate::choice::Choice;
use crate::context::Context;
use crate::error::ConfigError;
use crate::export;
use crate::plan::{Resolved, resolve_profile};
use crate::resolve::{RunVariation, Tree, resolve_config};
use crate::sections::sweep::SweepType;
use crate::tree::{Datum, Node, Origin, Places};
use crate::yaml_text::plain;
use aiperf_plan::redact::{self, REDACTED, Redactor, visit_texts};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The configuration from arguments and file, with the origin of each value as a comment. Secrets are redacted.
pub fn show_resolved(args: &[String], ctx: &Context<'_>) -> Result<String, ConfigError> {
    let tree = resolve_config(args, ctx)?;
    let shown = Shown { places: &tree.places, secrets: tree.redactor() };
    let mut out = String::new();
    for (key, node) in tree.node.entries() {
        shown.entry(&mut out, key, node, 0, key, true);
    }
    Ok(out)
}

/// What lines of a configuration show.
struct Shown<'t> {
    places: &'t Places,
    /// Those of the file: any setting may hold what a template made of one.
    secrets: Redactor,
}

impl Shown<'_> {
    /// The lines of an entry; comments if a file may leave them out and `may_comment` allows it.
    fn entry(&self, out: &mut String, key: &str, node: &Node, depth: usize, path: &str, may_comment: bool) {
        let pad = "  ".repeat(depth);
        let is_comment = may_comment && is_left_out(node, path);
        let mut lines = format!("{pad}{}:", plain(key));
        self.value(&mut lines, node, depth, path, may_comment && !is_comment);
        if !is_comment {
            return out.push_str(&lines);
        }
        for line in lines.lines() {
            out.push_str(&format!("{pad}# {}\n", &line[pad.len()..]));
        }
    }

    fn value(&self, out: &mut String, node: &Node, depth: usize, path: &str, may_comment: bool) {
        match &node.datum {
            _ if is_secret(node, path) => out.push_str(&format!(" {}{}\n", plain(REDACTED), self.origin(node))),
            Datum::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                for (key, child) in entries {
                    self.entry(out, key, child, depth + 1, &format!("{path}.{key}"), may_comment);
                }
            }
            Datum::List(items) if items.iter().any(Node::is_map) => {
                out.push('\n');
                for item in items {
                    let pad = "  ".repeat(depth + 1);
                    let mut inner = String::new();
                    for (key, child) in item.entries() {
                        self.entry(&mut inner, key, child, depth + 2, &format!("{path}.{key}"), false);
                    }
                    out.push_str(&format!("{pad}- {}", inner.trim_start()));
                }
            }
            _ => out.push_str(&format!(" {}{}\n", self.scalar(node, path), self.origin(node))),
        }
    }

    fn origin(&self, node: &Node) -> String {
        match &node.origin {
            Origin::Rule => "  # default".to_owned(),
            Origin::Flag(spelled) => format!("  # {spelled}"),
            Origin::File { line, .. } => format!("  # {}:{line}", self.places.file.as_deref().unwrap_or_default()),
        }
    }

    fn scalar(&self, node: &Node, path: &str) -> String {
        let hidden = |text: &str| plain(&self.secrets.hide_in_own(text));
        match &node.datum {
            Datum::Null => "null".to_owned(),
            Datum::Text(text) if path.ends_with(".template.body") => hidden(&redact::template(text)),
            Datum::Text(text) => hidden(&redact::url(text)),
            Datum::Int(n) if matches!(self.secrets.hide_in_own(&n.to_string()), Cow::Owned(_)) => plain(REDACTED),
            Datum::Float(n) if n.fract() == 0.0 && n.is_finite() => format!("{n:.1}"),
            Datum::Float(n) if n.is_infinite() => ".inf".to_owned(),
            Datum::List(items) => {
                format!("[{}]", items.iter().map(|item| self.scalar(item, path)).collect::<Vec<_>>().join(", "))
            }
            Datum::Map(_) => "{}".to_owned(),
            _ => node.to_json().to_string(),
        }
    }
}

/// The sections that a file must have.
const NEEDED: [&str; 4] = ["models", "endpoint", "datasets", "phases"];

/// Whether a line is a comment only: a file may leave it out, and every value in it is a default. A default that is
/// written into a file counts as the user's choice, for example of an interface.
fn is_left_out(node: &Node, path: &str) -> bool {
    let section = path.strip_prefix("benchmark.").and_then(|rest| rest.split('.').next());
    section.is_some_and(|section| !NEEDED.contains(&section)) && is_default(node)
}

fn is_default(node: &Node) -> bool {
    match &node.datum {
        Datum::Map(entries) if !entries.is_empty() => entries.iter().all(|(_, child)| is_default(child)),
        Datum::List(items) if !items.is_empty() => items.iter().all(is_default),
        _ => node.origin == Origin::Rule,
    }
}

fn is_secret(node: &Node, path: &str) -> bool {
    export::is_secret_setting(path) && !export::is_nothing(&node.to_json())
}

/// The runs of a configuration: one line each, or everything as JSON.
pub fn expanded(tree: &Tree, json: bool) -> String {
    let secrets = tree.redactor();
    let kind = tree.envelope.sweep.as_ref().and_then(|sweep| sweep.r#type);
    if !json {
        let line = |index: usize, dir: &str, label: &str| format!("[{index}] dir={dir} label={label}\n");
        return match tree.variations.as_slice() {
            [] if kind.is_some_and(SweepType::is_drawn) => "the runs are chosen during the search\n".to_owned(),
            [] => line(0, "base", "base"),
            runs => runs
                .iter()
                .map(|run| line(run.index, &secrets.hide(&run.dir_name), &secrets.hide(&run.label)))
                .collect(),
        };
    }
    let one = |run: &RunVariation| {
        let mut values = Value::Object(run.values.clone());
        export::without_secrets(&mut values);
        let (index, label) = (run.index, &run.label);
        json!({"index": index, "dir_name": run.dir_name, "label": label, "values": values, "benchmark": run.input_config()})
    };
    let runs: Vec<Value> = tree.variations.iter().map(one).collect();
    let mut all = json!({"sweep_type": kind.map(Choice::name), "variations": runs});
    visit_texts(&mut all, &mut |text| *text = secrets.hide_in_own(text).into_owned());
    format!("{}\n", serde_json::to_string_pretty(&all).unwrap_or_default())
}

/// Checks a configuration file as `profile` does: returns the plan with notes, or what is wrong.
pub fn validate(file: &str, ctx: &Context<'_>) -> Result<Resolved, ConfigError> {
    resolve_profile(&["--config".to_owned(), file.to_owned()], ctx)
}
