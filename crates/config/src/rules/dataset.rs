//! The dataset.

use super::endpoint;
use super::facts::Facts;
use crate::choice::{Choice, joined};
use crate::error::Problem;
use crate::os_text;
use crate::parse::range_ratio;
use crate::sections::dataset::{
    COMMON_KEYS, CacheBustTarget, Corpus, Dataset, DatasetType, KEYS_OF, Prompts, PublicDataset,
};
use crate::sections::envelope::Benchmark;
use crate::sections::layout::Layout;
use crate::sections::media::Images;
use crate::small_file;
use aiperf_plan::dataset::media::PictureOrder;
use aiperf_plan::{FileFormat, TraceFormat};
use aiperf_types::EndpointKind;
use serde_json::Value;
use std::path::Path;

const CACHE_BUST: &[EndpointKind] = &[EndpointKind::Chat, EndpointKind::Responses, EndpointKind::Messages];

pub(super) fn check(benchmark: &Benchmark, facts: &Facts<'_>, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let datasets = benchmark.datasets.as_ref().map_or(&[][..], |datasets| &datasets.0);
    let [dataset] = datasets else {
        let what = if datasets.is_empty() { "there is no dataset" } else { "there is more than one dataset" };
        problems.push(
            facts.problem("datasets", what.into()).because("a benchmark has exactly one").hint("dataset: {isl: 550}"),
        );
        return;
    };
    let kind = dataset.r#type();
    keys(kind, facts, problems);
    match kind {
        DatasetType::Synthetic => {}
        DatasetType::File => file(dataset, facts, notes, problems),
        DatasetType::Public => public(dataset, facts, problems),
    }
    if kind != DatasetType::Synthetic {
        loaded(dataset, facts, problems);
    }
    prompts(dataset, facts, problems);
    system_prompt(dataset, benchmark, facts, problems);
    cache_bust(dataset, benchmark, facts, problems);
    traces(dataset, benchmark, facts, problems);
    media(dataset, facts, problems);
    if let Some(turns) = &dataset.turns
        && turns.expected() < 1.0
    {
        problems.push(
            facts.problem("datasets.0.turns", format!("{} has fewer than one turn", facts.subject("datasets.0.turns"))),
        );
    }
}

fn keys(kind: DatasetType, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some((_, allowed)) = KEYS_OF.iter().find(|(known, _)| *known == kind) else { return };
    let Some(node) = facts.node.find("datasets.0") else { return };
    let name = kind.name();
    let every: Vec<&str> = KEYS_OF.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
    for (key, value) in node.entries() {
        let key = key.as_str();
        if COMMON_KEYS.contains(&key) || allowed.contains(&key) || !every.contains(&key) {
            continue;
        }
        let homes = KEYS_OF.iter().filter(|(_, keys)| keys.contains(&key));
        let homes: Vec<&str> = homes.map(|(kind, _)| kind.name()).collect();
        let leaf = deepest(value, key);
        let what = format!("{} has no meaning for a {name} dataset", facts.subject(&format!("datasets.0.{leaf}")));
        problems.push(
            facts
                .problem(&format!("datasets.0.{leaf}"), what)
                .because(format!("it belongs to {} datasets", homes.join(" and "))),
        );
    }
    if kind != DatasetType::Synthetic {
        for (key, _) in facts.node.find("datasets.0.prompts").map_or(&[][..], |prompts| prompts.entries()) {
            if key != "corpus" {
                let at = format!("datasets.0.prompts.{key}");
                problems
                    .push(facts.problem(&at, format!("{} has no meaning for a {name} dataset", facts.subject(&at))));
            }
        }
    }
}

/// The path of the first value inside, for a message that names a flag rather than a group.
fn deepest(node: &crate::tree::Node, path: &str) -> String {
    match node.entries().first() {
        Some((key, child)) if node.origin == crate::tree::Origin::Rule => deepest(child, &format!("{path}.{key}")),
        _ => path.to_owned(),
    }
}

fn file(dataset: &Dataset, facts: &Facts<'_>, notes: &mut Vec<String>, problems: &mut Vec<Problem>) {
    let records = dataset.records.as_ref();
    if dataset.path.is_some() == records.is_some() {
        let what = if records.is_some() { "has both path and records" } else { "needs path or records" };
        problems.push(
            facts
                .problem("datasets.0", format!("{} {what}", facts.subject("datasets.0")))
                .because("a file dataset is a file, or records written out"),
        );
    }
    let pool = dataset.format == Some(Layout::File(FileFormat::RandomPool));
    let count = match records {
        None => return,
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(map)) if pool => map.values().map(|items| items.as_array().map_or(0, Vec::len)).sum(),
        Some(_) => {
            let rule = if pool { "must be a list, or a map of lists" } else { "must be a list" };
            problems
                .push(facts.problem("datasets.0.records", format!("{} {rule}", facts.subject("datasets.0.records"))));
            return;
        }
    };
    if count == 0 {
        problems.push(facts.problem("datasets.0.records", format!("{} is empty", facts.subject("datasets.0.records"))));
    }
    if count > facts.many_records {
        notes.push(format!("{count} records are written out in the configuration: a file is easier to handle"));
    }
}

fn public(dataset: &Dataset, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let repository = dataset.hf_weka_dataset.as_deref();
    match (dataset.dataset, repository) {
        (None, _) => problems.push(
            facts
                .problem("datasets.0.dataset", format!("{} needs dataset", facts.subject("datasets.0")))
                .hint("dataset: sharegpt"),
        ),
        (Some(other), Some(_)) if other != PublicDataset::WekaHf => {
            let other = other.name();
            let at = "datasets.0.hf_weka_dataset";
            problems.push(
                facts
                    .problem(at, format!("{} cannot be used with {other}", facts.subject(at)))
                    .because("it names the repository of dataset weka_hf"),
            );
        }
        _ => {}
    }
}

fn loaded(dataset: &Dataset, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let format = dataset.format;
    let corpus = dataset.prompts.as_ref().and_then(|prompts| prompts.corpus);
    if let (Some(Corpus::Random), Some(format)) = (corpus, format.filter(|format| format.repeats_blocks())) {
        let at = "datasets.0.prompts.corpus";
        problems.push(
            facts
                .problem(at, format!("{} cannot be used with {}", facts.subject(at), format.name()))
                .because("its hash blocks represent text that repeats"),
        );
    }
    if let (Some(synthesis), Some(format)) = (&dataset.synthesis, format)
        && !format.is_trace()
    {
        let mut plain = synthesis.clone();
        plain.allow_dataset_wrap = None;
        if plain != Default::default() {
            let at = format!(
                "datasets.0.{}",
                deepest(facts.node.find("datasets.0.synthesis").unwrap_or(facts.node), "synthesis")
            );
            problems.push(
                facts
                    .problem(&at, format!("{} cannot be used with {}", facts.subject(&at), format.name()))
                    .because("only traces are reshaped"),
            );
        }
    }
    if format.is_some_and(|format| format != Layout::File(FileFormat::RandomPool)) {
        for key in ["prompt_batch_size", "image_batch_size", "audio_batch_size", "video_batch_size"] {
            let at = format!("datasets.0.{key}");
            if facts.node.find(&at).is_some() && !facts.is_flag(&at) {
                problems.push(facts.problem(&at, format!("{} is for format random_pool only", facts.subject(&at))));
            }
        }
    }
}

fn prompts(dataset: &Dataset, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    if let Some(prompts) = &dataset.prompts {
        ratio(prompts, facts, problems);
        if let Some(pairs) = &prompts.sequence_distribution {
            let sum: f64 = pairs.iter().filter_map(|pair| pair.probability).sum();
            let whole = pairs.iter().all(|pair| pair.isl.is_some() && pair.osl.is_some() && pair.probability.is_some());
            let at = "datasets.0.prompts.sequence_distribution";
            if !whole {
                problems.push(facts.problem(
                    at,
                    format!("{}benchmark.{at} has a pair without isl, osl or probability", facts.place(at)),
                ));
            } else if !(99.0..=101.0).contains(&sum) {
                problems.push(facts.problem(
                    at,
                    format!("{}the probabilities of benchmark.{at} add up to {sum}, not 100", facts.place(at)),
                ));
            }
        }
    }
    let Some(prefix) = &dataset.prefix_prompts else { return };
    let pool = prefix.has_pool();
    let shared = prefix.shared_system_length.is_some() || prefix.user_context_length.is_some();
    if pool && shared {
        let first = |keys: [&str; 2]| {
            let found =
                keys.into_iter().find(|key| facts.node.find(&format!("datasets.0.prefix_prompts.{key}")).is_some());
            facts.mention(&format!("datasets.0.prefix_prompts.{}", found.unwrap_or_default()))
        };
        let what = format!(
            "{} and {} exclude each other",
            first(["pool_size", "length"]),
            first(["shared_system_length", "user_context_length"])
        );
        problems.push(
            facts
                .problem("datasets.0.prefix_prompts", what)
                .because("a prompt has either a prefix from a pool, or a shared system prompt and a context"),
        );
    }
}

fn ratio(prompts: &Prompts, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(value) = &prompts.random_range_ratio else { return };
    let at = "datasets.0.prompts.random_range_ratio";
    let style = prompts.random_corpus_style();
    if let Err(rule) = range_ratio(value, style) {
        let key = facts.places.subject_key(facts.node.find(at).unwrap_or(facts.node), &format!("benchmark.{at}"));
        problems.push(facts.problem(at, format!("{key} {rule}")));
    }
    if prompts.sequence_distribution.is_some() {
        let what = format!(
            "{} and {} exclude each other",
            facts.mention(at),
            facts.ask("--seq-dist", "sequence_distribution")
        );
        problems.push(facts.problem(at, what).because("each sets how lengths vary"));
    }
    for (distribution, key, flag) in [(&prompts.isl, "isl", "--isl-stddev"), (&prompts.osl, "osl", "--osl-stddev")] {
        if distribution.as_ref().is_some_and(|length| !length.drawn().is_fixed()) {
            let key = format!("a deviation of {key}");
            let other = facts.ask(flag, &key);
            let what = format!("{} and {other} exclude each other", facts.mention(at));
            problems.push(facts.problem(at, what).because("each sets how lengths vary"));
        }
    }
    let length = |distribution: &Option<crate::sections::distribution::Distribution>, key: &str| {
        let given = facts
            .node
            .find(&format!("datasets.0.prompts.{key}.mean"))
            .or_else(|| facts.node.find(&format!("datasets.0.prompts.{key}")));
        distribution.as_ref().is_some_and(|length| length.expected() >= 1.0)
            && given.is_some_and(|node| node.origin != crate::tree::Origin::Rule)
    };
    for (distribution, key, flag) in [(&prompts.isl, "isl", "--isl"), (&prompts.osl, "osl", "--osl")] {
        if !length(distribution, key) {
            problems.push(
                facts
                    .problem("datasets.0.prompts", format!("{} needs {}", facts.mention(at), facts.ask(flag, key)))
                    .because("the ratio applies to a given mean of at least 1")
                    .hint(format!("add {} N", facts.ask(flag, key))),
            );
        }
    }
}

fn system_prompt(dataset: &Dataset, benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let (text, file) = (dataset.system_prompt.as_deref(), dataset.system_prompt_file.as_deref());
    if text.is_none() && file.is_none() {
        return;
    }
    let at = if text.is_some() { "datasets.0.system_prompt" } else { "datasets.0.system_prompt_file" };
    if text.is_some() && file.is_some() {
        let what = format!(
            "{} and {} exclude each other",
            facts.ask("--system-prompt", "system_prompt"),
            facts.ask("--system-prompt-file", "system_prompt_file")
        );
        problems.push(facts.problem("datasets.0", what).because("there is one system message"));
    }
    if text.is_some_and(|text| text.trim().is_empty()) {
        problems.push(
            facts
                .problem(at, format!("{} is blank", facts.subject(at)))
                .hint(facts.ask("leave --system-prompt out", "leave system_prompt out")),
        );
    }
    if let Some(file) = file {
        let path = os_text::path(file);
        let rule = match small_file::text(&facts.cwd.join(&path), small_file::SETTINGS) {
            _ if has_link(facts.cwd, &path) => {
                Some("is reached through a symbolic link; name the file itself".to_owned())
            }
            Ok(text) if text.trim().is_empty() => Some(" is blank".to_owned()),
            Ok(_) => None,
            Err(rule) => Some(format!(": {rule}")),
        };
        let at = "datasets.0.system_prompt_file";
        problems.extend(rule.map(|rule| facts.problem(at, format!("{}{rule}", facts.subject(at)))));
    }
    let kind = endpoint::kind(benchmark);
    if !kind.traits().system_message {
        let what = format!("{} cannot be used with type {}", facts.subject(at), kind.name());
        let types: Vec<&str> =
            EndpointKind::ALL.iter().filter(|kind| kind.traits().system_message).map(|kind| kind.name()).collect();
        problems.push(facts.problem("", what).because(format!(
            "--system-prompt and --system-prompt-file need a system message, which {} have",
            types.join(", ")
        )));
    }
    let prefix = dataset.prefix_prompts.as_ref();
    if prefix.is_some_and(|prefix| prefix.has_pool() || prefix.shared_system_length.is_some()) {
        let what = format!("{} and a prefix or shared system prompt exclude each other", facts.subject(at));
        problems.push(facts.problem("datasets.0", what).because("there is one system message"));
    }
}

/// Whether a component of the path, as the user wrote it, is a link.
fn has_link(cwd: &Path, path: &Path) -> bool {
    let mut parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.any(|part| cwd.join(part).symlink_metadata().is_ok_and(|meta| meta.file_type().is_symlink()))
}

fn cache_bust(dataset: &Dataset, benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let prompts = dataset.prompts.as_ref().and_then(|prompts| prompts.cache_bust.as_ref());
    let (bust, at) = match prompts {
        Some(bust) => (bust, "datasets.0.prompts.cache_bust.target"),
        None => match &dataset.cache_bust {
            Some(bust) => (bust, "datasets.0.cache_bust.target"),
            None => return,
        },
    };
    let target = bust.target();
    if target == CacheBustTarget::None {
        return;
    }
    let endpoint = endpoint::kind(benchmark);
    if !CACHE_BUST.contains(&endpoint) {
        problems.push(
            facts
                .problem(at, format!("{} cannot be used with type {}", facts.subject(at), endpoint.name()))
                .because(format!("it works with {}", joined(CACHE_BUST))),
        );
    }
    let system = dataset.system_prompt.is_some()
        || dataset.system_prompt_file.is_some()
        || dataset.prefix_prompts.as_ref().is_some_and(|prefix| prefix.shared_system_length.is_some());
    if target == CacheBustTarget::WarmupIsolationSystem && dataset.r#type() == DatasetType::Synthetic && !system {
        problems.push(
            facts
                .problem(at, format!("{} needs a system prompt", facts.subject(at)))
                .because("the marker goes into it")
                .hint(facts.ask("add --system-prompt TEXT or --shared-system-prompt-length N", "add system_prompt")),
        );
    }
    if target.isolates_warmup() && benchmark.scenario.is_some() {
        problems.push(facts.problem(at, format!("{} cannot be used in agentic replay", facts.subject(at))));
    }
}

fn traces(dataset: &Dataset, benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    if dataset.ignore_trace_delays == Some(true) && dataset.use_think_time_only == Some(true) {
        let what = format!(
            "{} and {} exclude each other",
            facts.mention("datasets.0.ignore_trace_delays"),
            facts.mention("datasets.0.use_think_time_only")
        );
        problems.push(facts.problem("datasets.0", what).because("one drops all delays, the other keeps some"));
    }
    if dataset.open_loop_strict == Some(true) && dataset.open_loop_replay == Some(false) {
        let at = "datasets.0.open_loop_strict";
        problems.push(
            facts
                .problem(
                    at,
                    format!("{} needs {}", facts.subject(at), facts.ask("--open-loop-replay", "open_loop_replay")),
                )
                .because("only open-loop replay can be strict"),
        );
    }
    if dataset.format != Some(Layout::Trace(TraceFormat::Baseten)) {
        return;
    }
    if let Some(synthesis) = &dataset.synthesis {
        for (set, key) in [
            (synthesis.speedup_ratio.is_some(), "speedup_ratio"),
            (synthesis.prefix_len_multiplier.is_some(), "prefix_len_multiplier"),
            (synthesis.prefix_root_multiplier.is_some(), "prefix_root_multiplier"),
            (synthesis.prompt_len_multiplier.is_some(), "prompt_len_multiplier"),
        ] {
            if set {
                let at = format!("datasets.0.synthesis.{key}");
                problems.push(facts.problem(&at, format!("{} cannot be used with baseten_trace", facts.subject(&at))));
            }
        }
    }
    let extra = benchmark.endpoint.as_ref().and_then(|endpoint| endpoint.extra.as_ref());
    for (key, allowed, way_out) in [
        ("min_tokens", dataset.force_min_tokens == Some(false), "--no-force-min-tokens"),
        ("hash_ids", dataset.omit_kv_hints == Some(true), "--omit-kv-hints"),
        ("block_size", dataset.omit_kv_hints == Some(true), "--omit-kv-hints"),
    ] {
        if !allowed && extra.is_some_and(|extra| extra.0.contains_key(key)) {
            let what = format!("--extra-inputs {key} is set by baseten_trace itself");
            problems.push(
                facts
                    .problem(&format!("endpoint.extra.{key}"), what)
                    .hint(format!("add {way_out}, or leave {key} out")),
            );
        }
    }
}

fn media(dataset: &Dataset, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    if let Some(images) = &dataset.images {
        let noise = images.source() == Images::default().source();
        if images.source_sampling() != PictureOrder::Random && noise {
            let at = "datasets.0.images.source_sampling";
            problems.push(
                facts
                    .problem(at, format!("{} needs images to pick from", facts.subject(at)))
                    .because("noise is generated, not picked")
                    .hint(facts.ask("add --image-source assets or a directory", "source: assets, or a directory")),
            );
        }
    }
    let audio = dataset.video.as_ref().and_then(|video| video.audio.as_ref());
    if let Some(audio) = audio
        && audio.codec.is_some()
        && audio.channels() == 0
    {
        let at = "datasets.0.video.audio.codec";
        problems.push(
            facts
                .problem(at, format!("{} needs sound", facts.subject(at)))
                .because("a video without channels is silent")
                .hint(facts.ask("add --video-audio-num-channels 1", "channels: 1")),
        );
    }
}
