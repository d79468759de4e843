//! A sweep to its runs.

use super::bounds::{Position, few_enough, position, reachable};
use super::design::Design;
use crate::choice::Choice;
use crate::error::Problem;
use crate::parse::sweep_path;
use crate::sections::sweep::{LabelFormat, Sweep, SweepType};
use crate::setting::{Reader, Setting};
use crate::tree::{Datum, Node, Origin, Places};
use serde_json::{Map, Value};

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variation {
    pub index: usize,
    pub label: String,
    pub dir_name: String,
    pub values: Map<String, Value>,
    /// Its changes to the benchmark.
    pub changes: Changes,
    /// Variables that it sets, by their path from the top of the file.
    pub variables: Vec<(String, Value)>,
}

/// The changes of a run to the benchmark.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Changes {
    /// Values by path, each with its origin.
    Paths(Vec<(String, Node)>),
    /// Settings that are laid over it.
    Over(Node),
}

/// The runs of a sweep over a benchmark, in order. The runs of a search are not known beforehand.
pub(crate) fn expand(envelope: &Node, places: &Places) -> Result<Vec<Variation>, Vec<Problem>> {
    let Some(sweep) = envelope.get("sweep") else { return Ok(Vec::new()) };
    match sweep.choice("type").unwrap_or(SweepType::DEFAULT) {
        SweepType::Grid => rows(sweep, envelope, false, places),
        SweepType::Zip => rows(sweep, envelope, true, places),
        SweepType::Scenarios => scenarios(sweep, envelope, places),
        SweepType::Sobol | SweepType::LatinHypercube => sampled(sweep, envelope, places),
        SweepType::AdaptiveSearch => Ok(Vec::new()),
    }
}

/// Points drawn evenly from a space of settings.
fn sampled(sweep: &Node, envelope: &Node, places: &Places) -> Result<Vec<Variation>, Vec<Problem>> {
    let mut reader = Reader::new(places);
    let Some(typed) = Sweep::read(sweep, "sweep", &mut reader) else { return Err(reader.problems) };
    let design = Design::of(&typed, envelope, sweep, places)?;
    let kind = design.kind.name();
    let mut out: Vec<Variation> = Vec::new();
    for (index, values) in design.points().into_iter().enumerate() {
        let number = format!("{kind}_{index:04}");
        let label = match typed.label_format() {
            LabelFormat::Index => number.clone(),
            LabelFormat::Kv => labelled(&values),
        };
        let mut variation = Variation::of_values(index, label, values, &sweep.origin);
        // The same whole number may be drawn twice.
        if out.iter().any(|other| other.dir_name == variation.dir_name) {
            variation.dir_name = number;
        }
        out.push(variation);
    }
    Ok(out)
}

/// The run of a sweep at a point that is not listed.
pub(crate) fn at_point(
    index: usize,
    values: &Map<String, Value>,
    envelope: &Node,
    places: &Places,
) -> Result<Variation, Problem> {
    let origin = envelope.get("sweep").map_or(Origin::Rule, |sweep| sweep.origin.clone());
    let place = places.prefix(&origin);
    let mut whole = Vec::new();
    for (path, value) in values {
        let path = sweep_path(path)
            .map_err(|why| Problem::new(format!("{place}a sweep cannot vary {path}: {why}")).at("sweep"))?;
        reachable(envelope, &path, &place)?;
        whole.push((path, value.clone()));
    }
    Ok(Variation::of_values(index, labelled(&whole), whole, &origin))
}

fn rows(sweep: &Node, envelope: &Node, zip: bool, places: &Places) -> Result<Vec<Variation>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut axes: Vec<(String, Vec<Value>, Origin)> = Vec::new();
    for (path, node) in sweep.get("parameters").map_or(&[][..], Node::entries) {
        let at = places.prefix(&node.origin);
        let whole = match sweep_path(path) {
            Ok(whole) => whole,
            Err(why) => {
                let what = format!("{at}a sweep cannot vary {path}: {why}");
                problems.push(
                    Problem::new(what).hint("a path such as phases.profiling.concurrency").at("sweep.parameters"),
                );
                continue;
            }
        };
        let values: Vec<Value> = match &node.datum {
            Datum::List(items) => items.iter().map(Node::to_json).collect(),
            _ => vec![node.to_json()],
        };
        if values.is_empty() {
            problems.push(
                Problem::new(format!("{at}a sweep over {path} has no value"))
                    .hint("at least one value")
                    .at("sweep.parameters"),
            );
        }
        if axes.iter().any(|(other, ..)| *other == whole) {
            problems.push(
                Problem::new(format!("{at}a sweep names {whole} twice"))
                    .because("once by its short name")
                    .at("sweep.parameters"),
            );
        }
        if let Err(problem) = reachable(envelope, &whole, &at) {
            problems.push(problem);
        }
        axes.push((whole, values, node.origin.clone()));
    }
    if axes.is_empty() && problems.is_empty() {
        problems.push(
            Problem::new(format!("{}a sweep has no parameters", places.prefix(&sweep.origin)))
                .hint("sweep: {parameters: {concurrency: [1, 2, 4]}}")
                .at("sweep.parameters"),
        );
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let magic = sweep.origin == Origin::Rule
        && matches!(sweep.get("parameters").map(|node| &node.origin), Some(Origin::Rule))
        && from_file(sweep);
    if !magic {
        axes.sort_by(|one, other| one.0.cmp(&other.0));
    }
    let count = if zip {
        axes[0].1.len()
    } else {
        axes.iter().fold(1usize, |count, (_, values, _)| count.saturating_mul(values.len()))
    };
    few_enough(count, sweep, places)?;
    Ok((0..count)
        .map(|index| {
            let mut rest = index;
            let mut values: Vec<(String, Value)> = Vec::new();
            let mut paths: Vec<(String, Node)> = Vec::new();
            for (path, list, origin) in axes.iter().rev() {
                let at = if zip { index } else { rest % list.len() };
                rest /= list.len();
                let value = list[at.min(list.len() - 1)].clone();
                if !path.starts_with("variables.") {
                    paths.push((path.clone(), Node::from_json(&value, origin)));
                }
                values.push((path.clone(), value));
            }
            values.reverse();
            paths.reverse();
            let label = labelled(&values);
            let map: Map<String, Value> = values.iter().cloned().collect();
            let variables = values.into_iter().filter(|(path, _)| path.starts_with("variables.")).collect();
            Variation {
                index,
                dir_name: dir_name(&map, &label, index),
                label,
                values: map,
                changes: Changes::Paths(paths),
                variables,
            }
        })
        .collect())
}

/// Values in words.
fn labelled(values: &[(String, Value)]) -> String {
    values.iter().map(|(path, value)| format!("{path}={}", shown(value))).collect::<Vec<_>>().join(", ")
}

/// Whether the lists stand in a file.
fn from_file(sweep: &Node) -> bool {
    sweep
        .get("parameters")
        .is_some_and(|node| node.entries().iter().any(|(_, value)| matches!(value.origin, Origin::File { .. })))
}

/// A phase that is written by its name, as an item of the list: the base already has a list.
fn phase(over: &mut Node, name: &str) -> Option<Node> {
    let mut given = over.take(name)?;
    let mut phase = Node::map(given.origin.clone());
    phase.put("name", Node::rule(name));
    if let Datum::Map(entries) = &mut given.datum {
        for (key, value) in entries.drain(..) {
            phase.put(&key, value);
        }
    }
    Some(phase)
}

fn scenarios(sweep: &Node, envelope: &Node, places: &Places) -> Result<Vec<Variation>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut out: Vec<Variation> = Vec::new();
    let runs = sweep.get("runs").map_or(&[][..], Node::items);
    if runs.is_empty() {
        problems.push(
            Problem::new(format!("{}a sweep of scenarios has no runs", places.prefix(&sweep.origin)))
                .hint("sweep: {type: scenarios, runs: [{name: a, benchmark: {...}}]}")
                .at("sweep.runs"),
        );
    }
    few_enough(runs.len(), sweep, places)?;
    let base = envelope.find("benchmark.datasets.0.name").and_then(Node::text).unwrap_or("main");
    for (index, run) in runs.iter().enumerate() {
        let at = format!("sweep.runs.{index}");
        let place = places.prefix(&run.origin);
        let label = run.get("name").and_then(Node::text).map_or_else(|| format!("scenario_{index}"), str::to_owned);
        let unsafe_name = label.contains(['/', '\\']) || label.contains("..") || label.chars().all(|c| c == '.');
        if unsafe_name {
            problems.push(
                Problem::new(format!("{place}the scenario name '{label}' cannot be a folder")).at(format!("{at}.name")),
            );
        }
        if out.iter().any(|other| other.label == label) {
            problems.push(Problem::new(format!("{place}two scenarios are named '{label}'")).at(format!("{at}.name")));
        }
        let mut over = run.get("benchmark").cloned().unwrap_or_else(|| Node::map(Origin::Rule));
        if let Some(mut dataset) = over.take("dataset") {
            let mut named = Node::map(dataset.origin.clone());
            named.put("name", Node::rule(base));
            if let Datum::Map(entries) = &mut dataset.datum {
                for (key, value) in entries.drain(..) {
                    named.put(&key, value);
                }
            }
            over.put("datasets", Node::rule(vec![named]));
        }
        let phases: Vec<Node> = ["warmup", "profiling"].iter().filter_map(|name| phase(&mut over, name)).collect();
        if !phases.is_empty() && over.get("phases").is_none() {
            over.put("phases", Node::rule(phases));
        }
        let variables: Vec<(String, Value)> = run
            .get("variables")
            .map_or(&[][..], Node::entries)
            .iter()
            .map(|(name, value)| (format!("variables.{name}"), value.to_json()))
            .collect();
        let mut own = Map::new();
        for (name, value) in run.get("values").map_or(&[][..], Node::entries) {
            if matches!(value.datum, Datum::List(_) | Datum::Map(_)) {
                problems.push(
                    Problem::new(format!("{place}{at}.values.{name} must be one value, not {}", value.kind()))
                        .at(format!("{at}.values")),
                );
            }
            own.insert(name.clone(), value.to_json());
        }
        if own.is_empty() {
            own.insert("benchmark".to_owned(), over.to_json());
            if !variables.is_empty() {
                own.insert("variables".to_owned(), run.get("variables").map(Node::to_json).unwrap_or_default());
            }
        }
        out.push(Variation {
            index,
            dir_name: dir_name(&own, &label, index),
            label,
            values: own,
            changes: Changes::Over(over),
            variables,
        });
    }
    if problems.is_empty() { Ok(out) } else { Err(problems) }
}

impl Variation {
    /// A run with these values, all with this origin.
    fn of_values(index: usize, label: String, values: Vec<(String, Value)>, origin: &Origin) -> Self {
        let is_variable = |path: &str| path.starts_with("variables.");
        let paths = values.iter().filter(|(path, _)| !is_variable(path));
        let paths = paths.map(|(path, value)| (path.clone(), Node::from_json(value, origin))).collect();
        let variables = values.iter().filter(|(path, _)| is_variable(path)).cloned().collect();
        let values: Map<String, Value> = values.into_iter().collect();
        let dir_name = dir_name(&values, &label, index);
        Self { index, label, dir_name, values, changes: Changes::Paths(paths), variables }
    }

    /// The benchmark of this run.
    pub(crate) fn apply(&self, benchmark: &Node) -> Node {
        let mut out = benchmark.clone();
        match &self.changes {
            Changes::Paths(values) => {
                for (path, value) in values {
                    set(&mut out, path, value);
                }
            }
            Changes::Over(over) => lay(&mut out, over.clone()),
        }
        out
    }
}

/// Sets a value. Where a flag's list was handed down to the warmup, the warmup follows its own run's value. It was
/// asked for, whatever stood there before: a default must not be taken for the value, nor the value for a default.
fn set(benchmark: &mut Node, path: &str, value: &Node) {
    let asked = |old: Option<&Node>| match old.map(|old| &old.origin) {
        None | Some(Origin::Rule) => value.origin.clone(),
        Some(origin) => origin.clone(),
    };
    let mut parts = path.splitn(3, '.');
    let (list, entry, rest) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if let (Some(entry), Some(Node { datum: Datum::List(items), .. })) = (entry, benchmark.get_mut(list)) {
        let Position::At(at) = position(items, entry, list == "phases") else { return };
        let key = rest.unwrap_or_default();
        let origin = asked(items[at].find(key));
        for (index, item) in items.iter_mut().enumerate() {
            let inherited =
                matches!(origin, Origin::Flag(_)) && item.find(key).is_some_and(|node| node.origin == origin);
            if index == at || inherited {
                item.place(key, Node::new(value.datum.clone(), origin.clone()));
            }
        }
        return;
    }
    let origin = asked(benchmark.find(path));
    benchmark.place(path, Node::new(value.datum.clone(), origin));
}

/// Keys that distinguish shapes of lengths: a length of another shape replaces, it does not merge.
const SHAPES: &[&str] = &["peaks", "points", "value", "median", "stddev"];

/// Lays settings over others: maps merge, named lists merge by name, everything else replaces.
fn lay(base: &mut Node, over: Node) {
    let Datum::Map(entries) = over.datum else {
        *base = over;
        return;
    };
    for (key, node) in entries {
        match base.get_mut(&key) {
            Some(old) if old.is_map() && node.is_map() => {
                let shape = |node: &Node| SHAPES.iter().filter(|key| node.get(key).is_some()).count();
                let same = SHAPES.iter().all(|key| old.get(key).is_some() == node.get(key).is_some());
                if shape(&node) > 0 && shape(old) > 0 && !same { *old = node } else { lay(old, node) }
            }
            Some(old) if named_list(old) && named_list(&node) => {
                let Datum::List(new) = node.datum else { continue };
                for item in new {
                    let name = item.get("name").and_then(Node::text).map(str::to_owned);
                    let Datum::List(olds) = &mut old.datum else { continue };
                    match olds.iter_mut().find(|other| other.get("name").and_then(Node::text) == name.as_deref()) {
                        Some(there) => lay(there, item),
                        None => olds.push(item),
                    }
                }
            }
            Some(old) => *old = node,
            None => base.put(&key, node),
        }
    }
}

fn named_list(node: &Node) -> bool {
    let items = node.items();
    !items.is_empty() && items.iter().all(|item| item.get("name").is_some())
}

/// The folder of a run.
pub(crate) fn dir_name(values: &Map<String, Value>, label: &str, index: usize) -> String {
    let nested = values.values().any(|value| value.is_array() || value.is_object());
    if values.is_empty() || nested {
        let clean = sanitized(label);
        let blank = clean.is_empty() || label.chars().all(|c| c == '.') || clean.chars().all(|c| c == '.');
        return if blank { format!("variation_{index}") } else { clean };
    }
    let last = |path: &'_ str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let parts = values.iter().map(|(path, value)| format!("{}_{}", last(path), shown(value)));
    sanitized(&parts.collect::<Vec<_>>().join("__"))
}

fn sanitized(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !"/\\<>:\"|?*".contains(*c) && !c.is_control()).collect();
    plain.replace("..", "")
}

/// A value in a label or folder name.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Null => "None".to_owned(),
        other => other.to_string(),
    }
}
