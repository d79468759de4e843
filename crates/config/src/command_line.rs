//! The command line as it is shown: quoted for a shell, secrets taken out.

use aiperf_plan::redact::{REDACTED, is_sensitive_header};

const SECRET_FLAGS: &[&str] = &[
    "api-key",
    "api_key",
    "api-token",
    "api_token",
    "auth-token",
    "auth_token",
    "access-token",
    "access_token",
    "bearer-token",
    "bearer_token",
    "id-token",
    "id_token",
    "refresh-token",
    "refresh_token",
    "authorization",
];
const URL_FLAGS: &[&str] = &["--url", "-u", "--otel-url", "--mlflow-tracking-uri"];
const SECRET_QUERY: &[&str] = &[
    "api_key",
    "apikey",
    "api-key",
    "token",
    "access_token",
    "auth_token",
    "key",
    "secret",
    "password",
    "sig",
    "signature",
];

/// `aiperf` followed by the arguments, each quoted for a POSIX shell when it needs it.
pub(crate) fn shown(args: &[String]) -> String {
    let mut out = String::from("aiperf");
    let mut after = "";
    for arg in args {
        out.push(' ');
        if arg.starts_with('-') && arg.len() > 1 && !arg[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            match arg.split_once('=') {
                Some((name, value)) => out.push_str(&format!("{name}={}", quoted(&safe(name, value)))),
                None => out.push_str(&quoted(arg)),
            }
            after = arg;
        } else {
            out.push_str(&quoted(&safe(after, arg)));
        }
    }
    out
}

fn safe(flag: &str, value: &str) -> String {
    let lower = flag.to_ascii_lowercase();
    if SECRET_FLAGS.iter().any(|secret| lower.contains(secret)) {
        return REDACTED.to_owned();
    }
    if flag == "--header" || flag == "-H" {
        let name = value.split_once(':').map_or("", |(name, _)| name.trim());
        let secret = if value.trim_start().starts_with('{') { true } else { is_sensitive_header(name) };
        return if secret { REDACTED.to_owned() } else { value.to_owned() };
    }
    if URL_FLAGS.contains(&flag) || value.contains("://") { url(value) } else { value.to_owned() }
}

/// A URL with its user part and credential parameters taken out.
pub(crate) fn url(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let mut out = String::new();
    if rest.len() != text.len() {
        out.push_str(scheme);
        out.push_str("://");
    }
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => out.push_str(&format!("{REDACTED}@{host}")),
        None => out.push_str(&rest[..end]),
    }
    let tail = &rest[end..];
    match tail.split_once('?') {
        Some((path, query)) => {
            let parts: Vec<String> = query
                .split('&')
                .map(|part| match part.split_once('=') {
                    Some((key, _)) if SECRET_QUERY.contains(&key.to_ascii_lowercase().as_str()) => {
                        format!("{key}={REDACTED}")
                    }
                    _ => part.to_owned(),
                })
                .collect();
            out.push_str(&format!("{path}?{}", parts.join("&")));
        }
        None => out.push_str(tail),
    }
    out
}

fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
