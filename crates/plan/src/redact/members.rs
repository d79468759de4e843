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

/// Visits every text of a document but for names.
pub fn visit_texts(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter_mut().for_each(|item| visit_texts(item, visit)),
        Value::Object(members) => members.values_mut().for_each(|member| visit_texts(member, visit)),
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
