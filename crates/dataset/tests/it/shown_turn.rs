//! Turns as golden data show them.

use serde_json::{Map, Value, json};

/// A turn with the members that the reference shows.
pub(crate) fn shown_turn(turn: &Value) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in turn.as_object().unwrap() {
        let name = name.strip_suffix("_ms").unwrap_or(name);
        let is_empty =
            value.is_null() || value == false || value.as_array().is_some_and(Vec::is_empty) || name == "extra_headers";
        if !is_empty {
            out.insert(name.to_owned(), value.as_f64().map_or_else(|| value.clone(), Value::from));
        }
    }
    // The reference fills in the model; here a turn without one uses that of the plan.
    out.entry("model").or_insert(json!("m"));
    out
}
