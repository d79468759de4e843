//! Secrets in the bodies of requests and in their templates: members by their names, and parts of URLs.
//!
//! A body may be very large, and most of it is text that must not change. So one pass goes from quote to quote, and
//! looks only at names and the beginnings of texts.

use crate::headers::parts_of;
use crate::members::{Above, PAIR_NAMES, PAIR_VALUE, holds_secret, is_value_of_pair};
use crate::names::{
    holds_only_texts, is_number_ordinary, is_secret_header, is_secret_member, is_secret_name, may_be_secret_name,
};
use crate::urls::secrets_in_url;
use crate::values::leaves;
use crate::{REDACTED, url};
use memchr::{memchr, memchr2};
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// A longer text is no name of a member.
const LONGEST_NAME: usize = 256;
/// A longer word is no scheme of a URL.
const LONGEST_SCHEME: usize = 32;

/// A request body, in JSON, without its secrets, and the values that are hidden.
pub(crate) fn payload(body: &[u8]) -> (Cow<'_, [u8]>, Vec<String>) {
    // Bytes that are not UTF-8 are no JSON either.
    let Ok(text) = std::str::from_utf8(body) else { return (Cow::Borrowed(body), Vec::new()) };
    let secrets = secrets(text, '"', Texts::Follow);
    match without(text, &secrets) {
        Cow::Borrowed(text) => (Cow::Borrowed(text.as_bytes()), Vec::new()),
        Cow::Owned(shown) => (Cow::Owned(shown.into_bytes()), values(text, secrets)),
    }
}

/// The values that are hidden in a request body.
pub fn secrets_in_body(body: &[u8]) -> Vec<String> {
    payload(body).1
}

/// The text of a template, without its secrets.
pub fn template(text: &str) -> Cow<'_, str> {
    without(text, &secrets_of_template(text))
}

/// The values that are hidden in a template.
pub fn secrets_in_template(text: &str) -> Vec<String> {
    let mut out = values(text, secrets_of_template(text));
    // What a template inserts per request is no secret of the template.
    out.retain(|value| !value.contains("{{"));
    out
}

fn values(text: &str, secrets: Vec<Secret>) -> Vec<String> {
    if secrets.is_empty() {
        return Vec::new();
    }
    let (mut out, mut of_urls) = (Vec::new(), Vec::new());
    for Secret { range, is_url, .. } in secrets {
        let value = &text[range];
        let inner = value.trim_matches(['"', '\'']);
        if is_url {
            of_urls.extend(secrets_in_url(&decoded(inner)));
        } else {
            match serde_json::from_str(value) {
                Ok(Value::Number(_)) => out.push(value.to_owned()),
                Ok(value) => leaves(&value, &mut out),
                Err(_) if value.starts_with(['{', '[']) => out.extend(texts_of(value)),
                Err(_) => out.push(inner.to_owned()),
            }
        }
    }
    let parts = parts_of(&out);
    out.extend(parts.into_iter().chain(of_urls));
    out
}

/// The texts of an object or a list in a template, except names.
fn texts_of(value: &str) -> Vec<String> {
    let mut out = Vec::new();
    for quote in ['"', '\''] {
        let scan = Scan { text: value, bytes: value.as_bytes(), quote: quote as u8 };
        let mut at = 0;
        while let Some(open) = scan.quote_from(at) {
            let Some(end) = scan.text_end(open) else { break };
            if scan.bytes.get(scan.past_space(end)) != Some(&b':') {
                out.push(decoded(&value[open + 1..end - 1]).into_owned());
            }
            at = end;
        }
    }
    out
}

/// A part of a text that is not shown, and its replacement.
#[derive(Debug)]
struct Secret {
    range: Range<usize>,
    shown: String,
    is_url: bool,
}

fn without<'t>(text: &'t str, secrets: &[Secret]) -> Cow<'t, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for secret in secrets {
        // A secret within another is already replaced.
        if let Some(before) = text.get(from..secret.range.start) {
            out.push_str(before);
            out.push_str(&secret.shown);
            from = secret.range.end;
        }
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The meaning of a quote that ends a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Texts {
    /// Nothing more: texts follow each other, as in JSON.
    Follow,
    /// It may begin another text: the assumed beginning may have been an apostrophe in a comment.
    MayBegin,
}

/// Jinja has texts in both kinds of quotes.
fn secrets_of_template(text: &str) -> Vec<Secret> {
    let mut all = secrets(text, '"', Texts::MayBegin);
    all.extend(secrets(text, '\'', Texts::MayBegin));
    all.sort_by_key(|secret| secret.range.start);
    all
}

/// The secrets in a text of JSON, or similar to it, with these quotes.
fn secrets(text: &str, quote: char, texts: Texts) -> Vec<Secret> {
    let scan = Scan { text, bytes: text.as_bytes(), quote: quote as u8 };
    let (mut out, mut at) = (Vec::new(), 0);
    let mut around = Around::default();
    let hidden = || format!("{quote}{REDACTED}{quote}");
    while let Some(open) = scan.quote_from(at) {
        around.pass(&scan, at..open);
        let Some(end) = scan.text_end(open) else { break };
        let inner = &text[open + 1..end - 1];
        let after = scan.past_space(end);
        at = if texts == Texts::Follow { end } else { end - 1 };
        if scan.bytes.get(after) == Some(&b':') {
            let value = scan.past_space(after + 1);
            let pair = scan.pair_value(inner, value, &around);
            if let Some(end) = pair.and_then(|value| scan.secret_end(PAIR_VALUE, value, &around)) {
                out.extend(pair.map(|value| Secret { range: value..end, shown: hidden(), is_url: false }));
            }
            let is_secret = pair.is_none() && (scan.is_secret_member(inner) || scan.is_header(inner, &around));
            if let Some(end) = is_secret.then(|| scan.secret_end(inner, value, &around)).flatten() {
                out.push(Secret { range: value..end, shown: hidden(), is_url: false });
                at = end;
            } else {
                around.name = Above::of(inner);
            }
        } else if texts == Texts::MayBegin && scan.is_assigned_to_secret(open) {
            out.push(Secret { range: open..end, shown: hidden(), is_url: false });
            at = end;
        } else if let Some(value) = scan.value_of_listed_pair(open, after, &around) {
            at = value.end;
            out.push(Secret { range: value, shown: hidden(), is_url: false });
        } else if let Some(shown) = hidden_url(inner) {
            let shown = if quote == '"' { Value::from(shown).to_string() } else { format!("{quote}{shown}{quote}") };
            out.push(Secret { range: open..end, shown, is_url: true });
        }
        if at < end {
            // The assumed text may be the separator of two texts.
            around.pass(&scan, open + 1..end - 1);
        }
    }
    // The value of a pair may precede its name.
    out.sort_by_key(|secret| secret.range.start);
    out
}

/// The objects and lists around a position in a document.
#[derive(Default)]
struct Around {
    open: Vec<Opened>,
    /// What the last name means for an object under it.
    name: Above,
}

/// An object or a list.
struct Opened {
    at: usize,
    above: Above,
}

impl Around {
    /// Reads the separator of two texts.
    fn pass(&mut self, scan: &Scan<'_>, between: Range<usize>) {
        for at in between {
            match scan.bytes[at] {
                b'{' => self.open.push(Opened { at, above: std::mem::take(&mut self.name) }),
                b'[' => {
                    let list = self.open.last().filter(|opened| scan.bytes[opened.at] == b'[');
                    let above = list.map_or(self.name, |list| list.above).in_list();
                    self.open.push(Opened { at, above });
                    self.name = Above::Other;
                }
                b'}' | b']' => drop(self.open.pop()),
                b',' => self.name = Above::Other,
                _ => {}
            }
        }
    }

    fn above(&self) -> Above {
        self.open.last().map_or(Above::Other, |opened| opened.above)
    }
}

struct Scan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    quote: u8,
}

impl Scan<'_> {
    fn position(&self, from: usize, is_wanted: impl Fn(u8) -> bool) -> Option<usize> {
        self.bytes.get(from..)?.iter().position(|byte| is_wanted(*byte)).map(|at| from + at)
    }

    fn quote_from(&self, from: usize) -> Option<usize> {
        memchr(self.quote, self.bytes.get(from..)?).map(|at| from + at)
    }

    fn past_space(&self, from: usize) -> usize {
        self.position(from, |byte| !byte.is_ascii_whitespace()).unwrap_or(self.bytes.len())
    }

    /// The end of the text that starts with a quote here; `None` if it has no end.
    fn text_end(&self, open: usize) -> Option<usize> {
        let mut at = open + 1;
        loop {
            at += memchr2(self.quote, b'\\', self.bytes.get(at..)?)?;
            if self.bytes[at] == self.quote {
                return Some(at + 1);
            }
            at += 2;
        }
    }

    fn is_secret(&self, name: &str) -> bool {
        name.len() <= LONGEST_NAME && {
            let name = decoded(name);
            may_be_secret_name(&name) && is_secret_name(&name)
        }
    }

    fn is_secret_member(&self, name: &str) -> bool {
        name.len() <= LONGEST_NAME && {
            let name = decoded(name);
            may_be_secret_name(&name) && is_secret_member(&name)
        }
    }

    /// The value of a pair that is a list of two texts, if the text here is its name and marks a secret.
    fn value_of_listed_pair(&self, open: usize, after: usize, around: &Around) -> Option<Range<usize>> {
        let is_first = || self.text[..open].trim_ascii_end().ends_with('[');
        if self.bytes.get(after) != Some(&b',') || !is_first() {
            return None;
        }
        let name = self.text_at(open)?;
        if !self.is_secret(name) && !self.is_header(name, around) {
            return None;
        }
        let start = self.past_space(after + 1);
        let end = start + 2 + self.text_at(start).filter(|value| is_value_of_pair(&decoded(value)))?.len();
        (self.bytes.get(self.past_space(end)) == Some(&b']')).then_some(start..end)
    }

    /// Whether a name is that of a secret header, among headers.
    fn is_header(&self, name: &str, around: &Around) -> bool {
        around.above() == Above::Headers && name.len() <= LONGEST_NAME && is_secret_header(&decoded(name))
    }

    /// The start of a pair's value, if a name is that of the pair's name and the pair holds a secret.
    fn pair_value(&self, name: &str, start: usize, around: &Around) -> Option<usize> {
        let may_be_pair = PAIR_NAMES.contains(&name) && (self.is_secret(name) || self.is_secret(self.text_at(start)?));
        self.value_of_pair(around.open.last().filter(|_| may_be_pair)?.at)
    }

    /// The start of the value in an object that is a pair with a secret name.
    fn value_of_pair(&self, object: usize) -> Option<usize> {
        let (mut at, mut value, mut is_secret) = (object + 1, None, false);
        loop {
            let open = self.past_space(at);
            let name = self.text_at(open)?;
            let colon = self.past_space(self.text_end(open)?);
            let start = self.past_space(colon + 1);
            match name {
                PAIR_VALUE => value = Some(start),
                _ if PAIR_NAMES.contains(&name) => {
                    is_secret |= self.text_at(start).is_some_and(|name| self.is_secret(name));
                }
                _ => {}
            }
            at = self.past_space(self.value_end(start)?);
            match self.bytes.get(at)? {
                b',' => at += 1,
                _ => return value.filter(|_| is_secret),
            }
        }
    }

    /// The text that begins with a quote here.
    fn text_at(&self, open: usize) -> Option<&str> {
        let is_text = self.bytes.get(open) == Some(&self.quote);
        is_text.then(|| self.text_end(open)).flatten().map(|end| &self.text[open + 1..end - 1])
    }

    fn value_end(&self, start: usize) -> Option<usize> {
        match *self.bytes.get(start)? {
            byte if byte == self.quote => self.text_end(start),
            b'[' | b'{' => self.bracketed_end(start),
            _ => self.position(start, |byte| b",}]".contains(&byte)),
        }
    }

    /// The end of the value under a secret name, if it is a secret: a text, a number, a list or an object.
    fn secret_end(&self, name: &str, start: usize, around: &Around) -> Option<usize> {
        match *self.bytes.get(start)? {
            byte if byte == self.quote => self.text_end(start),
            b'-' | b'0'..=b'9' if is_number_ordinary(&decoded(name)) || holds_only_texts(&decoded(name)) => None,
            b'-' | b'0'..=b'9' => {
                let is_end = |byte: u8| !byte.is_ascii_alphanumeric() && !b"+-.".contains(&byte);
                Some(self.position(start, is_end).unwrap_or(self.bytes.len()))
            }
            // A template inserts this per request.
            b'{' if matches!(self.bytes.get(start + 1), Some(b'{' | b'%' | b'#')) => None,
            b'[' | b'{' => {
                let end = self.bracketed_end(start)?;
                let value = &self.text[start..end];
                let is_secret = match serde_json::from_str(value) {
                    Ok(value) => holds_secret(&decoded(name), &value, around.above() == Above::Describing),
                    Err(_) => value.as_bytes().contains(&self.quote),
                };
                is_secret.then_some(end)
            }
            _ => None,
        }
    }

    /// The end of the list or object here; `None` if it is not closed. It is part of JSON that may be escaped, unlike the
    /// prose of `texts::bracketed`, so only `quote` opens a text.
    fn bracketed_end(&self, start: usize) -> Option<usize> {
        let (mut at, mut depth) = (start, 0_usize);
        loop {
            at = self.position(at, |byte| byte == self.quote || b"[]{}".contains(&byte))?;
            match self.bytes[at] {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {
                    at = self.text_end(at)?;
                    continue;
                }
            }
            at += 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }

    /// Whether a text is the value of a template's variable with a secret name: `{% set api_key = "..." %}`.
    fn is_assigned_to_secret(&self, open: usize) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        self.text[..open].trim_end().strip_suffix('=').map(str::trim_end).is_some_and(|before| {
            let name = &before[before.trim_end_matches(is_word).len()..];
            self.is_secret(name)
        })
    }
}

/// A URL without its secrets, if the text is one that has any.
fn hidden_url(inner: &str) -> Option<String> {
    let colon = inner.bytes().take(LONGEST_SCHEME).position(|byte| byte == b':')?;
    let after = &inner[colon + 1..];
    if !after.starts_with("//") && !after.starts_with(r"\/") {
        return None;
    }
    let given = decoded(inner);
    let is_url = given[..colon].chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !given.contains(char::is_whitespace);
    is_url.then(|| url(&given)).filter(|shown| *shown != given)
}

/// A JSON text without its escapes.
fn decoded(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str(&format!("\"{inner}\"")).map_or(Cow::Borrowed(inner), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visit_secret_members;
    use proptest::prelude::*;

    fn shown(body: &str) -> String {
        String::from_utf8(payload(body.as_bytes()).0.into_owned()).unwrap()
    }

    #[test]
    fn members_of_a_body_with_secret_names_are_hidden() {
        for (body, wanted) in [
            (r#"{"api_key":"SEC","a":1}"#, r#"{"api_key":"<redacted>","a":1}"#),
            (r#"{ "x" : [ {"token" : 123 } ] }"#, r#"{ "x" : [ {"token" : "<redacted>" } ] }"#),
            (r#"{"password":["SEC",["x"]],"b":[]}"#, r#"{"password":"<redacted>","b":[]}"#),
            (r#"{"api\u005fkey":"S\"EC\\","b":"c"}"#, r#"{"api\u005fkey":"<redacted>","b":"c"}"#),
            (r#"{"token":{"api_key":"SEC"},"a":{}}"#, r#"{"token":"<redacted>","a":{}}"#),
            (r#"{"auth":{"a}":"}SEC","n":[{}]},"b":1}"#, r#"{"auth":"<redacted>","b":1}"#),
            (r#"{"api_keys":[{"x":"SEC"}],"password":[1,2]}"#, r#"{"api_keys":"<redacted>","password":"<redacted>"}"#),
            (r#"{"properties":{"auth":{"user":"SEC"}}}"#, r#"{"properties":{"auth":"<redacted>"}}"#),
            (
                r#"{"headers":{"X-My-Session":"SEC","X-Team":"a"},"x":[{"name":"Authorization","value":"SEC"}]}"#,
                r#"{"headers":{"X-My-Session":"<redacted>","X-Team":"a"},"x":[{"name":"Authorization","value":"<redacted>"}]}"#,
            ),
            (
                r#"[{ "value" : "SEC" , "n":[1,{"a":"}"}] , "key" : "X-Api-Key" }, {"key":"SEC"}]"#,
                r#"[{ "value" : "<redacted>" , "n":[1,{"a":"}"}] , "key" : "X-Api-Key" }, {"key":"<redacted>"}]"#,
            ),
            (
                r#"{"x":[ "Authorization" , "Bearer SEC" ],"headers":[["X-My-Session","SE\"C1"],["X-Team","a1"]]}"#,
                r#"{"x":[ "Authorization" , "<redacted>" ],"headers":[["X-My-Session","<redacted>"],["X-Team","a1"]]}"#,
            ),
            (
                r#"{"a":{"tokens":"SEC","keys":["SEC"]},"keys":[1],"tokens":5,"b":["token","user_id"]}"#,
                r#"{"a":{"tokens":"<redacted>","keys":"<redacted>"},"keys":[1],"tokens":5,"b":["token","user_id"]}"#,
            ),
            (r#"{"github_token":"SEC","apiKey1":"SEC"}"#, r#"{"github_token":"<redacted>","apiKey1":"<redacted>"}"#),
        ] {
            assert_eq!(shown(body), wanted);
        }
    }

    #[test]
    fn credentials_and_secret_parameters_of_urls_in_a_body_are_hidden() {
        assert_eq!(
            shown(r#"{"url":"https://u:SEC@h/x.png?token=SEC&a=1","b":["http:\/\/u:SEC@h"]}"#),
            r#"{"url":"https://<redacted>@h/x.png?token=<redacted>&a=1","b":["http://<redacted>@h"]}"#
        );
    }

    #[test]
    fn everything_else_of_a_body_is_unchanged() {
        for body in [
            r#"{"content":"my \"api_key\":\"x\" and https://u:p@h/ in a text","max_tokens":5}"#,
            r#"{"key":null,"properties":{"token":{"type":"string"},"auth":{"$ref":"x"}},"required":["token"]}"#,
            r#"{"token":[1,2],"tokens":[1],"auth":{"on":true},"credentials":{},"token_ids":[{"a":"b"}]}"#,
            r#"{"url":"data:image/png;base64,AAAA","u":"https://h/x?a=b"}"#,
            r#"{"tools":[{"name":"get_token","value":true},{"name":"token"}],"x":{"name":"size","value":"SEC"}}"#,
            r#"{"eos_token":"</s>","my_token":17,"your_token":[1,2],"their_token":null}"#,
            r#"{"api_key":"never ends"#,
            "",
            "é\"",
        ] {
            assert!(matches!(payload(body.as_bytes()).0, Cow::Borrowed(_)), "{}", shown(body));
        }
        assert_eq!(payload(b"\xff\"api_key\":\"x\"").0.as_ref(), b"\xff\"api_key\":\"x\"");
    }

    #[test]
    fn the_secrets_of_a_template_are_hidden_and_listed() {
        for text in [
            r#"{"api_key":"TOPSECRET1","q":{{ text|tojson }}}"#,
            r#"{# don't #}{{ {'api_key': 'TOPSECRET1'}|tojson }}"#,
            r#"{% set api_key = "TOPSECRET1" %}{"k": {{ api_key|tojson }}}"#,
            r#"{"url": "http://u:TOPSECRET1@h/", "q": {{ text|tojson }}}"#,
            r#"{"auth": {"user": {{ text|tojson }}, "x": "TOPSECRET1"}}"#,
            r#"{"credentials": [{"x": "TOPSECRET1"}], "q": {{ text|tojson }}}"#,
        ] {
            let hidden = template(text);
            assert!(hidden.contains(REDACTED) && !hidden.contains("TOPSECRET1"), "{hidden}");
            assert!(secrets_in_template(text).contains(&"TOPSECRET1".to_owned()), "{text}");
        }
        for plain in [
            r#"{"api_key": {{ key|tojson }}, "max_tokens": {{ max_tokens }}}"#,
            r#"{"tools": [{"properties": {"token": {"type": "string"}}}], "q": {{ text|tojson }}}"#,
        ] {
            assert_eq!(template(plain), plain);
        }
        assert!(secrets_in_template(r#"{"api_key": "{{ text }}"}"#).is_empty());
    }

    #[test]
    fn parts_of_the_secrets_of_a_body_are_listed_too() {
        for body in [
            r#"{"headers":{"Authorization":"Bearer sk-Secret-1"}}"#,
            r#"{"auth":"Basic sk-Secret-1"}"#,
            r#"{"auth":"Basic bWU6c2stU2VjcmV0LTE="}"#,
            r#"{"x":{"name":"Authorization","value":"Bearer sk-Secret-1"}}"#,
        ] {
            assert!(payload(body.as_bytes()).1.contains(&"sk-Secret-1".to_owned()), "{body}");
        }
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "token|Authorization|\\PC{0,8}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("api_keys?[0-9]?|(my_|eos_)?token|auth|properties|type|keys|tokens|role|name|value|key|headers|X-Session|a\"b|\\PC{0,3}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_body_as_text_and_as_a_document_hide_the_same(mut value in document(), is_pretty: bool) {
            let body = if is_pretty { format!("{value:#}") } else { value.to_string() };
            let found: Value = serde_json::from_slice(&payload(body.as_bytes()).0).unwrap();
            visit_secret_members(&mut value, &mut |_, member| *member = REDACTED.into());
            // Numbers are compared after a round trip through text.
            let wanted: Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn no_text_makes_the_scan_panic(text in "[\\[\\]{}:,\"'\\\\a-k_=é ]{0,60}") {
            let _ = (payload(text.as_bytes()), template(&text), secrets_in_template(&text));
        }
    }
}
