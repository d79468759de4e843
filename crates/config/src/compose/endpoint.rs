//! Models and endpoint.

use crate::context::Context;
use crate::error::Problem;
use crate::given::Flags;
use crate::tree::{Datum, Node, Origin};
use serde_json::json;

/// Model names in order.
pub(crate) fn models(benchmark: &mut Node, flags: &Flags) {
    let origin = Origin::Flag(flags.spelled("--model-names").to_owned());
    let names = flags.texts("--model-names");
    let items = names.iter().map(|name| Node::from_json(&json!({"name": name}), &origin)).collect();
    benchmark.child("models").put("items", Node::new(Datum::List(items), origin));
}

pub(super) fn endpoint(benchmark: &mut Node, flags: &Flags, problems: &mut Vec<Problem>) {
    if flags.get("--url").is_some_and(|said| said.value.as_array().is_some_and(Vec::is_empty)) {
        let url = flags.spelled("--url");
        problems.push(
            Problem::new(format!("{url} needs a value")).hint(format!("{url} HOST:PORT")).at("benchmark.endpoint.urls"),
        );
    }
    let endpoint = benchmark.child("endpoint");
    let default = Node::rule(vec![Node::rule("http://localhost:8000")]);
    endpoint.put("urls", flags.node("--url").unwrap_or(default));
    hooks(endpoint, flags);
}

/// What is called on the server around a run: on when its switch is on or one of its settings is given.
pub(crate) fn hooks(endpoint: &mut Node, flags: &Flags) {
    for (switch, key, settings) in [
        ("--reset-kv-cache", "reset_kv_cache", &["--reset-kv-cache-timeout-seconds", "--reset-kv-cache-path"][..]),
        (
            "--server-profiler",
            "server_profiler",
            &["--server-profiler-timeout-seconds", "--server-profiler-start-path", "--server-profiler-stop-path"],
        ),
    ] {
        let Some(said) = flags.get(switch) else { continue };
        if flags.on(switch) {
            if !endpoint.get(key).is_some_and(Node::is_map) {
                endpoint.put(key, Node::map(Origin::Flag(said.spelled.clone())));
            }
        } else if !settings.iter().any(|setting| flags.has(setting)) {
            endpoint.take(key);
        }
    }
}

/// A payload template among the extra inputs is a template of the endpoint: its text, or the file that holds it.
/// Extra inputs and headers that say nothing are as good as none.
pub(crate) fn payload_template(endpoint: &mut Node, ctx: &Context<'_>) {
    if let Some(mut extra) = endpoint.take("extra") {
        take_template(endpoint, &mut extra, ctx);
        endpoint.put("extra", extra);
    }
    for key in ["extra", "headers"] {
        if endpoint.get(key).is_some_and(|node| node.is_map() && node.entries().is_empty()) {
            endpoint.take(key);
        }
    }
}

fn take_template(endpoint: &mut Node, extra: &mut Node, ctx: &Context<'_>) {
    let Some(body) = extra.take("payload_template") else { return };
    let text = body.text().unwrap_or_default();
    let path = ctx.cwd.join(text);
    let read = if !text.is_empty() && path.is_file() { std::fs::read_to_string(path).ok() } else { None };
    let template = endpoint.child("template");
    let body = Node::new(Datum::Text(read.unwrap_or_else(|| text.to_owned())), body.origin);
    template.put("body", body);
    let field = extra.take("response_field").unwrap_or_else(|| Node::rule("text"));
    template.put("response_field", field);
}
