//! Values as Python prints them: cells of the reference's tables contain its lists and mappings in this form.

use serde_json::Value;

/// As `str` gives it: a text stays as it is.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => repr(other),
    }
}

/// As `repr` gives it.
fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => format!("{float:?}"),
            _ => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, member)| format!("{}: {}", quoted(key), repr(member))).collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_look_as_in_python() {
        for (value, expected) in [
            (json!("it's"), "it's"),
            (json!(["run_0001", "it's"]), "['run_0001', \"it's\"]"),
            (json!({"a.b": 1, "c": [true, null, 1.0]}), "{'a.b': 1, 'c': [True, None, 1.0]}"),
            (json!(0.95), "0.95"),
        ] {
            assert_eq!(text(&value), expected);
        }
    }
}
