//! Where requests go, how they travel, and what is called around them.

use super::{not_yet, subject};
use crate::advice;
use crate::environment::{Environment, Netrc};
use crate::error::Problem;
use crate::resolve::Tree;
use crate::rules::endpoint_kind;
use crate::sections::endpoint::Endpoint;
use crate::setting::Switch;
use crate::tree::{Node, Origin};
use aiperf_plan::{BaseUrl, CacheReset, EndpointPlan, Plan, Readiness, ReuseStrategy, ServerProfiler, Transport};
use aiperf_types::{EndpointKind, Nanos};

/// Endpoint types that can be sent.
pub(crate) const SENT: &[EndpointKind] = &[EndpointKind::Chat, EndpointKind::Completions];

pub(super) fn endpoint(tree: &Tree, problems: &mut Vec<Problem>) -> Option<EndpointPlan> {
    let Environment { http, force_close, netrc, .. } = &tree.environment;
    let endpoint: &Endpoint = tree.benchmark.endpoint.as_ref()?;
    let kind = endpoint_kind(&tree.benchmark);
    if !SENT.contains(&kind) {
        let types: Vec<&str> = SENT.iter().map(|kind| kind.name()).collect();
        problems.push(
            not_yet(&subject(tree, "benchmark.endpoint.type"), &format!("only {} can be sent", types.join(" and ")))
                .hint("chat, or completions")
                .at("benchmark.endpoint.type"),
        );
    }
    // A file's template is refused by its key; one among the extra inputs of a flag has none.
    let template = tree.node.find("benchmark.endpoint.template.body");
    if let Some(Node { origin: Origin::Flag(spelled), .. }) = template
        && kind != EndpointKind::Template
    {
        let reason = "bodies are not made from templates";
        let what = format!("{spelled} payload_template");
        problems
            .push(not_yet(&what, reason).hint(advice::without_flag("it", reason)).at("benchmark.endpoint.template"));
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
        extra: endpoint.extra.clone().unwrap_or_default().0,
        body: aiperf_types::BodyKind::Json,
        template: None,
        response_field: None,
        force_content_parts: false,
        session_header: None,
        video: aiperf_plan::VideoPlan::default(),
        timeout_seconds: endpoint.timeout(),
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

/// Credentials that a netrc file has for a URL's host, where nothing else says who asks.
fn with_netrc(url: BaseUrl, netrc: &Netrc, endpoint: &Endpoint) -> BaseUrl {
    let named = endpoint.headers.iter().flatten().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if named || endpoint.api_key.is_some() || url.is_unix() {
        return url;
    }
    let credentials = netrc.for_host(url.host()).cloned();
    url.or_credentials(credentials)
}

/// HTTP/2 without TLS cannot go through a proxy, which passes on single requests of HTTP/1.1.
fn unproxied(tree: &Tree, transport: Transport, urls: &[BaseUrl]) -> Option<Problem> {
    let proxies = &tree.environment.http.proxies;
    let url = urls.iter().find(|url| !url.is_tls() && proxies.for_url(url).is_some())?;
    if transport != Transport::Http2 {
        return None;
    }
    let at = "benchmark.endpoint.transport";
    Some(
        Problem::new(format!("{} cannot be spoken with {} through a proxy", subject(tree, at), url.as_str()))
            .because("a proxy for http:// URLs, as HTTP_PROXY names one, passes on requests of HTTP/1.1 only")
            .hint(format!("NO_PROXY={}, or an https:// URL, whose connection a proxy passes through", url.host()))
            .at(at),
    )
}

fn readiness(endpoint: &Endpoint) -> Option<Readiness> {
    let timeout = Nanos::from_secs_f64(endpoint.wait_for_model_timeout());
    let interval = Nanos::from_secs_f64(endpoint.wait_for_model_interval());
    (timeout > Nanos::ZERO).then(|| Readiness { timeout, mode: endpoint.wait_for_model_mode(), interval })
}

/// The settings of what is switched on.
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

/// Header fields that were asked for and are not sent, because something else says what stands in them.
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
        "accept" | "content-type" => Some("it follows from the endpoint's type and from streaming".to_owned()),
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
