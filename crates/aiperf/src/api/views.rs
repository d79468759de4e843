//! The state of the run as JSON.

use super::about::About;
use super::json::{metric, without_nulls};
use super::live::{Live, LivePhase, LiveSource};
use crate::dashboard::{Health, Worker};
use aiperf_report::verdict_block;
use aiperf_types::{
    EndpointSnapshot, GpuValue, MetricSnapshot, MonoNs, Nanos, SeriesSnapshot, ServerSnapshot, SourceKind,
};
use serde_json::{Map, Value, json};

/// All workers are one group: they are threads of one process.
const GROUP: &str = "local";

fn live_metric(of: &MetricSnapshot) -> Value {
    metric(&of.tag, &of.header, of.unit, &of.stats)
}

/// The metrics so far, in order.
pub(super) fn metrics(live: &Live) -> Vec<Value> {
    live.metrics().iter().map(live_metric).collect()
}

/// The metrics that each GPU reported so far, one per GPU and metric.
pub(super) fn gpu_metrics(live: &Live) -> Vec<Value> {
    let values = live.gpus.iter().flat_map(|snapshot| &snapshot.gpus).flat_map(|gpu| &gpu.metrics);
    let one = |of: &GpuValue| {
        let mut value = metric(&live.hide(&of.tag), &live.hide(&of.header), &of.unit, &of.stats);
        value["current"] = of.current.into();
        value
    };
    values.map(one).collect()
}

/// The verdict on the metrics so far.
pub(super) fn verdict(live: &Live) -> Option<Value> {
    live.metrics.as_ref().map(|snapshot| verdict_block(&snapshot.verdict))
}

/// The metrics so far by tag, and the run that they belong to.
pub(super) fn metrics_by_tag(live: &Live, about: &About) -> Value {
    let by_tag = metrics(live).into_iter().filter_map(|mut metric| {
        let Value::String(tag) = metric.as_object_mut()?.shift_remove("tag")? else { return None };
        Some((tag, metric))
    });
    let mut all = without_nulls(json!({
        "aiperf_version": about.version,
        "benchmark_id": about.benchmark_id,
        "model": about.model,
        "endpoint_type": about.endpoint_type,
        "streaming": about.streaming,
        "concurrency": about.concurrency,
        "metrics": by_tag.collect::<Map<String, Value>>(),
        "verdict": verdict(live),
        "telemetry_metrics": Some(gpu_metrics(live)).filter(|metrics| !metrics.is_empty()),
    }));
    // Present even if the run has no request rate.
    all["request_rate"] = about.request_rate.into();
    all
}

fn identity(live: &Live, of: &LivePhase) -> Value {
    let id = &of.phase.id;
    let wall = |at: Option<MonoNs>| at.and_then(|at| live.wall(at));
    json!({
        "phase": id.kind.name(),
        "phase_index": id.index,
        "profiling_index": id.profiling_index,
        "phase_name": &*id.name,
        "phase_kind": id.kind.name(),
        "start_ns": wall(of.started),
        "sent_end_ns": wall(of.sent_end),
        "requests_end_ns": wall(of.requests_end),
        "total_expected_requests": of.phase.targets.requests,
        "expected_duration_sec": of.phase.targets.length.map(Nanos::as_secs_f64),
        "expected_num_sessions": of.phase.targets.sessions,
    })
}

fn joined(parts: impl IntoIterator<Item = Value>) -> Value {
    let members =
        parts.into_iter().filter_map(|part| if let Value::Object(members) = part { Some(members) } else { None });
    Value::Object(members.flatten().collect())
}

/// The requests of a phase.
fn requests(live: &Live, of: &LivePhase) -> Value {
    let counts = &of.phase.counts;
    let is_sent = of.sent_end.is_some() || of.requests_end.is_some();
    let sent = |count: u64| is_sent.then_some(count);
    let done = |count: u64| of.requests_end.map(|_| count);
    let own = json!({
        "requests_sent": counts.sent,
        "requests_completed": counts.completed,
        "requests_cancelled": counts.cancelled,
        "request_errors": counts.errors,
        "sent_sessions": counts.sessions_sent,
        "completed_sessions": counts.sessions_completed,
        "cancelled_sessions": counts.sessions_cancelled,
        "total_session_turns": counts.session_turns,
        "in_flight_requests": counts.in_flight(),
        "final_requests_sent": sent(counts.sent),
        "final_sent_sessions": sent(counts.sessions_sent),
        "final_requests_completed": done(counts.completed),
        "final_requests_cancelled": done(counts.cancelled),
        "final_request_errors": done(counts.errors),
        "final_completed_sessions": done(counts.sessions_completed),
        "final_cancelled_sessions": done(counts.sessions_cancelled),
        "requests_elapsed_time": of.phase.elapsed.as_secs_f64(),
        "requests_progress_percent": 100.0 * of.phase.sent_share(),
    });
    joined([identity(live, of), own])
}

/// The records of a phase.
pub(super) fn records(live: &Live, of: &LivePhase) -> Value {
    let phase = &of.phase;
    // A record may exist before its request is known to have failed.
    let failed = phase.counts.errors.min(phase.records);
    let own = json!({
        "success_records": phase.records - failed,
        "error_records": failed,
        "total_records": phase.records,
        "records_end_ns": of.records_end.and_then(|at| live.wall(at)),
        "records_progress_percent": 100.0 * phase.records_share(),
    });
    joined([identity(live, of), own])
}

/// Requests and records of a phase, their rates, and when they will be done.
pub(super) fn phase(live: &Live, of: &LivePhase) -> Value {
    let pace = json!({
        "requests_per_second": of.phase.request_rate(),
        "records_per_second": of.phase.record_rate(),
        "requests_eta_sec": of.requests_end.is_none().then(|| of.phase.seconds_left()).flatten(),
        "records_eta_sec": (of.requests_end.is_some() && of.records_end.is_none()).then(|| of.phase.seconds_left()).flatten(),
        "state": state(of),
    });
    joined([requests(live, of), records(live, of), pace])
}

/// The current stage of a phase.
fn state(of: &LivePhase) -> &'static str {
    let reached = [(of.records_end, "complete"), (of.requests_end, "processing"), (of.sent_end, "draining")];
    reached.into_iter().find(|(at, _)| at.is_some()).map_or("sending", |(_, state)| state)
}

pub(super) fn progress(live: &Live) -> Value {
    let phases = live.phases.iter().map(|of| (of.phase.id.name.to_string(), phase(live, of)));
    let workers = live.workers.workers.len();
    let message = |message: &aiperf_types::Message| json!({ "timestamp_ns": message.at, "level": message.level.name(), "message": &*message.text });
    json!({
        "phases": phases.collect::<Map<String, Value>>(),
        "workers": {
            "ready": workers,
            "total": workers,
            "dispatchable": workers,
            "router_connected": workers,
            "ready_record_processors": 0,
            "declared_record_processors": 0,
            "ready_pods": 0,
            "total_pods": 0,
            "degraded_pods": 0,
        },
        "results_exported": live.outcome.as_ref().is_some_and(|outcome| outcome.results.is_some()),
        "system_state": live.state.name(),
        "messages": live.messages.iter().map(message).collect::<Vec<_>>(),
    })
}

fn health(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::HighLoad => "high_load",
        Health::Error => "error",
        Health::Idle => "idle",
        Health::Stale => "stale",
    }
}

fn task_stats<'a>(of: impl IntoIterator<Item = &'a Worker>) -> Value {
    let (total, failed, completed) =
        of.into_iter().fold((0, 0, 0), |(total, failed, completed), Worker { now, .. }| {
            (
                total + now.completed + now.in_flight,
                failed + now.failed,
                completed + now.completed.saturating_sub(now.failed),
            )
        });
    json!({ "total": total, "failed": failed, "completed": completed })
}

/// Each worker by its name, with its state and counters.
fn each_worker(live: &Live) -> Vec<(String, &'static str, &Worker)> {
    let named = |(at, worker)| (live.worker_id(at), health(live.workers.health(worker, live.now)), worker);
    live.workers.workers.iter().enumerate().map(named).collect()
}

/// The health of each worker.
pub(super) fn worker_statuses(live: &Live) -> Value {
    Value::Object(each_worker(live).into_iter().map(|(id, status, _)| (id, status.into())).collect())
}

/// All workers together.
pub(super) fn worker_group(live: &Live) -> Value {
    let (workers, each) = (&live.workers.workers, each_worker(live));
    let worst = [Health::Error, Health::Stale, Health::HighLoad, Health::Healthy].map(health);
    let status = worst.into_iter().find(|name| each.iter().any(|(_, status, _)| status == name));
    let tasks = each.iter().map(|(id, _, worker)| (id.clone(), task_stats([*worker])));
    json!({
        "group_id": GROUP,
        "status": status.unwrap_or(health(Health::Idle)),
        "task_stats": task_stats(workers),
        "declared_workers": workers.len(),
        "ready_workers": workers.len(),
        "worker_statuses": worker_statuses(live),
        "worker_task_stats": tasks.collect::<Map<String, Value>>(),
    })
}

pub(super) fn workers(live: &Live) -> Value {
    let worker = |(id, status, worker): (String, &'static str, &Worker)| {
        let now = &worker.now;
        let stats = json!({
            "worker_id": id,
            "status": status,
            "task_stats": task_stats([worker]),
            "processing_stats": { "processed": now.completed.saturating_sub(now.failed), "errors": now.failed },
            "in_flight": now.in_flight,
            "bytes_sent": now.bytes_sent,
            "bytes_received": now.bytes_received,
            "thread_id": now.thread,
        });
        (id, stats)
    };
    let by_id: Map<String, Value> = each_worker(live).into_iter().map(worker).collect();
    let mut groups = Map::new();
    if !by_id.is_empty() {
        groups.insert(GROUP.to_owned(), worker_group(live));
    }
    json!({ "workers": by_id, "worker_groups": groups })
}

/// The servers' own metrics so far, by the names of the live display.
pub(super) fn server_snapshot(of: &ServerSnapshot) -> Value {
    numbers(&of.values)
}

/// The same, and the metrics of each endpoint. Once there are files, the statistics are those of the files.
pub(super) fn server_metrics(live: &Live) -> Option<Value> {
    let server = live.server.as_deref();
    let summaries = live.outcome.as_ref().and_then(|outcome| outcome.endpoint_summaries.clone());
    let summaries = summaries.or_else(|| Some(endpoint_summaries(server?)))?;
    Some(json!({ "endpoint_summaries": summaries, "snapshot": server.map_or_else(|| json!({}), server_snapshot) }))
}

fn endpoint_summaries(of: &ServerSnapshot) -> Value {
    let summary = |endpoint: &EndpointSnapshot| {
        let mut metrics = Map::new();
        for series in &endpoint.series {
            let metric = metrics
                .entry(&*series.name)
                .or_insert_with(|| json!({ "type": series.kind, "description": &*series.description, "series": [] }));
            if let Value::Array(all) = &mut metric["series"] {
                all.push(one_series(series));
            }
        }
        let info = json!({
            "total_fetches": endpoint.fetches,
            "first_fetch_ns": endpoint.first_fetch,
            "last_fetch_ns": endpoint.last_fetch,
        });
        (endpoint.name.to_string(), json!({ "endpoint_url": &*endpoint.url, "info": info, "metrics": metrics }))
    };
    Value::Object(of.endpoints.iter().map(summary).collect())
}

fn one_series(of: &SeriesSnapshot) -> Value {
    let labels = of.labels.iter().map(|(name, value)| (name.to_string(), Value::from(&**value)));
    let labels: Map<String, Value> = labels.collect();
    let labels = Some(labels).filter(|labels| !labels.is_empty());
    without_nulls(json!({ "labels": labels, "stats": numbers(&of.stats) }))
}

fn numbers(named: &[(&'static str, f64)]) -> Value {
    let finite = named.iter().filter(|(_, value)| value.is_finite());
    Value::Object(finite.map(|(name, value)| ((*name).to_owned(), (*value).into())).collect())
}

/// The sources of a kind, and which of them respond.
pub(super) fn sources(live: &Live, kind: SourceKind, configured: &[String]) -> Value {
    let of_kind = || live.sources.iter().filter(|known| known.source.kind == kind);
    let address = |known: &LiveSource| known.source.address.to_string();
    let reachable: Vec<String> = of_kind().filter(|known| known.is_reachable).map(address).collect();
    let mut all = configured.to_vec();
    all.extend(of_kind().map(address).filter(|address| !configured.contains(address)));
    let lost = of_kind().find(|known| !known.is_reachable).and_then(|known| known.source.detail.as_deref());
    let reason = reachable.is_empty().then(|| lost.unwrap_or("no source responds"));
    without_nulls(json!({
        "enabled": !reachable.is_empty(),
        "reason": reason,
        "endpoints_configured": all,
        "endpoints_reachable": reachable,
    }))
}

/// The final results of the run, equal to those in its files.
pub(super) fn results(live: &Live) -> Value {
    let status = match &live.outcome {
        None => "running",
        Some(outcome) if outcome.was_cancelled => "cancelled",
        Some(outcome) if outcome.results.is_some() => "complete",
        Some(_) => "incomplete",
    };
    json!({ "status": status, "results": live.outcome.as_ref().and_then(|outcome| outcome.results.clone()) })
}
