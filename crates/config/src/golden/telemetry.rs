//! Settings for metrics that are sent elsewhere: URLs, streamed domains, attributes.

use crate::compose::observe::{attributes, otel_url, stream_domains};
use aiperf_golden::kinds::telemetry::OTLP_SETTING;
use serde_json::{Value, json};

#[test]
fn golden_settings_of_otlp() {
    OTLP_SETTING.run(
        |_| None,
        |case| {
            let items: Vec<&str> = case["input"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let ours: Option<Value> = match case["name"].as_str().unwrap_or_default() {
                "otel_url" => otel_url(case["input"].as_str().unwrap_or_default()).ok().map(Value::from),
                "otel_attrs" => attributes(&items).ok(),
                _ => stream_domains(&items).ok().map(|(metrics, timing)| json!([metrics, timing])),
            };
            assert_eq!(ours.as_ref(), case["expected"].get("ok"), "{case}");
        },
    );
}
