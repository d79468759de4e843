//! Values with their origin: what flags, the configuration file and rules make before types are read.

use crate::choice::Choice;
use crate::error::Problem;
use aiperf_plan::redact::{self, is_secret_name};
use serde_json::{Map, Value};

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub datum: Datum,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datum {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A rule filled it in.
    Rule,
    /// A flag, as it was spelled.
    Flag(String),
    /// The configuration file; for an entry of a map, the position of its key.
    File { line: usize, column: usize },
}

impl Node {
    pub(crate) fn new(datum: Datum, origin: Origin) -> Self {
        Self { datum, origin }
    }

    /// A value that a rule fills in.
    pub(crate) fn rule(value: impl Into<Datum>) -> Self {
        Self { datum: value.into(), origin: Origin::Rule }
    }

    pub(crate) fn map(origin: Origin) -> Self {
        Self { datum: Datum::Map(Vec::new()), origin }
    }

    /// The value of a flag.
    pub(crate) fn flag(value: &Value, spelled: &str) -> Self {
        Self::from_json(value, &Origin::Flag(spelled.to_owned()))
    }

    /// JSON with one origin throughout.
    pub(crate) fn from_json(value: &Value, origin: &Origin) -> Self {
        let datum = match value {
            Value::Null => Datum::Null,
            Value::Bool(on) => Datum::Bool(*on),
            Value::Number(n) => n.as_i64().map_or_else(|| Datum::Float(n.as_f64().unwrap_or(f64::NAN)), Datum::Int),
            Value::String(text) => Datum::Text(text.clone()),
            Value::Array(items) => Datum::List(items.iter().map(|item| Self::from_json(item, origin)).collect()),
            Value::Object(map) => {
                Datum::Map(map.iter().map(|(key, item)| (key.clone(), Self::from_json(item, origin))).collect())
            }
        };
        Self { datum, origin: origin.clone() }
    }

    /// The value as JSON; numbers that JSON does not have become texts.
    pub(crate) fn to_json(&self) -> Value {
        match &self.datum {
            Datum::Null => Value::Null,
            Datum::Bool(on) => Value::Bool(*on),
            Datum::Int(n) => (*n).into(),
            Datum::Float(n) => crate::scalars::number(*n),
            Datum::Text(text) => Value::String(text.clone()),
            Datum::List(items) => items.iter().map(Self::to_json).collect(),
            Datum::Map(entries) => Value::Object(entries.iter().map(|(k, v)| (k.clone(), v.to_json())).collect()),
        }
    }

    pub(crate) fn entries(&self) -> &[(String, Node)] {
        if let Datum::Map(entries) = &self.datum { entries } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Node] {
        if let Datum::List(items) = &self.datum { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Datum::Text(text) = &self.datum { Some(text) } else { None }
    }

    /// The choice that an entry of a map names.
    pub(crate) fn choice<T: Choice>(&self, key: &str) -> Option<T> {
        self.get(key).and_then(Self::text).and_then(T::parse)
    }

    pub(crate) fn as_f64(&self) -> Option<f64> {
        match self.datum {
            Datum::Int(n) => Some(n as f64),
            Datum::Float(n) => Some(n),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.datum, Datum::Map(_))
    }

    /// The entry of a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.datum {
            Datum::Map(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The entry of a map that is not null.
    pub(crate) fn set(&self, key: &str) -> Option<&Node> {
        self.get(key).filter(|node| node.datum != Datum::Null)
    }

    /// Puts an entry into a map and replaces one with the same key. A value that is no map becomes one.
    pub(crate) fn put(&mut self, key: &str, node: Node) {
        if !self.is_map() {
            self.datum = Datum::Map(Vec::new());
        }
        match self.get_mut(key) {
            Some(old) => *old = node,
            None => {
                if let Datum::Map(entries) = &mut self.datum {
                    entries.push((key.to_owned(), node));
                }
            }
        }
    }

    /// Puts an entry unless there is one.
    pub(crate) fn put_default(&mut self, key: &str, value: impl Into<Datum>) {
        if self.set(key).is_none() {
            self.put(key, Node::rule(value));
        }
    }

    /// Removes an entry from a map.
    pub(crate) fn take(&mut self, key: &str) -> Option<Node> {
        match &mut self.datum {
            Datum::Map(entries) => {
                let at = entries.iter().position(|(name, _)| name == key)?;
                Some(entries.remove(at).1)
            }
            _ => None,
        }
    }

    /// The entry of a map; an empty map is created if there is none.
    pub(crate) fn child(&mut self, key: &str) -> &mut Node {
        if self.get(key).is_none() {
            self.put(key, Node::map(Origin::Rule));
        }
        self.get_mut(key).expect("the entry was put there")
    }

    /// The node at a dotted path; list items by number or by their `name`.
    pub(crate) fn find(&self, path: &str) -> Option<&Node> {
        path.split('.').filter(|part| !part.is_empty()).try_fold(self, |node, part| match &node.datum {
            Datum::List(items) => match part.parse::<usize>() {
                Ok(index) => items.get(index),
                Err(_) => items.iter().find(|item| item.get("name").and_then(Node::text) == Some(part)),
            },
            _ => node.get(part),
        })
    }

    /// Puts a node at a dotted path below maps; missing maps are created.
    pub(crate) fn place(&mut self, path: &str, node: Node) {
        match path.split_once('.') {
            None => self.put(path, node),
            Some((first, rest)) => {
                let child = self.child(first);
                if !child.is_map() {
                    child.datum = Datum::Map(Vec::new());
                }
                child.place(rest, node);
            }
        }
    }

    /// The value for a message.
    pub(crate) fn shown(&self) -> String {
        match &self.datum {
            Datum::Text(text) if text.is_empty() => "''".to_owned(),
            Datum::Text(text) if text.contains("://") && text.contains('@') => redact::url(text),
            Datum::Text(text) if text.chars().any(char::is_control) => format!("'{}'", text.escape_debug()),
            Datum::Text(text) if text.chars().any(char::is_whitespace) => format!("'{text}'"),
            Datum::Text(text) => text.clone(),
            Datum::Float(n) if *n != 0.0 && !(1e-4..1e16).contains(&n.abs()) => format!("{n:e}"),
            Datum::Float(n) => format!("{n}"),
            Datum::List(_) | Datum::Map(_) => {
                let text = self.to_json().to_string();
                if text.chars().count() > 60 {
                    format!("{}...", text.chars().take(57).collect::<String>())
                } else {
                    text
                }
            }
            _ => self.to_json().to_string(),
        }
    }

    /// The type of the value, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.datum {
            Datum::Null => "nothing",
            Datum::Bool(_) => "a boolean",
            Datum::Int(_) => "a whole number",
            Datum::Float(_) => "a number",
            Datum::Text(_) => "text",
            Datum::List(_) => "a list",
            Datum::Map(_) => "a map",
        }
    }
}

impl From<bool> for Datum {
    fn from(on: bool) -> Self {
        Self::Bool(on)
    }
}

impl From<i64> for Datum {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<f64> for Datum {
    fn from(n: f64) -> Self {
        Self::Float(n)
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Choice> From<T> for Datum {
    fn from(choice: T) -> Self {
        Self::Text(choice.name().to_owned())
    }
}

impl From<Vec<Node>> for Datum {
    fn from(items: Vec<Node>) -> Self {
        Self::List(items)
    }
}

/// The location of a value in messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The configuration file, as the user named it.
    pub file: Option<String>,
}

impl Places {
    /// The beginning of a sentence about a value: the flag, or the location in the file and the key.
    pub(crate) fn subject(&self, node: &Node, path: &str) -> String {
        let value = value_after(node, path);
        match &node.origin {
            Origin::Flag(spelled) => format!("{spelled}{value}"),
            _ => format!("{}{path}{value}", self.prefix(&node.origin)),
        }
    }

    /// The same without the value.
    pub(crate) fn subject_key(&self, node: &Node, path: &str) -> String {
        match &node.origin {
            Origin::Flag(spelled) => spelled.clone(),
            _ => format!("{}{path}", self.prefix(&node.origin)),
        }
    }

    /// The name of a value inside a sentence.
    pub(crate) fn mention(&self, node: &Node, key: &str) -> String {
        let value = value_after(node, key);
        match &node.origin {
            Origin::Flag(spelled) => format!("{spelled}{value}"),
            _ => format!("{key}{value}"),
        }
    }

    /// `file:line:column: `, or nothing.
    pub(crate) fn prefix(&self, origin: &Origin) -> String {
        match (origin, &self.file) {
            (Origin::File { line, column }, Some(file)) => format!("{file}:{line}:{column}: "),
            _ => String::new(),
        }
    }

    /// A problem with one value.
    pub(crate) fn refuse(&self, node: &Node, path: &str, rule: impl AsRef<str>) -> Problem {
        Problem::new(format!("{} {}", self.subject(node, path), rule.as_ref())).at(path)
    }
}

/// Whether messages should name a setting without its value.
fn may_hold_secrets(path: &str) -> bool {
    path.split('.').any(|key| ["headers", "extra"].contains(&key) || is_secret_name(key))
}

/// A value after its flag or key in a message. Maps are too long, a switch is its flag, and a secret is not shown.
fn value_after(node: &Node, path: &str) -> String {
    match (&node.datum, &node.origin) {
        _ if may_hold_secrets(path) => String::new(),
        (Datum::Map(_), _) | (Datum::Bool(true), Origin::Flag(_)) => String::new(),
        (Datum::Bool(false), Origin::Flag(_)) => "=false".to_owned(),
        (Datum::List(items), Origin::Flag(_)) if items.iter().all(|item| !item.is_map()) => {
            format!(" {}", items.iter().map(Node::shown).collect::<Vec<_>>().join(","))
        }
        _ => format!(" {}", node.shown()),
    }
}

/// Lays one map over another: maps merge key by key, everything else is replaced.
pub(crate) fn merge(base: &mut Node, over: Node) {
    match over.datum {
        Datum::Map(entries) if base.is_map() => {
            for (key, node) in entries {
                match base.get_mut(&key) {
                    Some(old) if old.is_map() && node.is_map() => merge(old, node),
                    _ => base.put(&key, node),
                }
            }
        }
        _ => *base = over,
    }
}

/// A JSON object from pairs, without nulls.
pub(crate) fn object(pairs: impl IntoIterator<Item = (String, Option<Value>)>) -> Value {
    Value::Object(pairs.into_iter().filter_map(|(key, value)| Some((key, value?))).collect::<Map<_, _>>())
}
