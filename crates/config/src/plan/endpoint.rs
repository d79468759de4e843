//! Where requests are sent, how, and the calls around them.

use super::subject;
use crate::context::Context;
use crate::environment::{Environment, Netrc};
use crate::error::Problem;
use crate::payload_template;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::endpoint::{ContentType, Endpoint};
use crate::setting::Switch;
use crate::tree::Origin;
use aiperf_plan::{
    BaseUrl, CacheReset, EndpointPlan, Plan, Readiness, ReuseStrategy, ServerProfiler, Transport, VideoPlan,
};
use aiperf_types::{BodyKind, EndpointKind, Nanos};
use serde_json::{Map, Value};

pub(super) fn endpoint(
    tree: &Tree,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<EndpointPlan> {
    let Environment { http, force_close, netrc, .. } = &tree.environment;
    let endpoint: &Endpoint = tree.benchmark.endpoint.as_ref()?;
    let kind = endpoint_kind(&tree.benchmark);
    let mut extra = endpoint.extra.clone().unwrap_or_default().0;
    let (template, template_from) = template(tree, ctx, notes, problems).unzip();
    let response_field = response_field(tree, endpoint, &mut extra, problems);
    if endpoint.download_video_content() && !kind.traits().produces_videos {
        let what = subject(tree, "benchmark.endpoint.download_video_content");
        notes.push(format!("{what} has no effect: type {} makes no videos", kind.name()));
    }
    let urls: Vec<BaseUrl> = endpoint.urls().iter().map(|url| url.0.clone()).collect();
    let transport = endpoint.transport.unwrap_or_default();
    problems.extend(unproxied(tree, transport, &urls));
    let reuse = match endpoint.connection_reuse {
        None if *force_close => ReuseStrategy::Never,
        _ => endpoint.connection_reuse(),
    };
    Some(EndpointPlan {
        kind,
        urls: urls.into_iter().map(|url| with_netrc(url, netrc, endpoint)).collect(),
        transport,
        path: endpoint.path.clone(),
        streaming: endpoint.streaming(),
        api_key: endpoint.api_key.clone(),
        headers: endpoint.headers.clone().unwrap_or_default(),
        extra,
        body: match endpoint.request_content_type {
            Some(ContentType::Json) => BodyKind::Json,
            Some(ContentType::Multipart) => BodyKind::Multipart,
            None => kind.traits().body,
        },
        template,
        template_from,
        response_field,
        force_content_parts: tree.environment.force_content_parts,
        session_header: endpoint.session_header.clone(),
        video: video(tree, endpoint),
        timeout_seconds: endpoint.timeout(),
        unreachable_timeout: Some(Nanos::from_secs_f64(endpoint.unreachable_timeout()))
            .filter(|timeout| *timeout > Nanos::ZERO),
        legacy_max_tokens: endpoint.use_legacy_max_tokens(),
        server_token_count: endpoint.use_server_token_count(),
        per_chunk_usage: endpoint.per_chunk_usage(),
        reuse,
        http: http.clone(),
        readiness: readiness(endpoint),
        cache_reset: cache_reset(endpoint),
        server_profiler: server_profiler(endpoint),
    })
}

/// The template of bodies, for the endpoint type that needs one, and its name in messages.
fn template(
    tree: &Tree,
    ctx: &Context<'_>,
    notes: &mut Vec<String>,
    problems: &mut Vec<Problem>,
) -> Option<(String, String)> {
    let source = tree.benchmark.endpoint.as_ref()?.template.as_ref()?.body.as_deref()?;
    let at = "benchmark.endpoint.template.body";
    let what = named(tree, at);
    let kind = endpoint_kind(&tree.benchmark);
    if kind != EndpointKind::Template {
        notes.push(format!("{what} has no effect: only type template makes bodies from one, not {}", kind.name()));
        return None;
    }
    match payload_template::text(source, ctx) {
        Ok(text) if text == source => Some((text, what)),
        Ok(text) => Some((text, format!("{what} {source}"))),
        Err(rule) => {
            let start: String = source.chars().take(100).collect();
            problems.push(
                Problem::new(format!("{what} '{}' {rule}", start.escape_debug()))
                    .because("bodies are rendered from it")
                    .hint("a file of UTF-8 text, or a template, as in '{\"text\": {{ text|tojson }}}'")
                    .at(at),
            );
            None
        }
    }
}

/// The name of a setting, without its value.
fn named(tree: &Tree, at: &str) -> String {
    tree.node.find(at).map_or_else(|| at.to_owned(), |node| tree.places.subject_key(node, at))
}

/// The value that detects where a response has its text, for templates. For a raw body it is the name of a member.
const FOUND_OUT: &str = "text";

/// The path of the text in a response, for types whose responses may have any form. Among the extra inputs it is a
/// member of the request, unless the type sends no extra inputs.
fn response_field(
    tree: &Tree,
    endpoint: &Endpoint,
    extra: &mut Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    let of_template = endpoint.template.as_ref().and_then(|template| template.response_field.clone());
    let at = "benchmark.endpoint.template.response_field";
    let is_given = tree.node.find(at).is_some_and(|node| node.origin != Origin::Rule);
    let (asked, at) = match endpoint_kind(&tree.benchmark) {
        EndpointKind::Template => (of_template.filter(|field| field != FOUND_OUT)?, at),
        EndpointKind::Raw => match (of_template.filter(|_| is_given), extra.shift_remove("response_field")) {
            (Some(field), _) => (field, at),
            (None, Some(Value::String(field))) => (field, "benchmark.endpoint.extra.response_field"),
            (None, field) => (field?.to_string(), "benchmark.endpoint.extra.response_field"),
        },
        _ => return None,
    };
    if asked.trim().is_empty() {
        let what = named(tree, at);
        let what = if what.ends_with("response_field") { what } else { format!("{what} response_field") };
        problems.push(
            Problem::new(format!("{what} is empty"))
                .because("it is the JMESPath of the text in a response")
                .hint("response_field:choices[0].text, or leave it out: text is looked for in the usual places")
                .at(at),
        );
        return None;
    }
    Some(asked)
}

fn video(tree: &Tree, endpoint: &Endpoint) -> VideoPlan {
    let usual = VideoPlan::default();
    VideoPlan {
        download: endpoint.download_video_content(),
        poll_interval: tree.environment.video_poll_seconds.map_or(usual.poll_interval, Nanos::from_secs_f64),
    }
}

/// Credentials of a netrc file for a URL's host, if there are no others.
fn with_netrc(url: BaseUrl, netrc: &Netrc, endpoint: &Endpoint) -> BaseUrl {
    let named = endpoint.headers.iter().flatten().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if named || endpoint.api_key.is_some() || url.is_unix() {
        return url;
    }
    let credentials = netrc.for_host(url.host()).cloned();
    url.or_credentials(credentials)
}

/// HTTP/2 without TLS cannot pass a proxy, which forwards single requests of HTTP/1.1.
fn unproxied(tree: &Tree, transport: Transport, urls: &[BaseUrl]) -> Option<Problem> {
    let proxies = &tree.environment.http.proxies;
    let url = urls.iter().find(|url| !url.is_tls() && proxies.for_url(url).is_some())?;
    if transport != Transport::Http2 {
        return None;
    }
    let at = "benchmark.endpoint.transport";
    Some(
        Problem::new(format!("{} cannot be used with {} through a proxy", subject(tree, at), url.as_str()))
            .because("the proxy of HTTP_PROXY forwards HTTP/1.1 only")
            .hint(format!("NO_PROXY={}, or an https:// URL, which a proxy tunnels", url.host()))
            .at(at),
    )
}

fn readiness(endpoint: &Endpoint) -> Option<Readiness> {
    let timeout = Nanos::from_secs_f64(endpoint.wait_for_model_timeout());
    let interval = Nanos::from_secs_f64(endpoint.wait_for_model_interval());
    (timeout > Nanos::ZERO).then(|| Readiness { timeout, mode: endpoint.wait_for_model_mode(), interval })
}

/// The settings of a switch that is on.
fn switched<T: Clone + Default>(switch: &Option<Switch<T>>) -> Option<T> {
    match switch {
        None | Some(Switch::Plain(false)) => None,
        Some(Switch::Plain(true)) => Some(T::default()),
        Some(Switch::With(settings)) => Some(settings.clone()),
    }
}

fn cache_reset(endpoint: &Endpoint) -> Option<CacheReset> {
    let settings = switched(&endpoint.reset_kv_cache)?;
    Some(CacheReset {
        timeout: Nanos::from_secs_f64(settings.timeout_seconds()),
        max_retry: Nanos::from_secs_f64(settings.max_retry_seconds()),
        path: settings.path.unwrap_or_else(|| CacheReset::PATH.to_owned()),
    })
}

fn server_profiler(endpoint: &Endpoint) -> Option<ServerProfiler> {
    let settings = switched(&endpoint.server_profiler)?;
    Some(ServerProfiler {
        timeout: Nanos::from_secs_f64(settings.timeout_seconds()),
        start_path: settings.start_path.unwrap_or_else(|| ServerProfiler::START_PATH.to_owned()),
        stop_path: settings.stop_path.unwrap_or_else(|| ServerProfiler::STOP_PATH.to_owned()),
    })
}

/// Notes about the user's headers that are not sent, because something else sets their values.
pub(super) fn replaced(plan: &Plan, tree: &Tree) -> Vec<String> {
    let EndpointPlan { headers, api_key, urls, http, .. } = &plan.endpoint;
    let place = |name: &str| {
        let node = tree.node.find("benchmark.endpoint.headers").and_then(|headers| headers.get(name));
        let at = format!("benchmark.endpoint.headers.{name}");
        match node {
            Some(node) if matches!(node.origin, Origin::Flag(_)) => {
                format!("{} {name}", tree.places.subject_key(node, &at))
            }
            Some(node) => tree.places.subject_key(node, &at),
            None => at,
        }
    };
    let of_sessions = |name: &str| http.session_headers.iter().find(|header| header.name().eq_ignore_ascii_case(name));
    let instead = |name: &str| match name.to_ascii_lowercase().as_str() {
        "authorization" if api_key.is_some() => Some("the API key is sent instead".to_owned()),
        "accept" | "content-type" => Some("the endpoint type and streaming set it".to_owned()),
        lower => {
            let variable = of_sessions(lower)?.variable();
            Some(format!("the session's id is sent instead ({variable}=false sends yours)"))
        }
    };
    let fields =
        headers.iter().filter_map(|(name, _)| Some(format!("{} is not sent: {}", place(name), instead(name)?)));
    let mut notes: Vec<String> = fields.collect();
    let named = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if urls.iter().any(|url| url.credentials().is_some()) && (api_key.is_some() || named) {
        let by = if api_key.is_some() { "the API key" } else { "the Authorization header" };
        notes.push(format!("the credentials in the URL are not sent: {by} is sent instead"));
    }
    notes
}
