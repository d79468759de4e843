//! OTLP messages compared with bytes that the official definition wrote (`scripts/check-telemetry --record`).

use aiperf_report::otlp::messages::{
    AnyValue, Data, ExportMetricsServiceRequest, HistogramDataPoint, KeyValue, Number, NumberDataPoint, Value as Any,
};
use prost::Message;
use serde_json::{Value, json};

fn golden(path: &str) -> Vec<u8> {
    std::fs::read(aiperf_golden::own_path(path)).unwrap()
}

fn attributes(list: &[KeyValue]) -> Value {
    let value = |value: &Option<AnyValue>| match value.as_ref().unwrap().value.as_ref().unwrap() {
        Any::Text(text) => json!({ "stringValue": text }),
        Any::Bool(value) => json!({ "boolValue": value }),
        Any::Int(value) => json!({ "intValue": value.to_string() }),
        Any::Double(value) => json!({ "doubleValue": value }),
    };
    list.iter().map(|attribute| json!({ "key": attribute.key, "value": value(&attribute.value) })).collect()
}

fn number(point: &NumberDataPoint) -> Value {
    let Some(Number::Double(value)) = point.value else { panic!("{point:?}") };
    json!({
        "startTimeUnixNano": point.start_time_unix_nano.to_string(),
        "timeUnixNano": point.time_unix_nano.to_string(),
        "asDouble": value,
        "attributes": attributes(&point.attributes),
    })
}

fn histogram(point: &HistogramDataPoint) -> Value {
    let counts: Vec<String> = point.bucket_counts.iter().map(u64::to_string).collect();
    json!({
        "startTimeUnixNano": point.start_time_unix_nano.to_string(),
        "timeUnixNano": point.time_unix_nano.to_string(),
        "count": point.count.to_string(),
        "sum": point.sum,
        "bucketCounts": counts,
        "explicitBounds": point.explicit_bounds,
        "attributes": attributes(&point.attributes),
        "min": point.min,
        "max": point.max,
    })
}

#[test]
fn golden_bytes_of_the_official_definition_are_read_field_by_field_and_written_alike() {
    let bytes = golden("telemetry/otlp_capture.bin");
    let message = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
    let capture: Value = serde_json::from_slice(&golden("telemetry/otlp_capture.json")).unwrap();
    let theirs = &capture["last_request"]["resourceMetrics"][0];
    let ours = &message.resource_metrics[0];
    assert_eq!(attributes(&ours.resource.as_ref().unwrap().attributes), theirs["resource"]["attributes"]);
    assert_eq!(ours.scope_metrics[0].scope.as_ref().unwrap().name, "aiperf.records");
    let metrics = theirs["scopeMetrics"][0]["metrics"].as_array().unwrap();
    assert_eq!(ours.scope_metrics[0].metrics.len(), metrics.len());
    for (ours, theirs) in ours.scope_metrics[0].metrics.iter().zip(metrics) {
        assert_eq!(
            json!([ours.name, ours.description, ours.unit]),
            json!([theirs["name"], theirs["description"], theirs["unit"]])
        );
        let (points, data): (Vec<Value>, &Value) = match ours.data.as_ref().unwrap() {
            Data::Sum(sum) => {
                assert_eq!(sum.is_monotonic, theirs["sum"]["isMonotonic"].as_bool().unwrap_or(false), "{}", ours.name);
                (sum.data_points.iter().map(number).collect(), &theirs["sum"])
            }
            Data::Histogram(data) => (data.data_points.iter().map(histogram).collect(), &theirs["histogram"]),
        };
        assert_eq!(Value::from(points), data["dataPoints"], "{}", ours.name);
        assert_eq!(data["aggregationTemporality"], "AGGREGATION_TEMPORALITY_CUMULATIVE");
    }
    assert_eq!(message.encode_to_vec(), bytes);
}
