//! Statistics that should be known exactly (`until`): each profiling phase needs a maximum, and one that is large enough.

use super::facts::Facts;
use crate::choice::Choice;
use crate::error::Problem;
use crate::sections::envelope::Benchmark;
use crate::sections::phases::Phase;
use crate::sections::until::{Precision, Until, UntilStat};
use crate::tree::{Node, Origin};
use aiperf_statistics::{Statistic, fewest_values};
use aiperf_types::PhaseKind;

/// Checks one run. `node`: the list, with the origin of each entry.
pub(crate) fn check(until: &Until, node: Option<&Node>, benchmark: &Benchmark, facts: &Facts<'_>) -> Vec<Problem> {
    let phases = benchmark.phases.as_ref().map_or(&[][..], |phases| &phases.0);
    let profiling = phases.iter().enumerate().filter(|(_, phase)| phase.kind == Some(PhaseKind::Profiling));
    let mut problems = Vec::new();
    for (index, phase) in profiling {
        // One without any end was already refused.
        let may_end = phase.requests.is_some() || phase.duration.is_some() || phase.sessions.is_some();
        for (at, precision) in until.0.iter().enumerate() {
            let item = node.and_then(|node| node.items().get(at));
            let name =
                item.map_or_else(|| format!("until.{at}"), |item| facts.places.subject(item, &format!("until.{at}")));
            // All statistics need the same maximum.
            let no_maximum = || no_maximum(phase, index, &name, facts).filter(|_| at == 0 && may_end);
            let problem = no_maximum().or_else(|| too_small(phase, index, precision, &name, facts));
            problems.extend(problem.map(|problem| problem.at(format!("until.{at}"))));
        }
    }
    problems
}

/// Whether a user has set it, not a default.
fn is_set(facts: &Facts<'_>, index: usize, key: &str) -> bool {
    facts.node.find(&format!("phases.{index}.{key}")).is_some_and(|node| node.origin != Origin::Rule)
}

fn no_maximum(phase: &Phase, index: usize, name: &str, facts: &Facts<'_>) -> Option<Problem> {
    // A recording ends with its last request.
    let ends_by_itself = phase.r#type.is_some_and(|kind| kind.replays());
    let has_maximum = ["requests", "duration", "sessions"].iter().any(|key| is_set(facts, index, key));
    (!ends_by_itself && !has_maximum).then(|| {
        Problem::new(format!("{name} needs a maximum"))
            .because("a statistic may never be known so exactly, and then only the maximum ends the phase")
            .hint(facts.ask(
                "add --request-count N, --benchmark-duration SECONDS or --num-sessions N",
                "requests: N, duration: TIME or sessions: N in the profiling phase",
            ))
    })
}

fn too_small(phase: &Phase, index: usize, precision: &Precision, name: &str, facts: &Facts<'_>) -> Option<Problem> {
    let requests = u64::try_from(phase.requests?).ok()?;
    let stat = precision.stat?;
    let fewest = fewest_values(statistic(stat));
    (requests < fewest).then(|| {
        let (given, way_out) = match is_set(facts, index, "requests") {
            true => {
                let flag = facts.ask("--request-count", "requests:");
                let given = facts.mention(&format!("phases.{index}.requests"));
                (given, format!("{flag} {} or more: it is a maximum", 10 * fewest))
            }
            false => {
                (format!("the number of requests, {requests},"), "a larger number, or a longer recording".to_owned())
            }
        };
        Problem::new(format!("{name} can never be met: {given} is too small"))
            .because(format!("two looks at {} need {fewest} requests", stat.name()))
            .hint(way_out)
    })
}

/// The same for computations.
pub(crate) fn statistic(stat: UntilStat) -> Statistic {
    let percent = stat.name().strip_prefix('p').and_then(|percent| percent.parse().ok());
    percent.map_or(Statistic::Mean, Statistic::Percentile)
}
