//! Several runs: trials and sweeps.

use super::search::Search;
use crate::choice::{Choice, joined};
use crate::error::{Problem, needs};
use crate::flags::{
    Flag, PROFILE_RUN_COOLDOWN_SECONDS, PROFILE_RUN_DISABLE_WARMUP_AFTER_FIRST, SET_CONSISTENT_SEED, UI_TYPE,
    UNSAFE_OVERRIDE,
};
use crate::given::GivenFlags;
use crate::sections::artifacts::Formats;
use crate::sections::envelope::Envelope;
use crate::sections::runs::ConvergenceMode;
use crate::sections::sweep::{IterationOrder, KEYS_OF, SweepType};
use crate::tree::{Node, Origin, Places};
use aiperf_plan::UiKind;

const TRIALS_ONLY: &[&Flag] =
    &[SET_CONSISTENT_SEED, PROFILE_RUN_DISABLE_WARMUP_AFTER_FIRST, PROFILE_RUN_COOLDOWN_SECONDS];

/// Rules for several runs.
pub(crate) fn check(
    envelope: &Envelope,
    node: &Node,
    flags: &GivenFlags,
    places: &Places,
    problems: &mut Vec<Problem>,
) {
    let multi = envelope.multi_run.clone().unwrap_or_default();
    let runs = multi.num_runs();
    let sweep = envelope.sweep.as_ref();
    let kind = sweep.and_then(|sweep| sweep.r#type);
    let given = flags.among(TRIALS_ONLY);
    if runs <= 1 && !given.is_empty() {
        problems.push(needs(&given.join(", "), "--num-profile-runs 2 or more", "it applies between runs"));
    }
    if let Some(convergence) = &multi.convergence {
        let name = node
            .find("multi_run.convergence.metric")
            .map_or("multi_run.convergence".to_owned(), |metric| places.mention(metric, "convergence.metric"));
        if convergence.metric.is_none() {
            let keys = node.find("multi_run.convergence").map_or(String::new(), |node| {
                node.entries().iter().map(|(key, value)| places.mention(value, key)).collect::<Vec<_>>().join(", ")
            });
            problems.push(
                needs(&keys, "--convergence-metric", "no other setting names the metric")
                    .at("multi_run.convergence.metric"),
            );
        }
        let least = convergence.min_runs.unwrap_or_default();
        if runs < least || runs < 2 {
            problems.push(
                Problem::new(format!("{name} needs --num-profile-runs {} or more", least.max(2)))
                    .because("whether a metric has settled shows only over several runs")
                    .hint(format!("add --num-profile-runs {}", least.max(5)))
                    .at("multi_run"),
            );
        }
        let independent = sweep.is_some_and(|sweep| sweep.iteration_order() == IterationOrder::Independent);
        if kind.is_some_and(|kind| kind != SweepType::AdaptiveSearch) && !independent {
            problems.push(
                Problem::new(format!("{name} with a sweep needs --parameter-sweep-mode independent"))
                    .because("each value is repeated until it has settled before the next one starts")
                    .hint("add --parameter-sweep-mode independent"),
            );
        }
        if kind == Some(SweepType::AdaptiveSearch) {
            problems.push(
                Problem::new(format!("{name} cannot be used with an adaptive search"))
                    .because("the search decides itself how often a point is run"),
            );
        }
        let summary_only = envelope
            .benchmark
            .as_ref()
            .and_then(|body| body.artifacts.as_ref())
            .is_some_and(|artifacts| matches!(artifacts.records, Some(Formats(None))));
        if summary_only && convergence.mode == Some(ConvergenceMode::Distribution) {
            problems.push(
                Problem::new("--convergence-mode distribution needs records")
                    .because("distributions are compared request by request")
                    .hint("leave --export-level summary out"),
            );
        }
    }
    match runs > 1 || sweep.is_some() {
        true => refuse_dashboard(node, flags, places, problems),
        false if envelope.resume() => {
            let what = node.get("resume").map_or("resume".to_owned(), |resume| places.mention(resume, "resume"));
            let why = "a single run is complete, or is repeated";
            problems.push(needs(&what, "--num-profile-runs 2 or more, or a sweep", why).at("resume"));
        }
        false => {}
    }
    let Some(sweep) = sweep else { return };
    if let (Some(kind), Some(block)) = (kind, node.get("sweep")) {
        for (key, types) in KEYS_OF {
            if let Some(value) = block.set(key)
                && !types.contains(&kind)
            {
                let path = format!("sweep.{key}");
                problems.push(
                    places
                        .refuse(value, &path, format!("does not belong to a sweep of type {}", kind.name()))
                        .because(format!("it belongs to {}", joined(types))),
                );
            }
        }
    }
    if let (Some(SweepType::AdaptiveSearch), Some(node)) = (kind, node.get("sweep")) {
        Search { sweep, node, places }.check(problems);
    }
    if kind == Some(SweepType::Zip) {
        lengths(sweep.parameters.as_deref().unwrap_or_default(), problems);
    }
    if let Some(scenario) = node.find("benchmark.scenario")
        && !flags.on(UNSAFE_OVERRIDE)
    {
        problems.push(
            places
                .refuse(scenario, "benchmark.scenario", "cannot be used with a sweep")
                .because("a scenario is one fixed run")
                .hint("add --unsafe-override to run it anyway"),
        );
    }
}

/// Several runs are shown as lines.
fn refuse_dashboard(node: &Node, flags: &GivenFlags, places: &Places, problems: &mut Vec<Problem>) {
    let Some(runtime) = node.find("benchmark.runtime") else { return };
    // Without a terminal the setting is already `simple`, but the flag is still what the user asked for.
    let asked = [runtime.choice("ui"), flags.choice(UI_TYPE)];
    if let Some(ui) = runtime.get("ui").filter(|_| asked.contains(&Some(UiKind::Dashboard))) {
        let in_file = matches!(ui.origin, Origin::File { .. });
        let lines = if in_file { "ui: simple, or ui: none" } else { "--ui simple, or --ui none" };
        let ui = Node::new(UiKind::Dashboard.into(), ui.origin.clone());
        problems.push(
            places
                .refuse(&ui, "benchmark.runtime.ui", "cannot be used with several runs")
                .because("the dashboard shows one run; several runs are logged as lines and a table")
                .hint(lines),
        );
    }
}

fn lengths(parameters: &[(String, serde_json::Value)], problems: &mut Vec<Problem>) {
    let counts: Vec<(&str, usize)> =
        parameters.iter().map(|(path, values)| (path.as_str(), values.as_array().map_or(1, Vec::len))).collect();
    if counts.windows(2).any(|pair| pair[0].1 != pair[1].1) {
        let all: Vec<String> = counts.iter().map(|(path, count)| format!("{path} has {count}")).collect();
        problems.push(
            Problem::new(format!("a zip sweep needs lists of one length: {}", all.join(", ")))
                .because("the first values make the first run, the second values the second")
                .hint("lists of one length, or --sweep-type grid")
                .at("sweep"),
        );
    }
}
