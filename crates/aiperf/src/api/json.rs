//! Parts of JSON that several views share.

use aiperf_types::Stats;
use serde_json::{Map, Value};

/// The same without members that are null.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, member)| !member.is_null());
            Value::Object(kept.map(|(name, member)| (name, without_nulls(member))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// The statistics that there are, by name.
fn stats(stats: &Stats) -> Map<String, Value> {
    let named = Stats::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), stats.get(name)?.into())));
    named.chain(stats.count.map(|count| ("count".to_owned(), count.into()))).collect()
}

/// A metric with its statistics.
pub(super) fn metric(tag: &str, header: &str, unit: &str, of: &Stats) -> Value {
    let named = [("tag", tag), ("header", header), ("unit", unit)];
    let named = named.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
    Value::Object(named.chain(stats(of)).collect())
}
