//! Base URL and path joined into what is asked for.

use aiperf_plan::redact::percent::{percent_decoded, percent_encoded};
use aiperf_types::EndpointKind;

/// The URL of a request: the base URL, the dialect's path unless it is there already, and the query.
pub fn join(
    base: &str,
    kind: EndpointKind,
    streaming: bool,
    custom: Option<&str>,
    params: &[(String, String)],
) -> String {
    let lower = base.to_ascii_lowercase();
    let full = match ["http://", "https://"].into_iter().find(|scheme| lower.starts_with(scheme)) {
        Some(scheme) => format!("{scheme}{}", &base[scheme.len()..]),
        None => format!("http://{base}"),
    };
    let (rest, fragment) = split_off(&full, '#');
    let (rest, query) = split_off(rest, '?');
    let authority_end = rest.find("://").map_or(0, |at| at + 3);
    let path_start = rest[authority_end..].find('/').map_or(rest.len(), |at| authority_end + at);
    let path = rest[path_start..].trim_end_matches('/');
    let traits = kind.traits();
    let sub = custom
        .or_else(|| traits.streaming_path.filter(|_| streaming))
        .or(traits.path)
        .unwrap_or_default()
        .trim_start_matches('/');
    let mut joined = String::from(&rest[..path_start]);
    joined.push_str(path);
    let there = sub.is_empty() || path.strip_suffix(sub).is_some_and(|before| before.ends_with('/'));
    if !there {
        let sub = if path.ends_with("/v1") { sub.strip_prefix("v1/").unwrap_or(sub) } else { sub };
        joined.push('/');
        joined.push_str(sub);
    }
    push_query(&mut joined, query, params);
    if let Some(fragment) = fragment {
        joined.push('#');
        joined.push_str(fragment);
    }
    joined
}

/// The path and query of a joined URL, as a request line wants them.
pub fn request_target(url: &str) -> &str {
    let url = split_off(url, '#').0;
    let after = url.find("://").map_or(0, |at| at + 3);
    url[after..].find(['/', '?']).map_or("/", |at| &url[after + at..])
}

fn split_off(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Rebuilds the query: repeated names keep the first value, parameters override, all form-encoded.
fn push_query(url: &mut String, query: Option<&str>, params: &[(String, String)]) {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for piece in query.unwrap_or_default().split('&').filter(|piece| !piece.is_empty()) {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let name = decode(name);
        if !pairs.iter().any(|(known, _)| *known == name) {
            pairs.push((name, decode(value)));
        }
    }
    for (name, value) in params {
        match pairs.iter_mut().find(|(known, _)| known == name) {
            Some(pair) => pair.1.clone_from(value),
            None => pairs.push((name.clone(), value.clone())),
        }
    }
    for (i, (name, value)) in pairs.iter().enumerate() {
        url.push(if i == 0 { '?' } else { '&' });
        url.push_str(&encode(name));
        url.push('=');
        url.push_str(&encode(value));
    }
}

fn decode(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

fn encode(text: &str) -> String {
    percent_encoded(text).replace("%20", "+")
}
