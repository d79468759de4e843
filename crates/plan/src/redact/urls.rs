//! The secrets in URLs and credentials, in the forms in which they are sent.

use super::names::is_secret_parameter;
use super::values::LONG;
use crate::url::percent_decoded;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The secrets that a URL holds: user name and password, in the forms in which they are sent, and secret parameters.
pub fn secrets_in_url(url: &str) -> Vec<String> {
    let mut out = Vec::new();
    let both = |text: &str| [text.to_owned(), percent_decoded(text)];
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if let Some((user_part, _)) = rest[..end].rsplit_once('@') {
        let (user, password) = user_part.split_once(':').unwrap_or((user_part, ""));
        out.extend(secrets_in_credentials(user, password));
        out.extend(secrets_in_credentials(&percent_decoded(user), &percent_decoded(password)));
    }
    for (_, value) in rest[end..].split(PARAMETER_ENDS).filter_map(secret_parameter) {
        // `;` ends a parameter, or is a part of its value.
        for value in [value, value.split(';').next().unwrap_or_default()] {
            out.extend(both(value));
            out.push(percent_decoded(&value.replace('+', " ")));
        }
    }
    out
}

/// Separators of a URL's parameters from its path, from each other and from the fragment.
pub(super) const PARAMETER_ENDS: [char; 3] = ['?', '&', '#'];

/// The first secret parameter in a piece of a URL between [`PARAMETER_ENDS`]: what precedes its value, and its value up
/// to the end of the piece. Parameters of a path (`;name=value`) count too.
pub(super) fn secret_parameter(piece: &str) -> Option<(&str, &str)> {
    let mut start = 0;
    for part in piece.split_inclusive(';') {
        if let Some((name, _)) = part.split_once('=')
            && is_secret_parameter(name)
        {
            return Some(piece.split_at(start + name.len() + 1));
        }
        start += part.len();
    }
    None
}

/// The secrets of every URL in a text. A quote may be a part of one or enclose it, so each is read both ways.
pub fn secrets_in_urls(text: &str) -> Vec<String> {
    let begins = |word: &str| word.match_indices("://").map(|(at, _)| at).collect::<Vec<_>>();
    let mut out: Vec<String> = text
        .split_whitespace()
        .filter(|word| word.contains("://"))
        .flat_map(|word| std::iter::once(word).chain(word.split(['"', '\'', '<', '>', ','])))
        .flat_map(|word| begins(word).into_iter().flat_map(|at| secrets_in_url(&word[at..])))
        .collect();
    // What a template inserts is no secret of the text.
    out.retain(|secret| !secret.contains("{{"));
    out.sort();
    out.dedup();
    out
}

/// The secrets of a user name and password: in plain text, and in the form of `Authorization: Basic`, with and without
/// padding.
pub(crate) fn secrets_in_credentials(user: &str, password: &str) -> Vec<String> {
    let pair = format!("{user}:{password}");
    let mut out = vec![STANDARD.encode(&pair), STANDARD_NO_PAD.encode(&pair), URL_SAFE_NO_PAD.encode(&pair)];
    out.extend([pair, password.to_owned()]);
    // A name next to a password is no secret by itself, and a short one is a word.
    if password.is_empty() || user.len() >= LONG {
        out.push(user.to_owned());
    }
    out.retain(|secret| !secret.is_empty());
    out
}
