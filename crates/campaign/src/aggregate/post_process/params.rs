//! The parameters of a handler, as the sweep gives them.

use super::super::sweep::leaf;
use aiperf_types::SlaFilter;
use serde_json::{Map, Value};

/// Statistics that a handler accepts.
const STATS: [&str; 5] = ["avg", "p50", "p90", "p95", "p99"];

pub(super) struct Params<'a> {
    pub(super) handler: &'static str,
    pub(super) given: &'a Map<String, Value>,
}

impl<'a> Params<'a> {
    pub(super) fn text(&self, key: &str) -> Result<&'a str, String> {
        self.given
            .get(key)
            .and_then(Value::as_str)
            .ok_or_else(|| self.fault(&format!("params['{key}'] must be a text")))
    }

    /// A text, or the default if there is none.
    pub(super) fn text_or(&self, key: &str, default: &'a str) -> Result<&'a str, String> {
        if self.given.contains_key(key) { self.text(key) } else { Ok(default) }
    }

    /// The name of a statistic.
    pub(super) fn stat(&self, key: &str) -> Result<&'a str, String> {
        let stat = self.text(key)?;
        if STATS.contains(&stat) {
            return Ok(stat);
        }
        let known: Vec<String> = STATS.iter().map(|stat| format!("'{stat}'")).collect();
        let known = known.join(", ");
        Err(self.fault(&format!("params['{key}']='{stat}' is not a recognized statistic; expected one of ({known}).")))
    }

    pub(super) fn number(&self, key: &str) -> Result<f64, String> {
        let number = self.given.get(key).and_then(Value::as_f64);
        number.ok_or_else(|| self.fault(&format!("params['{key}'] must be a number")))
    }

    pub(super) fn filters(&self, key: &str) -> Result<Vec<SlaFilter>, String> {
        let given = self.given.get(key).cloned().unwrap_or_default();
        serde_json::from_value(given)
            .map_err(|error| self.fault(&format!("params['{key}'] are no SLA filters: {error}")))
    }

    pub(super) fn fault(&self, what: &str) -> String {
        format!("{}: {what}", self.handler)
    }

    /// The last part of a path: its name in the document.
    pub(super) fn leaf(path: &str) -> &str {
        leaf(path)
    }
}
