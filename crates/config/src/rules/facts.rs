//! What rules look at, and how they name it.

use crate::error::Problem;
use crate::tree::{Node, Origin, Places};
use std::path::Path;

/// What rules look at besides the settings themselves: the origin of each, and the files they name.
pub(crate) struct Facts<'a> {
    /// The benchmark before its types were read.
    pub node: &'a Node,
    pub places: &'a Places,
    pub cwd: &'a Path,
    /// Whether the environment sets a port for the live API.
    pub api_port: bool,
    /// Inline records above which a note advises a file.
    pub many_records: usize,
}

impl Facts<'_> {
    /// The beginning of a sentence about a setting.
    pub(super) fn subject(&self, path: &str) -> String {
        match self.node.find(path) {
            Some(node) => self.places.subject(node, &format!("benchmark.{path}")),
            None => format!("benchmark.{path}"),
        }
    }

    /// The position of a setting in a file: `file:line:column: `, or nothing.
    pub(super) fn place(&self, path: &str) -> String {
        self.node.find(path).map_or_else(String::new, |node| self.places.prefix(&node.origin))
    }

    /// The name of a setting inside a sentence, with its value if it has one.
    pub(super) fn mention(&self, path: &str) -> String {
        let key = path.rsplit('.').next().unwrap_or(path);
        self.node.find(path).map_or_else(|| key.to_owned(), |node| self.places.mention(node, key))
    }

    /// The name of a setting that is not set: the flag on a command line, the key in a file.
    pub(super) fn ask<'n>(&self, flag: &'n str, key: &'n str) -> &'n str {
        if self.places.file.is_some() { key } else { flag }
    }

    /// Whether a flag set it.
    pub(super) fn is_flag(&self, path: &str) -> bool {
        self.node.find(path).is_some_and(|node| matches!(node.origin, Origin::Flag(_)))
    }

    pub(super) fn problem(&self, path: &str, what: String) -> Problem {
        Problem::new(what).at(if path.is_empty() { "benchmark".to_owned() } else { format!("benchmark.{path}") })
    }
}
