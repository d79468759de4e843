//! A list where one value is expected becomes a sweep.

use crate::choice::Choice;
use crate::error::Problem;
use crate::flags::{PARAMETER_SWEEP_COOLDOWN_SECONDS, PARAMETER_SWEEP_MODE, PARAMETER_SWEEP_SAME_SEED, SWEEP_TYPE, To};
use crate::given::GivenFlags;
use crate::sections::sweep::SweepType;
use crate::tree::{Datum, Node, Origin, Places};
use serde_json::Value;

/// Settings of a phase that may be lists.
const PHASE_KEYS: &[&str] = &[
    "concurrency",
    "prefill_concurrency",
    "rate",
    "requests",
    "duration",
    "sessions",
    "users",
    "smoothness",
    "grace_period",
];

/// Turns flags with several values into a sweep over them.
pub(crate) fn flag_lists(envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    let dataset = envelope.find("benchmark.datasets.0.name").and_then(Node::text).unwrap_or("main").to_owned();
    let mut parameters: Vec<(String, Value, String)> = Vec::new();
    for given in &flags.0 {
        let Some(values) = given.sweep() else { continue };
        let path = match given.flag.to {
            To::Profiling(key) => format!("phases.profiling.{key}"),
            To::Dataset(key) => format!("datasets.{dataset}.{key}"),
            _ => continue,
        };
        parameters.push((path, values.to_vec().into(), given.spelled.clone()));
    }
    if !parameters.is_empty() {
        let sweep = envelope.child("sweep");
        let kind = sweep.choice("type").unwrap_or(SweepType::DEFAULT);
        if !kind.is_of_lists() {
            let names: Vec<&str> = parameters.iter().map(|(_, _, spelled)| spelled.as_str()).collect();
            problems.push(
                Problem::new(format!(
                    "{} with several values cannot be added to a sweep of type {}",
                    names.join(", "),
                    kind.name()
                ))
                .hint("one value"),
            );
            return;
        }
        sweep.put_default("type", SweepType::DEFAULT);
        for (path, values, spelled) in parameters {
            let list = sweep.child("parameters");
            list.put(&path, Node::flag(&values, &spelled));
        }
    }
    settings(envelope, flags, problems);
}

/// Flags about the sweep itself.
fn settings(envelope: &mut Node, flags: &GivenFlags, problems: &mut Vec<Problem>) {
    for (flag, key) in [
        (SWEEP_TYPE, "type"),
        (PARAMETER_SWEEP_COOLDOWN_SECONDS, "cooldown_seconds"),
        (PARAMETER_SWEEP_SAME_SEED, "same_seed"),
        (PARAMETER_SWEEP_MODE, "iteration_order"),
    ] {
        let Some(node) = flags.node(flag) else { continue };
        let there = envelope.get("sweep").is_some();
        let kind = envelope.get("sweep").and_then(|sweep| sweep.choice("type")).unwrap_or(SweepType::DEFAULT);
        if there && flag == SWEEP_TYPE && !kind.is_of_lists() {
            problems.push(
                Problem::new(format!("--sweep-type cannot change a sweep of type {}", kind.name()))
                    .hint("leave --sweep-type out"),
            );
        } else if there {
            envelope.child("sweep").put(key, node);
        }
    }
}

/// Turns lists in the phases of a file into a sweep over them, unless the file has one.
pub(crate) fn phase_lists(envelope: &mut Node, places: &Places, problems: &mut Vec<Problem>) {
    if envelope.get("sweep").is_some() {
        return;
    }
    let Some(Node { datum: Datum::List(phases), .. }) =
        envelope.get_mut("benchmark").and_then(|body| body.get_mut("phases"))
    else {
        return;
    };
    let mut parameters = Node::map(Origin::Rule);
    for (index, phase) in phases.iter_mut().enumerate() {
        let name = phase.get("name").and_then(Node::text).unwrap_or_default().to_owned();
        for key in PHASE_KEYS {
            let Some(node) = phase.get_mut(key) else { continue };
            let Datum::List(items) = &node.datum else { continue };
            let Some(first) = items.first().cloned() else {
                problems.push(places.refuse(node, &format!("benchmark.phases.{index}.{key}"), "has no value"));
                continue;
            };
            parameters.put(&format!("phases.{name}.{key}"), node.clone());
            *node = Node::new(first.datum, node.origin.clone());
        }
    }
    if !parameters.entries().is_empty() {
        let mut sweep = Node::map(Origin::Rule);
        sweep.put("type", Node::rule(SweepType::Grid));
        sweep.put("parameters", parameters);
        envelope.put("sweep", sweep);
    }
}
