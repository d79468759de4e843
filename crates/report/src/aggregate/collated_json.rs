//! The requests of several runs as one population, as JSON.

use super::confidence_json::push_tally;
use super::pooled::{Collated, Combined, RunMean};
use crate::format::json::Pretty;

/// Version of the document's layout.
const SCHEMA_VERSION: &str = "1.0.0";

/// In the words of the reference.
const DESCRIPTION: &str = "Collated per-request metrics across all runs. Pools individual request-level values from \
                           every run into a single population and computes combined percentiles (p50, p90, p95, p99). \
                           Contrast with profile_export_aiperf_aggregate.json, which computes statistics over run-level \
                           summary values.";

/// The document.
pub fn collated_json(collated: &Collated) -> Vec<u8> {
    let mut json = Pretty::default();
    json.begin_object();
    json.text("schema_version", SCHEMA_VERSION);
    json.text("aiperf_version", &collated.version);
    json.text("description", DESCRIPTION);
    json.key("metadata");
    json.begin_object();
    json.text("aggregation_type", "detailed");
    push_tally(&mut json, &collated.tally);
    json.key("run_labels");
    json.begin_list();
    collated.tally.successful.iter().for_each(|label| json.str(label));
    json.end_list();
    json.number("cooldown_seconds", Some(collated.cooldown_seconds));
    json.end_object();
    json.key("metrics");
    json.begin_object();
    for (tag, pooled) in &collated.metrics {
        json.key(tag);
        json.begin_object();
        json.key("combined");
        push_combined(&mut json, &pooled.combined);
        json.key("per_run");
        json.begin_list();
        for RunMean { label, mean, count } in &pooled.per_run {
            json.begin_object();
            json.text("label", label);
            json.number("mean", Some(*mean));
            json.key("count");
            json.int(*count);
            json.end_object();
        }
        json.end_list();
        json.end_object();
    }
    json.end_object();
    json.end_object();
    json.finish()
}

fn push_combined(json: &mut Pretty, combined: &Combined) {
    let &Combined { mean, std, p50, p90, p95, p99, count } = combined;
    json.begin_object();
    for (key, value) in [("mean", mean), ("std", std), ("p50", p50), ("p90", p90), ("p95", p95), ("p99", p99)] {
        json.number(key, Some(value));
    }
    json.key("count");
    json.int(count);
    json.end_object();
}
