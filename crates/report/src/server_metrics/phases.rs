//! Server metrics by endpoint: of one phase, beside its summary (keys sorted, a line break at the end), and of all
//! phases for the live API.

use super::json::{push_info, push_series, push_urls};
use super::unique_names::UniqueNames;
use crate::format::json::Pretty;
use crate::run::{PhaseResult, RunResult, ServerMetricsResult, observed_phase};
use aiperf_observe::{EndpointInfo, Metric, PhaseMetrics, ScrapeError};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Name of the file in the folder of a phase.
pub(crate) const FILE: &str = aiperf_plan::FileNames::PHASE_SERVER_METRICS;
/// Version of the document's layout.
const SCHEMA_VERSION: u32 = 1;

/// Writes the document of a phase; without data if nothing was fetched in the phase.
pub(crate) fn write_phase_metrics(
    out: &mut impl Write,
    run: &RunResult,
    phase: &PhaseResult,
    observed: &ServerMetricsResult,
) -> io::Result<()> {
    let seen = observed.metrics.phases.iter().find(|seen| seen.phase.index == phase.id.index);
    let mut json = Pretty::default();
    json.begin_object();
    json.key("data");
    match seen {
        Some(seen) => write_data(out, &mut json, run, seen, observed)?,
        None => json.value(&Value::Null),
    }
    json.key("phase");
    json.value(&sorted(observed_phase(phase)));
    json.key("schema_version");
    json.int(SCHEMA_VERSION);
    json.key("warnings");
    json.value(&json!([]));
    json.end_object();
    out.write_all(&json.finish())?;
    out.write_all(b"\n")
}

fn write_data(
    out: &mut impl Write,
    json: &mut Pretty,
    run: &RunResult,
    seen: &PhaseMetrics,
    observed: &ServerMetricsResult,
) -> io::Result<()> {
    json.begin_object();
    json.key("benchmark_id");
    json.str(&run.info.benchmark_id);
    json.key("end_ns");
    json.int(seen.scraped.end.0);
    json.key("endpoint_summaries");
    write_endpoints(out, json, &seen.endpoints, &seen.metrics, observed)?;
    push_urls(json, "endpoints_configured", &observed.metrics.configured);
    push_urls(json, "endpoints_successful", &observed.metrics.successful);
    json.key("error_summary");
    json.value(&observed.metrics.errors.iter().map(error).collect());
    json.key("phase");
    json.str(seen.phase.kind.name());
    json.key("phase_index");
    json.int(seen.phase.index);
    json.key("phase_kind");
    json.str(seen.phase.kind.name());
    json.key("phase_name");
    json.str(&seen.phase.name);
    json.key("phase_results");
    json.value(&json!([]));
    if let Some(index) = seen.phase.profiling_index {
        json.key("profiling_index");
        json.int(index);
    }
    json.key("start_ns");
    json.int(seen.scraped.start.0);
    json.end_object();
    Ok(())
}

/// Each endpoint by its name in tables, over all profiling phases.
pub fn endpoint_summaries(observed: &ServerMetricsResult) -> io::Result<Value> {
    let (mut out, mut json) = (Vec::new(), Pretty::compact());
    write_endpoints(&mut out, &mut json, &observed.metrics.endpoints, &observed.metrics.metrics, observed)?;
    out.extend(json.finish());
    Ok(serde_json::from_slice(&out)?)
}

fn write_endpoints(
    out: &mut impl Write,
    json: &mut Pretty,
    endpoints: &[EndpointInfo],
    metrics: &[Metric],
    observed: &ServerMetricsResult,
) -> io::Result<()> {
    let mut endpoints: Vec<&EndpointInfo> = endpoints.iter().collect();
    endpoints.sort_by_key(|endpoint| observed.display_name(&endpoint.url));
    json.begin_object();
    for endpoint in endpoints {
        json.key(observed.display_name(&endpoint.url));
        write_endpoint(out, json, endpoint, metrics)?;
    }
    json.end_object();
    Ok(())
}

fn write_endpoint(
    out: &mut impl Write,
    json: &mut Pretty,
    endpoint: &EndpointInfo,
    metrics: &[Metric],
) -> io::Result<()> {
    json.begin_object();
    json.key("endpoint_url");
    json.str(&endpoint.url);
    json.key("info");
    push_sorted(json, |info| push_info(info, endpoint));
    json.key("metrics");
    json.begin_object();
    let mut names = UniqueNames::default();
    for metric in metrics {
        let mut own = metric.series.iter().filter(|series| series.endpoint_url == endpoint.url).peekable();
        if own.peek().is_none() {
            continue;
        }
        json.key(&names.name(&metric.name, metric.kind));
        json.begin_object();
        json.key("description");
        json.str(&metric.description);
        json.key("series");
        json.begin_list();
        for series in own {
            push_sorted(json, |text| {
                text.begin_object();
                push_series(text, series);
                text.end_object();
            });
            out.write_all(&json.take())?;
        }
        json.end_list();
        json.key("type");
        json.str(metric.kind.name());
        json.end_object();
    }
    json.end_object();
    json.end_object();
    Ok(())
}

fn error(error: &ScrapeError) -> Value {
    let details = json!({ "endpoint_url": &*error.endpoint_url, "message": error.message, "type": error.kind });
    sorted(json!({ "count": error.count, "error_details": details }))
}

fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Sorts the members that another file writes in its own order.
fn push_sorted(json: &mut Pretty, push: impl FnOnce(&mut Pretty)) {
    let mut text = Pretty::default();
    push(&mut text);
    json.value(&sorted(serde_json::from_slice(&text.finish()).unwrap_or_default()));
}
