//! A whole file of golden data: what it is shows in its content.

use crate::{has, root};
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct GoldenFile {
    pub path: PathBuf,
    /// Its text; bytes that are none are replaced.
    pub text: String,
    /// What it holds, if that is one JSON value.
    pub json: Value,
}

impl GoldenFile {
    pub(crate) fn read(path: PathBuf) -> Self {
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Self { path, text, json }
    }

    /// Its path below the root, for messages.
    pub fn name(&self) -> String {
        self.path.strip_prefix(root()).unwrap_or(&self.path).display().to_string()
    }

    pub fn file_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension))
    }

    /// Whether some line of it is a JSON object with these members.
    pub fn has_line_with(&self, members: &[&str]) -> bool {
        let is_one = |line: Value| members.iter().all(|member| has(&line, member));
        self.text.lines().any(|line| serde_json::from_str(line).is_ok_and(is_one))
    }
}
