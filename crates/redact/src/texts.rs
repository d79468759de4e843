//! Secrets in any text, by their names: authorizations, parameters and members of documents.

use crate::REDACTED;
use crate::names::{is_number_ordinary, is_secret_name, is_secret_parameter};
use crate::values::leaves;
use std::ops::Range;

/// A text, such as an error of a library, with what looks like a secret replaced.
pub fn text(input: &str) -> String {
    named_values(&authorizations(&userinfo(input)))
}

/// `scheme://user:password@host` anywhere in a text.
fn userinfo(input: &str) -> String {
    let (mut out, mut rest) = (String::new(), input);
    while let Some(at) = rest.find("://") {
        let (before, authority) = rest.split_at(at + 3);
        let end = authority.find(|c: char| c.is_whitespace() || "/?#'\"\\<>,;()".contains(c));
        let end = end.unwrap_or(authority.len());
        out.push_str(before);
        match authority[..end].rfind('@') {
            Some(sign) => {
                out.push_str(REDACTED);
                rest = &authority[sign..];
            }
            None => rest = authority,
        }
    }
    out.push_str(rest);
    out
}

const AUTHORIZATION: &str = "authorization";

/// Whether what follows an authorization's name is a scheme and what it wants, not an object or a list.
fn is_scheme(value: &str) -> bool {
    !value.starts_with(['{', '['])
}

/// `Authorization: Scheme secret`, quoted or not: the scheme stays, what follows it goes up to a quote or line end.
fn authorizations(input: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for secret in authorization_values(input) {
        out.push_str(&input[at..secret.start]);
        out.push_str(REDACTED);
        at = secret.end;
    }
    out.push_str(&input[at..]);
    out
}

/// What follows the schemes of authorizations in a text.
fn authorization_values(input: &str) -> Vec<Range<usize>> {
    const NAME: &str = AUTHORIZATION;
    let lower = input.to_ascii_lowercase();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(found) = lower[at..].find(NAME) {
        at += found + NAME.len();
        let rest = &input[at..];
        let lead = rest.len() - rest.trim_start_matches(['\\', '\'', '"', ' ', ':']).len();
        if !rest[..lead].contains(':') || !is_scheme(&rest[lead..]) {
            continue;
        }
        let value = &rest[lead..];
        let end = value.find(['\\', '\'', '"', '\n', '\r']).unwrap_or(value.len());
        let scheme = value[..end].find(' ').map_or(0, |space| space + 1);
        out.push(at + lead + scheme..at + lead + end);
        at += lead + end;
    }
    out
}

/// Replaces the values of `name=value` and `name: value` if the name is a secret one.
fn named_values(input: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for NamedValue { after_name, value, shown, .. } in values_by_name(input) {
        out.push_str(&input[at..after_name]);
        out.push_str(&shown);
        at = value.end;
    }
    out.push_str(&input[at..]);
    out
}

/// A value in a text whose name is that of a secret.
struct NamedValue {
    /// Where its name ends. What follows, up to the end of the value, is replaced.
    after_name: usize,
    value: Range<usize>,
    /// It follows a colon and no quote.
    may_be_prose: bool,
    shown: String,
}

/// The values in a text whose names are those of secrets. Names and values may be quoted, and the quotes escaped, as in
/// JSON inside JSON. An object or a list is one value.
fn values_by_name(input: &str) -> Vec<NamedValue> {
    const QUOTES: [char; 3] = ['\\', '\'', '"'];
    let word = |c: char| c.is_ascii_alphanumeric() || "_-%".contains(c);
    let place = |part: &str| part.as_ptr() as usize - input.as_ptr() as usize;
    let (mut out, mut rest) = (Vec::new(), input);
    while let Some(start) = rest.find(word) {
        let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |len| start + len);
        let (name, after) = (&rest[start..end], &rest[end..]);
        let is_parameter = rest[..start].ends_with(['?', '&']) && after.starts_with('=');
        rest = after;
        let bare = after.trim_start_matches('\\');
        let bare = bare.strip_prefix(['\'', '"']).unwrap_or(bare).trim_start();
        let (sign, stop) = match bare.chars().next() {
            Some('=') => ("=", "& \t\r\n'\"\\"),
            Some(':') => (": ", " \t\r\n,;'\"\\"),
            _ => continue,
        };
        // An authorization with a colon has been taken care of, its scheme left to be seen.
        let is_done =
            |value: &&str| sign == ": " && is_scheme(value) && name.to_ascii_lowercase().ends_with(AUTHORIZATION);
        let is_secret = is_secret_name(name) || is_parameter && is_secret_parameter(name);
        let Some(value) = bare.get(1..).map(str::trim_start).filter(|value| is_secret && !is_done(value)) else {
            continue;
        };
        let may_be_prose = sign == ": " && !value.starts_with(QUOTES);
        let (value, length, shown) = if value.starts_with(['{', '[']) {
            // In the quotes of its name, so that what was JSON still is.
            let quotes = &after[..after.len() - bare.len()];
            let mark = quotes.trim_end();
            (value, bracketed(value), format!("{quotes}{sign}{mark}{REDACTED}{mark}"))
        } else {
            let value = value.trim_start_matches(QUOTES);
            (value, value.find(|c| stop.contains(c)).unwrap_or(value.len()), format!("{sign}{REDACTED}"))
        };
        if value.is_empty() || (is_number(&value[..length]) && is_number_ordinary(name)) {
            continue;
        }
        rest = &value[length..];
        let (after_name, start) = (place(after), place(value));
        out.push(NamedValue { after_name, value: start..start + length, may_be_prose, shown });
    }
    out
}

/// Whether a value is a number; a bracket or a comma may follow it.
fn is_number(value: &str) -> bool {
    value.trim_end_matches(['}', ']', ')', ',', ';']).parse::<f64>().is_ok()
}

/// The secrets in a text, by their names: those of authorizations, parameters and members.
pub(crate) fn secrets_in_text(text: &str) -> Vec<String> {
    let mut out: Vec<String> = authorization_values(text).into_iter().map(|value| text[value].to_owned()).collect();
    for NamedValue { value, may_be_prose, .. } in values_by_name(text) {
        let value = &text[value];
        if value.starts_with(['{', '[']) {
            serde_json::from_str(value).iter().for_each(|value| leaves(value, &mut out));
            continue;
        }
        // `;` and `,` end a parameter, and a bracket a number, or they are parts of the value.
        let first = value.split([';', ',']).next().unwrap_or_default().trim_end_matches(['}', ']', ')']);
        let is_word = |value: &&str| may_be_prose && value.chars().all(char::is_alphabetic);
        out.extend([value, first].into_iter().filter(|value| !is_word(value)).map(str::to_owned));
    }
    out.retain(|secret| !secret.is_empty() && !secret.contains("{{"));
    out
}

/// Length of the object or list that a text begins with; all of the text where that is not closed.
fn bracketed(text: &str) -> usize {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', _) => is_escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) => quote = (c != open).then_some(open),
            ('{' | '[', None) => depth += 1,
            ('}' | ']', None) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_in_texts_of_every_kind() {
        for text_with in [
            r#"{"detail":"{\"api_key\": \"sk-1234\"}"}"#,
            r#"bad url "http://h/?X-Goog-Signature=sk-1234""#,
            "cannot reach http://user:sk-1234@host:8000/v1",
            r#"{"AWSAccessKeyId": "sk-1234", "x": 1}"#,
            r#"{"headers": "{\"Authorization\": \"Bearer sk-1234\"}"}"#,
            "GET /?api%5Fkey=sk-1234&x=1",
            "api_key='sk-1234'",
            r#"{"auth": {"user": "a}", "password": "sk-1234"}, "b": 1}"#,
            r#"{"detail":"{\"credentials\": [{\"x\": \"sk-1234\"}]}"}"#,
            "api_keys: ['a', 'sk-1234']",
            "token: {cut: sk-1234",
            r#"{"Authorization": {"bearer": "sk-1234"}}"#,
            "GET /f?code=sk-1234&x=1",
            "SLACK_TOKEN=sk-1234",
            "bot_token: sk-1234",
            "API_KEY_2=sk-1234",
        ] {
            let shown = text(text_with);
            assert!(shown.contains(REDACTED) && !shown.contains("sk-1234"), "{shown}");
        }
    }

    #[test]
    fn texts_without_secrets_are_unchanged() {
        for plain in [
            "max_tokens=5, eos_token: 2",
            "my_token=5, your_token: 2.5, pad_token: <pad>",
            "a@b://c",
            "http://h:1/x?max_tokens=5",
            "50% of tokens: 7",
            r#"{"error":{"code":401}}"#,
            "code=3",
        ] {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn a_document_in_a_text_stays_valid_without_its_secret_objects() {
        let shown = text(r#"{"auth": {"user": "a}", "b": [1]}, "api_keys":["x"], "b": 1}"#);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown, serde_json::json!({"auth": REDACTED, "api_keys": REDACTED, "b": 1}));
    }
}
