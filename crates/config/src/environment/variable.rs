//! The definition of a variable.

use crate::range::Range;

#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    /// Its valid values.
    pub kind: VariableType,
    /// Its value if it is not set.
    pub default: &'static str,
    pub status: Status,
    pub about: &'static str,
}

/// The valid values of a variable.
#[derive(Clone, Copy, Debug)]
pub enum VariableType {
    /// true, false, 1, 0, yes, no, on, off, t, f, y, n.
    Bool,
    Int(Range),
    Float(Range),
    Text,
    /// A text that is never shown.
    Secret,
    Choice(&'static [&'static str]),
    /// A JSON list, or texts separated by commas.
    List,
    Json,
}

/// Whether a variable acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has an effect.
    Acts,
    /// Its feature does not exist yet.
    NotYet,
    /// A switch that always has its default, for this reason.
    Always(&'static str),
}
