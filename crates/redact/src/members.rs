//! Walks through JSON documents: members whose names mark secrets, and all texts.

use crate::headers::parts_of;
use crate::names::{holds_only_texts, is_number_ordinary, is_secret_header, is_secret_member, is_secret_name};
use crate::texts::secrets_in_text;
use crate::urls::secrets_in_urls;
use crate::values::{is_everyday, leaves};
use serde_json::{Map, Value};

/// Members of a JSON Schema that describe the members of a document: a name in them describes a value and contains
/// none.
const DESCRIBING: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];

/// Every description has one of these.
const DESCRIPTIVE: &[&str] = &["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "description"];

/// Visits the values of members with secret names, at any depth, even within lists: texts, numbers, and lists and
/// objects as a whole.
pub fn visit_secret_members(value: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    visit_members(value, Above::Other, visit);
}

/// What the name means that an object is under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Above {
    /// Its members are described there.
    Describing,
    /// Its members are headers.
    Headers,
    #[default]
    Other,
}

impl Above {
    pub(crate) fn of(name: &str) -> Self {
        const HEADERS: &[u8] = b"headers";
        let end = name.len().checked_sub(HEADERS.len()).map(|at| &name.as_bytes()[at..]);
        match name {
            _ if DESCRIBING.contains(&name) => Self::Describing,
            _ if end.is_some_and(|end| end.eq_ignore_ascii_case(HEADERS)) => Self::Headers,
            _ => Self::Other,
        }
    }

    /// The meaning for a list under the name: headers may be pairs in lists.
    pub(crate) fn in_list(self) -> Self {
        if self == Self::Headers { Self::Headers } else { Self::Other }
    }
}

/// What the name of a pair is called.
pub(crate) const PAIR_NAMES: &[&str] = &["name", "key", "header"];
pub(crate) const PAIR_VALUE: &str = "value";

fn visit_members(value: &mut Value, above: Above, visit: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(members) => {
            let pair = pair_of(members).map(str::to_owned);
            for (name, member) in members {
                let is_secret = match &pair {
                    Some(_) if name == PAIR_VALUE => true,
                    Some(_) if PAIR_NAMES.contains(&name.as_str()) => false,
                    _ => is_secret_member(name) || (above == Above::Headers && is_secret_header(name)),
                };
                if is_secret && holds_secret(name, member, above == Above::Describing) {
                    visit(pair.as_ref().filter(|_| name == PAIR_VALUE).unwrap_or(name), member);
                } else {
                    visit_members(member, Above::of(name), visit);
                }
            }
        }
        Value::Array(items) => {
            if let [Value::String(name), secret] = items.as_mut_slice()
                && (is_secret_name(name) || (above == Above::Headers && is_secret_header(name)))
                && secret.as_str().is_some_and(is_value_of_pair)
            {
                return visit(name, secret);
            }
            for item in items {
                visit_members(item, if item.is_array() { above.in_list() } else { Above::Other }, visit);
            }
        }
        _ => {}
    }
}

/// Whether a text after a secret name in a list of two, as `["Authorization", "Bearer x"]`, is its value. A list may
/// also be one of names: `["token", "user_id"]`.
pub(crate) fn is_value_of_pair(text: &str) -> bool {
    !text.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-')
}

/// The name of a pair with a secret value.
fn pair_of(members: &Map<String, Value>) -> Option<&str> {
    members.get(PAIR_VALUE)?;
    PAIR_NAMES.iter().filter_map(|name| members.get(*name)?.as_str()).find(|name| is_secret_name(name))
}

/// Whether what a secret's name holds is a secret. `is_described`: the name is one of those that a schema describes.
pub(crate) fn holds_secret(name: &str, value: &Value, is_described: bool) -> bool {
    match value {
        Value::Array(_) | Value::Object(_) if holds_only_texts(name) && !holds_text(value) => false,
        Value::Null | Value::Bool(_) => false,
        Value::String(_) => true,
        Value::Number(_) => !is_number_ordinary(name) && !holds_only_texts(name),
        // Numbers under such a name are token ids.
        Value::Array(items) if items.iter().all(Value::is_number) && may_be_token_ids(name) => false,
        Value::Array(items) => items.iter().any(|item| holds_secret("", item, false)),
        Value::Object(members) if is_described && DESCRIPTIVE.iter().any(|key| members.contains_key(*key)) => false,
        Value::Object(members) => members.values().any(|member| holds_secret("", member, false)),
    }
}

fn holds_text(value: &Value) -> bool {
    match value {
        Value::String(_) => true,
        Value::Array(items) => items.iter().any(holds_text),
        Value::Object(members) => members.values().any(holds_text),
        _ => false,
    }
}

fn may_be_token_ids(name: &str) -> bool {
    name.eq_ignore_ascii_case("token") || is_number_ordinary(name)
}

/// Visits every text of a document except names.
pub fn visit_texts(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| visit_texts(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| visit_texts(member, visit)),
        _ => {}
    }
}

/// Changes the names of members at or below a level.
pub(crate) fn change_names(value: &mut Value, from_level: usize, change: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::Object(members) => {
            let changed = |(name, mut member): (String, Value)| {
                change_names(&mut member, from_level.saturating_sub(1), change);
                let new = if from_level == 0 { change(&name) } else { None };
                (new.unwrap_or(name), member)
            };
            *members = std::mem::take(members).into_iter().map(changed).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change_names(item, from_level, change)),
        _ => {}
    }
}

/// The secrets in members with secret names, such as `api_key`, and those of URLs under any name.
pub fn secrets_in_members(members: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    let mut all = Value::Object(members.clone());
    visit_secret_members(&mut all, &mut |_, value| leaves(value, &mut out));
    let mut more = parts_of(&out);
    visit_texts(&mut all, &mut |text| {
        out.extend(secrets_in_urls(text));
        more.extend(secrets_in_text(text));
    });
    more.retain(|secret| !is_everyday(secret) && !out.contains(secret));
    out.extend(more);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_below_a_secret_name_is_visited_at_once() {
        let mut all = json!({
            "password": {"a": "b"}, "x": [{"token": {"x": 1}}], "secrets": ["a", "b"], "api_keys": [1],
            "credentials": [{"user": "u"}], "plain": {"a": "b"}, "max_tokens": 5, "key": null, "auth": true,
        });
        visit_secret_members(&mut all, &mut |_, member| *member = "-".into());
        let expected = json!({
            "password": "-", "x": [{"token": "-"}], "secrets": "-", "api_keys": "-",
            "credentials": "-", "plain": {"a": "b"}, "max_tokens": 5, "key": null, "auth": true,
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn descriptions_token_ids_and_empty_values_are_no_secrets() {
        let all = json!({
            "tools": [{"function": {"parameters": {
                "type": "object",
                "properties": {"token": {"type": "string"}, "auth": {"$ref": "#/$defs/auth"}},
                "$defs": {"auth": {"type": "object", "properties": {"password": {"description": "yours"}}}},
                "required": ["token"],
            }}}],
            "token": [17, 42], "auth": {"enabled": true}, "api_keys": [], "credentials": {},
        });
        let mut seen = all.clone();
        visit_secret_members(&mut seen, &mut |_, member| *member = "-".into());
        assert_eq!(seen, all);
        let mut given =
            json!({"properties": {"token": "sk", "auth": {"user": "u"}}, "auth": {"type": "basic", "x": "y"}});
        visit_secret_members(&mut given, &mut |_, member| *member = "-".into());
        assert_eq!(given, json!({"properties": {"token": "-", "auth": "-"}, "auth": "-"}));
    }

    #[test]
    fn headers_and_pairs_hold_secrets_by_their_names() {
        let mut all = json!({
            "headers": {"X-Custom-Key": "a", "X-My-Token": "b", "X-Team": "c"},
            "extra_headers": [{"name": "Authorization", "value": "d"}, {"key": "X-Api-Key", "value": "e"}],
            "metadata": [{"name": "token_count", "value": 5}, {"key": "sort", "value": "f"}],
            "X-My-Session": "g",
        });
        visit_secret_members(&mut all, &mut |_, member| *member = "-".into());
        let expected = json!({
            "headers": {"X-Custom-Key": "-", "X-My-Token": "-", "X-Team": "c"},
            "extra_headers": [{"name": "Authorization", "value": "-"}, {"key": "X-Api-Key", "value": "-"}],
            "metadata": [{"name": "token_count", "value": 5}, {"key": "-", "value": "f"}],
            "X-My-Session": "g",
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn pairs_in_lists_hold_secrets_by_their_names() {
        let mut all = json!({
            "x": ["Authorization", "Bearer a1"],
            "headers": [["X-My-Session", "b1"], ["X-Team", "c1"], ["Cookie", "d=1"]],
            "required": ["token", "user_id"],
            "stop": ["token"],
            "more": [["X-My-Session", "e1"], ["api_key", "f1", "g1"]],
        });
        visit_secret_members(&mut all, &mut |_, member| *member = "-".into());
        let expected = json!({
            "x": ["Authorization", "-"],
            "headers": [["X-My-Session", "-"], ["X-Team", "c1"], ["Cookie", "-"]],
            "required": ["token", "user_id"],
            "stop": ["token"],
            "more": [["X-My-Session", "e1"], ["api_key", "f1", "g1"]],
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn tokens_and_keys_are_secrets_as_texts_and_not_as_numbers() {
        let mut all = json!({
            "a": {"tokens": "x1", "keys": ["x2"]}, "b": {"tokens": {"hf": "x3"}, "keys": [1, 2]},
            "c": {"tokens": [[1, 2], [3]], "keys": {"n": 1}}, "d": {"tokens": 5, "max_tokens": "x"},
        });
        visit_secret_members(&mut all, &mut |_, member| *member = "-".into());
        let expected = json!({
            "a": {"tokens": "-", "keys": "-"}, "b": {"tokens": "-", "keys": [1, 2]},
            "c": {"tokens": [[1, 2], [3]], "keys": {"n": 1}}, "d": {"tokens": 5, "max_tokens": "x"},
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn secrets_are_found_in_texts_under_any_name() {
        let secrets = |text: &str| {
            let Value::Object(members) = json!({"note": [text]}) else { unreachable!() };
            secrets_in_members(&members)
        };
        for text in [
            "Authorization: Bearer sk-Secret-1",
            "curl -H 'Authorization: Bearer sk-Secret-1'",
            "API_KEY=sk-Secret-1",
            "Server=h;Password=sk-Secret-1;Port=1",
            r#"{"api_key":"sk-Secret-1","a":1}"#,
            r#"{\"api_key\":\"sk-Secret-1\"}"#,
            r#"{"auth":{"token":"sk-Secret-1"}}"#,
            "#access_token=sk-Secret-1&b=2",
        ] {
            assert!(secrets(text).contains(&"sk-Secret-1".to_owned()), "{text}: {:?}", secrets(text));
        }
        for prose in ["the key: understanding", "auth: basic", "max_tokens=50000000", "token: 2024", "a=b; c: d"] {
            assert_eq!(secrets(prose), [""; 0], "{prose}");
        }
        for extra in [json!({"authorization": "Bearer sk-Secret-1"}), json!({"headers": {"Cookie": "sid=sk-Secret-1"}})]
        {
            let Value::Object(members) = extra else { unreachable!() };
            assert!(secrets_in_members(&members).contains(&"sk-Secret-1".to_owned()), "{members:?}");
        }
    }

    #[test]
    fn secrets_are_found_in_lists_and_objects_too() {
        let Value::Object(members) = json!({
            "x": [{"api_key": "sk-one"}, [{"y": {"token": 1234}}]],
            "api_key": ["sk-two", {"z": "sk-three"}],
            "auth": {"type": "basic", "version": 2024, "user": "me@home", "password": "hunter", "on": true},
            "max_tokens": 5,
            "token": null,
            "images": ["https://h/x.png?sig=sk-four&a=b", "see http://h/?a=1"],
        }) else {
            unreachable!()
        };
        let mut found = secrets_in_members(&members);
        found.sort();
        found.dedup();
        assert_eq!(found, ["1234", "hunter", "me@home", "sk-four", "sk-one", "sk-three", "sk-two"]);
    }
}
