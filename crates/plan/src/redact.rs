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
