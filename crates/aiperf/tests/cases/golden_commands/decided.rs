//! Differences from the reference, and their reasons. A rule looks at the run and the content of a file, never at the
//! name of the case.

use crate::golden_commands::command::GoldenRun;
use crate::golden_commands::outline::{Difference, What};
use crate::golden_commands::tables::Table;
use serde_json::Value;

type Reason = Option<&'static str>;

/// The exit codes that a run may have here; a run that was killed has none.
pub(crate) fn exit_codes(run: &GoldenRun) -> &'static [Option<i32>] {
    let has_results = run.files.iter().any(|name| !name.ends_with(".log"));
    match (run.interrupts, run.signal, run.code) {
        (1.., "INT", _) => &[Some(130)],
        (1.., "TERM", _) => &[Some(143)],
        (1.., ..) => &[None],
        (0, _, 0) => &[Some(0)],
        // What was refused before anything was sent is 2 here.
        (0, ..) if !has_results => &[Some(1), Some(2)],
        (0, ..) => &[Some(1)],
    }
}

/// Why a file of the reference is not written here.
pub(crate) fn why_no_file(run: &GoldenRun, name: &str) -> Reason {
    let folder = name.strip_suffix("logs/aiperf.log")?;
    let is_beside = |other: &String| other.strip_prefix(folder).is_some_and(|rest| !rest.contains('/'));
    (!run.files.iter().any(is_beside)).then_some("a log in no run's directory")
}

/// Why a file is written that the reference has not.
pub(crate) fn why_a_file(run: &GoldenRun, name: &str) -> Reason {
    let all_failed = run.code == 1;
    let is_report = [".json", ".csv", "_console.txt"].iter().any(|ending| name.ends_with(ending));
    let beside = |name: &str, ending: &str| {
        let stem = name.strip_suffix(".parquet");
        stem.is_some_and(|stem| run.files.contains(&format!("{stem}{ending}")))
    };
    let is_hidden = name.rsplit('/').next().is_some_and(|name| name.starts_with('.') && name.ends_with(".tmp"));
    match name {
        _ if is_hidden && run.interrupts > 1 => Some("what is whole only at the end lies there by another name"),
        _ if name.contains("server_metrics") && beside(name, ".json") => {
            Some("servers' metrics are written as Parquet too")
        }
        _ if name.contains("server_metrics") && !run.files.iter().any(|name| name.contains("server_metrics")) => {
            Some("the simulated server has a page of metrics")
        }
        _ if name.ends_with("_collated.json") => Some("records of several runs are always put together"),
        _ if beside(&name.replacen("records/", "", 1), ".jsonl") => Some("records are written as columns too"),
        _ if all_failed && is_report => Some("a run in which every request failed has its results too"),
        _ => None,
    }
}

/// The name here of a file of the reference: what sums up several runs begins as their own files do.
pub(crate) fn name_here(run: &GoldenRun, name: &str) -> String {
    let summary = run.summary();
    let prefix = summary["input_config"]["artifacts"]["prefix"].as_str().unwrap_or("profile_export_aiperf");
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let sums_up = |folder: &str| folder.ends_with("aggregate") || folder.contains("/aggregate/");
    match file.strip_prefix("profile_export_aiperf_").filter(|_| sums_up(folder)) {
        Some(rest) => format!("{folder}/{prefix}_{rest}"),
        None => name.to_owned(),
    }
}

/// Why nothing of a run can be compared.
pub(crate) fn incomparable(run: &GoldenRun) -> Reason {
    let has_children = run.files.iter().any(|name| name.contains("/profile_runs/") && name.ends_with("_ready.json"));
    let has_aggregate = run.files.iter().any(|name| name.contains("aggregate/"));
    (run.code == 1 && run.interrupts == 0 && has_children && !has_aggregate)
        .then_some("the reference does not find the files of its own runs in a folder below theirs")
}

/// Members whose text is another one in each run, or with each server.
const VARYING: &[&str] = &[
    "aiperf_version",
    "benchmark_id",
    "sweep_id",
    "cli_command",
    "start_time",
    "end_time",
    "dir",
    "artifact_dir",
    "urls",
    "url",
    "x_request_id",
    "x_correlation_id",
    "root_correlation_id",
    "conversation_id",
    "session_id",
    "worker_id",
    "record_processor_id",
    "content",
    "prompt",
    "input",
    "text",
    "value",
    "response_text",
    "User-Agent",
    "X-Request-ID",
    "X-Correlation-ID",
    "Host",
    "Content-Length",
];

/// Whether only the kind of text at a place counts, and not the text.
pub(crate) fn varies(place: &str) -> bool {
    let last = place.rsplit('.').next().unwrap_or(place).trim_end_matches("[]");
    VARYING.contains(&last)
}

/// Why two documents differ at a place.
pub(crate) fn why(run: &GoldenRun, difference: &Difference) -> Reason {
    let Difference { place, what } = difference;
    let place = place.as_str();
    let is_added = matches!(what, What::Added);
    let in_config = ["input_config.", "cfg."].iter().find_map(|config| place.strip_prefix(config));
    let is_of_services = |at: &str| at == "runtime.service_run_type" || at.starts_with("phases[].adaptive_");
    let is_label = ["label", "run_label", "variation_label", "run_labels[]"].iter().any(|label| is_last(place, label));
    let of_exception = |member: &str| {
        place.ends_with(&format!("error.{member}")) || place.ends_with(&format!("error_details.{member}"))
    };
    let of_headers = |part: &str| place.rsplit_once('.').is_some_and(|(object, _)| object.ends_with(part));
    let chunks = ["trace_data.request_chunks", "trace_data.response_chunks"];
    // Timing decides how much of a response arrived before the client gave up.
    let of_given_up = ["metadata.request_ack_ns", "status", "responses"];
    match what {
        What::Order { ours, theirs } if holds_metrics(place) && fixed(ours) == fixed(theirs) => {
            Some("metrics are in no order in the reference")
        }
        What::Added | What::Order { .. } if in_config.is_some() => Some("every setting is shown, in one order"),
        What::Values { .. } if in_config == Some("server_metrics.formats[]") => Some("Parquet is one of the defaults"),
        What::Values { .. } if in_config == Some("artifacts.records[]") => Some("records are written as columns too"),
        What::Values { .. } if in_config == Some("artifacts.summary[]") => Some("formats name every file"),
        What::Missing if in_config.is_some_and(is_of_services) => {
            Some("what climbs is below `adaptive_scale`, and there are no services")
        }
        What::Missing if place.starts_with("resolved.") => Some("what services of the reference found out"),
        What::Values { .. } if is_label => Some("seed 003: labels of runs"),
        What::Values { .. } if of_exception("message") && has_exceptions(run) => Some(OWN_WORDS),
        What::Missing | What::Values { .. } if of_exception("cause") && has_exceptions(run) => Some(OWN_WORDS),
        What::Values { ours, theirs } if in_config.is_some_and(|at| at.contains("[]")) && ours.is_superset(theirs) => {
            Some("every setting is shown, of every element of a list")
        }
        What::Added if of_headers("request_headers") => Some("header fields are shown as they were sent"),
        What::Added | What::Missing if of_headers("response_headers") => Some("every server spells them as it likes"),
        What::Added | What::Missing if chunks.iter().any(|chunks| place.starts_with(chunks)) => {
            Some("chunks are listed")
        }
        What::Added | What::Missing if gives_up(run) && tag(place).starts_with("adj_") => Some(OTHERS_GIVEN_UP),
        What::Added | What::Missing if gives_up(run) && of_given_up.iter().any(|given| place.starts_with(given)) => {
            Some("what arrived before a request was given up is kept")
        }
        What::Missing | What::Added if metric(run, tag(place), is_added).is_some() => metric(run, tag(place), is_added),
        What::Added if place.starts_with("measurement") => Some("the run reports its own error"),
        What::Added if place.starts_with("verdict.") => Some(JUDGED),
        What::Added if tag(place).starts_with("intended_") => Some(FROM_SCHEDULE),
        What::Added if place == "pareto_optimal_verdicts[]" => Some(JUDGED),
        What::Added if place.starts_with("run_info.") => Some("every run has its labels"),
        What::Added if place == "timeslices[].index" => {
            Some("slices without a request are left out: the others have numbers")
        }
        What::Added | What::Missing if place == "timeslices[].is_complete" => {
            Some("the last slice may end with the run")
        }
        What::Added if place == "error" => Some("a record without an error has a null error"),
        _ => None,
    }
}

/// The reference shows exceptions of its HTTP library, with their texts.
const OWN_WORDS: &str = "why a connection or an answer broke is reported in words of our own";

/// Whether a place ends in this member.
fn is_last(place: &str, member: &str) -> bool {
    place.rsplit('.').next() == Some(member)
}

/// Whether requests of a run failed without a status.
fn has_exceptions(run: &GoldenRun) -> bool {
    let (summary, records) = (run.summary(), run.records());
    let of_summary = summary["error_summary"].as_array().into_iter().flatten().map(|entry| &entry["error_details"]);
    let mut errors = of_summary.chain(records.iter().filter_map(|record| record.get("error")));
    errors.any(|error| error["code"].is_null() && error["type"].is_string())
}

const OTHERS_GIVEN_UP: &str = "which requests are given up is drawn, and not as in the reference";

/// Whether requests of a run are given up before their end.
fn gives_up(run: &GoldenRun) -> bool {
    let summary = run.summary();
    let mut errors = summary["error_summary"].as_array().into_iter().flatten();
    errors.any(|entry| entry["error_details"]["code"] == 499)
}

fn holds_metrics(place: &str) -> bool {
    ["", "metrics", "warmup_metrics", "timeslices[]"].contains(&place)
}

/// The members before those that have no order.
fn fixed(members: &[String]) -> &[String] {
    let last = ["end_time", "warmup_metrics", "end_ns", "is_complete"];
    &members[..members.iter().rposition(|key| last.contains(&key.as_str())).map_or(0, |at| at + 1)]
}

/// The tag of the metric that a place belongs to, if it is one's.
fn tag(place: &str) -> &str {
    let inner = ["metrics.", "warmup_metrics.", "timeslices[]."].iter().find_map(|outer| place.strip_prefix(outer));
    inner.unwrap_or(place).split('.').next().unwrap_or_default()
}

/// Why a metric is there that the reference has not, or not there that it has.
fn metric(run: &GoldenRun, tag: &str, is_added: bool) -> Reason {
    let summary = run.summary();
    let is_zero = summary[tag]["avg"] == 0.0;
    let reports_usage = summary.get("total_usage_prompt_tokens").is_some();
    let endpoint = summary["input_config"]["endpoint"]["type"].as_str().unwrap_or_default();
    let of_input = ["input_sequence_length", "total_isl", "input_token_throughput"];
    match tag {
        _ if is_added && endpoint.contains("rank") && of_input.contains(&tag) => {
            Some("queries and what is ranked by them are input (do better, endpoints 10)")
        }
        "http_req_tls_handshaking" if is_added => Some("TLS stands apart too"),
        "min_request_timestamp" | "max_response_timestamp" if is_added => Some("both ends of the run are shown"),
        _ if is_added && tag.contains("prompt_cache_read") => Some("the simulated server reports what it had cached"),
        _ if is_added && tag.contains("usage_") && !reports_usage => Some("the simulated server reports its usage"),
        "output_sequence_length" if !is_added && is_zero => Some("an answer without tokens has no length in tokens"),
        _ => None,
    }
}

/// Tags by the headers of the metrics that differ.
const HEADERS: &[(&str, &str)] = &[
    ("HTTP TLS Handshaking", "http_req_tls_handshaking"),
    ("Minimum Request Timestamp", "min_request_timestamp"),
    ("Maximum Response Timestamp", "max_response_timestamp"),
    ("Overall Usage Prompt Cache Read %", "overall_usage_prompt_cache_read_pct"),
    ("Total Usage Prompt Cache Read Tokens", "total_usage_prompt_cache_read_tokens"),
    ("Usage Prompt Cache Read", "usage_prompt_cache_read_tokens"),
    ("Total Usage Prompt Tokens", "total_usage_prompt_tokens"),
    ("Total Input Sequence Length", "total_isl"),
    ("Input Sequence Length", "input_sequence_length"),
    ("Input Token Throughput", "input_token_throughput"),
    ("Usage Discrepancy Count", "usage_discrepancy_count"),
    ("Usage Prompt", "usage_prompt_tokens"),
    ("Output Sequence Length", "output_sequence_length"),
];

/// Metrics of our own.
const FROM_SCHEDULE: &str = "latencies from when the schedule wanted a request sent are shown too";
const JUDGED: &str = "the run judges its own numbers";

/// The reference loses the groups of metrics of an interrupted run.
const LOST_GROUPS: &str = "groups of metrics are kept when a run is interrupted";

/// Why a row is there, or is not.
pub(crate) fn why_row(run: &GoldenRun, label: &str, is_added: bool) -> Reason {
    let of_lost_group =
        ["Effective ", "Active ", "Tokens In Flight", "Credit-to-Start"].iter().any(|start| label.starts_with(start));
    if run.interrupts > 0 && !is_added && of_lost_group {
        return Some(LOST_GROUPS);
    }
    let is_of_error = |name: &str| name.ends_with("Error") && !name.contains(' ');
    if has_exceptions(run)
        && label.split_once(' ').is_some_and(|(name, text)| is_of_error(name) && text.starts_with(name))
    {
        return Some(OWN_WORDS);
    }
    if is_added && label == "Verdict" {
        return Some(JUDGED);
    }
    if is_added && label.starts_with("Intended ") {
        return Some(FROM_SCHEDULE);
    }
    let (_, tag) = HEADERS.iter().find(|(header, _)| label.starts_with(header))?;
    metric(run, tag, is_added)
}

/// Whether rows with such a label are in no order in the reference.
pub(crate) fn has_no_order(label: &str) -> bool {
    label.contains("(error-adjusted)")
}

/// Why the numbers of a row are there, or are not.
pub(crate) fn why_numbers(run: &GoldenRun, label: &str) -> Reason {
    (label.contains("(error-adjusted)") && gives_up(run)).then_some(OTHERS_GIVEN_UP)
}

/// A row's label as it is spelt here.
pub(crate) fn label(label: &str) -> String {
    label.replace("GoodRequestFraction", "Good Request Fraction")
}

/// Why a table of the reference is not there.
pub(crate) fn why_no_table(table: &Table) -> Reason {
    match table.title.rsplit_once(": ") {
        Some((_, "Usage")) => Some("usage that servers report is only in files"),
        _ => None,
    }
}

/// Why there is a table that the reference has not.
pub(crate) fn why_a_table(run: &GoldenRun, table: &Table) -> Reason {
    match table.title.rsplit_once(": ") {
        Some((_, "Effective" | "Active")) if run.interrupts > 0 => Some(LOST_GROUPS),
        Some((_, "Cache")) => Some("the simulated server reports what it had cached"),
        _ if table.title.contains("| Server Metrics: ") => Some("the servers' own metrics are shown"),
        _ => None,
    }
}

/// Whether a table stands elsewhere here: that of the HTTP trace comes after the others.
pub(crate) fn stands_elsewhere(table: &Table) -> bool {
    table.title.ends_with("HTTP Trace Timing")
}

/// Metrics whose value the command decides, whatever the server.
pub(crate) fn decided_by_the_command(run: &GoldenRun) -> Vec<&'static str> {
    let summary = run.summary();
    let phases = summary["input_config"]["phases"].as_array();
    let ends_by_time = phases.is_some_and(|phases| phases.iter().any(|phase| phase["duration"].is_number()));
    if run.interrupts > 0 || gives_up(run) || ends_by_time || summary["was_cancelled"] != Value::Bool(false) {
        return Vec::new();
    }
    let mut tags = vec!["request_count", "error_request_count", "completed_request_count"];
    // Later turns of a session carry the earlier responses of the server.
    let is_counted_here = summary["input_config"]["endpoint"]["use_server_token_count"] != Value::Bool(true);
    let is_alike = is_counted_here && summary["input_sequence_length"]["std"] == 0.0;
    tags.extend(is_alike.then_some("input_sequence_length"));
    tags
}
