//! The flags that were given, with their values.

use crate::error::Problem;
use crate::flags::{Flag, Kind};
use crate::tokens::Given;
use crate::tree::Node;
use crate::values;
use serde_json::Value;
use std::path::Path;

/// One flag that was given.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub flag: &'static Flag,
    /// The spelling the user chose, for messages.
    pub spelled: String,
    pub value: Value,
}

impl Said {
    /// Its value for the first run: the first of a list to sweep over.
    pub(crate) fn base(&self) -> Value {
        match (&self.value, self.flag.kind) {
            (Value::Array(items), Kind::IntOrList(_) | Kind::FloatOrList(_)) => {
                items.first().cloned().unwrap_or_default()
            }
            (value, _) => value.clone(),
        }
    }

    /// The values to sweep over, when there is more than one or none.
    pub(crate) fn sweep(&self) -> Option<&[Value]> {
        match (&self.value, self.flag.kind) {
            (Value::Array(items), Kind::IntOrList(_) | Kind::FloatOrList(_)) => Some(items),
            _ => None,
        }
    }

    /// The value of the first run as a node.
    pub(crate) fn node(&self) -> Node {
        Node::flag(&self.base(), &self.spelled)
    }
}

/// Every flag that was given, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags(pub Vec<Said>);

impl Flags {
    /// Reads the value of each flag; every bad one is a problem.
    pub(crate) fn read(given: &[Given], cwd: &Path) -> Result<Self, Vec<Problem>> {
        let (mut said, mut problems) = (Vec::new(), Vec::new());
        for one in given {
            match values::value(one, cwd) {
                Ok(Value::Null) => {}
                Ok(value) => said.push(Said { flag: one.flag, spelled: one.spelled.clone(), value }),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self(said)) } else { Err(problems) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Said> {
        self.0.iter().find(|said| said.flag.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether a switch is on.
    pub(crate) fn on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|said| said.value == Value::Bool(true))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|said| said.value.as_str())
    }

    /// The number of the first run.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let base = self.get(name)?.base();
        base.as_f64().or_else(|| base.as_str().and_then(|text| text.parse().ok()))
    }

    /// The texts of a list flag.
    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        let items = self.get(name).and_then(|said| said.value.as_array());
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The value of the first run as a node.
    pub(crate) fn node(&self, name: &str) -> Option<Node> {
        self.get(name).map(Said::node)
    }

    /// How the user spelled a flag; its usual name when it was not given.
    pub(crate) fn spelled<'a>(&'a self, name: &'a str) -> &'a str {
        self.get(name).map_or(name, |said| said.spelled.as_str())
    }

    /// Those of some flags that were given, as spelled.
    pub(crate) fn among(&self, names: &[&str]) -> Vec<&str> {
        self.0.iter().filter(|said| names.contains(&said.flag.name)).map(|said| said.spelled.as_str()).collect()
    }
}
