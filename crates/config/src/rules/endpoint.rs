//! Models and endpoint.

use super::facts::Facts;
use crate::choice::Choice;
use crate::error::Problem;
use crate::sections::endpoint::{ContentType, Endpoint};
use crate::sections::envelope::Benchmark;
use crate::sections::models::ModelStrategy;
use crate::setting::Switch;
use aiperf_plan::endpoint::asks_to_store;
use aiperf_types::{EndpointKind, endpoint::BodyKind};

/// The endpoint type of a benchmark.
pub(crate) fn kind(benchmark: &Benchmark) -> EndpointKind {
    benchmark.endpoint.as_ref().map_or_else(|| Endpoint::default().r#type(), Endpoint::r#type)
}

pub(super) fn settle(benchmark: &mut Benchmark, notes: &mut Vec<String>) {
    let kind = kind(benchmark);
    let traits = kind.traits();
    let Some(endpoint) = &mut benchmark.endpoint else { return };
    if endpoint.streaming == Some(true) && !traits.streams {
        notes.push(format!("{} cannot stream: sending without streaming", kind.name()));
        endpoint.streaming = Some(false);
    }
    if traits.body == BodyKind::Multipart && endpoint.request_content_type.is_none() {
        endpoint.request_content_type = Some(ContentType::Multipart);
    }
}

pub(super) fn check(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    models(benchmark, facts, problems);
    let none = Endpoint::default();
    let endpoint = benchmark.endpoint.as_ref().unwrap_or(&none);
    let kind = kind(benchmark);
    if facts.node.find("endpoint.urls").is_none_or(|urls| urls.items().is_empty()) {
        problems.push(facts.problem("endpoint.urls", "a URL is required".into()).hint("endpoint: {url: HOST:PORT}"));
    }
    paths(endpoint, facts, problems);
    if kind == EndpointKind::Template && endpoint.template.as_ref().is_none_or(|template| template.body.is_none()) {
        problems.push(
            facts
                .problem("endpoint.template", format!("{} needs a template", facts.subject("endpoint.type")))
                .because("each request body is rendered from it")
                .hint(facts.ask("--extra-inputs payload_template:FILE", "endpoint: {template: {body: ...}}")),
        );
    }
    usage(endpoint, kind, facts, problems);
    waiting(endpoint, facts, problems);
    content(endpoint, kind, facts, problems);
    if endpoint.uuid_and_strip == Some(true) && kind != EndpointKind::Chat {
        problems.push(
            facts
                .problem(
                    "endpoint.uuid_and_strip",
                    format!("{} is for type chat only", facts.subject("endpoint.uuid_and_strip")),
                )
                .hint(facts.ask("leave --uuid-and-strip out", "leave uuid_and_strip out")),
        );
    }
}

fn models(benchmark: &Benchmark, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let models = benchmark.models.as_ref();
    let items = models.and_then(|models| models.items.as_ref()).map_or(&[][..], |items| &items.0);
    let named = |name: &Option<String>| name.as_deref().is_some_and(|name| !name.trim().is_empty());
    if items.is_empty() {
        problems.push(
            facts.problem("models.items", "a model is required".into()).hint(facts.ask("--model NAME", "model: NAME")),
        );
    } else if let Some(index) = items.iter().position(|model| !named(&model.name)) {
        let at = format!("models.items.{index}.name");
        problems.push(
            facts.problem(&at, "a model has an empty name".into()).hint(facts.ask("--model NAME", "model: NAME")),
        );
    }
    let weighted = models.and_then(|models| models.strategy) == Some(ModelStrategy::Weighted);
    if weighted {
        let weights: Vec<f64> = items.iter().filter_map(|model| model.weight).collect();
        let sum: f64 = weights.iter().sum();
        if weights.len() < items.len() || sum <= 0.0 {
            let subject = facts.subject("models.strategy");
            problems.push(
                facts
                    .problem("models", format!("{subject} needs a weight for every model"))
                    .because("weights are set in a configuration file; at least one is above 0, and a share is a weight divided by their sum")
                    .hint("models: {strategy: weighted, items: [{name: a, weight: 0.7}, {name: b, weight: 0.3}]}"),
            );
        }
    }
}

fn paths(endpoint: &Endpoint, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let mut named: Vec<(&str, &str)> = Vec::new();
    named.extend(endpoint.path.as_deref().map(|path| ("endpoint.path", path)));
    if let Some(Switch::With(reset)) = &endpoint.reset_kv_cache {
        named.extend(reset.path.as_deref().map(|path| ("endpoint.reset_kv_cache.path", path)));
    }
    if let Some(Switch::With(profiler)) = &endpoint.server_profiler {
        named.extend(profiler.start_path.as_deref().map(|path| ("endpoint.server_profiler.start_path", path)));
        named.extend(profiler.stop_path.as_deref().map(|path| ("endpoint.server_profiler.stop_path", path)));
    }
    for (at, path) in named {
        if !path.starts_with('/') || path.contains("://") {
            let problem = facts.problem(at, format!("{} must start with '/'", facts.subject(at)));
            let problem = problem.because("it is a path on the server of the URL");
            problems.push(if path.contains("://") { problem } else { problem.hint(format!("/{path}")) });
        } else if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            let what = facts.node.find(at).map_or_else(
                || format!("benchmark.{at}"),
                |node| facts.places.subject_key(node, &format!("benchmark.{at}")),
            );
            problems.push(
                facts
                    .problem(
                        at,
                        format!("{what} '{}' contains a character that a path cannot hold", path.escape_debug()),
                    )
                    .because("it is part of the request line, which a space or a line break would end")
                    .hint("percent escapes, as in %20"),
            );
        }
    }
}

fn usage(endpoint: &Endpoint, kind: EndpointKind, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let counted = endpoint.use_server_token_count == Some(true);
    if endpoint.per_chunk_usage == Some(true)
        && !(counted && kind == EndpointKind::Chat && endpoint.streaming == Some(true))
    {
        problems.push(
            facts
                .problem(
                    "endpoint.per_chunk_usage",
                    format!("{} needs streamed chat counted by the server", facts.subject("endpoint.per_chunk_usage")),
                )
                .because("usage on every chunk is read only for streamed chat with server token counts")
                .hint(facts.ask(
                    "add --use-server-token-count --streaming",
                    "add use_server_token_count: true and streaming: true",
                )),
        );
    }
    let stored = endpoint.extra.as_ref().is_some_and(|extra| asks_to_store(&extra.0));
    if kind == EndpointKind::Responses && stored && !counted {
        problems.push(
            facts
                .problem(
                    "endpoint.extra.store",
                    format!(
                        "storing responses needs {}",
                        facts.ask("--use-server-token-count", "use_server_token_count")
                    ),
                )
                .because("stored responses are not sent again, so the client cannot count them")
                .hint(facts.ask("add --use-server-token-count", "add use_server_token_count: true")),
        );
    }
}

fn waiting(endpoint: &Endpoint, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    if endpoint.wait_for_model_timeout() > 0.0 {
        return;
    }
    let usual = Endpoint::default();
    let mode = endpoint.wait_for_model_mode() != usual.wait_for_model_mode();
    let interval = endpoint.wait_for_model_interval() != usual.wait_for_model_interval();
    for (set, at) in [(mode, "endpoint.wait_for_model_mode"), (interval, "endpoint.wait_for_model_interval")] {
        if set {
            problems.push(
                facts
                    .problem(
                        at,
                        format!(
                            "{} needs {}",
                            facts.subject(at),
                            facts.ask("--wait-for-model-timeout", "wait_for_model_timeout")
                        ),
                    )
                    .because("without a timeout the run does not wait")
                    .hint(facts.ask("add --wait-for-model-timeout SECONDS", "add wait_for_model_timeout: SECONDS")),
            );
        }
    }
}

fn content(endpoint: &Endpoint, kind: EndpointKind, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let Some(asked) = endpoint.request_content_type else { return };
    let only = match kind.traits().body {
        BodyKind::Multipart => ContentType::Multipart,
        BodyKind::Json => ContentType::Json,
    };
    if asked != only {
        let only = only.name();
        problems.push(
            facts
                .problem(
                    "endpoint.request_content_type",
                    format!(
                        "{} cannot be used with type {}",
                        facts.subject("endpoint.request_content_type"),
                        kind.name()
                    ),
                )
                .because(format!("{} takes {only} only", kind.name()))
                .hint(facts.ask("leave --request-content-type out", "leave request_content_type out")),
        );
    }
}
