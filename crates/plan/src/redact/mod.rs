//! Which parts of headers, URLs and texts may be shown.
//!
//! # Layout
//! - `names`: which names mark secrets; `values`: which values can be searched in any text
//! - `urls`: the secrets in URLs and credentials; `texts`: those in any text; `headers`: those in headers
//! - `members`: walks through JSON documents
//! - `payload`: bodies of requests, and their templates, as texts
//! - this file: URLs as they are shown
//! - `places`: the places of a plan that contain secrets
//! - `forms`: the forms in which a secret may appear
//! - `index`: the values of secrets, to search for; `row_secrets`: those that only rows contain
//! - `redactor`: the user's secrets, found by their value in all output

mod forms;
mod headers;
mod index;
mod members;
mod names;
mod payload;
pub(crate) mod places;
mod redactor;
mod row_secrets;
mod texts;
mod urls;
mod values;

pub use headers::secrets_in_header;
pub use members::{secrets_in_members, visit_secret_members, visit_texts};
pub use names::{is_secret_name, is_secret_parameter, is_sensitive_header};
pub use payload::{secrets_in_template, template};
pub use redactor::{LONGEST_ERROR, Redactor};
pub use row_secrets::RowSecrets;
pub use texts::text;
pub(crate) use urls::secrets_in_credentials;
use urls::{PARAMETER_ENDS, secret_parameter};
pub use urls::{secrets_in_url, secrets_in_urls};

/// Replaces a secret.
pub const REDACTED: &str = "<redacted>";

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
    fn secret_parameters_and_members_of_a_header_are_known() {
        for value in ["token=X", "for=a;secret=X;b=c", r#"a, api_key="X""#, r#"{"api_key":"X"}"#, "token=X,b"] {
            assert!(secrets_in_header("X-Info", value).contains(&"X".to_owned()), "{value}");
        }
        assert!(secrets_in_header("X-Info", "a=b; max_tokens=3").is_empty());
    }

    #[test]
    fn a_code_in_a_url_is_a_key() {
        assert_eq!(
            url("https://h/f?code=abc&x=1&sas=2&hmac=3"),
            "https://h/f?code=<redacted>&x=1&sas=<redacted>&hmac=<redacted>"
        );
    }
}
