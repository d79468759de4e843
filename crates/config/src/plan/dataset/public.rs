//! Conversations of a public dataset.

use super::super::{not_yet, subject};
use super::{counted_by, first_set, rows, sends_all_images};
use crate::choice::Choice;
use crate::error::Problem;
use crate::flags::NUM_DATASET_ENTRIES;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use crate::tree::Origin;
use aiperf_plan::{DatasetPlan, PublicPlan, PublicSet, PublicSource};
use aiperf_types::{EndpointKind, PhaseKind};

/// Settings that apply only to the replay of Weka traces.
const WEKA_ONLY: &[&str] = &[
    "hf_weka_dataset",
    "trace_idle_gap_cap_seconds",
    "ignore_trace_delays",
    "use_think_time_only",
    "max_context_length",
    "synthesis",
];

pub(super) fn public(
    tree: &Tree,
    dataset: &Dataset,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<DatasetPlan> {
    // A missing name is refused by its key.
    let named = dataset.dataset?;
    let at = "benchmark.datasets.0.dataset";
    let Some(set) = PublicSet::parse(named.name()) else {
        let others: Vec<&str> = PublicSet::ALL.iter().map(|set| set.name()).collect();
        problems.push(not_yet(&subject(tree, at), "Weka traces are not replayed").hint(others.join(", ")).at(at));
        return None;
    };
    let name = set.name();
    for key in WEKA_ONLY {
        let at = format!("benchmark.datasets.0.{key}");
        if tree.node.find(&at).is_some() {
            problems.push(
                Problem::new(format!("{} is for Weka traces", first_set(tree, &at)))
                    .because(format!("{name} is none"))
                    .hint("leave it out")
                    .at(at),
            );
        }
    }
    if dataset.prompts.as_ref().is_some_and(|prompts| prompts.corpus.is_some()) {
        let what = subject(tree, "benchmark.datasets.0.prompts.corpus");
        notes.push(format!("{what} has no effect: prompts of {name} are taken from the data"));
    }
    rows::not_drawn(tree, name, problems);
    sends_all_images(tree, &format!("images of {name} have no ids"), notes);
    let source = set.source();
    if let (Some(_), PublicSource::Url { .. }) = (&dataset.hf_subset, source) {
        let at = "benchmark.datasets.0.hf_subset";
        problems.push(
            Problem::new(format!("{} cannot be used with {name}", subject(tree, at)))
                .because(format!("{name} is one file, without subsets"))
                .hint("leave it out")
                .at(at),
        );
    }
    if endpoint_kind(&tree.benchmark) == EndpointKind::Raw {
        let at = "benchmark.endpoint.type";
        problems.push(
            Problem::new(format!("{} needs whole bodies", subject(tree, at)))
                .because(format!("{name} holds prompts, not bodies"))
                .hint("--endpoint-type chat, or --input-file FILE with --custom-dataset-type raw_payload")
                .at(at),
        );
    }
    let phases = || tree.benchmark.phases.iter().flat_map(|phases| phases.0.iter());
    let is_scheduled = phases().any(|phase| phase.phase_type().replays());
    let entries = dataset.entries.and_then(|entries| u64::try_from(entries).ok());
    let asked = entries.filter(|_| {
        let node = tree.node.find("benchmark.datasets.0.entries");
        counted_by(tree, NUM_DATASET_ENTRIES) || node.is_some_and(|node| matches!(node.origin, Origin::File { .. }))
    });
    let counts = phases().filter(|phase| phase.kind != Some(PhaseKind::Warmup)).map(|phase| {
        let count = phase.requests.or(phase.sessions);
        count.and_then(|count| u64::try_from(count).ok())
    });
    // A phase without a count may need all conversations.
    let needed = counts.collect::<Option<Vec<_>>>().and_then(|counts| counts.into_iter().max()).or(entries);
    if set.has_times() && asked.or(needed).is_none() {
        problems.push(
            Problem::new(format!("{} needs a number of sessions", subject(tree, at)))
                .because("its sessions are fetched one by one, and there are very many")
                .hint("--num-dataset-entries 100, or --request-count 100")
                .at(at),
        );
    }
    let plan = PublicPlan {
        subset: dataset.hf_subset.clone().filter(|subset| !subset.trim().is_empty()),
        filters: dataset.filters.clone().unwrap_or_default(),
        entries: asked,
        needed,
        osl: dataset.osl.as_ref().map(Distribution::drawn).filter(|osl| osl.mean() >= 1.0),
        is_scheduled,
        window: rows::window(tree, problems),
        delay_cap_ms: delay_cap(tree, dataset, set, problems),
        timeout: tree.environment.public_dataset_timeout.unwrap_or(PublicPlan::TIMEOUT),
        ..PublicPlan::new(set)
    };
    Some(DatasetPlan::Public(plan))
}

/// The longest delay, in milliseconds: for data with delays.
fn delay_cap(tree: &Tree, dataset: &Dataset, set: PublicSet, problems: &mut Vec<Problem>) -> Option<f64> {
    let cap = dataset.inter_turn_delay_cap_seconds?;
    if !set.has_times() {
        let at = "benchmark.datasets.0.inter_turn_delay_cap_seconds";
        problems.push(
            Problem::new(format!("{} is for conversations with delays", subject(tree, at)))
                .because(format!("those of {} have none", set.name()))
                .hint("leave it out")
                .at(at),
        );
    }
    Some(cap * 1e3)
}
