//! `${NAME}` and `${NAME:default}` in the values of a file.

use crate::error::Problem;
use crate::setting::join;
use crate::tree::{Datum, Node, Places};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Replaces every reference below a node. `used` receives the variables that are referred to.
pub(crate) fn resolve(
    node: &mut Node,
    path: &str,
    env: &BTreeMap<String, String>,
    places: &Places,
    used: &mut Map<String, Value>,
) -> Result<(), Problem> {
    match &mut node.datum {
        Datum::Text(text) if text.contains("${") => {
            let datum = reference(text, env, used).map_err(|rule| {
                let problem = Problem::new(format!("{}{path} {rule}", places.prefix(&node.origin))).at(path);
                problem.hint("${NAME:default} for a default, $${ for the characters themselves")
            })?;
            node.datum = datum;
            Ok(())
        }
        Datum::List(items) => items
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, item)| resolve(item, &join(path, &index.to_string()), env, places, used)),
        Datum::Map(entries) => {
            entries.iter_mut().try_for_each(|(key, value)| resolve(value, &join(path, key), env, places, used))
        }
        _ => Ok(()),
    }
}

/// The value of a text with references. A text that is one reference is a number or boolean if it looks like one.
fn reference(text: &str, env: &BTreeMap<String, String>, used: &mut Map<String, Value>) -> Result<Datum, String> {
    let mut out = String::new();
    let mut rest = text;
    let alone = text.starts_with("${") && text.find('}') == Some(text.len() - 1);
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(kept) = before.strip_suffix('$') {
            out.push_str(kept);
            out.push_str("${");
            rest = &from[2..];
            continue;
        }
        out.push_str(before);
        let body = &from[2..];
        let line = &body[..body.find('\n').unwrap_or(body.len())];
        let Some(end) = line.find('}') else { return Err("has ${ without }".into()) };
        let (name, default) = match body[..end].split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (&body[..end], None),
        };
        let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if named {
            let value = env.get(name).map(String::as_str).or(default);
            let value = value.ok_or_else(|| format!("refers to the environment variable {name}, which is not set"))?;
            // A number stays as it is written: it may be a password with leading zeros.
            let known: Value = if let Datum::Bool(flag) = coerce(value) { flag.into() } else { value.into() };
            // Each reference may have its own default.
            if let Value::Array(values) = used.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                values.push(known);
            }
            out.push_str(value);
        } else {
            out.push_str(&from[..end + 3]);
        }
        rest = &body[end + 1..];
    }
    out.push_str(rest);
    Ok(if alone { coerce(&out) } else { Datum::Text(out) })
}

/// true, false, a whole number or a number, if the text is one.
pub(crate) fn coerce(text: &str) -> Datum {
    match text.to_ascii_lowercase().as_str() {
        "true" => return Datum::Bool(true),
        "false" => return Datum::Bool(false),
        _ => {}
    }
    if let Ok(n) = text.parse::<i64>() {
        return Datum::Int(n);
    }
    let number = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(n) if number => Datum::Float(n),
        _ => Datum::Text(text.to_owned()),
    }
}
