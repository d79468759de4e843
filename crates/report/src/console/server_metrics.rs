//! The metrics that servers report: a table for each known kind of server, and one of the acceptance of SGLang's
//! drafts.

use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::{Align, one_line, width};
use crate::format::number::{grouped, thousands};
use crate::run::{RunResult, ServerMetricsResult};
use crate::server_metrics::statistics::{Number, statistic};
use aiperf_observe::{Metric, MetricKind, Series};
use std::collections::BTreeSet;

/// A kind of server, recognised by the prefix of its families.
struct Server {
    name: &'static str,
    prefix: &'static str,
    /// Families without that prefix, each with the statistic to show.
    rows: &'static [(&'static str, &'static str)],
}

const SERVERS: &[Server] = &[
    Server {
        name: "vLLM",
        prefix: "vllm:",
        rows: &[
            ("num_requests_running", "avg"),
            ("num_requests_waiting", "max"),
            ("num_requests_waiting_by_reason", "max"),
            ("kv_cache_usage_perc", "max"),
            ("num_preemptions", "total"),
            ("e2e_request_latency_seconds", "p99_estimate"),
            ("time_to_first_token_seconds", "p99_estimate"),
            ("inter_token_latency_seconds", "p99_estimate"),
            ("prompt_tokens_by_source", "total"),
            ("generation_tokens", "rate"),
        ],
    },
    Server {
        name: "SGLang",
        prefix: "sglang:",
        rows: &[
            ("num_running_reqs", "avg"),
            ("num_queue_reqs", "max"),
            ("token_usage", "max"),
            ("cache_hit_rate", "avg"),
            ("gen_throughput", "avg"),
            ("time_to_first_token_seconds", "p99_estimate"),
            ("inter_token_latency_seconds", "p99_estimate"),
            ("e2e_request_latency_seconds", "p99_estimate"),
            ("queue_time_seconds", "p99_estimate"),
            ("prompt_tokens", "rate"),
            ("generation_tokens", "rate"),
        ],
    },
    Server {
        name: "TRT-LLM",
        prefix: "trtllm_",
        rows: &[
            ("e2e_request_latency_seconds", "p99_estimate"),
            ("time_to_first_token_seconds", "p99_estimate"),
            ("time_per_output_token_seconds", "p99_estimate"),
            ("request_queue_time_seconds", "p99_estimate"),
            ("request_prefill_time_seconds", "p99_estimate"),
            ("request_decode_time_seconds", "p99_estimate"),
            ("request_success", "rate"),
            ("prompt_tokens", "rate"),
            ("generation_tokens", "rate"),
            ("num_requests_running", "avg"),
            ("num_requests_waiting", "max"),
            ("kv_cache_utilization", "max"),
            ("kv_cache_hit_rate", "avg"),
        ],
    },
    Server {
        name: "Dynamo",
        prefix: "dynamo_",
        rows: &[
            ("frontend_active_requests", "avg"),
            ("frontend_inflight_requests", "avg"),
            ("frontend_queued_requests", "avg"),
            ("frontend_request_duration_seconds", "p99_estimate"),
            ("frontend_time_to_first_token_seconds", "p99_estimate"),
            ("frontend_inter_token_latency_seconds", "p99_estimate"),
            ("frontend_requests", "rate"),
            ("frontend_output_tokens", "rate"),
            ("component_gpu_cache_usage_percent", "max"),
        ],
    },
    Server {
        name: "Triton",
        prefix: "nv_",
        rows: &[
            ("inference_request_success", "rate"),
            ("inference_request_failure", "total"),
            ("inference_count", "rate"),
            ("inference_exec_count", "rate"),
            ("inference_pending_request_count", "max"),
            ("inference_request_duration_us", "total"),
            ("inference_queue_duration_us", "total"),
            ("inference_first_response_histogram_ms", "p99_estimate"),
            ("gpu_utilization", "avg"),
            ("gpu_memory_used_bytes", "max"),
            ("cache_num_hits_per_model", "total"),
            ("cache_num_misses_per_model", "total"),
        ],
    },
];

/// Series of a family to show on a screen: a large deployment has many engines.
const MOST_SERIES: usize = 12;
/// Columns of a label value.
const VALUE_WIDTH: usize = 24;

/// A table for each kind of server that was observed.
pub(crate) fn tables(run: &RunResult, page: Page) -> Option<String> {
    let observed = run.observed()?;
    let drawn = |server: &Server| Some(format!("\n\n{}", server.table(observed, page)?.draw(page)));
    let drawn: String = SERVERS.iter().filter_map(drawn).collect();
    (!drawn.is_empty()).then_some(drawn)
}

impl Server {
    fn table(&self, observed: &ServerMetricsResult, page: Page) -> Option<Table<'_>> {
        let rows: Vec<[String; 5]> = self.rows.iter().flat_map(|row| self.family(row, observed)).collect();
        if rows.is_empty() {
            return None;
        }
        let column = |title, align, wraps| Column { title, align, wraps };
        let columns = vec![
            column("Metric", Align::Left, true),
            column("Labels", Align::Left, true),
            column("Statistic", Align::Left, false),
            column("Value", Align::Right, false),
            column("Unit", Align::Left, false),
        ];
        let is_narrow = page.is_screen() && page.width() < ROOM_FOR_COLUMNS;
        let rows = if is_narrow { in_two_columns(rows, page) } else { fitted(rows, &columns, page) };
        let has_labels = rows.iter().any(|[_, labels, ..]| !labels.is_empty());
        let rows = rows.into_iter().map(cells).collect();
        let title = format!("NVIDIA AIPerf | Server Metrics: {}", self.name);
        let mut table = Table { title, title_style: Style::ITALIC, columns, rows };
        if !has_labels {
            table.remove("Labels");
        }
        if is_narrow {
            ["Statistic", "Unit"].iter().for_each(|title| table.remove(title));
        }
        Some(table)
    }

    /// The rows of a family, one per series.
    fn family(
        &self,
        (family, statistic_name): &(&str, &'static str),
        observed: &ServerMetricsResult,
    ) -> Vec<[String; 5]> {
        let is_it = |metric: &&Metric| {
            metric.name.strip_prefix(self.prefix) == Some(family) && is_of(statistic_name, metric.kind)
        };
        let mut rows = Vec::new();
        for metric in observed.metrics.metrics.iter().filter(is_it) {
            let labels = differing_labels(&metric.series, observed);
            for (series, labels) in metric.series.iter().zip(labels).take(MOST_SERIES) {
                let value = statistic(&series.stats, statistic_name).map(Number::as_f64);
                let (value, unit) = shown(value, metric.unit, statistic_name);
                let value = grouped(value).unwrap_or_else(|| ABSENT.to_owned());
                let labels = labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
                rows.push([(*family).to_owned(), labels.join(", "), short(statistic_name).to_owned(), value, unit]);
            }
            let more = metric.series.len().saturating_sub(MOST_SERIES);
            if more > 0 {
                let note = format!("and {} more series, in the files", thousands(more as u64));
                rows.push([(*family).to_owned(), note, String::new(), String::new(), String::new()]);
            }
        }
        rows
    }
}

const ABSENT: &str = "N/A";

fn cells([metric, labels, statistic, value, unit]: [String; 5]) -> Vec<Cell> {
    let of_value = if value == ABSENT { Style::DIM } else { Style::GREEN };
    [(metric, Style::CYAN), (labels, Style::PLAIN), (statistic, Style::PLAIN), (value, of_value), (unit, Style::PLAIN)]
        .into_iter()
        .map(|(text, style)| Cell { text, style })
        .collect()
}

/// Whether a kind of metric has a statistic. Several kinds may have the same name.
fn is_of(statistic: &str, kind: MetricKind) -> bool {
    match statistic {
        "avg" | "max" => matches!(kind, MetricKind::Gauge | MetricKind::Unknown),
        "total" | "rate" => kind == MetricKind::Counter,
        _ => kind == MetricKind::Histogram,
    }
}

/// Statistic names for a narrow column.
fn short(statistic: &str) -> &str {
    if statistic == "p99_estimate" { "p99 (est)" } else { statistic }
}

/// A value in the units of the other tables: latencies in milliseconds, shares in percent, memory in gigabytes.
fn shown(value: Option<f64>, unit: Option<&str>, statistic: &str) -> (Option<f64>, String) {
    if statistic == "rate" {
        let unit = unit.filter(|unit| *unit != "count");
        return (value, unit.map_or_else(|| "1/sec".to_owned(), |unit| format!("{unit}/sec")));
    }
    let (factor, unit) = match unit.unwrap_or_default() {
        "seconds" => (1e3, "ms"),
        "milliseconds" => (1.0, "ms"),
        "microseconds" => (1e-3, "ms"),
        "ratio" => (1e2, "%"),
        "percent" => (1.0, "%"),
        "bytes" => (1e-9, "GB"),
        "tokens/s" => (1.0, "tokens/sec"),
        "requests/s" => (1.0, "requests/sec"),
        other => (1.0, other),
    };
    (value.map(|value| value * factor), unit.to_owned())
}

/// For each series the labels that distinguish it from others of its family, and its endpoint if there are several.
fn differing_labels(series: &[Series], observed: &ServerMetricsResult) -> Vec<Vec<(String, String)>> {
    let names: BTreeSet<&str> = series.iter().flat_map(|one| one.labels.iter().map(|(name, _)| &**name)).collect();
    let differs = |name: &&str| series.iter().any(|one| label(one, name) != label(&series[0], name));
    let names: Vec<&str> = names.into_iter().filter(differs).collect();
    let has_endpoints = series.iter().any(|one| one.endpoint_url != series[0].endpoint_url);
    let labels = |one: &Series| {
        let endpoint = has_endpoints.then(|| ("endpoint", observed.display_name(&one.endpoint_url).to_owned()));
        let own = names.iter().filter_map(|name| Some((*name, label(one, name)?.to_owned())));
        let both = endpoint.into_iter().chain(own);
        both.map(|(name, value)| (one_line(name, VALUE_WIDTH), cut_middle(&value))).collect()
    };
    series.iter().map(labels).collect()
}

fn label<'a>(series: &'a Series, name: &str) -> Option<&'a str> {
    series.labels.iter().find(|(known, _)| &**known == name).map(|(_, value)| &**value)
}

/// A value with both ends, where models, devices and hosts differ.
fn cut_middle(value: &str) -> String {
    let flat = one_line(value, usize::MAX);
    if width(&flat) <= VALUE_WIDTH {
        return flat;
    }
    let chars: Vec<char> = flat.chars().collect();
    let end = VALUE_WIDTH / 2;
    let (head, tail) = (&chars[..end.min(chars.len()) - 1], &chars[chars.len().saturating_sub(end)..]);
    format!("{}…{}", head.iter().collect::<String>(), tail.iter().collect::<String>())
}

/// A narrower screen has room for names and values only: labels go below the names.
const ROOM_FOR_COLUMNS: usize = 60;

fn in_two_columns(rows: Vec<[String; 5]>, page: Page) -> Vec<[String; 5]> {
    let values = rows.iter().map(|[_, _, _, value, _]| width(value)).max().unwrap_or(0).max("Value".len());
    let frame = 3 * 2 + 1;
    let room = page.width().saturating_sub(values + frame).max(1);
    let row = |[name, labels, statistic, value, unit]: [String; 5]| {
        let about = [labels, statistic, unit].into_iter().filter(|text| !text.is_empty());
        let about =
            break_at_joints(&about.collect::<Vec<_>>().join(", "), room.saturating_sub(2)).replace('\n', "\n  ");
        let name = format!("{}\n  {about}", break_at_joints(&name, room));
        [name, String::new(), String::new(), value, String::new()]
    };
    rows.into_iter().map(row).collect()
}

/// Below this many columns, names and labels together are useless: labels go below the names then.
const LEAST_ROOM: usize = 32;

/// Rows with line breaks in names and labels if the page is too narrow for them: names have no spaces, and break after
/// their separators.
fn fitted(rows: Vec<[String; 5]>, columns: &[Column<'_>], page: Page) -> Vec<[String; 5]> {
    let widest = |at: usize| rows.iter().map(|row| width(&row[at])).max().unwrap_or(0);
    let titled = |at: usize| widest(at).max(width(columns[at].title));
    let has_labels = widest(1) > 0;
    let shown = if has_labels { columns.len() } else { columns.len() - 1 };
    let room = page.width().saturating_sub(titled(2) + titled(3) + titled(4) + 3 * shown + 1);
    let (metric, labels) = (titled(0), if has_labels { titled(1) } else { 0 });
    if metric + labels <= room {
        return rows;
    }
    let is_below = has_labels && room < LEAST_ROOM;
    let (metric, labels) = if is_below {
        // One column less has one border less.
        (room + 3, room + 1)
    } else {
        let labels = labels.min((room * 2 / 5).max(room.saturating_sub(metric)));
        (room - labels, labels)
    };
    rows.into_iter()
        .map(|[name, label, statistic, value, unit]| {
            let (name, label) = (break_at_joints(&name, metric), break_at_joints(&label, labels));
            match is_below && !label.is_empty() {
                true => [format!("{name}\n  {}", label.replace('\n', "\n  ")), String::new(), statistic, value, unit],
                false => [name, label, statistic, value, unit],
            }
        })
        .collect()
}

fn break_at_joints(text: &str, limit: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for piece in text.split_inclusive(['_', '=', '-', '/', ':', '.', ' ']) {
        if width(&line) + width(piece.trim_end()) > limit && !line.is_empty() {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line.clear();
        }
        line.push_str(piece);
    }
    lines + &line
}

/// A gauge of draft acceptance.
struct Draft {
    family: &'static str,
    label: &'static str,
    factor: f64,
    decimals: usize,
}

const RATE: Draft = Draft { family: "sglang:spec_accept_rate", label: "Accept Rate (%)", factor: 100.0, decimals: 1 };
const LENGTH: Draft = Draft { family: "sglang:spec_accept_length", label: "Accept Length", factor: 1.0, decimals: 2 };
const DRAFT_COLUMNS: [(&str, &str); 5] =
    [("mean", "avg"), ("min", "min"), ("max", "max"), ("p50", "p50"), ("p90", "p90")];

/// The acceptance of drafts, for the measured models; `None` if there were no drafts.
pub(crate) fn spec_decode(run: &RunResult, page: Page) -> Option<String> {
    let observed = run.observed()?;
    let [rates, lengths] = [&RATE, &LENGTH].map(|draft| draft.series(run, observed));
    let deciding = if lengths.is_empty() { &rates } else { &lengths };
    let drafted = |series: &&Series| statistic(&series.stats, "max").is_some_and(|max| max.as_f64() > 0.0);
    if !deciding.iter().any(drafted) {
        return None;
    }
    let rows: Vec<Vec<Cell>> = RATE.rows(&rates, observed).chain(LENGTH.rows(&lengths, observed)).collect();
    let numbers = DRAFT_COLUMNS.map(|(title, _)| Column { title, align: Align::Right, wraps: false });
    let columns = std::iter::once(Column { title: "Metric", align: Align::Left, wraps: true }).chain(numbers).collect();
    let title = "NVIDIA AIPerf | Server Metrics: Speculative Decoding".into();
    (!rows.is_empty()).then(|| format!("\n\n{}", Table { title, title_style: Style::ITALIC, columns, rows }.draw(page)))
}

impl Draft {
    /// The series of measured models, each once: ranks of one pipeline report the same.
    fn series<'a>(&self, run: &RunResult, observed: &'a ServerMetricsResult) -> Vec<&'a Series> {
        let is_measured = |series: &&Series| {
            let model = label(series, "model_name").unwrap_or_default().to_lowercase();
            let is_first = |rank| label(series, rank).is_none_or(|rank| rank == "0");
            run.models.iter().any(|name| name.to_lowercase() == model) && is_first("pp_rank") && is_first("tp_rank")
        };
        let is_it = |metric: &&Metric| &*metric.name == self.family && metric.kind == MetricKind::Gauge;
        let metrics = observed.metrics.metrics.iter().filter(is_it);
        metrics.flat_map(|metric| &metric.series).filter(is_measured).collect()
    }

    fn rows(&self, series: &[&Series], observed: &ServerMetricsResult) -> impl Iterator<Item = Vec<Cell>> {
        let owned: Vec<Series> = series.iter().map(|series| (*series).clone()).collect();
        let labels = differing_labels(&owned, observed);
        let is_alone = owned.len() == 1;
        owned.into_iter().zip(labels).enumerate().filter_map(move |(at, (series, labels))| {
            let numbers = DRAFT_COLUMNS.map(|(_, name)| Some(statistic(&series.stats, name)?.as_f64() * self.factor));
            let cell = |value: Option<f64>| {
                let text = value.filter(|value| value.is_finite()).map(|value| format!("{value:.*}", self.decimals));
                text.map(|text| Cell { text, style: Style::GREEN })
            };
            let numbers: Option<Vec<Cell>> = numbers.map(cell).into_iter().collect();
            let named = labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
            let named = match (is_alone, named.is_empty()) {
                (true, _) => String::new(),
                (false, true) => format!(" (series={})", at + 1),
                (false, false) => format!(" ({named})"),
            };
            let label = Cell { text: format!("{}{named}", self.label), style: Style::CYAN };
            Some(std::iter::once(label).chain(numbers?).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_break_after_their_separators() {
        assert_eq!(
            break_at_joints("frontend_time_to_first_token_seconds", 20),
            "frontend_time_to_\nfirst_token_seconds"
        );
        assert_eq!(break_at_joints("model=a, version=12345", 12), "model=a,\nversion=\n12345");
    }

    #[test]
    fn long_values_keep_both_ends() {
        assert_eq!(cut_middle("GPU-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"), "GPU-0a1b2c3…0a1b2c3d4e5f");
        assert_eq!(cut_middle("a\nb"), "a b");
    }

    #[test]
    fn units_are_those_of_the_other_tables() {
        assert_eq!(shown(Some(0.25), Some("seconds"), "p99_estimate"), (Some(250.0), "ms".to_owned()));
        assert_eq!(shown(Some(0.5), Some("ratio"), "max"), (Some(50.0), "%".to_owned()));
        assert_eq!(shown(Some(2.0), Some("tokens"), "rate"), (Some(2.0), "tokens/sec".to_owned()));
        assert_eq!(shown(Some(2.0), None, "rate").1, "1/sec");
    }
}
