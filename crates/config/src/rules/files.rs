//! File names: each name of the run's and the user's files is inside the directory, and none collides with another.

use super::facts::Facts;
use crate::choice::Choice;
use crate::error::Problem;
use crate::sections::artifacts::{Artifacts, UserFile, UserFileFormat};
use crate::sections::envelope::Benchmark;
use aiperf_plan::{FileNames, collide};
use std::path::{Component, Path};

pub(super) fn check(benchmark: &Benchmark, artifacts: &Artifacts, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let phases = benchmark.phases.as_ref().map_or(0, |phases| phases.len());
    prefix(artifacts, phases > 1, facts, problems);
    let names = FileNames::new(artifacts.prefix.as_deref());
    let files: &[UserFile] = artifacts.user_files.as_deref().unwrap_or_default();
    for (index, file) in files.iter().enumerate() {
        content(index, file, facts, problems);
        let at = format!("artifacts.user_files.{index}.path");
        let path = Path::new(file.path.as_deref().unwrap_or_default());
        if !is_inside(path) || has_control(path) {
            problems.push(
                facts
                    .problem(&at, format!("{} must be a path inside the directory", facts.subject(&at)))
                    .because("it must be relative, without .. or control characters")
                    .hint("NAME.txt, or FOLDER/NAME.txt"),
            );
            continue;
        }
        let is_taken = |file: &UserFile| file.path.as_deref().is_some_and(|other| collide(path, Path::new(other)));
        let taken = match names.all().find(|own| collide(path, Path::new(own))) {
            Some(own) => Some(format!("is where the run itself writes {own}")),
            None => {
                files[..index].iter().position(is_taken).map(|other| format!("is where user_files.{other} is written"))
            }
        };
        if let Some(taken) = taken {
            problems.push(facts.problem(&at, format!("{} {taken}", facts.subject(&at))).hint("another path"));
        }
    }
}

fn is_inside(path: &Path) -> bool {
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

fn has_control(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.chars().any(char::is_control))
}

/// Names from the prefix.
fn prefix(artifacts: &Artifacts, has_phase_folders: bool, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let at = "artifacts.prefix";
    let Some(given) = artifacts.prefix.as_deref() else { return };
    let names = FileNames::new(Some(given));
    let made = Path::new(&names.summary_json);
    let base = made.file_name().and_then(|name| name.to_str()).unwrap_or_default().trim_end_matches(".json");
    if base.bytes().all(|byte| byte == b'.') {
        problems.push(
            facts
                .problem(at, format!("{} must give files a name", facts.subject(at)))
                .because(format!("it makes {}, a hidden file", names.summary_json))
                .hint(facts.ask("--profile-export-prefix NAME", "prefix: NAME")),
        );
        return;
    }
    if !is_inside(made) {
        problems.push(
            facts
                .problem(at, format!("{} must begin names inside the directory", facts.subject(at)))
                .because("without ..")
                .hint(facts.ask("--profile-export-prefix NAME", "prefix: NAME")),
        );
        return;
    }
    let outputs = artifacts.export_outputs_json();
    let fixed = FileNames::FIXED.iter().filter(|name| outputs || **name != FileNames::OUTPUTS);
    let taken = fixed.flat_map(|fixed| names.prefixed().map(|made| (made, *fixed)));
    let taken = taken.into_iter().find(|(made, fixed)| collide(Path::new(made), Path::new(fixed)));
    // The summary of a phase is in the same folder as its server metrics.
    let in_a_phase = (has_phase_folders && names.summary_json == FileNames::PHASE_SERVER_METRICS)
        .then_some((names.summary_json.as_str(), FileNames::PHASE_SERVER_METRICS));
    match taken.or(in_a_phase) {
        Some((made, FileNames::OUTPUTS)) => {
            let what = format!(
                "{}--profile-export-prefix resolves to '{}' which produces '{made}', colliding with \
                 --export-outputs-json (also '{}'). Use a different prefix.",
                facts.place(at),
                made.trim_end_matches(".json"),
                FileNames::OUTPUTS
            );
            problems.push(facts.problem(at, what));
        }
        Some((made, fixed)) => problems.push(
            facts
                .problem(at, format!("{} makes {made}, and the run itself writes {fixed}", facts.subject(at)))
                .because("two files cannot have one name")
                .hint("another prefix"),
        ),
        None => {}
    }
}

/// A text is written as text, anything else as JSON or YAML.
fn content(index: usize, file: &UserFile, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let at = format!("artifacts.user_files.{index}.content");
    // The content may be secret: the message names only its location.
    let named = match facts.node.find(&at) {
        Some(node) => facts.places.subject_key(node, &format!("benchmark.{at}")),
        None => {
            format!("{}benchmark.artifacts.user_files.{index}", facts.place(&format!("artifacts.user_files.{index}")))
        }
    };
    let (what, hint) = match (&file.content, file.format) {
        (None, _) => ("needs content".to_owned(), "content: TEXT, or a map that is written as JSON"),
        (Some(content), Some(UserFileFormat::Text)) if !content.is_string() => {
            ("must be a text where the format is text".to_owned(), "format: json, or yaml")
        }
        (Some(content), Some(format)) if format != UserFileFormat::Text && content.is_string() => {
            (format!("must be more than a text where the format is {}", format.name()), "format: text, or a map")
        }
        _ => return,
    };
    problems.push(facts.problem(&at, format!("{named} {what}")).hint(hint));
}
