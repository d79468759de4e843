//! The secrets that headers hold, in the forms in which they are sent.

use super::names::is_secret_header;
use super::texts::secrets_in_text;
use super::urls::secrets_in_urls;
use super::values::is_everyday;
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
pub(super) fn parts_of(secrets: &[String]) -> Vec<String> {
    // What a template inserts is no secret.
    let own = secrets.iter().filter(|secret| !secret.contains("{{"));
    let parts = own.flat_map(|secret| secrets_in_value(secret).into_iter().map(move |part| (secret, part)));
    parts.filter(|(secret, part)| part != *secret && !is_everyday(part)).map(|(_, part)| part).collect()
}

/// The secrets that the value of a secret header holds: all of it, what follows its scheme, and credentials that this
/// stands for.
pub(super) fn secrets_in_value(value: &str) -> Vec<String> {
    let mut out = vec![value.trim().to_owned()];
    if let Some((_, rest)) = value.trim().split_once(' ') {
        out.push(rest.trim().to_owned());
        let decoded = STANDARD_NO_PAD.decode(rest.trim().trim_end_matches('=')).ok();
        if let Some((user, password)) =
            decoded.and_then(|bytes| String::from_utf8(bytes).ok()).as_deref().and_then(|text| text.split_once(':'))
        {
            out.extend([format!("{user}:{password}"), password.to_owned()]);
        }
    }
    out
}
