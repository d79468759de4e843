//! Lays flags over a document, one file per section. The document is that of a configuration file, or an empty one:
//! then the values that flags leave open are filled in.

mod dataset;
mod document;
mod endpoint;
pub(crate) mod observe;
mod output;
mod phases;
mod series;
mod traces;

use crate::context::Context;
use crate::error::Problem;
use crate::flags::{FAIL_IF, Flag, RANDOM_SEED, To, UNTIL};
use crate::given::GivenFlags;
use crate::sections::observe::NetworkLatency;
use crate::tree::{Datum, Node, Places};

pub(crate) use dataset::empty_lists;
pub(crate) use document::empty;
pub(crate) use endpoint::api_key;
pub(crate) use phases::default_requests;
pub(crate) use series::resolve as resolve_series;

/// Maps to which a flag adds; it replaces every other value.
const MERGED: &[&str] = &["endpoint.headers", "endpoint.extra", "slos"];

/// Lays flags over a document; if both set a value, the flag wins.
pub(crate) fn overlay(
    envelope: &mut Node,
    flags: &GivenFlags,
    ctx: &Context<'_>,
    places: &Places,
    notes: &mut Vec<String>,
) -> Vec<Problem> {
    let alone = places.file.is_none();
    let mut problems = Vec::new();
    for given in flags.0.iter().filter(|given| !alone && !given.flag.with_file) {
        let name = &given.spelled;
        problems.push(
            Problem::new(format!("{name} cannot be used with --config"))
                .because("the file defines the benchmark")
                .hint(format!("set it in the file, or leave {name} out")),
        );
    }
    let Some(benchmark) = envelope.get_mut("benchmark") else { return problems };
    endpoint::models(benchmark, flags);
    keys(benchmark, flags);
    endpoint::endpoint(benchmark.child("endpoint"), flags, ctx, &mut problems);
    dataset::dataset(benchmark, flags, ctx, places, notes, &mut problems);
    phases::phases(benchmark, flags, ctx, alone, notes, &mut problems);
    output::artifacts(benchmark, flags, places, &mut problems);
    observe::gpu(benchmark, flags, &mut problems);
    observe::server_metrics(benchmark, flags, &mut problems);
    observe::network(benchmark, flags, &mut problems);
    observe::sinks(benchmark, flags, &mut problems);
    output::screen(benchmark, flags, ctx, notes);
    benchmark.child("tokenizer");
    benchmark.child("network_latency").put_default("enabled", NetworkLatency::default().enabled());
    beside(envelope, flags);
    if envelope.get("plot").is_some() {
        envelope.child("benchmark").child("artifacts").put_default("auto_plot", true);
    }
    problems
}

/// Flags that are one key of `benchmark`.
fn keys(benchmark: &mut Node, flags: &GivenFlags) {
    for given in &flags.0 {
        let To::Key(key) = given.flag.to else { continue };
        match benchmark.find(key) {
            Some(old) if MERGED.contains(&key) && old.is_map() => {
                let mut map = old.clone();
                crate::tree::merge(&mut map, given.node());
                benchmark.place(key, map);
            }
            _ => benchmark.place(key, given.node()),
        }
    }
}

/// Flags that are keys beside `benchmark`.
fn beside(envelope: &mut Node, flags: &GivenFlags) {
    for given in &flags.0 {
        if let To::Envelope(key) = given.flag.to {
            envelope.place(key, given.node());
        }
    }
    if let Some(seed) = flags.node(RANDOM_SEED) {
        envelope.put("random_seed", seed);
    }
    more(envelope, flags, FAIL_IF, "limits");
    more(envelope, flags, UNTIL, "until");
}

/// Entries of a flag are added to a list: those of a file apply too.
fn more(envelope: &mut Node, flags: &GivenFlags, flag: &Flag, key: &str) {
    let Some(Node { datum: Datum::List(more), .. }) = flags.node(flag) else { return };
    let all = match envelope.set(key) {
        None => more,
        Some(Node { datum: Datum::List(items), .. }) => [&items[..], &more].concat(),
        // A wrong type is refused elsewhere.
        Some(_) => return,
    };
    envelope.put(key, Node::rule(all));
}
