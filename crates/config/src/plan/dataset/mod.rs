//! The dataset: generated conversations, those of a file, or those of a public dataset.

mod file;
mod format;
mod media;
mod public;
mod rows;
mod synthetic;
mod text;
mod trace;

use super::subject;
use crate::context::Context;
use crate::error::Problem;
use crate::flags::Flag;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::dataset::{Dataset, DatasetType};
use crate::sections::endpoint::Endpoint;
use crate::tree::{Node, Origin};
use aiperf_plan::{DatasetPlan, MediaPlan, Sampling};
use aiperf_types::{EndpointKind, NeedsFile};

#[cfg(test)]
pub(crate) use format::looks_like;

/// The order in which conversations are drawn.
pub(super) fn sampling(tree: &Tree) -> Sampling {
    let dataset = tree.benchmark.datasets.as_ref().and_then(|datasets| datasets.first());
    dataset.map_or(Sampling::Sequential, Dataset::sampling)
}

/// The seed of the dataset alone.
pub(super) fn seed(tree: &Tree) -> Option<u64> {
    let dataset = tree.benchmark.datasets.as_ref()?.first()?;
    dataset.random_seed.and_then(|seed| u64::try_from(seed).ok())
}

pub(super) fn dataset(
    tree: &Tree,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    let dataset = tree.benchmark.datasets.as_ref()?.first()?;
    match dataset.r#type() {
        DatasetType::File => return file::file(tree, ctx, dataset, notes, problems),
        DatasetType::Public => return public::public(tree, dataset, notes, problems),
        DatasetType::Synthetic => sends_all_images(tree, "generated requests have no images with ids", notes),
    }
    let kind = endpoint_kind(&tree.benchmark);
    let media = media::MediaReader { tree, ctx, kind, notes, problems }.read(dataset);
    if kind.traits().ranks {
        for (key, is_set) in [("turns", dataset.turns.is_some()), ("turn_delay", dataset.turn_delay.is_some())] {
            if is_set {
                let what = first_set(tree, &format!("benchmark.datasets.0.{key}"));
                notes.push(format!("{what} has no effect: a ranking request is a conversation of one turn"));
            }
        }
        return Some(synthetic::rankings(tree, dataset, notes, problems));
    }
    if dataset.rankings.is_some() {
        let at = "benchmark.datasets.0.rankings";
        let what = first_set(tree, at);
        notes.push(format!("{what} has no effect: type {} does not rank passages", kind.name()));
    }
    not_made(tree, kind, &media, problems);
    let block_size = "benchmark.datasets.0.prompts.block_size";
    if tree.node.find(block_size).is_some() {
        notes.push(format!("{} has no effect: generated prompts share no blocks", subject(tree, block_size)));
    }
    Some(synthetic::synthetic(tree, dataset, media, notes, problems))
}

/// Notes that images are sent each time, if there are no ids to send instead.
fn sends_all_images(tree: &Tree, why: &str, notes: &mut Vec<String>) {
    if tree.benchmark.endpoint.as_ref().is_some_and(Endpoint::uuid_and_strip) {
        let what = subject(tree, "benchmark.endpoint.uuid_and_strip");
        notes.push(format!("{what} has no effect: {why}"));
    }
}

/// Refuses an endpoint type whose requests need content that is not generated, or not requested.
fn not_made(tree: &Tree, kind: EndpointKind, media: &MediaPlan, problems: &mut Vec<Problem>) {
    let Some(needed) = kind.traits().needs_file else { return };
    let (holds, rows) = match needed {
        NeedsFile::EditedImage => ("an image", "a text and an image a row"),
        NeedsFile::Images => ("images", "images in each row"),
        NeedsFile::Audio => ("audio", "an audio a row"),
        NeedsFile::WholeBody => ("a whole body", "--custom-dataset-type raw_payload, a body a line"),
    };
    let made_by = match needed {
        NeedsFile::EditedImage | NeedsFile::Images => Some(("--image-batch-size 1", "images: {batch_size: 1}")),
        NeedsFile::Audio => Some(("--audio-batch-size 1", "audio: {batch_size: 1}")),
        NeedsFile::WholeBody => None,
    };
    let traits = kind.traits();
    let is_made = (traits.accepts_images && media.images.is_some()) || (traits.accepts_audio && media.audio.is_some());
    if made_by.is_some() && is_made {
        return;
    }
    let at = "benchmark.endpoint.type";
    let (flag, key) = ("--input-file FILE", "dataset: {type: file, path: FILE}");
    let file = if tree.places.file.is_some() { key } else { flag };
    let what = subject(tree, at);
    let from_file = format!("{file} with {rows}");
    problems.push(match made_by {
        None => Problem::new(format!("{what} needs a file of requests"))
            .because(format!("each of its requests holds {holds}, which is not generated"))
            .hint(from_file)
            .at(at),
        Some((flag, key)) => {
            let made = if tree.places.file.is_some() { key } else { flag };
            Problem::new(format!("{what} needs requests that hold {holds}"))
                .because("only text is generated by default")
                .hint(format!("{made}, or {from_file}"))
                .at(at)
        }
    });
}

/// The name of the first value that the user set below a path.
fn first_set(tree: &Tree, path: &str) -> String {
    fn deepest(node: &Node, path: String) -> (&Node, String) {
        match node.entries().iter().find(|(_, child)| child.origin != Origin::Rule || child.is_map()) {
            Some((key, child)) => deepest(child, format!("{path}.{key}")),
            None => (node, path),
        }
    }
    tree.node.find(path).map_or_else(
        || path.to_owned(),
        |node| {
            let (node, path) = deepest(node, path.to_owned());
            tree.places.subject(node, &path)
        },
    )
}

/// Whether a flag sets the number of conversations.
fn counted_by(tree: &Tree, flag: &Flag) -> bool {
    let entries = tree.node.find("benchmark.datasets.0.entries");
    entries.is_some_and(|node| node.origin == Origin::Flag(tree.flags.spelled(flag).to_owned()))
}
