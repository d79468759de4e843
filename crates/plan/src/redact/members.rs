//! Walks through JSON documents: members that say by their names that they hold secrets, and all texts.

use super::names::is_secret_name;
use super::urls::secrets_in_urls;
use super::values::LONG;
use serde_json::{Map, Value};

/// Members of a JSON Schema that describe the members of a document: a name there describes a value and holds none.
const DESCRIBING: &[&str] = &["properties", "patternProperties", "$defs", "definitions"];

/// What every description has one of.
const DESCRIPTIVE: &[&str] = &["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "description"];

pub(super) fn is_describing(name: &str) -> bool {
    DESCRIBING.contains(&name)
}

/// Visits what a secret's name holds, at any depth, also within lists: texts, numbers, and lists and objects as a whole.
pub fn visit_secret_members(value: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    visit_members(value, false, visit);
}

fn visit_members(value: &mut Value, is_described: bool, visit: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if is_secret_name(name) && holds_secret(name, member, is_described) {
                    visit(name, member);
                } else {
                    visit_members(member, is_describing(name), visit);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_members(item, false, visit)),
        _ => {}
    }
}

/// Whether what a secret's name holds is a secret. `is_described`: the name is one of those that a schema describes.
pub(super) fn holds_secret(name: &str, value: &Value, is_described: bool) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(_) | Value::Number(_) => true,
        // Numbers under this name are what a tokenizer made of a text.
        Value::Array(items) if name.eq_ignore_ascii_case("token") && items.iter().all(Value::is_number) => false,
        Value::Array(items) => items.iter().any(|item| holds_secret("", item, false)),
        Value::Object(members) if is_described && DESCRIPTIVE.iter().any(|key| members.contains_key(*key)) => false,
        Value::Object(members) => members.values().any(|member| holds_secret("", member, false)),
    }
}

/// Visits every text of a document but for names.
pub fn visit_texts(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| visit_texts(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| visit_texts(member, visit)),
        _ => {}
    }
}

/// Changes names of members, those at least so many levels down.
pub(super) fn change_names(value: &mut Value, from_level: usize, change: &dyn Fn(&str) -> Option<String>) {
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

/// The secrets that members with secret names hold, such as that of `api_key`, and those of URLs under any name.
pub fn secrets_in_members(members: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    let mut all = Value::Object(members.clone());
    visit_secret_members(&mut all, &mut |_, value| leaves(value, &mut out));
    visit_texts(&mut all, &mut |text| out.extend(secrets_in_urls(text)));
    out
}

/// Texts and numbers of a secret. What an object under a secret's name holds under names of its own may be everyday
/// (`{"auth": {"type": "basic", "version": 2024}}`): it is a secret wherever it is seen only where it is no word or
/// number that is seen anywhere.
pub(super) fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(members) => {
            for (name, member) in members {
                let mut found = Vec::new();
                leaves(member, &mut found);
                let is_own = is_secret_name(name);
                out.extend(found.into_iter().filter(|found| is_own || !is_everyday(found)));
            }
        }
        _ => {}
    }
}

fn is_everyday(text: &str) -> bool {
    let is_one_kind = text.chars().all(char::is_alphabetic) || text.parse::<f64>().is_ok();
    text.chars().count() < LONG && is_one_kind
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
    fn descriptions_ids_of_tokens_and_what_is_empty_are_no_secrets() {
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
