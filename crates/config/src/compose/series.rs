//! Files with rates over time.

use crate::error::Problem;
use crate::tree::{Datum, Node, Places};
use crate::{os_text, small_file};
use serde_json::Value;
use std::path::Path;

/// The points of a series file.
pub(crate) fn load(file: &str, cwd: &Path, subject: &str) -> Result<Value, Problem> {
    let fail = |rule: String| {
        Problem::new(format!("{subject} {file}: {rule}"))
            .hint("a JSON list of {\"time_s\": SECONDS, \"qps\": RATE}, at least two, later and later")
            .at("benchmark.phases.0.rate_series")
    };
    let text = small_file::text(&cwd.join(os_text::path(file)), small_file::SETTINGS).map_err(fail)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| fail(format!("is not JSON: {error}")))?;
    match &value {
        Value::Array(_) => Ok(value),
        Value::Object(map) if map.len() == 1 && map.contains_key("points") => Ok(value),
        _ => Err(fail("must be a list, or an object with the key points alone".into())),
    }
}

/// Replaces a path in a file's `rate_series` by its points.
pub(crate) fn resolve(phase: &mut Node, index: usize, cwd: &Path, places: &Places) -> Result<(), Problem> {
    let Some(series) = phase.get_mut("rate_series") else { return Ok(()) };
    let path = series.text().or_else(|| series.get("path").and_then(Node::text)).map(str::to_owned);
    let Some(path) = path else { return Ok(()) };
    let subject = places.subject_key(series, &format!("benchmark.phases.{index}.rate_series"));
    let points = load(&path, cwd, &subject)?;
    *series = Node::from_json(&points, &series.origin.clone());
    debug_assert!(!matches!(series.datum, Datum::Text(_)));
    Ok(())
}
