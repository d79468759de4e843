//! What a variable is.

use crate::range::Range;

/// One variable.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What holds when it is not set.
    pub default: &'static str,
    /// Whether it acts.
    pub status: Status,
    /// What it means.
    pub about: &'static str,
}

/// What a variable may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// true, false, 1, 0, yes, no, on, off, t, f, y, n.
    Bool,
    /// A whole number.
    Int(Range),
    /// A number.
    Float(Range),
    /// Any text.
    Text,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A JSON list, or texts separated by commas.
    List,
    /// A JSON object.
    Json,
}

/// Whether a variable acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what it says.
    Acts,
    /// It tunes processes, sockets or clusters that do not exist in this design.
    NoEffect,
    /// What it belongs to does not exist yet.
    NotYet,
}
