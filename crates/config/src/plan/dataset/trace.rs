//! A trace that is replayed.

use super::super::{subject, what_holds};
use super::{rows, sends_all_images, text};
use crate::error::Problem;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use aiperf_plan::{BasetenReplay, DatasetPlan, FileFormat, Pace, Synthesis, TraceFormat, TracePlan};
use aiperf_types::EndpointKind;
use std::path::PathBuf;

/// The path of a setting of the dataset.
fn at(key: &str) -> String {
    format!("benchmark.datasets.0.{key}")
}

pub(super) fn trace(
    tree: &Tree,
    dataset: &Dataset,
    path: PathBuf,
    format: TraceFormat,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> DatasetPlan {
    let is_baseten = format == TraceFormat::Baseten;
    if endpoint_kind(&tree.benchmark) == EndpointKind::Raw {
        problems.push(
            Problem::new(format!("{} needs whole bodies", subject(tree, "benchmark.endpoint.type")))
                .because(format!("rows of {} describe requests and contain no bodies", format.name()))
                .hint("--custom-dataset-type raw_payload, a body a line")
                .at("benchmark.endpoint.type"),
        );
    }
    if path.is_dir() {
        problems.push(
            Problem::new(format!("{} is a directory", subject(tree, &at("path"))))
                .because(format!("{} is read from a file", format.name()))
                .hint("one of its files")
                .at(at("path")),
        );
    }
    rows::not_drawn(tree, format.name(), problems);
    sends_all_images(tree, &format!("rows of {} have no image_uuids", format.name()), notes);
    if is_baseten {
        let other = "--max-idle-gap-cap-seconds, which is about all of a trace";
        let as_recorded = "--replay-speedup, and prompts as they were recorded";
        let reshaping = [
            "synthesis.speedup_ratio",
            "synthesis.prefix_len_multiplier",
            "synthesis.prefix_root_multiplier",
            "synthesis.prompt_len_multiplier",
        ];
        let keys = reshaping.iter().map(|key| (*key, as_recorded));
        unused(tree, format, keys.chain([("trace_idle_gap_cap_seconds", other)]), problems);
    } else {
        not_of_baseten(tree, format.name(), problems);
    }
    if format == TraceFormat::BurstGpt {
        let keys = ["prompts.block_size", "block_size"].map(|key| (key, "leave it out: its rows share no blocks"));
        unused(tree, format, keys, problems);
    }
    let replay = baseten(tree, dataset);
    let has_delays = match format {
        TraceFormat::Mooncake => true,
        TraceFormat::Baseten => replay.pace == Pace::Closed,
        TraceFormat::Bailian | TraceFormat::BurstGpt => false,
    };
    for key in ["inter_turn_delay_cap_seconds", "turn_delay_ratio"] {
        if !has_delays && tree.node.find(&at(key)).is_some() {
            let why = format!("rows of {} have no delays", format.name());
            notes.push(format!("{} has no effect: {why}", subject(tree, &at(key))));
        }
    }
    let idle_cap = if is_baseten { dataset.max_idle_gap_cap_seconds } else { dataset.trace_idle_gap_cap_seconds };
    let block_size = dataset.block_size.or_else(|| dataset.prompts.as_ref()?.block_size);
    DatasetPlan::Trace(TracePlan {
        entries: rows::entries(tree, dataset),
        osl: dataset.osl.as_ref().map(Distribution::drawn).filter(|osl| osl.mean() >= 1.0),
        window: rows::window(tree, problems),
        delay_ratio: dataset.turn_delay_ratio(),
        delay_cap_ms: dataset.inter_turn_delay_cap_seconds.map(|cap| cap * 1e3),
        idle_gap_cap_ms: idle_cap.map(|cap| cap * 1e3),
        ignores_times: dataset.ignore_trace_delays(),
        corpus: dataset.prompts.as_ref().map(text::corpus).unwrap_or_default(),
        block_size: block_size.and_then(|size| u32::try_from(size).ok()),
        synthesis: synthesis(dataset),
        baseten: replay,
        ..TracePlan::new(path, format)
    })
}

fn synthesis(dataset: &Dataset) -> Synthesis {
    let asked = dataset.synthesis.clone().unwrap_or_default();
    let limit = |limit: Option<i64>| limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
    Synthesis {
        speedup: asked.speedup_ratio(),
        prefix_len: asked.prefix_len_multiplier(),
        prefix_roots: u32::try_from(asked.prefix_root_multiplier()).unwrap_or(u32::MAX),
        prompt_len: asked.prompt_len_multiplier(),
        output_len: asked.output_len_multiplier(),
        max_isl: limit(asked.max_isl),
        max_osl: limit(asked.max_osl),
    }
}

fn baseten(tree: &Tree, dataset: &Dataset) -> BasetenReplay {
    let pace = match (dataset.open_loop_replay(), dataset.open_loop_strict()) {
        (false, _) => Pace::Closed,
        (true, true) => Pace::OpenStrict,
        (true, false) => Pace::Open,
    };
    BasetenReplay {
        session_share: dataset.trace_session_sample_ratio,
        speedup: dataset.replay_speedup.unwrap_or(1.0),
        pace,
        kv_hints: !dataset.omit_kv_hints(),
        min_tokens: dataset.force_min_tokens(),
        session_column: tree.environment.session_column,
    }
}

/// Refuses settings that do not apply to a format; each with an alternative.
fn unused<'a>(
    tree: &Tree,
    format: TraceFormat,
    keys: impl IntoIterator<Item = (&'a str, &'a str)>,
    problems: &mut Vec<Problem>,
) {
    for (key, instead) in keys.into_iter().map(|(key, instead)| (at(key), instead)) {
        if tree.node.find(&key).is_some() {
            let what = subject(tree, &key);
            problems.push(Problem::new(format!("{what} cannot be used with {}", format.name())).hint(instead).at(key));
        }
    }
}

/// Refuses settings for the replay of Baseten traces, for anything else.
fn not_of_baseten(tree: &Tree, of: &str, problems: &mut Vec<Problem>) {
    const KEYS: &[&str] = &[
        "trace_session_sample_ratio",
        "replay_speedup",
        "max_idle_gap_cap_seconds",
        "open_loop_replay",
        "open_loop_strict",
        "omit_kv_hints",
        "force_min_tokens",
    ];
    refuse(tree, KEYS, of, "the replay of a trace of baseten_trace", problems);
}

/// Refuses settings for traces, for conversations that are none.
pub(super) fn not_a_trace(tree: &Tree, of: FileFormat, problems: &mut Vec<Problem>) {
    not_of_baseten(tree, of.name(), problems);
    const KEYS: &[&str] = &[
        "synthesis.speedup_ratio",
        "synthesis.prefix_len_multiplier",
        "synthesis.prefix_root_multiplier",
        "synthesis.prompt_len_multiplier",
        "synthesis.output_len_multiplier",
        "synthesis.max_osl",
        "block_size",
        "prompts.block_size",
        "trace_idle_gap_cap_seconds",
        "ignore_trace_delays",
    ];
    refuse(tree, KEYS, of.name(), "traces", problems);
    // Captured requests that are too long are left out.
    if !of.is_recorded() {
        refuse(tree, &["synthesis.max_isl"], of.name(), "traces and requests that were captured", problems);
    }
}

fn refuse(tree: &Tree, keys: &[&str], of: &str, about: &str, problems: &mut Vec<Problem>) {
    for key in keys.iter().map(|key| at(key)).filter(|key| tree.node.find(key).is_some()) {
        problems.push(
            Problem::new(format!("{} applies only to {about}", subject(tree, &key)))
                .because(format!("{} holds rows of {of}", what_holds(tree)))
                .hint("leave it out, or --custom-dataset-type with the layout of the rows")
                .at(key),
        );
    }
}
