//! Flags to a configuration, when there is no file: one file a section.

pub(crate) mod dataset;
mod endpoint;
pub(crate) mod observe;
pub(crate) mod output;
pub(crate) mod phases;
mod series;
mod traces;

use crate::context::Context;
use crate::error::Problem;
use crate::flags::To;
use crate::given::Flags;
use crate::tree::{Node, Origin};

pub(crate) use endpoint::{hooks, models, payload_template};
pub(crate) use series::{load as load_series, resolve as resolve_series};

/// The configuration that flags alone describe.
pub(crate) fn envelope(flags: &Flags, ctx: &Context<'_>, notes: &mut Vec<String>) -> (Node, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut envelope = Node::map(Origin::Rule);
    {
        let benchmark = envelope.child("benchmark");
        models(benchmark, flags);
        endpoint::endpoint(benchmark, flags, &mut problems);
        dataset::dataset(benchmark, flags, ctx, notes, &mut problems);
        phases::phases(benchmark, flags, ctx, &mut problems);
        output::artifacts(benchmark, flags);
        benchmark.child("tokenizer");
        keys(benchmark, flags);
        payload_template(benchmark.child("endpoint"), ctx);
        observe::observe(benchmark, flags, ctx, notes, &mut problems);
        output::screen(benchmark, flags, ctx, notes);
    }
    beside(&mut envelope, flags);
    (envelope, problems)
}

/// Flags that are one key of `benchmark`.
pub(crate) fn keys(benchmark: &mut Node, flags: &Flags) {
    for said in &flags.0 {
        if let To::Key(key) = said.flag.to {
            let merged = ["endpoint.headers", "endpoint.extra", "slos"].contains(&key);
            match benchmark.find(key) {
                Some(old) if merged && old.is_map() => {
                    let mut map = old.clone();
                    crate::tree::merge(&mut map, said.node());
                    benchmark.place(key, map);
                }
                _ => benchmark.place(key, said.node()),
            }
        }
    }
}

/// Flags that are keys beside `benchmark`.
pub(crate) fn beside(envelope: &mut Node, flags: &Flags) {
    for said in &flags.0 {
        if let To::Envelope(key) = said.flag.to {
            envelope.place(key, said.node());
        }
    }
    if let Some(seed) = flags.node("--random-seed") {
        envelope.put("random_seed", seed);
    }
}
