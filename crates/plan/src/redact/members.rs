//! Walks through JSON documents: members that say by their names that they hold secrets, and all texts.

use super::names::is_secret_name;
use serde_json::{Map, Value};

/// Visits what a secret's name holds (a text, a number, a list with texts), at any depth, also within lists.
pub fn visit_secret_members(value: &mut Value, is_secret: fn(&str) -> bool, visit: &mut dyn FnMut(&str, &mut Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if is_secret(name) && may_be_secret(member) {
                    visit(name, member);
                } else {
                    visit_secret_members(member, is_secret, visit);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_secret_members(item, is_secret, visit)),
        _ => {}
    }
}

fn may_be_secret(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Number(_) => true,
        Value::Array(items) => items.iter().any(Value::is_string),
        _ => false,
    }
}

/// Visits what a secret's name holds, whatever that is: below such a name nothing is told.
pub fn visit_below_secret_names(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if holds_secrets(name) && !member.is_null() && !member.is_boolean() {
                    visit(member);
                } else {
                    visit_below_secret_names(member, visit);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_below_secret_names(item, visit)),
        _ => {}
    }
}

/// Whether a name is that of a secret, or of several.
fn holds_secrets(name: &str) -> bool {
    const MANY: &[&str] = &["secrets", "passwords", "api_keys"];
    let is_one_of = |many: &&str| name.eq_ignore_ascii_case(many);
    is_secret_name(name) || MANY.iter().any(is_one_of)
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

/// Texts and numbers below names of secrets, whatever holds them.
pub fn secrets_below_names(members: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    let mut all = Value::Object(members.clone());
    visit_below_secret_names(&mut all, &mut |value| leaves(value, &mut out));
    out
}

fn leaves(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Number(number) => out.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, out)),
        _ => {}
    }
}

/// The texts of members with secret names, such as `api_key`.
pub fn secrets_in_members(members: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    let mut all = Value::Object(members.clone());
    visit_secret_members(&mut all, is_secret_name, &mut |_, value| match value {
        Value::Number(number) => out.push(number.to_string()),
        _ => visit_texts(value, &mut |text| out.push(std::mem::take(text))),
    });
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
            "plain": {"a": "b"}, "max_tokens": 5, "key": null, "auth": true,
        });
        visit_below_secret_names(&mut all, &mut |member| *member = "-".into());
        let expected = json!({
            "password": "-", "x": [{"token": "-"}], "secrets": "-", "api_keys": "-",
            "plain": {"a": "b"}, "max_tokens": 5, "key": null, "auth": true,
        });
        assert_eq!(all, expected);
    }

    #[test]
    fn secrets_are_found_in_lists_too() {
        let Value::Object(members) = json!({
            "x": [{"api_key": "sk-one"}, [{"y": {"token": 1234}}]],
            "api_key": ["sk-two", {"z": "sk-three"}],
            "max_tokens": 5,
            "token": null,
        }) else {
            unreachable!()
        };
        let mut found = secrets_in_members(&members);
        found.sort();
        assert_eq!(found, ["1234", "sk-one", "sk-three", "sk-two"]);
    }
}
