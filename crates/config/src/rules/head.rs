//! What a request head may contain: no value of a user may end one of its lines, or change where its body ends.

use super::facts::Facts;
use crate::error::Problem;
use crate::sections::endpoint::Endpoint;
use crate::tree::{Node, Origin};
use aiperf_plan::redact::REDACTED;

/// Headers of the transfer, not of the content: the client sets each, and a second one would contradict it. Each with
/// an alternative, and one for files if that differs.
const OWN: &[(&str, &str, &str, Option<&str>)] = &[
    ("content-length", "the length of each body is counted", "leave it out: it is sent with every request", None),
    ("transfer-encoding", "bodies are sent with their length", "leave it out: Content-Length is sent", None),
    (
        "connection",
        "the client decides how long a connection lives",
        "--connection-reuse-strategy never",
        Some("connection_reuse: never"),
    ),
    ("keep-alive", "the client decides how long a connection lives", "AIPERF_HTTP_KEEPALIVE_TIMEOUT", None),
    (
        "proxy-connection",
        "the client decides how long a connection lives",
        "--connection-reuse-strategy never",
        Some("connection_reuse: never"),
    ),
    (
        "upgrade",
        "a connection uses one protocol",
        "leave it out: --transport http2 uses HTTP/2",
        Some("leave it out: transport: http2 uses HTTP/2"),
    ),
    ("expect", "the body is sent without waiting for 100 Continue", "leave it out: the body follows immediately", None),
    ("te", "trailers are not read", "leave it out: responses are read without trailers", None),
    ("trailer", "bodies are sent without trailers", "leave it out: a header field has the same meaning", None),
];

/// Headers with a meaning of their own, which the session header would replace. Users may set them, but the session
/// header may not have their name.
const MEANT: &[(&str, &str)] = &[
    ("host", "it names the server"),
    ("content-type", "it is the type of the body"),
    ("accept", "it lists the accepted response types"),
    ("authorization", "it holds the key"),
    ("x-api-key", "it holds the key"),
    ("cookie", "it holds cookies of the server"),
    ("user-agent", "it identifies the client"),
    ("x-request-id", "it is unique for a request, and a session has many"),
];

pub(super) fn check(endpoint: &Endpoint, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    headers(endpoint, facts, problems);
    let at = "endpoint.api_key";
    match endpoint.api_key.as_deref() {
        Some(key) if key.trim().is_empty() => problems.push(
            facts
                .problem(at, format!("{} is empty", place(facts, at)))
                .because("it would be sent as an empty key")
                .hint("leave it out if the server needs no key; otherwise set the variable"),
        ),
        Some(key) if key.contains(REDACTED) => {
            problems.push(hidden(facts, at, &place(facts, at), "--api-key KEY, or api_key: ${VARIABLE} in the file"));
        }
        Some(key) => problems.extend(fault(key).map(|fault| broken(facts, at, &place(facts, at), fault))),
        None => {}
    }
    let at = "endpoint.session_header";
    if let Some(name) = endpoint.session_header.as_deref() {
        let mut known = OWN.iter().map(|(own, why, ..)| (own, why)).chain(MEANT.iter().map(|(own, why)| (own, why)));
        let own = known.find(|(own, _)| own.eq_ignore_ascii_case(name));
        if !is_token(name) {
            let problem = bad_name(facts, at, &place(facts, at), name);
            problems.push(problem.hint("a name alone, as in X-Session-ID"));
        } else if let Some((_, why)) = own {
            let what = format!("{} {name} cannot be the session header", place(facts, at));
            problems.push(facts.problem(at, what).because(*why).hint("a name of its own, as in X-Session-ID"));
        }
    }
}

fn headers(endpoint: &Endpoint, facts: &Facts<'_>, problems: &mut Vec<Problem>) {
    let node = facts.node.find("endpoint.headers");
    for (name, value) in endpoint.headers.iter().flatten() {
        // A name may contain dots, so the entry is looked up by its name and not by a path.
        let entry = node.and_then(|node| node.get(name));
        let at = format!("endpoint.headers.{name}");
        let from = entry.map_or_else(|| at.clone(), |entry| subject(facts, entry, &at));
        let lower = name.to_ascii_lowercase();
        if !is_token(name) {
            problems.push(bad_name(facts, &at, &from, name));
        } else if let Some((_, why, flag, key)) = OWN.iter().find(|(own, ..)| *own == lower) {
            let what = format!("{from} {name} cannot be set");
            let what = if flagged(entry) { what } else { format!("{from} cannot be set") };
            let instead = if flagged(entry) { *flag } else { key.unwrap_or(flag) };
            problems.push(facts.problem(&at, what).because(*why).hint(instead));
        } else if value.contains(REDACTED) {
            let from = if flagged(entry) { format!("{from} {name}") } else { from };
            let instead = format!("-H '{name}: VALUE', or {name}: ${{VARIABLE}} in the file");
            problems.push(hidden(facts, &at, &from, &instead));
        } else if let Some(fault) = fault(value) {
            let from = if flagged(entry) { format!("{from} {name}") } else { from };
            problems.push(broken(facts, &at, &from, fault));
        }
    }
}

fn flagged(entry: Option<&Node>) -> bool {
    entry.is_some_and(|entry| matches!(entry.origin, Origin::Flag(_)))
}

/// The flag, or the location in the file and the key; never the value, which may be a secret.
fn place(facts: &Facts<'_>, at: &str) -> String {
    facts.node.find(at).map_or_else(|| format!("benchmark.{at}"), |node| subject(facts, node, at))
}

fn subject(facts: &Facts<'_>, node: &Node, at: &str) -> String {
    facts.places.subject_key(node, &format!("benchmark.{at}"))
}

fn bad_name(facts: &Facts<'_>, at: &str, from: &str, name: &str) -> Problem {
    facts
        .problem(at, format!("{from}: '{}' is not a header name", name.escape_debug()))
        .because("a name is one word of letters, digits and !#$%&'*+-.^_`|~")
        .hint("'Name: value'")
}

fn broken(facts: &Facts<'_>, at: &str, from: &str, fault: &str) -> Problem {
    let in_file = facts.places.file.is_some();
    facts
        .problem(at, format!("{from} contains {fault}"))
        .because("it would end the header line, and the rest would be read as another header")
        .hint(if in_file {
            "one line; a block that begins with '|' ends in a line break, one with '|-' does not"
        } else {
            "one line"
        })
}

/// A value that output of this program contains in place of a secret.
fn hidden(facts: &Facts<'_>, at: &str, from: &str, instead: &str) -> Problem {
    facts
        .problem(at, format!("{from} contains {REDACTED} instead of a secret"))
        .because("aiperf never writes secrets: the server would get this placeholder")
        .hint(instead)
}

/// What prevents a text from being sent in a line of a head.
fn fault(text: &str) -> Option<&'static str> {
    text.chars().find_map(|c| match c {
        '\r' | '\n' => Some("a line break"),
        '\0' => Some("a NUL character"),
        '\t' => None,
        c if c.is_control() => Some("a control character"),
        _ => None,
    })
}

/// Why a field cannot be sent, without its value.
pub(crate) fn field_fault(name: &str, value: &str) -> Option<String> {
    match fault(value) {
        _ if !is_token(name) => Some("has no header name".to_owned()),
        _ if OWN.iter().any(|(own, ..)| own.eq_ignore_ascii_case(name)) => {
            Some(format!("is {name}, which cannot be set"))
        }
        fault => fault.map(|fault| format!("({name}) contains {fault}")),
    }
}

/// A token of RFC 9110.
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}
