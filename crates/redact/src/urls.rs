//! The secrets in URLs and credentials, in the forms in which they are sent; URLs as they are shown.

use crate::REDACTED;
use crate::names::is_secret_parameter;
use crate::percent::percent_decoded;
use crate::values::LONG;
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
const PARAMETER_ENDS: [char; 3] = ['?', '&', '#'];

/// The first secret parameter in a piece of a URL between [`PARAMETER_ENDS`]: what precedes its value, and its value up
/// to the end of the piece. Parameters of a path (`;name=value`) count too.
fn secret_parameter(piece: &str) -> Option<(&str, &str)> {
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
pub fn secrets_in_credentials(user: &str, password: &str) -> Vec<String> {
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

/// A URL with its user part and secret parameters replaced; a text that is no URL is unchanged.
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
    let shown = tail.split_inclusive(PARAMETER_ENDS).map(|piece| {
        let bare = piece.trim_end_matches(PARAMETER_ENDS);
        match secret_parameter(bare) {
            Some((before, _)) => format!("{before}{REDACTED}{}", &piece[bare.len()..]),
            None => piece.to_owned(),
        }
    });
    format!("{scheme}{authority}{}", shown.collect::<String>())
}

/// A text with every URL in it shown by [`url`].
pub fn urls(text: &str) -> String {
    let shown = |word: &str| {
        let (scheme, rest) = word.split_once("://")?;
        let parts = rest.split("://").map(|part| url(&format!("://{part}")));
        Some(parts.fold(scheme.to_owned(), |shown, part| shown + &part))
    };
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let bare = word.trim_end();
            shown(bare).map_or_else(|| word.to_owned(), |shown| shown + &word[bare.len()..])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_of_a_text_is_shown_without_its_secrets() {
        for (given, shown) in [
            ("postgres://u:it's@h/db", "postgres://<redacted>@h/db"),
            ("a https://h/x?token=1&b=2\thttp://u@h", "a https://h/x?token=<redacted>&b=2\thttp://<redacted>@h"),
            ("http://u:p@a,http://v:q@b", "http://<redacted>@a,http://<redacted>@b"),
            ("https://h/?next=https://u:p@g/", "https://h/?next=https://<redacted>@g/"),
            (" me@home  https://h/?a=b ", " me@home  https://h/?a=b "),
        ] {
            assert_eq!(urls(given), shown);
        }
    }

    #[test]
    fn secret_parameters_are_hidden_in_paths_queries_and_fragments() {
        for (given, shown) in [
            ("http://h/a;api_key=X;b=1/c?d=2", "http://h/a;api_key=<redacted>?d=2"),
            ("http://h/?a=1;api_key=X&b=2", "http://h/?a=1;api_key=<redacted>&b=2"),
            ("http://h/?auth[token]=X&b=2", "http://h/?auth[token]=<redacted>&b=2"),
            ("http://h/#access_token=X&b=2", "http://h/#access_token=<redacted>&b=2"),
            ("/reset?token=X", "/reset?token=<redacted>"),
            ("http://h/a;b=1?c=2#d", "http://h/a;b=1?c=2#d"),
        ] {
            assert_eq!(url(given), shown);
            assert_eq!(secrets_in_url(given).iter().any(|secret| secret == "X"), given != shown, "{given}");
        }
    }

    #[test]
    fn a_code_in_a_url_is_a_key() {
        assert_eq!(
            url("https://h/f?code=abc&x=1&sas=2&hmac=3"),
            "https://h/f?code=<redacted>&x=1&sas=<redacted>&hmac=<redacted>"
        );
    }
}
