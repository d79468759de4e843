//! `--variant`.

use serde_json::{Map, Value};

/// `[name:]key=value,key=value`.
pub(crate) fn variant(text: &str) -> Result<(Option<String>, Map<String, Value>), String> {
    let (name, body) = match text.split_once(':') {
        Some((name, body)) if !name.contains('=') => (Some(name.trim()), body),
        _ => (None, text),
    };
    if name == Some("") {
        return Err("has an empty name before ':'".into());
    }
    let mut map = Map::new();
    for item in body.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let (key, value) = item.split_once('=').ok_or_else(|| format!("has '{item}', which is not key=value"))?;
        let key = key.trim();
        if key.is_empty() {
            return Err(format!("has an empty key in '{item}'"));
        }
        if map.insert(key.to_owned(), scalar(value.trim())).is_some() {
            return Err(format!("has '{key}' twice"));
        }
    }
    if map.is_empty() { Err("sets nothing".into()) } else { Ok((name.map(str::to_owned), map)) }
}

/// true, false, a number, a quoted text, or a text.
fn scalar(text: &str) -> Value {
    for quote in ['"', '\''] {
        if text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote) {
            return text[1..text.len() - 1].into();
        }
    }
    match text.to_ascii_lowercase().as_str() {
        "true" => return true.into(),
        "false" => return false.into(),
        _ => {}
    }
    if let Ok(n) = crate::scalars::int(text) {
        return n.into();
    }
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() => n.into(),
        _ => text.into(),
    }
}
