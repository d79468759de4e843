//! Rules between settings, whatever their source: flags, file, or a variation of a sweep.

mod dataset;
mod endpoint;
mod facts;
mod files;
pub(crate) mod head;
mod limits;
mod output;
mod phases;
pub(crate) mod runs;
mod search;
pub(crate) mod until;

pub(crate) use endpoint::kind as endpoint_kind;
pub(crate) use facts::Facts;
pub(crate) use limits::{DATASET_TOKENS, PROMPT_TOKENS};
#[cfg(test)]
pub(crate) use output::SCENARIOS;

use crate::error::Problem;
use crate::sections::envelope::Benchmark;

/// Fills in values that follow from other settings, then checks every rule.
pub(crate) fn settle(benchmark: &mut Benchmark, facts: &Facts<'_>, notes: &mut Vec<String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    endpoint::settle(benchmark, notes);
    phases::settle(benchmark);
    endpoint::check(benchmark, facts, &mut problems);
    if let Some(endpoint) = &benchmark.endpoint {
        head::check(endpoint, facts, &mut problems);
    }
    dataset::check(benchmark, facts, notes, &mut problems);
    phases::check(benchmark, facts, &mut problems);
    output::check(benchmark, facts, &mut problems);
    limits::check(benchmark, facts, &mut problems);
    problems
}
