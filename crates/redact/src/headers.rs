//! The secrets that headers hold, in the forms in which they are sent.

use crate::names::is_secret_header;
use crate::texts::secrets_in_text;
use crate::urls::secrets_in_urls;
use crate::values::{SHORTEST, is_everyday, leaves};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The secrets that a header holds: those of URLs and, if its name is that of a secret, its value, what follows its
/// scheme, credentials that this stands for, and the values of cookies.
pub fn secrets_in_header(name: &str, value: &str) -> Vec<String> {
    let mut out = secrets_in_urls(value);
    out.extend(secrets_in_text(value));
    if !is_secret_header(name) {
        return out;
    }
    out.extend(secrets_in_value(value));
    if name.to_ascii_lowercase().contains("cookie") {
        out.extend(value.split(';').filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned())));
    }
    out
}

/// What a server may echo of secrets without the rest of them, such as what follows a scheme.
pub(crate) fn parts_of(secrets: &[String]) -> Vec<String> {
    // What a template inserts is no secret.
    let own = secrets.iter().filter(|secret| !secret.contains("{{"));
    let parts = own.flat_map(|secret| secrets_in_value(secret).into_iter().map(move |part| (secret, part)));
    parts.filter(|(secret, part)| part != *secret && !is_everyday(part)).map(|(_, part)| part).collect()
}

/// The secrets that the value of a secret header holds: all of it, what follows its scheme, credentials that this
/// stands for, its parameters, and the texts of a document.
pub fn secrets_in_value(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut out = vec![value.to_owned()];
    if value.starts_with(['{', '['])
        && let Ok(document) = serde_json::from_str(value)
    {
        leaves(&document, &mut out);
        return out;
    }
    if let Some((_, rest)) = value.split_once(' ') {
        out.push(rest.trim().to_owned());
        let decoded = STANDARD_NO_PAD.decode(rest.trim().trim_end_matches('=')).ok();
        if let Some((user, password)) =
            decoded.and_then(|bytes| String::from_utf8(bytes).ok()).as_deref().and_then(|text| text.split_once(':'))
        {
            out.extend([format!("{user}:{password}"), password.to_owned()]);
        }
    }
    out.extend(secret_parameters(value));
    out
}

/// Parameters of authorizations and cookies that servers and other texts may well contain.
const ORDINARY_PARAMETERS: &[&str] =
    &["algorithm", "charset", "domain", "nc", "path", "qop", "realm", "signedheaders", "uri", "username", "version"];

/// The values of `name=value` in the value of a secret: a server may echo `response` of a digest, or one cookie.
fn secret_parameters(value: &str) -> impl Iterator<Item = String> {
    let parameters = value.split([',', ';', ' ', '&']).filter_map(|part| part.split_once('='));
    let is_ordinary = |name: &str| ORDINARY_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known));
    let parameters = parameters.filter(move |(name, _)| !is_ordinary(name));
    let bare = parameters.map(|(name, value)| (name, value.trim_matches(['"', '\''])));
    // A credential of AWS is the id of a key, and what the key is for.
    let bare = bare.flat_map(|(name, value)| {
        let id = value.split_once('/').filter(|_| name.eq_ignore_ascii_case("credential")).map(|(id, _)| id);
        std::iter::once(value).chain(id)
    });
    bare.filter(|value| value.len() >= SHORTEST && !is_everyday(value)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_structured_secrets_are_known() {
        for (name, value) in [
            ("Authorization", r#"Digest username="me", uri="/v1/chat/completions", response="sk-Secret-1""#),
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=AKIA/2026/x, SignedHeaders=host;date, Signature=sk-Secret-1",
            ),
            ("Authorization", "AWS4-HMAC-SHA256 Credential=sk-Secret-1/20260101/us-east-1/s3, Signature=abc"),
            ("X-Api-Key", "key1=abc,key2=sk-Secret-1"),
            ("X-Auth-Token", r#"{"t":"sk-Secret-1"}"#),
            ("Cookie", "a=b; sid=sk-Secret-1"),
        ] {
            let found = secrets_in_header(name, value);
            assert!(found.contains(&"sk-Secret-1".to_owned()), "{value}: {found:?}");
            assert!(!found.iter().any(|secret| secret == "/v1/chat/completions" || secret == "host"), "{found:?}");
        }
    }

    #[test]
    fn secret_parameters_and_members_of_a_header_are_known() {
        for value in ["token=X", "for=a;secret=X;b=c", r#"a, api_key="X""#, r#"{"api_key":"X"}"#, "token=X,b"] {
            assert!(secrets_in_header("X-Info", value).contains(&"X".to_owned()), "{value}");
        }
        assert!(secrets_in_header("X-Info", "a=b; max_tokens=3").is_empty());
    }
}
