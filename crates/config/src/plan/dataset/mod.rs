//! What requests say: conversations that are made, or those of a file.

mod format;

use super::{not_yet, subject};
use crate::context::Context;
use crate::error::Problem;
use crate::flags::{CONVERSATION_NUM, Flag, NUM_DATASET_ENTRIES, REQUEST_COUNT};
use crate::os_text;
use crate::resolve::Tree;
use crate::rules::{DATASET_TOKENS, endpoint_kind};
use crate::sections::dataset::{self as section, Dataset, DatasetType, MEAN_TURN_DELAY, MEAN_TURNS, SYNTHETIC_ENTRIES};
use crate::sections::distribution::Distribution;
use crate::sections::phases::PhaseType;
use crate::tree::{Node, Origin};
use aiperf_plan::{
    DatasetPlan, FileFormat, FilePlan, Length, RankingsPlan, Sampling, SyntheticPlan, TimestampWindow, Turns,
};
use aiperf_types::{EndpointKind, NeedsFile};
use std::path::Path;

pub(crate) use format::can_be_read;
#[cfg(test)]
pub(crate) use format::looks_like;

/// In which order conversations are drawn.
pub(super) fn sampling(tree: &Tree) -> Sampling {
    let dataset = tree.benchmark.datasets.as_ref().and_then(|datasets| datasets.first());
    match dataset.map_or(section::Sampling::Sequential, Dataset::sampling) {
        section::Sampling::Sequential => Sampling::Sequential,
        section::Sampling::Shuffle => Sampling::Shuffle,
        section::Sampling::Random => Sampling::Random,
    }
}

pub(super) fn dataset(
    tree: &Tree,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    let dataset = tree.benchmark.datasets.as_ref()?.first()?;
    match dataset.r#type() {
        DatasetType::File => return file(tree, ctx, dataset, notes, problems),
        DatasetType::Public if problems.is_empty() => problems
            .push(not_yet("a public dataset", "public datasets are not downloaded").at("benchmark.datasets.0.type")),
        DatasetType::Public | DatasetType::Synthetic => {}
    }
    let kind = endpoint_kind(&tree.benchmark);
    if kind.traits().ranks {
        for (key, is_set) in [("turns", dataset.turns.is_some()), ("turn_delay", dataset.turn_delay.is_some())] {
            if is_set {
                let what = first_set(tree, &format!("benchmark.datasets.0.{key}"));
                notes.push(format!("{what} has no effect: a ranking request is a conversation of one turn"));
            }
        }
        return Some(rankings(tree, dataset, notes, problems));
    }
    if dataset.rankings.is_some() {
        let at = "benchmark.datasets.0.rankings";
        let what = first_set(tree, at);
        notes.push(format!("{what} has no effect: type {} does not rank passages", kind.name()));
    }
    not_made(tree, kind, problems);
    Some(synthetic(tree, dataset, notes, problems))
}

fn not_made(tree: &Tree, kind: EndpointKind, problems: &mut Vec<Problem>) {
    let Some(NeedsFile { holds, rows }) = kind.traits().needs_file else { return };
    let at = "benchmark.endpoint.type";
    let (flag, key) = ("--input-file FILE", "dataset: {type: file, path: FILE}");
    let file = if tree.places.file.is_some() { key } else { flag };
    problems.push(
        Problem::new(format!("{} needs a file of requests", subject(tree, at)))
            .because(format!("each of its requests holds {holds}, and only text is made"))
            .hint(format!("{file} with {rows}"))
            .at(at),
    );
}

/// How the first value that somebody set below a path is named.
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

/// A length as it is drawn; shapes that are not drawn from yet are refused.
fn length(tree: &Tree, distribution: &Distribution, key: &str, problems: &mut Vec<Problem>) -> Length {
    let at = format!("benchmark.datasets.0.{key}");
    if !distribution.is_plain() {
        let node = tree.node.find(&at);
        let what = node.map_or_else(|| at.clone(), |node| tree.places.subject_key(node, &at));
        problems.push(not_yet(&what, "a length has a mean and a deviation").hint("{mean, stddev}").at(&at));
    }
    Length { mean: distribution.expected(), stddev: distribution.deviation() }
}

fn at_least_one(tree: &Tree, length: Length, key: &str, why: &str, problems: &mut Vec<Problem>) {
    if length.mean >= 1.0 {
        return;
    }
    let at = format!("benchmark.datasets.0.{key}");
    let node = tree.node.find(&format!("{at}.mean")).or_else(|| tree.node.find(&at));
    let what = node.map_or_else(|| at.clone(), |node| tree.places.subject(node, &at));
    problems.push(Problem::new(format!("{what} must be at least 1")).because(why).at(at));
}

fn synthetic(tree: &Tree, dataset: &Dataset, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> DatasetPlan {
    let prompts = dataset.prompts.clone().unwrap_or_default();
    let isl = prompts.isl.as_ref().map(|isl| length(tree, isl, "prompts.isl", problems));
    let osl = prompts.osl.as_ref().map(|osl| length(tree, osl, "prompts.osl", problems));
    if let Some(isl) = isl {
        at_least_one(tree, isl, "prompts.isl", "a prompt says something", problems);
    }
    let turns = turns(tree, dataset, notes, problems);
    let entries = prompts_made(tree, dataset.entries, isl, turns.count, notes, problems);
    DatasetPlan::Synthetic(SyntheticPlan { entries, isl, osl: osl.filter(|osl| osl.mean >= 1.0), turns })
}

fn turns(tree: &Tree, dataset: &Dataset, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> Turns {
    let mut of = |distribution: &Option<Distribution>, key: &str, mean: f64| match distribution {
        Some(distribution) => length(tree, distribution, key, problems),
        None => Length { mean, stddev: 0.0 },
    };
    let count = of(&dataset.turns, "turns", MEAN_TURNS);
    let delay_ms = of(&dataset.turn_delay, "turn_delay", MEAN_TURN_DELAY);
    for key in ["turn_delay", "turn_delay_ratio"] {
        let at = format!("benchmark.datasets.0.{key}");
        if count.longest() < 2.0 && tree.node.find(&at).is_some() {
            let what = first_set(tree, &at);
            notes.push(format!("{what} has no effect: a conversation of one turn has nothing to wait for"));
        }
    }
    Turns { count, delay_ms, delay_ratio: dataset.turn_delay_ratio() }
}

fn rankings(tree: &Tree, dataset: &Dataset, notes: &mut Vec<String>, problems: &mut Vec<Problem>) -> DatasetPlan {
    let rankings = dataset.rankings.clone().unwrap_or_default();
    let mut of = |distribution: Distribution, key: &str| {
        let key = format!("rankings.{key}");
        let length = length(tree, &distribution, &key, problems);
        at_least_one(tree, length, &key, "a request has a query and passages that say something", problems);
        length
    };
    let passages = of(rankings.passages(), "passages");
    let passage_tokens = of(rankings.passage_tokens(), "passage_tokens");
    let query_tokens = of(rankings.query_tokens(), "query_tokens");
    for key in ["isl", "osl"] {
        let at = format!("benchmark.datasets.0.prompts.{key}");
        let node = tree.node.find(&format!("{at}.mean")).or_else(|| tree.node.find(&at));
        if let Some(node) = node.filter(|node| node.origin != Origin::Rule) {
            let what = tree.places.subject(node, &at);
            notes.push(format!(
                "{what} has no effect: a ranking request has a query and passages, of lengths of their own"
            ));
        }
    }
    let tokens = Length { mean: passages.mean * passage_tokens.mean + query_tokens.mean, stddev: 0.0 };
    let entries = prompts_made(tree, dataset.entries, Some(tokens), Turns::ONE.count, notes, problems);
    DatasetPlan::Rankings(RankingsPlan { entries, passages, passage_tokens, query_tokens })
}

/// Whether a flag is what says how many conversations there are.
fn counted_by(tree: &Tree, flag: &Flag) -> bool {
    let entries = tree.node.find("benchmark.datasets.0.entries");
    entries.is_some_and(|node| node.origin == Origin::Flag(tree.flags.spelled(flag).to_owned()))
}

/// How many prompts are made. A number that was asked for is made or refused; where only the requests were counted,
/// prompts are used again once there are very many.
fn prompts_made(
    tree: &Tree,
    asked: Option<i64>,
    isl: Option<Length>,
    turns: Length,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> u32 {
    let asked = asked.unwrap_or(SYNTHETIC_ENTRIES).max(1) as f64;
    let likely = |length: Length| (length.mean + length.stddev).max(1.0);
    let tokens = isl.map_or(1.0, likely) * likely(turns);
    let at = "benchmark.datasets.0.entries";
    let node = tree.node.find(at);
    let mut made = asked;
    if node.is_none() || counted_by(tree, REQUEST_COUNT) || counted_by(tree, CONVERSATION_NUM) {
        made = asked.min((DATASET_TOKENS / tokens).max(1.0).floor());
        if made < asked {
            notes.push(format!(
                "{made} prompts are made, not {asked}, and used again: all prompts together are at most {DATASET_TOKENS} \
                 tokens. A server that caches prefixes answers those it has seen faster"
            ));
        }
    } else if asked * tokens > DATASET_TOKENS {
        let what = node.map_or_else(|| at.to_owned(), |node| tree.places.subject(node, at));
        problems.push(
            Problem::new(format!("{what} prompts of {tokens} tokens are more than can be made"))
                .because(format!("all prompts together are at most {DATASET_TOKENS} tokens"))
                .hint("fewer prompts, which are used again, or shorter ones")
                .at(at),
        );
    }
    // Both limits are below what 32 bits count.
    made as u32
}

fn file(
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
    let format = match format::of(&path, dataset.format) {
        Ok(format) => format,
        Err(problem) => {
            problems.push(problem(tree));
            return None;
        }
    };
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
    let asked = dataset.entries.filter(|_| {
        let node = tree.node.find("benchmark.datasets.0.entries");
        counted_by(tree, NUM_DATASET_ENTRIES) || node.is_some_and(|node| matches!(node.origin, Origin::File { .. }))
    });
    let osl = dataset.osl.as_ref().map(|osl| length(tree, osl, "osl", problems)).filter(|osl| osl.mean >= 1.0);
    let entries = asked.and_then(|entries| u64::try_from(entries).ok());
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

/// The longest delay that is kept to, in milliseconds: where conversations are written out with theirs.
fn delay_cap(tree: &Tree, dataset: &Dataset, format: FileFormat, problems: &mut Vec<Problem>) -> Option<f64> {
    let cap = dataset.inter_turn_delay_cap_seconds?;
    if format != FileFormat::MultiTurn {
        let at = "benchmark.datasets.0.inter_turn_delay_cap_seconds";
        problems.push(
            Problem::new(format!("{} is for conversations of multi_turn", subject(tree, at)))
                .because(format!("{} holds rows of {}", subject(tree, "benchmark.datasets.0.path"), format.name()))
                .hint("rows of multi_turn, or leave it out")
                .at(at),
        );
    }
    Some(cap * 1e3)
}

/// Which timestamps are used: those between the offsets of the fixed schedule. They are cut out when the file is read, so
/// all phases have the same.
fn window(tree: &Tree, problems: &mut Vec<Problem>) -> TimestampWindow {
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
