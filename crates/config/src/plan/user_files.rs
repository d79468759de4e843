//! Files with a text of the user: rendered with the values of the run, and written in their format.

use crate::error::Problem;
use crate::file::template::{self, Made};
use crate::resolve::Tree;
use crate::sections::artifacts::UserFileFormat;
use crate::tree::{Node, Origin};
use crate::yaml_text;
use aiperf_plan::redact::{self, REDACTED, Redactor, secrets_in_members, visit_secret_members};
use aiperf_plan::{EndpointPlan, UserFile};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The user's files as they are written, without values whose names mark secrets. The writer of files hides secrets of
/// the plan by their value.
pub(super) fn user_files(
    tree: &Tree,
    dir: &Path,
    models: &[String],
    endpoint: &EndpointPlan,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Vec<UserFile> {
    let files = tree.benchmark.artifacts.iter().filter_map(|artifacts| artifacts.user_files.as_deref()).flatten();
    let files: Vec<_> = files.enumerate().collect();
    if files.is_empty() {
        return Vec::new();
    }
    let known = known(tree, dir, models, endpoint);
    let variables = tree.node.get("variables").filter(|node| node.is_map());
    let shadowed = variables.iter().flat_map(|node| node.entries()).filter(|(name, _)| known.get(name).is_some());
    for (name, _) in shadowed {
        notes.push(format!("in user_files, {name} is the value of the run, not the variable of this name"));
    }
    let mut context = variables.cloned().unwrap_or_else(|| Node::map(Origin::Rule));
    crate::tree::merge(&mut context, known);
    let redactor = Redactor::new(secrets_of_variables(tree));
    let mut made = Vec::new();
    for (index, file) in files {
        let at = format!("benchmark.artifacts.user_files.{index}.content");
        let Some(mut content) = tree.node.find(&at).cloned() else { continue };
        let (format, how) = match file.format {
            Some(UserFileFormat::Text) => (UserFileFormat::Text, Made::Text),
            None if content.text().is_some() => (UserFileFormat::Text, Made::Text),
            other => (other.unwrap_or(UserFileFormat::Json), Made::Value),
        };
        match template::render_content(&mut content, &at, &context, how, &tree.places) {
            Ok(()) => made.push(UserFile {
                path: PathBuf::from(file.path.as_deref().unwrap_or_default()),
                text: text(content.to_json(), format, &redactor),
            }),
            Err(problem) => problems.push(problem),
        }
    }
    made
}

/// The secrets in the user's variables, and in the environment variables of the file.
pub(super) fn secrets_of_variables(tree: &Tree) -> Vec<String> {
    let mut secrets = tree.secrets_of_environment();
    if let Some(Value::Object(variables)) = tree.node.get("variables").map(Node::to_json) {
        secrets.extend(secrets_in_members(&variables));
    }
    secrets
}

/// Values of the run; they override variables.
fn known(tree: &Tree, dir: &Path, models: &[String], endpoint: &EndpointPlan) -> Node {
    let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let url = endpoint.urls.first().map(|url| url.as_str()).unwrap_or_default();
    let name = dir.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let known = json!({
        "epoch": epoch,
        "job_name": name,
        "namespace": tree.environment.namespace,
        "model": models.first(),
        "endpoint_url": redact::url(url),
        "artifact_dir": dir.to_string_lossy(),
    });
    Node::from_json(&known, &Origin::Rule)
}

fn text(mut content: Value, format: UserFileFormat, redactor: &Redactor) -> String {
    visit_secret_members(&mut content, &mut |_, member| *member = REDACTED.into());
    redactor.document(&mut content);
    match (format, content) {
        (UserFileFormat::Text, Value::String(text)) => redact::text(&text),
        (UserFileFormat::Yaml, content) => {
            let mut out = String::new();
            yaml(&content, 0, &mut out);
            out
        }
        (_, content) => serde_json::to_string_pretty(&content).unwrap_or_default(),
    }
}

/// A document as YAML, one entry per line. In a list, the first entry follows the dash.
fn yaml(value: &Value, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                out.push_str(&format!("{pad}{}:", yaml_text::plain(name)));
                below(member, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut inner = String::new();
                match item {
                    Value::Object(_) | Value::Array(_) => yaml(item, depth + 1, &mut inner),
                    _ => inner = format!("{}\n", scalar(item)),
                }
                out.push_str(&format!("{pad}- {}", inner.trim_start_matches(' ')));
            }
        }
        _ => out.push_str(&format!("{pad}{}\n", scalar(value))),
    }
}

fn below(value: &Value, depth: usize, out: &mut String) {
    let is_block = value.as_object().is_some_and(|members| !members.is_empty())
        || value.as_array().is_some_and(|items| !items.is_empty());
    if is_block {
        out.push('\n');
        yaml(value, depth + 1, out);
    } else {
        out.push_str(&format!(" {}\n", scalar(value)));
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => yaml_text::plain(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::yaml as reader;
    use crate::tree::Places;

    #[test]
    fn yaml_is_parsed_back_to_the_same_value() {
        let all = json!({
            "n": 3, "f": 1.5, "none": null, "on": true, "text": "x: y", "word": "true", "lines": "a\nb", "empty": "",
            "number": "007", "z": [1, {"a": "me", "b": [[1, 2], []]}, {}, []], "deep": {"er": {"est": [{"q": "#"}]}},
            "y es": "ü", "date": "2020-01-01", "tilde": "~", "null": "null",
        });
        let mut out = String::new();
        yaml(&all, 0, &mut out);
        let again = reader::load(&out, &Places::default()).unwrap_or_else(|problem| panic!("{problem:?}\n{out}"));
        assert_eq!(again.to_json(), all, "{out}");
    }
}
