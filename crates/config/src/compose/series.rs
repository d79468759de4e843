//! Files with rates over time.

use crate::error::Problem;
use crate::tree::{Datum, Node, Places};
use crate::{os_text, small_file};
use serde_json::Value;
use std::path::Path;

/// The points of a series file, each checked. A problem names the position in the file.
pub(crate) fn load(file: &str, cwd: &Path, subject: &str) -> Result<Value, Problem> {
    let fail = |rule: String| {
        Problem::new(format!("{subject} {file}: {rule}"))
            .hint("a JSON list of at least two {\"time_s\": SECONDS, \"qps\": RATE}, in order of time")
            .at("benchmark.phases.0.rate_series")
    };
    let text = small_file::text(&cwd.join(os_text::path(file)), small_file::SETTINGS).map_err(fail)?;
    if text.trim().is_empty() {
        return Err(fail("is empty".into()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let value: Value = serde_json::from_str(text).map_err(|error| fail(format!("is not JSON: {error}")))?;
    let points = match &value {
        Value::Array(points) => points,
        Value::Object(map) if map.len() == 1 => map
            .get("points")
            .and_then(Value::as_array)
            .ok_or_else(|| fail("must be a list, or an object with the key points alone".into()))?,
        _ => return Err(fail("must be a list, or an object with the key points alone".into())),
    };
    let mut before = None;
    for (index, value) in points.iter().enumerate() {
        let time = point(value).map_err(|rule| fail(format!("point {index} {rule}")))?;
        if let Some(before) = before.filter(|before| time <= *before) {
            return Err(fail(format!("point {index} has time_s {time} after {before}")));
        }
        before = Some(time);
    }
    if points.len() < 2 {
        let count = if points.is_empty() { "no point" } else { "one point" };
        return Err(fail(format!("has {count}"))
            .because("a series describes how the rate changes and needs at least two points"));
    }
    Ok(value)
}

/// The time of a point, or what is wrong with it.
fn point(value: &Value) -> Result<f64, String> {
    let Value::Object(map) = value else { return Err("is not an object".into()) };
    if let Some(key) = map.keys().find(|key| !["time_s", "qps"].contains(&key.as_str())) {
        return Err(format!("has an unknown key '{}'", key.escape_debug()));
    }
    let number = |key: &str| {
        let value = map.get(key).ok_or_else(|| format!("has no {key}"))?;
        let text = value.as_str().and_then(|text| crate::scalars::float(text).ok());
        let number = value.as_f64().or(text).filter(|number| number.is_finite());
        number.ok_or_else(|| format!("has {key} {value}, which is not a finite number"))
    };
    let (time, rate) = (number("time_s")?, number("qps")?);
    if time < 0.0 {
        return Err(format!("has time_s {time}, which must be at least 0"));
    }
    if rate <= 0.0 {
        return Err(format!("has qps {rate}, which must be more than 0"));
    }
    Ok(time)
}

/// Replaces a path in a file's `rate_series` by its points.
pub(crate) fn resolve(phase: &mut Node, index: usize, cwd: &Path, places: &Places) -> Result<(), Problem> {
    let Some(series) = phase.get_mut("rate_series") else { return Ok(()) };
    let path = series.text().or_else(|| series.get("path").and_then(Node::text)).map(str::to_owned);
    let Some(path) = path else { return Ok(()) };
    let at = format!("benchmark.phases.{index}.rate_series");
    let subject = places.subject_key(series, &at);
    if series.set("points").is_some() {
        let what = format!("{subject} has both path and points, which exclude each other");
        return Err(Problem::new(what).because("each defines the rates").hint("leave path or points out").at(at));
    }
    let points = load(&path, cwd, &subject)?;
    *series = Node::from_json(&points, &series.origin.clone());
    debug_assert!(!matches!(series.datum, Datum::Text(_)));
    Ok(())
}
