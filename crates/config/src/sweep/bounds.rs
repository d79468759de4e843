//! What a sweep can vary, and how many runs it may have.

use crate::choice::Choice;
use crate::error::Problem;
use crate::tree::{Datum, Node, Places};
use aiperf_types::PhaseKind;

/// Runs of one sweep: each is a benchmark, so more would not end.
const MOST_RUNS: usize = 1000;

pub(super) fn few_enough(count: usize, sweep: &Node, places: &Places) -> Result<(), Vec<Problem>> {
    if count <= MOST_RUNS {
        return Ok(());
    }
    let what = format!("{}a sweep of {count} runs is too long", places.prefix(&sweep.origin));
    Err(vec![Problem::new(what).because(format!("a sweep has at most {MOST_RUNS}")).hint("fewer values").at("sweep")])
}

/// Whether a path leads to something a sweep can vary.
pub(super) fn reachable(envelope: &Node, path: &str, place: &str) -> Result<(), Problem> {
    if path.starts_with("variables.") {
        return Ok(());
    }
    let Some(benchmark) = envelope.get("benchmark") else { return Ok(()) };
    let mut parts = path.split('.');
    let (Some(list), Some(entry)) = (parts.next(), parts.next()) else { return Ok(()) };
    let Some(Node { datum: Datum::List(items), .. }) = benchmark.get(list) else {
        return descend(benchmark, path, path.split('.'), place);
    };
    let names: Vec<&str> = items.iter().filter_map(|item| item.get("name").and_then(Node::text)).collect();
    match position(items, entry, list == "phases") {
        Position::At(at) => descend(&items[at], path, parts, place),
        Position::Several => Err(Problem::new(format!("{place}a sweep over {path} could mean several phases"))
            .because(format!("phases: {}", names.join(", ")))
            .at("sweep.parameters")),
        Position::Nowhere => Err(Problem::new(format!("{place}a sweep over {path} finds no '{entry}'"))
            .because(format!("{list}: {}", names.join(", ")))
            .at("sweep.parameters")),
    }
}

/// A path goes through maps only; what is missing on the way is made.
fn descend<'p>(from: &Node, path: &str, parts: impl Iterator<Item = &'p str>, place: &str) -> Result<(), Problem> {
    let mut node = from;
    for part in parts {
        if !node.is_map() && node.datum != Datum::Null {
            let what = format!("{place}a sweep over {path} goes through {}, which is {}", node.shown(), node.kind());
            return Err(Problem::new(what).at("sweep.parameters"));
        }
        match node.get(part) {
            Some(next) => node = next,
            None => break,
        }
    }
    Ok(())
}

pub(super) enum Position {
    At(usize),
    Several,
    Nowhere,
}

/// Which entry of a list a name means; among phases also a number, and `profiling` for the only one of that kind.
pub(super) fn position(items: &[Node], entry: &str, phases: bool) -> Position {
    if let Some(at) = items.iter().position(|item| item.get("name").and_then(Node::text) == Some(entry)) {
        return Position::At(at);
    }
    if !phases {
        return Position::Nowhere;
    }
    if let Ok(at) = entry.parse::<usize>() {
        return if at < items.len() { Position::At(at) } else { Position::Nowhere };
    }
    let Some(kind @ PhaseKind::Profiling) = PhaseKind::exactly(entry) else { return Position::Nowhere };
    let kind: Vec<usize> = (0..items.len()).filter(|at| items[*at].choice("kind") == Some(kind)).collect();
    match kind[..] {
        [at] => Position::At(at),
        [] => Position::Nowhere,
        _ => Position::Several,
    }
}
