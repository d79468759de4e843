//! The given flags with their values.

use crate::choice::Choice;
use crate::error::Problem;
use crate::flags::{Flag, FlagType};
use crate::tokens::RawFlag;
use crate::tree::Node;
use crate::values;
use serde_json::Value;
use std::path::Path;

/// One given flag.
#[derive(Clone, Debug)]
pub(crate) struct GivenFlag {
    pub flag: &'static Flag,
    /// The spelling the user chose, for messages.
    pub spelled: String,
    pub value: Value,
}

impl GivenFlag {
    /// Its value for the first run: the first of a list of sweep values.
    pub(crate) fn base(&self) -> Value {
        match (&self.value, self.flag.kind) {
            (Value::Array(items), FlagType::IntOrList | FlagType::FloatOrList) => {
                items.first().cloned().unwrap_or_default()
            }
            (value, _) => value.clone(),
        }
    }

    /// The sweep values, if there is more than one or none.
    pub(crate) fn sweep(&self) -> Option<&[Value]> {
        match (&self.value, self.flag.kind) {
            (Value::Array(items), FlagType::IntOrList | FlagType::FloatOrList) => Some(items),
            _ => None,
        }
    }

    /// The value of the first run as a node.
    pub(crate) fn node(&self) -> Node {
        Node::flag(&self.base(), &self.spelled)
    }
}

/// Every given flag, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenFlags(pub Vec<GivenFlag>);

impl GivenFlags {
    /// Reads the value of each flag; every bad one is a problem.
    pub(crate) fn read(raw: &[RawFlag], cwd: &Path) -> Result<Self, Vec<Problem>> {
        let (mut read, mut problems) = (Vec::new(), Vec::new());
        for one in raw {
            match values::value(one, cwd) {
                Ok(Value::Null) => {}
                Ok(value) => read.push(GivenFlag { flag: one.flag, spelled: one.spelled.clone(), value }),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self(read)) } else { Err(problems) }
    }

    pub(crate) fn get(&self, flag: &Flag) -> Option<&GivenFlag> {
        self.0.iter().find(|given| given.flag == flag)
    }

    pub(crate) fn has(&self, flag: &Flag) -> bool {
        self.get(flag).is_some()
    }

    /// Whether a switch is on.
    pub(crate) fn on(&self, flag: &Flag) -> bool {
        self.get(flag).is_some_and(|given| given.value == Value::Bool(true))
    }

    pub(crate) fn text(&self, flag: &Flag) -> Option<&str> {
        self.get(flag).and_then(|given| given.value.as_str())
    }

    /// The choice that a flag names.
    pub(crate) fn choice<T: Choice>(&self, flag: &Flag) -> Option<T> {
        self.text(flag).and_then(T::exactly)
    }

    /// The number of the first run.
    pub(crate) fn number(&self, flag: &Flag) -> Option<f64> {
        let base = self.get(flag)?.base();
        base.as_f64().or_else(|| base.as_str().and_then(|text| text.parse().ok()))
    }

    /// The texts of a list flag.
    pub(crate) fn texts(&self, flag: &Flag) -> Vec<&str> {
        let items = self.get(flag).and_then(|given| given.value.as_array());
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The value of the first run as a node.
    pub(crate) fn node(&self, flag: &Flag) -> Option<Node> {
        self.get(flag).map(GivenFlag::node)
    }

    /// The user's spelling of a flag; its usual name if it was not given.
    pub(crate) fn spelled<'a>(&'a self, flag: &'a Flag) -> &'a str {
        self.get(flag).map_or(flag.name, |given| given.spelled.as_str())
    }

    /// The flags that meet a condition, as spelled.
    pub(crate) fn spellings(&self, meets: impl Fn(&GivenFlag) -> bool) -> Vec<&str> {
        self.0.iter().filter(|given| meets(given)).map(|given| given.spelled.as_str()).collect()
    }

    /// The given ones of some flags, as spelled.
    pub(crate) fn among(&self, flags: &[&Flag]) -> Vec<&str> {
        self.spellings(|given| flags.contains(&given.flag))
    }
}
