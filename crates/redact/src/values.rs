//! The values of secrets: which can be looked for in any text, and those in a document.

use crate::names::is_secret_name;
use serde_json::Value;

/// Shorter values are everywhere in ordinary text: to hide them would hide nothing and spoil everything.
pub(crate) const SHORTEST: usize = 4;
/// Values of fewer characters may well be words (`user`, `EMPTY`): those that are all letters are looked for as words
/// of their own, and short ones only in what others say; all others anywhere.
pub(crate) const LONG: usize = 8;

pub(crate) fn is_word(value: &str) -> bool {
    value.chars().all(char::is_alphabetic)
}

/// Texts and numbers of a secret. What an object under a secret's name holds under names of its own may be everyday
/// (`{"auth": {"type": "basic", "version": 2024}}`): it is a secret wherever it is seen only where it is no word or
/// number that is seen anywhere.
pub(crate) fn leaves(value: &Value, out: &mut Vec<String>) {
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

pub(crate) fn is_everyday(text: &str) -> bool {
    let is_one_kind = text.chars().all(char::is_alphabetic) || text.parse::<f64>().is_ok();
    text.chars().count() < LONG && is_one_kind
}
