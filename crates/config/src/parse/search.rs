//! `--search-space`, `--search-sla`, `--search-sla-tier` and `--isl-osl-pairs`.

use crate::choice::Choice;
use crate::sections::scale::{Comparison, Stat};
use crate::sections::sweep::DimensionKind;
use crate::values::empty_item;
use serde_json::{Value, json};

/// Settings of the profiling phase that may be named without their path.
pub(crate) const ALIASES: &[&str] = &[
    "concurrency",
    "prefill_concurrency",
    "rate",
    "requests",
    "duration",
    "sessions",
    "users",
    "smoothness",
    "grace_period",
    "concurrency_ramp",
    "prefill_ramp",
    "rate_ramp",
    "rate_series",
];

/// The whole path of a swept setting.
pub(crate) fn sweep_path(path: &str) -> Result<String, String> {
    if ALIASES.contains(&path) {
        return Ok(format!("phases.profiling.{path}"));
    }
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err("it is not a path of settings".to_owned());
    }
    match path.split('.').next().unwrap_or_default() {
        "benchmark" => Err("paths begin below benchmark".to_owned()),
        "sweep" | "multi_run" | "random_seed" => Err("it is not a setting of the benchmark".to_owned()),
        _ => Ok(path.to_owned()),
    }
}

/// `path:lo,hi[:int|real]`.
pub(crate) fn search_dimension(text: &str) -> Result<Value, String> {
    const FORM: &str = "is not PATH:LO,HI[:int|real]";
    let mut parts = text.split(':');
    let (Some(path), Some(bounds), kind, None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(FORM.into());
    };
    let kind = kind.map_or("real", str::trim);
    if DimensionKind::exactly(kind).is_none() {
        return Err(format!("has kind '{kind}', which is neither int nor real"));
    }
    let path = path.trim();
    let path = sweep_path(path).map_err(|why| format!("cannot vary '{path}': {why}"))?;
    let (lo, hi) = bounds.split_once(',').ok_or(FORM)?;
    let bound =
        |text: &str| text.trim().parse::<f64>().map_err(|_| format!("has the bound '{text}', which is not a number"));
    let (lo, hi) = (bound(lo)?, bound(hi)?);
    if !lo.is_finite() || !hi.is_finite() {
        return Err("has an infinite bound".into());
    }
    if hi <= lo {
        return Err(format!("ends at {hi}, which is not above its start {lo}"));
    }
    Ok(json!({"path": path, "lo": lo, "hi": hi, "kind": kind, "prior": "uniform"}))
}

/// `metric:stat:op:threshold`.
pub(crate) fn sla_filter(text: &str) -> Result<Value, String> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let [metric, stat, op, threshold] = parts[..] else {
        return Err("is not METRIC:STAT:OP:THRESHOLD".into());
    };
    if metric.is_empty() {
        return Err("names no metric".into());
    }
    if !Stat::NAMES.contains(&stat) {
        return Err(format!("has the statistic '{stat}', not one of {}", Stat::NAMES.join(", ")));
    }
    if !Comparison::NAMES.contains(&op) {
        return Err(format!("has the comparison '{op}', not one of {}", Comparison::NAMES.join(", ")));
    }
    match threshold.parse::<f64>() {
        Ok(n) if n.is_finite() => Ok(json!({"metric_tag": metric, "stat": stat, "op": op, "threshold": n})),
        _ => Err(format!("has the threshold '{threshold}', which is not a finite number")),
    }
}

/// `[label:]filter[,filter...]`; without a label the tier is numbered.
pub(crate) fn sla_tier(text: &str, number: usize) -> Result<Value, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".into());
    }
    let first = text.split(',').next().unwrap_or_default();
    let (label, filters) = if first.matches(':').count() == 3 {
        (format!("tier_{number}"), text)
    } else {
        let (label, rest) = text.split_once(':').ok_or("is not [LABEL:]METRIC:STAT:OP:THRESHOLD[,...]")?;
        (label.trim().to_owned(), rest)
    };
    if label.is_empty() {
        return Err("has an empty label".into());
    }
    if filters.trim().is_empty() {
        return Err(format!("has no objective in tier '{label}'"));
    }
    no_empty_item(filters)?;
    let filters: Vec<&str> = filters.split(',').map(str::trim).collect();
    let read = |filter: &&str| sla_filter(filter).map_err(|rule| format!("has '{filter}', which {rule}"));
    let filters = filters.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"label": label, "filters": filters}))
}

/// `isl/osl` pairs, each once.
pub(crate) fn isl_osl_pairs(text: &str) -> Result<Vec<(i64, i64)>, String> {
    if text.trim().is_empty() {
        return Err("has no pair".into());
    }
    no_empty_item(text)?;
    let mut pairs = Vec::new();
    for item in text.split(',').map(str::trim) {
        let form = || format!("has '{item}', which is not ISL/OSL");
        let (isl, osl) = item.split_once('/').ok_or_else(form)?;
        let side = |text: &str| text.trim().parse::<i64>().ok().filter(|n| *n >= 1);
        let pair = match (side(isl), side(osl)) {
            (Some(isl), Some(osl)) => (isl, osl),
            _ if osl.contains('/') => return Err(form()),
            _ => return Err(format!("has '{item}'; both sides must be whole numbers of at least 1")),
        };
        if pairs.contains(&pair) {
            return Err(format!("has '{item}' twice"));
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Refuses an empty item between commas.
fn no_empty_item(text: &str) -> Result<(), String> {
    match empty_item(text) {
        Some((at, count)) => Err(format!("has an empty item: number {at} of {count}")),
        None => Ok(()),
    }
}
