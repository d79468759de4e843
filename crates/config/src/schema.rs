//! The JSON schema of a configuration file, from the sections.

use crate::sections::dataset::Dataset;
use crate::sections::distribution::Distribution;
use crate::sections::envelope::Envelope;
use crate::sections::phases::Phase;
use crate::sections::ramps::Ramp;
use crate::setting::{Seconds, Setting};
use serde_json::{Map, Value, json};

/// The schema that editors and validators read. Shorthands are part of it; keys are in `snake_case`.
pub fn json_schema() -> Value {
    let mut schema = Envelope::schema();
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "aiperf configuration".into();
    let text_or = |schema: &Value| json!({"anyOf": [{"type": "string"}, schema]});
    let body = &mut schema["properties"]["benchmark"]["properties"];
    let models = body["models"].clone();
    let names = json!({"anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"anyOf": [{"type": "string"}, models["properties"]["items"]["items"]]}},
        models,
    ]});
    body["models"] = names.clone();
    body["model"] = names;
    let urls = json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]});
    for section in ["endpoint", "gpu_telemetry", "server_metrics"] {
        body[section]["properties"]["url"] = urls.clone();
        body[section]["properties"]["urls"] = urls.clone();
        body[section] = text_or(&body[section]);
    }
    let lengths = Dataset::schema()["properties"]["osl"].clone();
    body["datasets"]["items"]["properties"]["isl"] = lengths;
    body["dataset"] = body["datasets"]["items"].clone();
    body["phases"] = json!({"anyOf": [body["phases"], Phase::schema()]});
    for phase in ["warmup", "profiling"] {
        body[phase] = Phase::schema();
    }
    let shared = [
        ("length", Distribution::schema()),
        ("time", Seconds::schema()),
        ("ramp", Ramp::schema()),
        ("phase", Phase::schema()),
        ("dataset", body["dataset"].clone()),
    ];
    for (name, shape) in &shared {
        refer(&mut schema, shape, &format!("#/$defs/{name}"));
    }
    let mut definitions = Map::new();
    for (index, (name, shape)) in shared.iter().enumerate() {
        let mut shape = shape.clone();
        for (other, inner) in &shared[..index] {
            refer(&mut shape, inner, &format!("#/$defs/{other}"));
        }
        definitions.insert(name.to_string(), shape);
    }
    schema["$defs"] = definitions.into();
    allow_references(&mut schema);
    schema["$defs"]["reference"] = json!({"type": "string", "pattern": REFERENCE});
    schema
}

/// A text that becomes a value: a template, or a reference to the environment.
const REFERENCE: &str = r"\{\{|\{%|\$\{";

/// Allows such a text instead of a number, boolean or name.
fn allow_references(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(kind) =
                map.get("type").and_then(Value::as_str).filter(|kind| ["integer", "number", "boolean"].contains(kind))
            {
                let kinds = json!([kind, "string"]);
                map.insert("type".to_owned(), kinds);
                map.insert("pattern".to_owned(), REFERENCE.into());
            }
            if let Some(names) = map.remove("enum") {
                map.insert("anyOf".to_owned(), json!([{"enum": names}, {"$ref": "#/$defs/reference"}]));
            } else {
                map.values_mut().for_each(allow_references);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(allow_references),
        _ => {}
    }
}

/// Replaces every copy of a shape with a reference to it; its description and default stay.
fn refer(schema: &mut Value, shape: &Value, target: &str) {
    if same_shape(schema, shape) {
        let kept =
            ["description", "default"].into_iter().filter_map(|key| Some((key.to_owned(), schema.get(key)?.clone())));
        let mut map: Map<String, Value> = kept.collect();
        map.insert("$ref".to_owned(), target.into());
        *schema = map.into();
        return;
    }
    match schema {
        Value::Object(map) => map.values_mut().for_each(|child| refer(child, shape, target)),
        Value::Array(items) => items.iter_mut().for_each(|child| refer(child, shape, target)),
        _ => {}
    }
}

/// Whether two schemas allow the same values; descriptions and defaults may differ.
fn same_shape(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return false };
    let is_text = |key: &str| key == "description" || key == "default";
    let within = |one: &Map<String, Value>, other: &Map<String, Value>| {
        one.iter().all(|(key, value)| is_text(key) || other.get(key) == Some(value))
    };
    // Most schemas differ in their first key, so the long comparison is rare.
    one.keys().filter(|key| !is_text(key)).eq(other.keys().filter(|key| !is_text(key))) && within(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use crate::setting::join;

    fn leaves(schema: &Value, path: &str, out: &mut Vec<String>) {
        let alternatives: Vec<&Value> =
            schema["anyOf"].as_array().map_or_else(|| vec![schema], |list| list.iter().collect());
        let mut inner = false;
        for schema in alternatives {
            for (key, child) in schema["properties"].as_object().into_iter().flatten() {
                inner = true;
                leaves(child, &join(path, key), out);
            }
            if let Some(items) = schema.get("items").filter(|items| items.get("properties").is_some()) {
                inner = true;
                leaves(items, &join(path, "*"), out);
            }
        }
        if !inner {
            out.push(path.to_owned());
        }
    }

    #[test]
    fn every_setting_of_a_file_acts_or_has_a_reason() {
        let mut all = Vec::new();
        leaves(&Envelope::schema(), "", &mut all);
        let silent: Vec<&String> = all.iter().filter(|path| keys::status(path).is_none()).collect();
        assert!(silent.is_empty(), "no status: {silent:#?}");
        println!("{} settings", all.len());
    }
}
