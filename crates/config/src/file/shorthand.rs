//! Expands shorter forms of a configuration.

use crate::choice::Choice;
use crate::error::Problem;
use crate::names::{FLAT, snake};
use crate::sections::dataset::{Dataset, DatasetType};
use crate::tree::{Datum, Node, Origin, Places};
use aiperf_types::EndpointKind;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Maps whose keys the user defines.
const OWN_KEYS: &[&str] = &[
    "headers",
    "extra",
    "slos",
    "variables",
    "tags",
    "parameters",
    "records",
    "content",
    "custom_resource_attributes",
    "filters",
    "values",
    "plot",
    "sla",
];

/// Turns `camelCase` keys into `snake_case`, except keys that the user defines.
pub(crate) fn snake_keys(node: &mut Node, key: &str) {
    match &mut node.datum {
        Datum::Map(entries) => {
            for (name, value) in entries {
                if !OWN_KEYS.contains(&key) && name.contains(|c: char| c.is_ascii_uppercase()) {
                    // A name that is no setting in either form is reported as the user wrote it.
                    let snaked = snake(name);
                    if settings().contains(&snaked) {
                        *name = snaked;
                    }
                }
                if !OWN_KEYS.contains(&key) {
                    snake_keys(value, name);
                }
            }
        }
        Datum::List(items) => items.iter_mut().for_each(|item| snake_keys(item, key)),
        _ => {}
    }
}

/// The names of all settings, at any place.
fn settings() -> &'static BTreeSet<String> {
    fn collect(schema: &Value, names: &mut BTreeSet<String>) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    if let ("properties" | "$defs", Value::Object(properties)) = (key.as_str(), value) {
                        names.extend(properties.keys().cloned());
                    }
                    collect(value, names);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
            _ => {}
        }
    }
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = BTreeSet::new();
        collect(&crate::schema::json_schema(), &mut names);
        names
    })
}

/// Moves settings at the top of a file under `benchmark`.
pub(super) fn nest(envelope: &mut Node, places: &Places, notes: &mut Vec<String>) {
    let flat: Vec<&str> = FLAT.iter().copied().filter(|key| envelope.get(key).is_some()).collect();
    if flat.is_empty() {
        return;
    }
    let file = places.file.as_deref().unwrap_or("the file");
    let verb = if flat.len() == 1 { "was" } else { "were" };
    notes.push(format!("{file}: {} at the top {verb} read as part of benchmark", flat.join(", ")));
    for key in flat {
        let Some(mut node) = envelope.take(key) else { continue };
        let benchmark = envelope.child("benchmark");
        if key == "dataset" {
            if benchmark.get("datasets").is_none() && benchmark.get("dataset").is_none() {
                node.put_default("name", "main");
                let origin = node.origin.clone();
                benchmark.put("datasets", Node::new(Datum::List(vec![node]), origin));
            }
        } else if benchmark.get(key).is_none() {
            benchmark.put(key, node);
        }
    }
}

/// Expands the shorthands of `benchmark`.
pub(crate) fn body(benchmark: &mut Node, places: &Places, problems: &mut Vec<Problem>) {
    if !benchmark.is_map() {
        problems.push(places.refuse(benchmark, "benchmark", "must be a map"));
        return;
    }
    let mut exclusive = |benchmark: &Node, one: &str, other: &str| {
        if let (Some(node), Some(_)) = (benchmark.get(one), benchmark.get(other)) {
            let what = format!("{}benchmark has both {one} and {other}", places.prefix(&node.origin));
            problems.push(
                Problem::new(what)
                    .because(format!("{one} is a shorter way to write {other}"))
                    .hint(format!("{one} or {other}"))
                    .at("benchmark"),
            );
        }
    };
    exclusive(benchmark, "model", "models");
    exclusive(benchmark, "dataset", "datasets");
    exclusive(benchmark, "warmup", "phases");
    exclusive(benchmark, "profiling", "phases");
    models(benchmark);
    endpoint(benchmark);
    datasets(benchmark);
    phases(benchmark, places, problems);
    for key in ["gpu_telemetry", "server_metrics"] {
        if let Some(node) = benchmark.get_mut(key) {
            urls(node);
        }
    }
}

fn models(benchmark: &mut Node) {
    if let Some(model) = benchmark.take("model") {
        benchmark.put("models", model);
    }
    let Some(models) = benchmark.get_mut("models") else { return };
    let origin = models.origin.clone();
    let named = |node: &Node| match &node.datum {
        Datum::Map(_) => node.clone(),
        _ => {
            let mut map = Node::map(node.origin.clone());
            map.put("name", node.clone());
            map
        }
    };
    let items = match &models.datum {
        Datum::List(items) => items.iter().map(named).collect(),
        Datum::Map(_) if models.get("items").is_some() => {
            if let Some(Node { datum: Datum::List(items), .. }) = models.get_mut("items") {
                items.iter_mut().for_each(|item| *item = named(item));
            }
            return;
        }
        Datum::Map(_) if models.get("name").is_none() => return,
        _ => vec![named(models)],
    };
    let mut map = Node::map(origin.clone());
    map.put("items", Node::new(Datum::List(items), origin));
    *models = map;
}

fn endpoint(benchmark: &mut Node) {
    let Some(endpoint) = benchmark.get_mut("endpoint") else { return };
    if let Datum::Text(_) = endpoint.datum {
        let url = endpoint.clone();
        *endpoint = Node::map(url.origin.clone());
        endpoint.put("url", url);
    }
    urls(endpoint);
    if endpoint.get("template").is_some() && endpoint.get("type").is_none() {
        endpoint.put("type", Node::rule(EndpointKind::Template));
    }
    if let Some(template) = endpoint.get_mut("template")
        && let Datum::Text(_) = template.datum
    {
        let text = template.clone();
        *template = Node::map(text.origin.clone());
        template.put("body", text);
    }
}

/// `url` for a list of one; a bare text is a URL.
fn urls(node: &mut Node) {
    if let Datum::Text(_) = node.datum {
        let url = node.clone();
        *node = Node::map(url.origin.clone());
        node.put("url", url);
    }
    if let Some(url) = node.take("url")
        && node.get("urls").is_none()
    {
        let origin = url.origin.clone();
        let list = if let Datum::List(items) = url.datum { items } else { vec![url] };
        node.put("urls", Node::new(Datum::List(list), origin));
    }
    if let Some(urls) = node.get_mut("urls")
        && let Datum::Text(_) = urls.datum
    {
        let origin = urls.origin.clone();
        *urls = Node::new(Datum::List(vec![urls.clone()]), origin);
    }
}

fn datasets(benchmark: &mut Node) {
    if let Some(mut dataset) = benchmark.take("dataset") {
        if dataset.is_map() {
            dataset.put_default("name", "default");
        }
        let origin = dataset.origin.clone();
        benchmark.put("datasets", Node::new(Datum::List(vec![dataset]), origin));
    }
    let Some(Node { datum: Datum::List(items), .. }) = benchmark.get_mut("datasets") else { return };
    for dataset in items.iter_mut().filter(|dataset| dataset.is_map()) {
        let synthetic = match dataset.get("type") {
            None => {
                let usual = Dataset::default().r#type();
                dataset.put("type", Node::rule(usual));
                usual == DatasetType::Synthetic
            }
            Some(kind) => kind.text().and_then(DatasetType::parse) == Some(DatasetType::Synthetic),
        };
        if synthetic {
            for key in ["isl", "osl"] {
                if let Some(length) = dataset.take(key) {
                    dataset.place(&format!("prompts.{key}"), length);
                }
            }
        }
    }
}

fn phases(benchmark: &mut Node, places: &Places, problems: &mut Vec<Problem>) {
    if let Some(phases) = benchmark.get_mut("phases")
        && phases.is_map()
    {
        let origin = phases.origin.clone();
        let mut phase = phases.clone();
        phase.put_default("name", "profiling");
        *phases = Node::new(Datum::List(vec![phase]), origin);
    }
    let (warmup, profiling) = (benchmark.take("warmup"), benchmark.take("profiling"));
    if let (Some(warmup), None) = (&warmup, &profiling)
        && benchmark.get("phases").is_none()
    {
        let what = format!("{}benchmark has a warmup and no profiling", places.prefix(&warmup.origin));
        problems.push(
            Problem::new(what)
                .because("nothing would be reported")
                .hint("profiling: {type: concurrency, concurrency: 1, requests: 10}")
                .at("benchmark.phases"),
        );
        return;
    }
    let named = |phase: Option<Node>, name: &str| {
        phase.map(|mut phase| {
            if phase.is_map() {
                phase.put("name", Node::rule(name));
            }
            phase
        })
    };
    let list: Vec<Node> = named(warmup, "warmup").into_iter().chain(named(profiling, "profiling")).collect();
    if let Some(first) = list.first() {
        let origin = first.origin.clone();
        if benchmark.get("phases").is_none() {
            benchmark.put("phases", Node::new(Datum::List(list), origin));
        }
    }
    debug_assert!(!matches!(benchmark.origin, Origin::Flag(_)));
}
