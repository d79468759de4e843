//! Conversations of a file.

use super::super::subject;
use super::counted_by;
use super::format;
use super::trace;
use crate::context::Context;
use crate::error::Problem;
use crate::flags::NUM_DATASET_ENTRIES;
use crate::os_text;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use crate::sections::phases::PhaseType;
use crate::tree::{Node, Origin};
use aiperf_plan::{DatasetPlan, FileFormat, FilePlan, TimestampWindow};
use aiperf_types::EndpointKind;
use std::path::Path;

pub(super) fn file(
    tree: &Tree,
    ctx: &Context<'_>,
    dataset: &Dataset,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    // Conversations written out are refused by their key.
    let given = dataset.path.as_deref()?;
    let path = ctx.cwd.join(os_text::path(given));
    let at = "benchmark.datasets.0.path";
    let what = subject(tree, at);
    if let Err(rule) = is_there(&path) {
        problems.push(Problem::new(format!("{what} {rule}")).hint("a file with a line for each request").at(at));
        return None;
    }
    if let Some(format) = format::trace(&path, dataset.format) {
        return Some(trace::trace(tree, dataset, path, format, notes, problems));
    }
    let format = match format::of(&path, dataset.format) {
        Ok(format) => format,
        Err(problem) => {
            problems.push(problem(tree));
            return None;
        }
    };
    trace::not_a_trace(tree, format.name(), problems);
    if path.is_dir() && format != FileFormat::RawPayload {
        problems.push(
            Problem::new(format!("{what} is a directory"))
                .because(format!("{} is read from a file", format.name()))
                .hint("one of its files")
                .at(at),
        );
    }
    let kind = endpoint_kind(&tree.benchmark);
    if kind == EndpointKind::Raw && format != FileFormat::RawPayload {
        problems.push(
            Problem::new(format!("{} needs whole bodies", subject(tree, "benchmark.endpoint.type")))
                .because(format!("{what} holds rows of {}, from which it makes none", format.name()))
                .hint("--custom-dataset-type raw_payload, a body a line")
                .at("benchmark.endpoint.type"),
        );
    }
    let extra = tree.node.find("benchmark.endpoint.extra").filter(|extra| !extra.entries().is_empty());
    if let Some(extra) = extra.filter(|extra| format == FileFormat::RawPayload && !is_for_answers(extra, kind)) {
        let extra = tree.places.subject_key(extra, "benchmark.endpoint.extra");
        notes.push(format!("{extra} has no effect: bodies of raw_payload are sent as they are"));
    }
    let corpus = "benchmark.datasets.0.prompts.corpus";
    if tree.node.find(corpus).is_some() {
        notes.push(format!("{} has no effect: requests are what the data says", subject(tree, corpus)));
    }
    let osl = dataset.osl.as_ref().map(Distribution::drawn).filter(|osl| osl.mean() >= 1.0);
    let entries = entries(tree, dataset);
    let hoist_system = kind.traits().system_message;
    let (window, delay_ratio) = (window(tree, problems), dataset.turn_delay_ratio());
    let delay_cap_ms = delay_cap(tree, dataset, format, problems);
    Some(DatasetPlan::File(FilePlan {
        entries,
        osl,
        window,
        delay_ratio,
        delay_cap_ms,
        hoist_system,
        ..FilePlan::new(path, format)
    }))
}

/// Conversations that are used at most: what other flags say is about requests.
pub(super) fn entries(tree: &Tree, dataset: &Dataset) -> Option<u64> {
    let node = tree.node.find("benchmark.datasets.0.entries");
    let is_asked =
        counted_by(tree, NUM_DATASET_ENTRIES) || node.is_some_and(|node| matches!(node.origin, Origin::File { .. }));
    dataset.entries.filter(|_| is_asked).and_then(|entries| u64::try_from(entries).ok())
}

/// The longest delay that is kept to, in milliseconds: where conversations are written out with theirs.
fn delay_cap(tree: &Tree, dataset: &Dataset, format: FileFormat, problems: &mut Vec<Problem>) -> Option<f64> {
    let cap = dataset.inter_turn_delay_cap_seconds?;
    if format != FileFormat::MultiTurn {
        let at = "benchmark.datasets.0.inter_turn_delay_cap_seconds";
        problems.push(
            Problem::new(format!("{} is for conversations of multi_turn and for traces", subject(tree, at)))
                .because(format!("{} holds rows of {}", subject(tree, "benchmark.datasets.0.path"), format.name()))
                .hint("rows of multi_turn, or leave it out")
                .at(at),
        );
    }
    Some(cap * 1e3)
}

/// Which timestamps are used: those between the offsets of the fixed schedule. They are cut out when the file is read, so
/// all phases have the same.
pub(super) fn window(tree: &Tree, problems: &mut Vec<Problem>) -> TimestampWindow {
    let phases = tree.benchmark.phases.iter().flat_map(|phases| phases.0.iter()).enumerate();
    let mut windows = phases
        .filter(|(_, phase)| phase.r#type == Some(PhaseType::FixedSchedule))
        .map(|(index, phase)| (index, (phase.start_offset, phase.end_offset)));
    let Some((_, (start, end))) = windows.next() else { return TimestampWindow::default() };
    if let Some((index, _)) = windows.find(|(_, window)| *window != (start, end)) {
        let at = format!("benchmark.phases.{index}");
        let place = tree.node.find(&at).map_or_else(String::new, |node| tree.places.prefix(&node.origin));
        problems.push(
            Problem::new(format!("{place}{at} has other offsets than the fixed schedule before it"))
                .because("start_offset and end_offset say which rows of the file are read, for all phases")
                .hint("the same start_offset and end_offset in each, or a file for each run")
                .at(at),
        );
    }
    TimestampWindow { start_ms: start.map(|ms| ms as f64), end_ms: end.map(|ms| ms as f64) }
}

/// Whether extra inputs only say how answers are read.
fn is_for_answers(extra: &Node, kind: EndpointKind) -> bool {
    kind == EndpointKind::Raw && extra.entries().iter().all(|(key, _)| key == "response_field")
}

/// Whether a file can be opened, or what is wrong with it.
fn is_there(path: &Path) -> Result<(), String> {
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err("is no file".into()),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if meta.is_dir() {
        return Ok(());
    }
    if !meta.is_file() {
        return Err("is not a file".into());
    }
    if meta.len() == 0 {
        return Err("is empty".into());
    }
    std::fs::File::open(path).map(drop).map_err(|error| format!("cannot be read: {error}"))
}
