//! Models and endpoint.

use crate::context::Context;
use crate::error::Problem;
use crate::flags::{
    MODEL_NAMES, RESET_KV_CACHE, RESET_KV_CACHE_PATH, RESET_KV_CACHE_TIMEOUT_SECONDS, SERVER_PROFILER,
    SERVER_PROFILER_START_PATH, SERVER_PROFILER_STOP_PATH, SERVER_PROFILER_TIMEOUT_SECONDS, URL,
};
use crate::given::GivenFlags;
use crate::tree::{Datum, Node, Origin, Places};
use crate::{os_text, payload_template, small_file};
use serde_json::json;

/// Model names in order.
pub(super) fn models(benchmark: &mut Node, flags: &GivenFlags) {
    let Some(given) = flags.get(MODEL_NAMES) else { return };
    let origin = Origin::Flag(given.spelled.clone());
    let names = flags.texts(MODEL_NAMES);
    let items = names.iter().map(|name| Node::from_json(&json!({"name": name}), &origin)).collect();
    benchmark.child("models").put("items", Node::new(Datum::List(items), origin));
}

/// Settings of the endpoint that are more than one key.
pub(super) fn endpoint(endpoint: &mut Node, flags: &GivenFlags, ctx: &Context<'_>, problems: &mut Vec<Problem>) {
    if flags.get(URL).is_some_and(|given| given.value.as_array().is_some_and(Vec::is_empty)) {
        let url = flags.spelled(URL);
        problems.push(
            Problem::new(format!("{url} needs a value")).hint(format!("{url} HOST:PORT")).at("benchmark.endpoint.urls"),
        );
    }
    hooks(endpoint, flags);
    payload_template(endpoint, ctx);
}

/// The variable with the key, for messages.
const KEY_VARIABLE: &str = "AIPERF_API_KEY";

/// The key: from a flag, a file, or the environment. `@FILE` is the content of that file, so that a key need not be an
/// argument, which every user of the machine can read.
pub(crate) fn api_key(
    endpoint: &mut Node,
    from_environment: Option<&str>,
    ctx: &Context<'_>,
    places: &Places,
) -> Result<(), Problem> {
    if let (None, Some(key)) = (endpoint.set("api_key"), from_environment) {
        endpoint.put("api_key", Node::flag(&key.into(), KEY_VARIABLE));
    }
    let Some(node) = endpoint.get_mut("api_key") else { return Ok(()) };
    let Some(file) = node.text().and_then(|text| text.strip_prefix('@')) else { return Ok(()) };
    let key = small_file::text(&ctx.cwd.join(os_text::path(file)), small_file::SECRET).map_err(|rule| {
        let at = "benchmark.endpoint.api_key";
        let from = places.subject_key(node, at);
        Problem::new(format!("{from} @{}: {rule}", os_text::shown(file)))
            .because("the text after @ is a file that holds the key")
            .at(at)
    })?;
    node.datum = Datum::Text(key.trim_end_matches(['\r', '\n']).to_owned());
    Ok(())
}

/// Calls to the server around a run: on if the switch is on or one of their settings is given.
fn hooks(endpoint: &mut Node, flags: &GivenFlags) {
    for (switch, key, settings) in [
        (RESET_KV_CACHE, "reset_kv_cache", &[RESET_KV_CACHE_TIMEOUT_SECONDS, RESET_KV_CACHE_PATH][..]),
        (
            SERVER_PROFILER,
            "server_profiler",
            &[SERVER_PROFILER_TIMEOUT_SECONDS, SERVER_PROFILER_START_PATH, SERVER_PROFILER_STOP_PATH],
        ),
    ] {
        let Some(given) = flags.get(switch) else { continue };
        if flags.on(switch) {
            if !endpoint.get(key).is_some_and(Node::is_map) {
                endpoint.put(key, Node::map(Origin::Flag(given.spelled.clone())));
            }
        } else if !settings.iter().any(|setting| flags.has(setting)) {
            endpoint.take(key);
        }
    }
}

/// A payload template among the extra inputs becomes the template of the endpoint: its text, or the file that contains
/// it. Drops empty extra inputs and headers.
fn payload_template(endpoint: &mut Node, ctx: &Context<'_>) {
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
    let template = endpoint.child("template");
    // An unreadable file is reported when the plan is made; a value that is no text is refused by its type.
    let body = match body.text().and_then(|text| Some((payload_template::text_of_file(text, ctx)?, text))) {
        Some((text, file)) => {
            let member = format!("payload_template:{file}");
            Node::new(Datum::Text(text), member_of(body.origin.clone(), &member))
        }
        None => Node::new(body.datum, member_of(body.origin, "payload_template")),
    };
    template.put("body", body);
    let field = extra.take("response_field").map(|field| {
        let origin = member_of(field.origin, "response_field");
        Node::new(field.datum, origin)
    });
    template.put("response_field", field.unwrap_or_else(|| Node::rule("text")));
}

/// The origin of one member of a flag's value: messages name both.
fn member_of(origin: Origin, member: &str) -> Origin {
    match origin {
        Origin::Flag(spelled) => Origin::Flag(format!("{spelled} {member}")),
        other => other,
    }
}
