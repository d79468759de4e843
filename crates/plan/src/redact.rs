//! What of headers, URLs and texts may be shown.

/// What stands in place of a secret.
pub const REDACTED: &str = "<redacted>";

const EXACT: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "ocp-apim-subscription-key",
    "x-goog-api-key",
    "x-functions-key",
    "aeg-sas-key",
    "x-amz-security-token",
    "cookie",
    "set-cookie",
    "x-auth-token",
    "x-access-token",
    "x-session-token",
    "x-csrf-token",
    "x-xsrf-token",
];
const PARTS: &[&str] = &[
    "auth",
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "cookie",
    "apikey",
    "api-key",
    "api_key",
    "session",
    "signature",
    "sas-key",
    "access-key",
    "private-key",
];

/// Whether a header's value must not be shown.
pub fn is_sensitive_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    EXACT.contains(&lower.as_str()) || PARTS.iter().any(|part| lower.contains(part))
}

/// A URL without its user name and password.
pub fn without_userinfo(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}{}", &rest[end..]),
        None => url.to_owned(),
    }
}

/// Names of query parameters and texts whose value must not be shown.
const SECRET_NAMES: &[&str] = &[
    "api-key",
    "apikey",
    "x-api-key",
    "key",
    "token",
    "access-token",
    "auth-token",
    "api-token",
    "bearer-token",
    "id-token",
    "refresh-token",
    "secret",
    "client-secret",
    "password",
    "passwd",
    "sig",
    "signature",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "credential",
    "cookie",
    "set-cookie",
];

/// Whether a parameter with this name holds a secret; `_`, `-` and a space are alike.
fn is_secret_name(name: &str) -> bool {
    let plain = name.to_ascii_lowercase().replace(['_', ' ', '+'], "-").replace("%5f", "-").replace("%20", "-");
    SECRET_NAMES.contains(&plain.as_str())
}

/// A URL with its user part and secret parameters replaced; a text that is no URL keeps its form.
pub fn url(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{REDACTED}@{host}"),
        None => authority.to_owned(),
    };
    let (before, fragment) = tail.find('#').map_or((tail, ""), |at| tail.split_at(at));
    let tail = match before.split_once('?') {
        Some((path, query)) => {
            let part = |part: &str| match part.split_once('=') {
                Some((name, _)) if is_secret_name(name) => format!("{name}={REDACTED}"),
                _ => part.to_owned(),
            };
            format!("{path}?{}{fragment}", query.split('&').map(part).collect::<Vec<_>>().join("&"))
        }
        None => tail.to_owned(),
    };
    format!("{scheme}{authority}{tail}")
}

/// A text, such as an error of a library, with what looks like a secret replaced.
pub fn text(input: &str) -> String {
    named_values(&authorizations(input))
}

/// `Authorization: Scheme secret`, quoted or not: the scheme stays, what follows it goes up to a quote or line end.
fn authorizations(input: &str) -> String {
    const NAME: &str = "authorization";
    let lower = input.to_ascii_lowercase();
    let (mut out, mut at) = (String::new(), 0);
    while let Some(found) = lower[at..].find(NAME) {
        let after = at + found + NAME.len();
        out.push_str(&input[at..after]);
        at = after;
        let rest = &input[after..];
        let lead = rest.len() - rest.trim_start_matches(['\'', '"', ' ', ':']).len();
        if !rest[..lead].contains(':') {
            continue;
        }
        let value = &rest[lead..];
        let end = value.find(['\'', '"', '\n', '\r']).unwrap_or(value.len());
        let scheme = value[..end].find(' ').map_or("", |space| &value[..=space]);
        out.push_str(&rest[..lead]);
        out.push_str(scheme);
        out.push_str(REDACTED);
        at = after + lead + end;
    }
    out.push_str(&input[at..]);
    out
}

/// `name=value` and `name: value` where the name says it is a secret.
fn named_values(input: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let (mut out, mut rest) = (String::new(), input);
    while let Some(start) = rest.find(word) {
        let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |len| start + len);
        let (name, after) = (&rest[start..end], &rest[end..]);
        out.push_str(&rest[..end]);
        let bare = after.strip_prefix(['\'', '"']).unwrap_or(after).trim_start();
        let value = match bare.chars().next() {
            Some('=') if is_secret_name(name) => Some(("=", bare[1..].trim_start(), "& \t\r\n")),
            Some(':') if is_secret_name(name) => {
                Some((": ", bare[1..].trim_start().trim_start_matches(['\'', '"']), " \t\r\n,;'\""))
            }
            _ => None,
        };
        rest = match value {
            Some((sign, value, stop)) if !value.is_empty() => {
                out.push_str(sign);
                out.push_str(REDACTED);
                &value[value.find(|c| stop.contains(c)).unwrap_or(value.len())..]
            }
            _ => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensitive_headers_are_known_by_name_and_by_part() {
        assert!(is_sensitive_header("Authorization") && is_sensitive_header("X-Session-Affinity"));
        assert!(!is_sensitive_header("X-Correlation-ID") && !is_sensitive_header("Accept"));
    }

    #[test]
    fn userinfo_is_taken_out_of_urls() {
        assert_eq!(without_userinfo("http://u:p@h:1/x"), "http://h:1/x");
        assert_eq!(without_userinfo("http://h:1/x@y"), "http://h:1/x@y");
    }
}
