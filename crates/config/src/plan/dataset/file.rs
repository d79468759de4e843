//! Conversations from a file, or from inline records.

use super::super::{subject, what_holds};
use super::format::{self, Reader};
use super::rows::{entries, not_drawn, window};
use super::{sends_all_images, trace};
use crate::context::Context;
use crate::error::Problem;
use crate::os_text;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use crate::sections::endpoint::Endpoint;
use crate::sections::layout::Layout;
use crate::tree::Node;
use aiperf_plan::{BatchSizes, DatasetPlan, FileFormat, FilePlan, FileSource, RecordList};
use aiperf_types::EndpointKind;
use serde_json::Value;
use std::path::Path;

const PATH: &str = "benchmark.datasets.0.path";
/// The default layout of inline records.
const USUAL_RECORDS: Layout = Layout::File(FileFormat::SingleTurn);

pub(super) fn file(
    tree: &Tree,
    ctx: &Context<'_>,
    dataset: &Dataset,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    let (source, format) = match &dataset.records {
        Some(records) => (written_out(tree, records), dataset.format.unwrap_or(USUAL_RECORDS)),
        None => return of_path(tree, ctx, dataset, notes, problems),
    };
    match format::named(tree, format) {
        Ok(Reader::File(format)) => Some(planned(tree, dataset, source, format, notes, problems)),
        Ok(Reader::Trace(format)) => {
            problems.push(
                Problem::new(format!("{} cannot be rows of {}", what_holds(tree), format.name()))
                    .because("a trace is read from a file, which may be larger than memory")
                    .hint("the same rows in a file, and its path: in place of records:")
                    .at("benchmark.datasets.0.format"),
            );
            None
        }
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// Inline records, with their location for messages: a list, or lists by the names of pools.
fn written_out(tree: &Tree, records: &Value) -> FileSource {
    let rows = |items: &Value| items.as_array().cloned().unwrap_or_default();
    let lists = match records {
        Value::Object(pools) => {
            pools.iter().map(|(name, items)| RecordList { name: name.clone(), rows: rows(items) }).collect()
        }
        items => vec![RecordList { name: String::new(), rows: rows(items) }],
    };
    let place = tree.places.file.clone().unwrap_or_else(|| "the configuration".to_owned());
    FileSource::Records { place, lists }
}

fn of_path(
    tree: &Tree,
    ctx: &Context<'_>,
    dataset: &Dataset,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    let given = dataset.path.as_deref()?;
    let path = ctx.cwd.join(os_text::path(given));
    let what = subject(tree, PATH);
    if let Err(rule) = is_there(&path) {
        problems.push(Problem::new(format!("{what} {rule}")).hint("a file with a line for each request").at(PATH));
        return None;
    }
    let format = match format::of(tree, &path, dataset.format) {
        Ok(Reader::File(format)) => format,
        Ok(Reader::Trace(format)) => return Some(trace::trace(tree, dataset, path, format, notes, problems)),
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    if path.is_dir() && !format.has_folders() {
        problems.push(
            Problem::new(format!("{what} is a directory"))
                .because(format!("{} is read from a file", format.name()))
                .hint("one of its files")
                .at(PATH),
        );
    }
    Some(planned(tree, dataset, FileSource::Path(path), format, notes, problems))
}

fn planned(
    tree: &Tree,
    dataset: &Dataset,
    source: FileSource,
    format: FileFormat,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> DatasetPlan {
    let kind = endpoint_kind(&tree.benchmark);
    let what = what_holds(tree);
    if kind == EndpointKind::Raw && !format.is_verbatim() {
        problems.push(
            Problem::new(format!("{} needs whole bodies", subject(tree, "benchmark.endpoint.type")))
                .because(format!("{what} holds rows of {}, which contain no bodies", format.name()))
                .hint("--custom-dataset-type raw_payload, a body a line")
                .at("benchmark.endpoint.type"),
        );
    }
    let extra = tree.node.find("benchmark.endpoint.extra").filter(|extra| !extra.entries().is_empty());
    if let Some(extra) = extra.filter(|extra| format.is_verbatim() && !is_for_responses(extra, kind)) {
        let extra = tree.places.subject_key(extra, "benchmark.endpoint.extra");
        notes.push(format!("{extra} has no effect: bodies of {} are sent as they are", format.name()));
    }
    let corpus = "benchmark.datasets.0.prompts.corpus";
    if tree.node.find(corpus).is_some() {
        notes.push(format!("{} has no effect: requests are taken from the data", subject(tree, corpus)));
    }
    trace::not_a_trace(tree, format, problems);
    let is_drawn = format == FileFormat::RandomPool;
    if !is_drawn {
        not_drawn(tree, format.name(), problems);
    }
    // Any number may be drawn from a pool, so the number of requests applies too.
    let all = dataset.entries.and_then(|entries| u64::try_from(entries).ok());
    DatasetPlan::File(FilePlan {
        entries: if is_drawn { all } else { entries(tree, dataset) },
        osl: dataset.osl.as_ref().map(Distribution::drawn).filter(|osl| osl.mean() >= 1.0),
        window: window(tree, problems),
        max_isl: dataset
            .synthesis
            .as_ref()
            .and_then(|synthesis| synthesis.max_isl)
            .and_then(|most| u64::try_from(most).ok()),
        delay_ratio: dataset.turn_delay_ratio(),
        delay_cap_ms: delay_cap(tree, dataset, format, problems),
        hoist_system: kind.traits().system_message,
        batches: batches(dataset),
        strip_known_images: strips_images(tree, format, notes, problems),
        inline_images: kind.traits().inline_images.then_some(tree.environment.media_fetching),
        ..FilePlan::of(source, format)
    })
}

/// How many contents of each kind a request from a pool has.
fn batches(dataset: &Dataset) -> BatchSizes {
    let size = |size: Option<i64>| size.map_or(1, |size| u32::try_from(size).unwrap_or(u32::MAX));
    BatchSizes {
        texts: size(dataset.prompt_batch_size),
        images: size(dataset.image_batch_size),
        audios: size(dataset.audio_batch_size),
        videos: size(dataset.video_batch_size),
    }
}

/// Whether images are sent by their id alone if the server knows them.
fn strips_images(tree: &Tree, format: FileFormat, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> bool {
    let at = "benchmark.endpoint.uuid_and_strip";
    let what = subject(tree, at);
    match format {
        _ if !tree.benchmark.endpoint.as_ref().is_some_and(Endpoint::uuid_and_strip) => return false,
        FileFormat::SingleTurn => {}
        FileFormat::MultiTurn => problems.push(
            Problem::new(format!("{what} cannot be used with rows of multi_turn"))
                .because("each turn repeats those before it, so every request contains the images sent before")
                .hint("rows of single_turn with one session_id, or leave it out")
                .at(at),
        ),
        other => sends_all_images(tree, &format!("rows of {} have no image_uuids and turns", other.name()), notes),
    }
    format == FileFormat::SingleTurn
}

/// The longest delay, in milliseconds: for conversations that contain their delays.
fn delay_cap(tree: &Tree, dataset: &Dataset, format: FileFormat, problems: &mut Vec<Problem>) -> Option<f64> {
    let cap = dataset.inter_turn_delay_cap_seconds?;
    if format != FileFormat::MultiTurn {
        let at = "benchmark.datasets.0.inter_turn_delay_cap_seconds";
        problems.push(
            Problem::new(format!("{} is for conversations of multi_turn and for traces", subject(tree, at)))
                .because(format!("{} holds rows of {}", what_holds(tree), format.name()))
                .hint("rows of multi_turn, or leave it out")
                .at(at),
        );
    }
    Some(cap * 1e3)
}

/// Whether extra inputs only configure how responses are read.
fn is_for_responses(extra: &Node, kind: EndpointKind) -> bool {
    kind == EndpointKind::Raw && extra.entries().iter().all(|(key, _)| key == "response_field")
}

/// Whether a file can be opened, or what is wrong with it.
fn is_there(path: &Path) -> Result<(), String> {
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err("does not exist".into()),
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
