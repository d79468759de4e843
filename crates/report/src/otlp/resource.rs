//! The sender: the resource of all metrics.

use super::messages::{KeyValue, Resource};
use aiperf_plan::{OtlpPlan, Plan};

/// The reference's name of its part that sends.
const INSTANCE: &str = "records_manager";

/// The attributes of a run: those of the environment, the run's own, and the user's; later ones override earlier ones.
pub fn resource(plan: &Plan, otlp: &OtlpPlan, version: &str) -> Resource {
    let own =
        [("telemetry.sdk.language", "rust"), ("telemetry.sdk.name", "aiperf"), ("telemetry.sdk.version", version)];
    let run = [
        ("service.name", "aiperf"),
        ("service.instance.id", INSTANCE),
        ("aiperf.benchmark.id", plan.run.benchmark_id.as_str()),
        ("aiperf.endpoint.type", plan.endpoint.kind.name()),
        ("aiperf.model.name", plan.models.first().map_or("", String::as_str)),
    ];
    let given = |pairs: &'_ [(String, String)]| {
        pairs.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    let fixed = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let mut attributes: Vec<(String, String)> = Vec::new();
    for (key, value) in
        [fixed(&own), given(&otlp.usual_attributes), fixed(&run), given(&otlp.attributes)].into_iter().flatten()
    {
        match attributes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => attributes.push((key, value)),
        }
    }
    Resource { attributes: attributes.into_iter().map(|(key, value)| KeyValue::text(&key, value)).collect() }
}
