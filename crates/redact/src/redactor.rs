//! The user's secrets, found by their value in all output: a server may echo what it was sent, in an error or anywhere
//! else.

use crate::forms::backslashes_to_pass;
use crate::index::{SecretIndex, as_name};
use crate::members::{change_names, visit_texts};
use crate::names::is_sensitive_header;
use crate::payload::payload;
use crate::row_secrets::RowSecrets;
use crate::values::{LONG, SHORTEST};
use crate::{REDACTED, text as by_name, urls};
use aiperf_types::{Body, RequestError};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The most characters of an error's text that are kept.
pub const LONGEST_ERROR: usize = 4096;

/// Bytes of an error's text that are searched: a hidden secret may be longer than its replacement.
const LOOKED_AT: usize = 8 * LONGEST_ERROR;

/// The user's secrets. Built once, and used wherever text leaves the program.
#[derive(Clone)]
pub struct Redactor {
    known: Arc<SecretIndex>,
    /// Those of one request that are not among the others.
    own: Option<Arc<SecretIndex>>,
    /// Bytes with which a secret may begin, in any form: all other positions are skipped.
    starts: [bool; 256],
}

/// Shows how many secrets it knows, never which.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("values", &self.known.len()).finish_non_exhaustive()
    }
}

impl Default for Redactor {
    fn default() -> Self {
        Self::new([])
    }
}

impl Redactor {
    /// Hides these values, in any form.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        Self::of_indexes(Arc::new(SecretIndex::new(values)), None)
    }

    fn of_indexes(known: Arc<SecretIndex>, own: Option<SecretIndex>) -> Self {
        let mut starts = known.starts();
        for (start, of_own) in starts.iter_mut().zip(own.iter().flat_map(SecretIndex::starts)) {
            *start |= of_own;
        }
        Self { known, own: own.map(Arc::new), starts }
    }

    /// Whether it hides all of these values.
    pub fn hides(&self, values: impl IntoIterator<Item = String>) -> bool {
        SecretIndex::new(values).iter().all(|value| self.known.contains(value))
    }

    /// Also hides the secrets of all rows of a dataset, for a whole run: a server may echo them in any response.
    #[must_use]
    pub fn with_rows(&self, rows: RowSecrets) -> Self {
        Self::of_indexes(Arc::new(self.known.joined(&SecretIndex::new(rows.into_values()))), None)
    }

    /// Also hides the secrets of a request: a server may echo those that only a row of the dataset contains.
    pub fn with_body(&self, body: &Body) -> Cow<'_, Self> {
        let mut own = payload(&body.payload()).1;
        own.retain(|secret| !self.known.contains(secret));
        if own.is_empty() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self::of_indexes(self.known.clone(), Some(SecretIndex::new(own))))
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.indexes().all(SecretIndex::is_empty)
    }

    fn indexes(&self) -> impl Iterator<Item = &SecretIndex> {
        std::iter::once(&*self.known).chain(self.own.as_deref())
    }

    /// A message without secrets.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.hide_up_to(text, text.len(), SHORTEST)
    }

    /// The first characters of a text, without secrets. The cut comes last: a secret that is cut is not recognised.
    pub fn hide_in_beginning(&self, text: &str, most: usize) -> String {
        let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
        first_chars(&self.hide_up_to(text, end, SHORTEST), most).to_owned()
    }

    /// A text of the user, with values of secret names already replaced. Words that happen to be secrets too stay.
    pub fn hide_in_own<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.hide_up_to(text, text.len(), LONG)
    }

    /// The body of a request without secrets. JSON stays JSON: a secret may be anything, even a part of JSON's syntax;
    /// then the whole body becomes one text.
    pub fn body<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        self.hide_in_body(payload(body).0)
    }

    /// The same for the body of a row, with the secrets that are hidden in it by their names.
    pub fn body_of_row<'b>(&self, body: &'b [u8]) -> (Cow<'b, [u8]>, Vec<String>) {
        let (named, secrets) = payload(body);
        (self.hide_in_body(named), secrets)
    }

    fn hide_in_body<'b>(&self, named: Cow<'b, [u8]>) -> Cow<'b, [u8]> {
        let Ok(text) = std::str::from_utf8(&named) else { return named };
        let Cow::Owned(hidden) = self.hide_in_own(text) else { return named };
        let is_json = |text: &str| serde_json::from_str::<IgnoredAny>(text).is_ok();
        if is_json(&hidden) || !is_json(text) {
            return hidden.into_bytes().into();
        }
        Value::from(self.hide(text)).to_string().into_bytes().into()
    }

    /// The beginning of a text without the secrets of at least `least` characters, including secrets of which it
    /// contains only the beginning.
    fn hide_up_to<'t>(&self, text: &'t str, end: usize, least: usize) -> Cow<'t, str> {
        let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        if self.is_empty() {
            return Cow::Borrowed(&text[..end]);
        }
        let mut out = String::new();
        let (mut shown, mut at) = (0, 0);
        while at < end {
            // Only the first byte of a character is a start.
            let is_start = self.starts[usize::from(text.as_bytes()[at])];
            let find = || self.indexes().filter_map(|index| index.find_at(text, at, least)).max();
            match is_start.then(find).flatten() {
                Some(secret) => {
                    out.push_str(&text[shown..at]);
                    out.push_str(REDACTED);
                    at += secret.length;
                    shown = at;
                }
                // Long runs of backslashes would be searched at each of them, to their end.
                None => at += if is_start { backslashes_to_pass(&text[at..]).max(1) } else { 1 },
            }
        }
        if shown == 0 {
            return Cow::Borrowed(&text[..end]);
        }
        out.push_str(text.get(shown..end).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Hides values of headers with secret names, and the user's secrets anywhere.
    pub fn headers(&self, fields: &mut [(String, String)]) {
        for (name, value) in fields {
            let is_sensitive = is_sensitive_header(name);
            if let Some(hidden) = self.hide_in_name(name) {
                *name = hidden;
            }
            if is_sensitive {
                REDACTED.clone_into(value);
            } else {
                *value = urls(&self.hide(value));
            }
        }
    }

    /// The name of a header, a metric or a label without secrets; `None` if it contains none. Names are often sent in
    /// lower case, with `_` for invalid characters. A short secret may be a part of many names.
    pub fn hide_in_name(&self, name: &str) -> Option<String> {
        if let Cow::Owned(hidden) = self.hide_in_own(name) {
            return Some(hidden);
        }
        let plain = as_name(name);
        let found = self.indexes().filter_map(|index| index.find_in_name(&plain));
        let secret = found.max_by_key(ExactSizeIterator::len)?;
        Some(format!("{}{REDACTED}{}", &name[..secret.start], &name[secret.end..]))
    }

    /// An error for output: without secrets, and at most [`LONGEST_ERROR`] long.
    pub fn error(&self, error: RequestError) -> RequestError {
        let shown = |text: String| {
            let hidden = self.hide_up_to(&text, LOOKED_AT, SHORTEST);
            let beginning = first_chars(&hidden, 2 * LONGEST_ERROR);
            let is_all = text.len() <= LOOKED_AT && beginning.len() == hidden.len();
            cut(by_name(beginning), is_all)
        };
        RequestError {
            kind: error.kind.map(shown),
            message: shown(error.message),
            cause: error.cause.map(shown),
            ..error
        }
    }

    /// Hides secrets in every text of a document of the user, and in the names of its members.
    pub fn document(&self, value: &mut Value) {
        self.document_below(0, value);
    }

    /// The same for settings, whose sections and names belong to the program.
    pub fn settings(&self, value: &mut Value) {
        self.document_below(2, value);
    }

    fn document_below(&self, level: usize, value: &mut Value) {
        if self.is_empty() {
            return;
        }
        change_names(value, level, &|name| match self.hide_in_own(name) {
            Cow::Owned(hidden) => Some(hidden),
            Cow::Borrowed(_) => None,
        });
        visit_texts(value, &mut |text| {
            if let Cow::Owned(hidden) = self.hide_in_own(text) {
                *text = hidden;
            }
        });
    }
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// A text cut to its longest length, with a sign if more followed.
fn cut(text: String, is_all: bool) -> String {
    let kept = first_chars(&text, LONGEST_ERROR);
    if is_all && kept.len() == text.len() { text } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{secrets_in_credentials, secrets_in_header, secrets_in_url};
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    fn redactor(values: &[&str]) -> Redactor {
        Redactor::new(values.iter().map(|value| (*value).to_owned()))
    }

    #[test]
    fn header_fields_are_hidden_by_their_names_and_their_values() {
        let mut fields = [("Authorization", "x"), ("X-Echo", "key sk-123456 came"), ("Accept", "*/*")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Redactor::new(["sk-123456".to_owned()]).headers(&mut fields);
        assert_eq!(fields.map(|(_, value)| value), [REDACTED, "key <redacted> came", "*/*"]);
    }

    #[test]
    fn the_secrets_of_urls_in_headers_are_found() {
        let value =
            r#"{"to": "https://someone:pa%20ss-11@h/x?api_key=sk-22222", "a": "b"} http://h,http://u:pass-333@g"#;
        let redactor = Redactor::new(secrets_in_header("X-Backend", value));
        for text in ["pa ss-11", "pa%20ss-11", "sk-22222", "pass-333", "someone", "someone:pa ss-11"] {
            let hidden = redactor.hide(text);
            assert_eq!(text == "someone", hidden != REDACTED, "{hidden}");
        }
        let mut fields = [("X-Backend".to_owned(), "https://u:abc@h/x?key=de&a=1".to_owned())];
        redactor.headers(&mut fields);
        assert_eq!(fields[0].1, "https://<redacted>@h/x?key=<redacted>&a=1");
        assert!(secrets_in_header("X-Team", "blue me@home https://h/?a=b").is_empty());
    }

    #[test]
    fn the_secrets_of_a_request_are_hidden_in_its_response() {
        let known = redactor(&["sk-123456"]);
        let body = r#"{"api_key":"HUNTERrow21","img":"https://h/?sig=HUNTERsig22","max_tokens":5,"pin":"sk-123456"}"#;
        let both = known.with_body(&body.to_owned().into());
        let text = "HUNTERrow21 HUNTERsig22 sk-123456 max_tokens SFVOVEVScm93MjE=";
        assert_eq!(both.hide(text), "<redacted> <redacted> <redacted> max_tokens <redacted>");
        for body in [r#"{"api_key":"sk-123456"}"#, r#"{"messages":[{"role":"user","content":"my api_key: x"}]}"#, "x"] {
            assert!(matches!(known.with_body(&body.to_owned().into()), Cow::Borrowed(_)), "{body}");
        }
    }

    #[test]
    fn the_secrets_of_every_row_are_hidden_in_every_response() {
        let known = redactor(&["sk-123456"]);
        let mut rows = RowSecrets::default();
        let body = br#"{"api_key":"HUNTERrow21","password":"open","headers":{"Authorization":"Bearer HUNTERrow22"}}"#;
        let (shown, secrets) = known.body_of_row(body);
        rows.add(secrets);
        assert!(!String::from_utf8_lossy(&shown).contains("HUNTER"));
        rows.add_body(br#"{"url":"https://h/?sig=HUNTERsig23"}"#);
        let all = known.with_rows(rows);
        let other = all.with_body(&r#"{"api_key":"HUNTERrow24"}"#.to_owned().into()).into_owned();
        for text in ["a HUNTERrow21 b", "HUNTERrow22", "HUNTERsig23 sk-123456", "SFVOVEVScm93MjE="] {
            assert!(other.hide(text).contains(REDACTED) && !other.hide(text).contains("HUNTER"), "{text}");
            assert!(!all.hide(text).contains("HUNTER"), "{text}");
        }
        assert_eq!(other.hide("HUNTERrow24 open"), "<redacted> open", "a word is ordinary in other responses");
    }

    #[test]
    fn one_of_many_secrets_is_found_in_every_form() {
        let secrets: Vec<String> = (0..300).map(|number| format!("{}ké y-{number:05}", number % 7)).collect();
        let redactor = Redactor::new(secrets.iter().cloned());
        for secret in &secrets {
            for form in [secret.clone(), percent(secret), json(secret), STANDARD.encode(secret)] {
                assert_eq!(redactor.hide(&format!("a {form} b")), "a <redacted> b", "{form}");
            }
        }
        assert_eq!(redactor.hide(r"0ké y-00300 \n %41 &amp; 1ké"), r"0ké y-00300 \n %41 &amp; 1ké");
    }

    #[test]
    fn the_body_of_a_request_stays_json_whatever_is_secret() {
        let shown = |secret: &str, body: &str| {
            String::from_utf8(redactor(&[secret]).body(body.as_bytes()).into_owned()).unwrap()
        };
        let body = r#"{"api_key":"abc","text":"my sk-123456"}"#;
        assert_eq!(shown("sk-123456", body), r#"{"api_key":"<redacted>","text":"my <redacted>"}"#);
        let text: String = serde_json::from_str(&shown("\"text\":\"my", body)).unwrap();
        assert!(text.contains(REDACTED) && !text.contains("my"), "{text}");
        assert_eq!(shown("sk-123456", "no JSON, sk-123456"), "no JSON, <redacted>");
        let bytes = [0xff, 0xfe];
        assert_eq!(*redactor(&["sk-123456"]).body(&bytes), bytes);
    }

    #[test]
    fn a_secret_that_a_server_read_as_latin_1_is_hidden() {
        let redactor = redactor(&["clé-secrète-1"]);
        let misread: String = "clé-secrète-1".bytes().map(char::from).collect();
        for text in [misread.clone(), json(&misread), ascii_json(&misread), percent(&misread)] {
            assert_eq!(redactor.hide(&format!("key {text}.")), "key <redacted>.");
        }
    }

    #[test]
    fn a_secret_behind_a_long_run_of_backslashes_is_hidden() {
        let redactor = redactor(&["\"sk-123456"]);
        for run in [1, 3, 64, 65, 200_000] {
            let shown = redactor.hide(&format!("{}\"sk-123456 x", "\\".repeat(run))).into_owned();
            assert!(shown.ends_with("<redacted> x") && !shown.contains("sk-1"), "{run}");
        }
    }

    #[test]
    fn a_short_secret_that_is_no_word_is_found_anywhere() {
        let redactor = Redactor::new(["zq9wx".to_owned(), "user".to_owned()]);
        for text in ["key_zq9wx_x", "bad%20zq9wx", r"bad\nzq9wx", "azq9wxb"] {
            assert!(!redactor.hide(text).contains("zq9wx"), "{text}");
        }
        assert_eq!(redactor.hide("superuser, user"), "superuser, <redacted>");
        let redactor = Redactor::new(["été".to_owned() + "s"]);
        assert_eq!(redactor.hide(r"a\\n\\u00e9t\\u00e9s x"), r"a\\n\<redacted> x");
    }

    #[test]
    fn a_secret_is_hidden_anywhere_and_in_every_form() {
        let redactor = redactor(&["sk-a/b+c\"d1"]);
        for text in
            ["key sk-a/b+c\"d1 is unknown", r#"{"echo":"sk-a/b+c\"d1"}"#, "/?k=sk-a%2Fb%2Bc%22d1", "xsk-a/b+c&quot;d1x"]
        {
            let shown = redactor.hide(text);
            assert!(shown.contains(REDACTED) && !shown.contains("sk-a"), "{shown}");
        }
        assert!(matches!(redactor.hide("nothing here"), Cow::Borrowed("nothing here")));
    }

    #[test]
    fn a_secret_in_base64_is_hidden_alone_and_among_others() {
        let secret = "sk-secret-key-123?>";
        let redactor = redactor(&[secret]);
        for around in ["", "x", "Bearer ", "ab"] {
            for after in ["", "\n", ", more"] {
                for engine in [&STANDARD, &URL_SAFE_NO_PAD] {
                    let encoded = engine.encode(format!("{around}{secret}{after}"));
                    let hidden = redactor.hide(&encoded);
                    let left = hidden.replace(REDACTED, "");
                    let others = (around.len() + after.len()).div_ceil(3) * 4;
                    assert!(hidden.contains(REDACTED) && left.len() <= others + 4, "{encoded}: {hidden}");
                }
            }
        }
        assert_eq!(redactor.hide(&STANDARD.encode(secret)), REDACTED);
    }

    #[test]
    fn short_values_are_hidden_as_words_and_very_short_ones_never() {
        let redactor = redactor(&["EMPTY", "abc"]);
        assert_eq!(redactor.hide("key EMPTY, EMPTYING, not-EMPTY, abc"), "key <redacted>, EMPTYING, not-EMPTY, abc");
        assert_eq!(redactor.hide_in_own("--model EMPTY"), "--model EMPTY");
    }

    #[test]
    fn a_secret_that_is_a_name_is_hidden_too() {
        let redactor = redactor(&["sk-secret-key-123"]);
        let mut config = serde_json::json!({
            "endpoint": {"headers": {"sk-secret-key-123": "x"}, "extra": {"a": [{"sk-secret-key-123-more": 1}]}},
        });
        redactor.settings(&mut config);
        let expected = serde_json::json!({
            "endpoint": {"headers": {REDACTED: "x"}, "extra": {"a": [{"<redacted>-more": 1}]}},
        });
        assert_eq!(config, expected);
        let mut content = serde_json::json!({"sk-secret-key-123": 1});
        redactor.document(&mut content);
        assert_eq!(content, serde_json::json!({REDACTED: 1}));
    }

    #[test]
    fn names_of_settings_stay_for_every_secret() {
        let mut config = serde_json::json!({"endpoint": {"streaming": true}});
        let expected = config.clone();
        redactor(&["endpoint", "streaming"]).settings(&mut config);
        assert_eq!(config, expected);
    }

    #[test]
    fn a_secret_in_the_name_of_a_header_is_hidden_in_any_case() {
        let redactor = redactor(&["sk-SECRET-key-123"]);
        let mut fields =
            ["x-sk-SECRET-key-123", "X-sk-secret-key-123-y", "Content-Type"].map(|n| (n.into(), "1".into()));
        redactor.headers(&mut fields);
        let names = fields.map(|(name, _): (String, String)| name);
        assert_eq!(names, ["x-<redacted>", "X-<redacted>-y", "Content-Type"]);
        assert_eq!(redactor.hide_in_name("é_sk_secret_key_123_total").as_deref(), Some("é_<redacted>_total"));
    }

    #[test]
    fn the_longer_secret_goes_first() {
        assert_eq!(redactor(&["secret-one", "secret-one-two"]).hide("a secret-one-two b"), "a <redacted> b");
    }

    #[test]
    fn credentials_of_a_url_are_hidden_as_sent_and_as_written() {
        let values = secrets_in_url("http://somebody:p%40ssw0rd@h:1/v1?x=1&X-Goog-Signature=ab%2Bcd#f");
        let redactor = Redactor::new(values);
        for text in ["p@ssw0rd", "p%40ssw0rd", "Basic c29tZWJvZHk6cEBzc3cwcmQ=", "somebody", "ab+cd", "ab%2Bcd"] {
            let shown = redactor.hide(text).into_owned();
            assert!(shown.ends_with(REDACTED), "{text}: {shown}");
        }
    }

    #[test]
    fn a_short_user_name_stays_a_word_and_no_form_of_the_pair_is_shown() {
        let given = secrets_in_credentials("user", "pw");
        assert!(given.iter().all(|secret| secrets_in_url("http://user:pw@h").contains(secret)));
        let redactor = Redactor::new(given);
        assert_eq!(redactor.hide(r#"{"role":"user"}"#), r#"{"role":"user"}"#);
        for sent in ["user:pw", "dXNlcjpwdw==", "dXNlcjpwdw"] {
            assert_eq!(redactor.hide(sent), REDACTED, "{sent}");
        }
        let alone = Redactor::new(secrets_in_credentials("k3y5", ""));
        assert_eq!(alone.hide("no k3y5"), "no <redacted>");
    }

    #[test]
    fn a_basic_header_also_hides_its_decoded_credentials() {
        let redactor = Redactor::new(secrets_in_header("Authorization", "Basic c29tZW9uZTpwQHNzdzByZA=="));
        assert_eq!(redactor.hide("password p@ssw0rd"), "password <redacted>");
        assert_eq!(redactor.hide("got c29tZW9uZTpwQHNzdzByZA=="), "got <redacted>");
    }

    #[test]
    fn an_errors_text_is_cut_and_no_secret_is_cut_in_two() {
        let redactor = redactor(&["0123456789abcdef"]);
        for lead in LONGEST_ERROR - 20..LONGEST_ERROR + 5 {
            let body = format!("{}0123456789abcdef{}", "x".repeat(lead), "y".repeat(5_000_000));
            let shown = redactor.error(RequestError::status(500, "Internal Server Error", body)).message;
            assert_eq!(shown.chars().count(), LONGEST_ERROR + 1);
            assert!(!shown.contains("0123"), "{lead}");
        }
        let body = "0123456789abcdef".repeat(10_000);
        let shown = redactor.error(RequestError::status(500, "x", body)).message;
        assert!(!shown.contains("0123") && shown.ends_with('…'));
        let short = redactor.error(RequestError::status(500, "x", "busy")).message;
        assert_eq!(short, "busy");
    }

    #[test]
    fn a_secret_across_the_cut_of_an_exception_is_hidden() {
        let redactor = redactor(&["0123456789abcdef"]);
        for lead in LONGEST_ERROR - 40..LONGEST_ERROR + 5 {
            let text = format!("{}0123456789abcdef{}", "x".repeat(lead), "y".repeat(9000));
            let error = RequestError::exception("Kind", &text, &["Below"]).caused_by(&text);
            let shown = redactor.error(error);
            for shown in [shown.message, shown.cause.unwrap_or_default()] {
                assert_eq!(shown.chars().count(), LONGEST_ERROR + 1);
                assert!(!shown.contains("0123"), "{lead}");
            }
        }
    }

    #[test]
    fn an_error_that_is_shown_whole_has_no_ellipsis() {
        for (text, is_whole) in [
            ("\u{9519}".repeat(LONGEST_ERROR), true),
            ("\u{9519}".repeat(2731), true),
            ("\u{1f600}".repeat(LONGEST_ERROR), true),
            ("\u{9519}".repeat(LONGEST_ERROR + 1), false),
        ] {
            let shown = redactor(&[]).error(RequestError::status(500, "x", text.clone())).message;
            assert_eq!(shown == text, is_whole, "{} characters", text.chars().count());
        }
    }

    #[test]
    fn the_debug_form_of_a_redactor_has_no_secrets() {
        assert!(!format!("{:?}", redactor(&["0123456789abcdef"])).contains("0123"));
    }

    fn percent(text: &str) -> String {
        let byte =
            |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).into() } else { format!("%{byte:02x}") };
        text.bytes().map(byte).collect()
    }

    fn json(text: &str) -> String {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    }

    /// JSON in ASCII, as Python and PHP write it.
    fn ascii_json(text: &str) -> String {
        let escaped = |c: char| match c {
            '/' => r"\/".to_owned(),
            c if c.is_ascii() => c.to_string(),
            c => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!(r"\u{unit:04x}")).collect(),
        };
        json(text).chars().map(escaped).collect()
    }

    /// A literal of Rust.
    fn literal(text: &str) -> String {
        let quoted = format!("{text:?}");
        quoted[1..quoted.len() - 1].to_owned()
    }

    fn html(text: &str) -> String {
        text.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;")
    }

    proptest! {
        #[test]
        fn no_form_of_a_secret_is_left_anywhere(
            value in "[a-zA-Z0-9/+=\"'%&é😀\n\t\r \\\\-]{8,24}",
            before in "[a-z%\\\\&+é\" ]{0,12}",
            after in "[a-z%\\\\&+é\" ]{0,12}",
        ) {
            prop_assume!(!REDACTED.contains(value.trim()));
            let redactor = redactor(&[&value]);
            let encodings: [fn(&str) -> String; 6] = [str::to_owned, percent, json, ascii_json, literal, html];
            let around: [fn(&str) -> String; 4] = [str::to_owned, json, ascii_json, literal];
            let mut forms: Vec<String> =
                encodings.iter().flat_map(|inner| around.map(|outer| outer(&inner(&value)))).collect();
            forms.extend([percent(&percent(&value)), percent(&ascii_json(&value)), html(&json(&value))]);
            for form in &forms {
                let text = format!("{before}{form}{after}");
                let shown = redactor.hide(&text);
                prop_assert!(shown.contains(REDACTED), "{} shows {}", text, value);
                prop_assert!(!shown.contains(form.as_str()), "{} shows {}", text, form);
            }
        }

        #[test]
        fn no_text_makes_the_redactor_panic(text in "\\PC{0,40}", value in "\\PC{0,12}", end in 0usize..60) {
            let redactor = redactor(&[&value]);
            let _ = redactor.hide_up_to(&text, end.min(text.len()), SHORTEST);
            let error = redactor.error(RequestError::status(500, &text, text.clone()));
            prop_assert!(error.message.chars().count() <= LONGEST_ERROR + 1);
        }
    }
}
