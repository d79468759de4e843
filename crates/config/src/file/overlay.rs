//! Flags over a file: what is set by a flag wins.

use crate::choice::Choice;
use crate::compose::observe::{gpu, network, server_metrics, sinks};
use crate::compose::output::{level_and_prefix, screen};
use crate::compose::phases::{WARMUP_TRIGGERS, rate_type};
use crate::compose::{beside, dataset, hooks, keys, load_series, models, payload_template};
use crate::context::Context;
use crate::error::Problem;
use crate::flags::To;
use crate::given::Flags;
use crate::tree::{Datum, Node, Origin, Places};

/// Load flags that say the rate.
const RATES: &[&str] = &["--request-rate", "--user-centric-rate", "--request-rate-series"];

/// Lays flags over the configuration of a file.
pub(crate) fn overlay(
    envelope: &mut Node,
    flags: &Flags,
    ctx: &Context<'_>,
    places: &Places,
    notes: &mut Vec<String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for said in flags.0.iter().filter(|said| !said.flag.with_file) {
        let name = &said.spelled;
        problems.push(
            Problem::new(format!("{name} cannot be used with --config"))
                .because("the file says what the benchmark is")
                .hint(format!("say it in the file, or leave {name} out")),
        );
    }
    let Some(benchmark) = envelope.get_mut("benchmark") else { return problems };
    if flags.has("--model-names") {
        models(benchmark, flags);
    }
    if let Some(urls) = flags.node("--url") {
        benchmark.child("endpoint").put("urls", urls);
    }
    keys(benchmark, flags);
    hooks(benchmark.child("endpoint"), flags);
    payload_template(benchmark.child("endpoint"), ctx);
    datasets(benchmark, flags, places, &mut problems);
    phases(benchmark, flags, ctx, &mut problems);
    if flags.has("--export-level") || flags.has("--profile-export-prefix") {
        level_and_prefix(benchmark.child("artifacts"), flags);
    }
    for (flag, key) in [("--auto-plot", "auto_plot"), ("--plot-required", "plot_required")] {
        if let Some(node) = flags.node(flag) {
            benchmark.child("artifacts").put(key, node);
        }
    }
    gpu(benchmark, flags, ctx, notes, &mut problems);
    server_metrics(benchmark, flags, &mut problems);
    network(benchmark, flags, &mut problems);
    sinks(benchmark, flags, &mut problems);
    screen(benchmark, flags, ctx, notes);
    benchmark.child("tokenizer");
    benchmark.child("network_latency").put_default("enabled", false);
    beside(envelope, flags);
    if envelope.get("plot").is_some() {
        envelope.child("benchmark").child("artifacts").put_default("auto_plot", true);
    }
    problems
}

/// Dataset flags go to the one dataset, and may not change what kind it is.
fn datasets(benchmark: &mut Node, flags: &Flags, places: &Places, problems: &mut Vec<Problem>) {
    let about_data = |said: &&crate::given::Said| {
        matches!(said.flag.to, To::Dataset(_))
            || said.flag.name == "--random-seed"
            || said.flag.name == "--conversation-num"
    };
    let given: Vec<&str> = flags.0.iter().filter(about_data).map(|said| said.spelled.as_str()).collect();
    if given.is_empty() {
        return;
    }
    let Some(Node { datum: Datum::List(items), .. }) = benchmark.get_mut("datasets") else { return };
    let [dataset] = &mut items[..] else { return };
    let kind = dataset.get("type").and_then(Node::text).unwrap_or("synthetic").to_owned();
    let file = places.file.as_deref().unwrap_or_default();
    if flags.has("--input-file") && kind != "file" {
        problems.push(
            Problem::new(format!("--input-file cannot be used with the {kind} dataset of {file}"))
                .because("flags may not change what kind of dataset it is")
                .hint("type: file in the file, or leave --input-file out"),
        );
        return;
    }
    dataset::place(dataset, &kind, flags, problems);
    for name in ["--num-dataset-entries", "--conversation-num"] {
        if let Some(said) = flags.get(name) {
            dataset.put("entries", said.node());
            break;
        }
    }
    if kind == "synthetic" {
        dataset::media_batches(dataset, flags);
    }
}

fn phases(benchmark: &mut Node, flags: &Flags, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    let about_load = |to: To| matches!(to, To::Profiling(_));
    let special = ["--arrival-pattern", "--request-rate-series", "--fixed-schedule"];
    let load: Vec<&str> = flags
        .0
        .iter()
        .filter(|said| about_load(said.flag.to) || special.contains(&said.flag.name))
        .map(|said| said.spelled.as_str())
        .collect();
    let every = flags.0.iter().any(|said| matches!(said.flag.to, To::EveryPhase(_)));
    if !load.is_empty() || every {
        profiling(benchmark, flags, ctx, &load, problems);
    }
    warmup(benchmark, flags, problems);
}

/// Whether a phase is a profiling one.
fn is_profiling(phase: &Node) -> bool {
    let name = |key: &str| phase.get(key).and_then(Node::text);
    name("kind").or_else(|| name("name")) == Some("profiling")
}

fn profiling(benchmark: &mut Node, flags: &Flags, ctx: &Context<'_>, load: &[&str], problems: &mut Vec<Problem>) {
    let Some(Node { datum: Datum::List(items), .. }) = benchmark.get_mut("phases") else { return };
    for phase in items.iter_mut() {
        for said in &flags.0 {
            if let To::EveryPhase(key) = said.flag.to {
                phase.place(key, said.node());
            }
        }
    }
    if load.is_empty() {
        return;
    }
    let names: Vec<String> = items
        .iter()
        .filter(|phase| is_profiling(phase))
        .map(|phase| phase.get("name").and_then(Node::text).unwrap_or("?").to_owned())
        .collect();
    if names.len() > 1 {
        problems.push(
            Problem::new(format!("{} could be meant for {}", load.join(", "), names.join(" or ")))
                .because("the file has several profiling phases")
                .hint("say it in the file"),
        );
        return;
    }
    let Some(phase) = items.iter_mut().find(|phase| is_profiling(phase)) else { return };
    let rates = flags.among(RATES);
    if rates.len() > 1 {
        problems.push(
            Problem::new(format!("{} exclude each other", rates.join(" and ")))
                .because("each says the rate")
                .hint(format!("leave {} out", rates[1])),
        );
        return;
    }
    for said in &flags.0 {
        if let To::Profiling(key) = said.flag.to {
            phase.place(key, said.node());
        }
    }
    if let Some(file) = flags.text("--request-rate-series") {
        match load_series(file, ctx.cwd, "--request-rate-series") {
            Ok(points) => phase.put("rate_series", Node::flag(&points, "--request-rate-series")),
            Err(problem) => problems.push(problem),
        }
    }
    if flags.has("--benchmark-duration") {
        phase.put_default("grace_period", 30.0);
    }
    retype(phase, flags, problems);
}

/// A load flag may change how requests arrive; keys that the new type lacks are dropped.
fn retype(phase: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) {
    let before = phase.get("type").and_then(Node::text).unwrap_or("concurrency").to_owned();
    let by_rate = ["poisson", "gamma", "constant"].contains(&before.as_str());
    let pattern = flags.text("--arrival-pattern");
    let after = if flags.on("--fixed-schedule") {
        "fixed_schedule".to_owned()
    } else if flags.has("--user-centric-rate") {
        "user_centric".to_owned()
    } else if flags.has("--arrival-smoothness") && pattern.is_none() {
        "gamma".to_owned()
    } else if let Some(pattern) = pattern {
        let rate = by_rate || flags.has("--request-rate") || flags.has("--request-rate-series");
        if !rate {
            problems.push(
                Problem::new(format!("{} needs a phase that sends by rate", flags.spelled("--arrival-pattern")))
                    .because(format!("the phase is of type {before}"))
                    .hint("add --request-rate N"),
            );
            return;
        }
        rate_type(Some(pattern), false).to_owned()
    } else if (flags.has("--request-rate") || flags.has("--request-rate-series")) && !by_rate {
        "poisson".to_owned()
    } else {
        before.clone()
    };
    if flags.has("--request-rate") {
        phase.take("rate_series");
    }
    if flags.has("--request-rate-series") {
        phase.take("rate");
    }
    if after == before {
        return;
    }
    phase.put("type", Node::rule(after.as_str()));
    for (key, types) in crate::sections::phases::KEYS_OF {
        let from_flag = phase.get(key).is_some_and(|node| matches!(node.origin, Origin::Flag(_)));
        if !types.iter().any(|kind| kind.name() == after) && !from_flag {
            phase.take(key);
        }
    }
}

/// Warmup flags change the file's warmup, or make one when they ask for it.
fn warmup(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) {
    let given: Vec<&str> = flags
        .0
        .iter()
        .filter(|said| matches!(said.flag.to, To::Warmup(_)) || said.flag.name == "--warmup-arrival-pattern")
        .map(|said| said.spelled.as_str())
        .collect();
    if given.is_empty() {
        return;
    }
    let phases = benchmark.child("phases");
    let is_warmup = |phase: &Node| {
        let name = |key: &str| phase.get(key).and_then(Node::text);
        name("kind").or_else(|| name("name")) == Some("warmup")
    };
    let Datum::List(items) = &mut phases.datum else { return };
    let there = items.iter().any(is_warmup);
    if !there {
        if !WARMUP_TRIGGERS.iter().any(|flag| flags.has(flag)) {
            problems.push(
                Problem::new(format!("{} needs a warmup", given.join(", ")))
                    .because("the file has none")
                    .hint("add --warmup-request-count N, --num-warmup-sessions N or --warmup-duration SECONDS"),
            );
            return;
        }
        let mut phase = Node::map(Origin::Rule);
        phase.put("name", Node::rule("warmup"));
        phase.put("kind", Node::rule("warmup"));
        let kind = if flags.has("--warmup-request-rate") {
            rate_type(flags.text("--warmup-arrival-pattern"), false)
        } else {
            "concurrency"
        };
        phase.put("type", Node::rule(kind));
        if kind == "concurrency" && !flags.has("--warmup-concurrency") {
            phase.put("concurrency", Node::rule(1));
        }
        items.insert(0, phase);
    }
    let Some(phase) = items.iter_mut().find(|phase| is_warmup(phase)) else { return };
    let kind = phase.get("type").and_then(Node::text).unwrap_or("concurrency").to_owned();
    if there && flags.has("--warmup-request-rate") && kind == "concurrency" {
        match flags.text("--warmup-arrival-pattern") {
            Some(pattern) => phase.put("type", Node::rule(rate_type(Some(pattern), false))),
            None => problems.push(
                Problem::new("--warmup-request-rate needs --warmup-arrival-pattern")
                    .because("the warmup of the file sends by concurrency")
                    .hint("add --warmup-arrival-pattern poisson"),
            ),
        }
    }
    for said in &flags.0 {
        if let To::Warmup(key) = said.flag.to {
            phase.place(key, said.node());
        }
    }
}
