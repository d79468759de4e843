//! A run while it is on, as lines of text: the block it prints at intervals.

use super::quantities::clock_text;
use crate::format::number::{commas, thousands};
use aiperf_types::ServerSnapshot;
use std::fmt::Write;

/// The server's own metrics, for the last line of the block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerLine {
    /// Prefix cache hits, in percent.
    pub prefix_cache_hit: Option<f64>,
    /// Input tokens that were not cached.
    pub unique_in: Option<f64>,
    /// Hits of an external cache, in percent.
    pub ext_cache_hit: Option<f64>,
    /// Use of the key-value cache, in percent.
    pub kv_usage: Option<f64>,
    /// Use of the key-value cache on the host, in percent.
    pub cpu_kv_usage: Option<f64>,
    /// Requests that are running.
    pub running: Option<u64>,
    /// Requests that wait.
    pub waiting: Option<u64>,
    /// Input tokens per second.
    pub tput_in: Option<f64>,
    /// Output tokens per second.
    pub tput_out: Option<f64>,
}

impl ServerLine {
    /// The line of a snapshot.
    pub fn of(snapshot: &ServerSnapshot) -> Self {
        let whole = |name| snapshot.get(name).filter(|value| value.is_finite()).map(|value| value.max(0.0) as u64);
        Self {
            prefix_cache_hit: snapshot.get("prefix_cache_hit_rate"),
            unique_in: snapshot.get("unique_input_tokens_srv"),
            ext_cache_hit: snapshot.get("external_prefix_cache_hit_rate"),
            kv_usage: snapshot.get("kv_cache_usage_pct"),
            cpu_kv_usage: snapshot.get("cpu_kv_cache_usage_pct"),
            running: whole("num_running"),
            waiting: whole("num_waiting"),
            tput_in: snapshot.get("input_token_throughput_srv"),
            tput_out: snapshot.get("output_token_throughput_srv"),
        }
    }
}

/// A run while it is on, for [`live_block`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveBlock<'a> {
    /// Records so far.
    pub records: u64,
    /// Of these, failed ones.
    pub failed: u64,
    /// Seconds since the phase started.
    pub elapsed: f64,
    /// Records and seconds of the block before.
    pub previous: Option<(u64, f64)>,
    /// The theoretical prefix cache hit rate so far, in percent.
    pub theoretical_prefix_cache_hit: Option<f64>,
    /// The server's own view.
    pub server: Option<&'a ServerLine>,
}

/// One line of percentiles.
struct Row {
    label: &'static str,
    tag: &'static str,
    shown: Shown,
    stats: [&'static str; 4],
    suffix: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Ms,
    Number,
    /// A number; the line is left out if it is not known.
    IfKnown,
}

impl Shown {
    fn cell(self, value: Option<f64>) -> String {
        match (self, value) {
            (Self::Ms, Some(value)) if value < 1.0 => "<1ms".to_owned(),
            (Self::Ms, Some(_)) => whole(value) + "ms",
            _ => whole(value),
        }
    }
}

const TAIL: [&str; 4] = ["p50", "p75", "p95", "p99"];
const LENGTH: [&str; 4] = ["p50", "p75", "p90", "p99"];
const ROWS: &[Row] = &[
    Row { label: "ttft", tag: "time_to_first_token", shown: Shown::Ms, stats: TAIL, suffix: "" },
    Row { label: "itl", tag: "inter_token_latency", shown: Shown::Ms, stats: TAIL, suffix: "" },
    Row { label: "e2e", tag: "request_latency", shown: Shown::Ms, stats: TAIL, suffix: "" },
    Row {
        label: "intvty",
        tag: "output_token_throughput_per_user",
        shown: Shown::Number,
        stats: TAIL,
        suffix: "  (1/tpot tok/s)",
    },
    Row { label: "isl", tag: "input_sequence_length", shown: Shown::IfKnown, stats: LENGTH, suffix: "  (tokens)" },
    Row { label: "osl", tag: "output_sequence_length", shown: Shown::IfKnown, stats: LENGTH, suffix: "  (tokens)" },
];

/// The block that a run prints at intervals. `stat` returns a statistic of a metric by tag and name. Empty before the
/// first record.
pub fn live_block(block: &LiveBlock<'_>, stat: impl Fn(&str, &str) -> Option<f64>) -> String {
    if block.records == 0 {
        return String::new();
    }
    let mut lines = vec![format!("[realtime {} profiling]", clock_text(block.elapsed)), rates(block, &stat)];
    lines.extend(distributions(&stat));
    let (total_in, total_out) = (stat("total_isl", "avg"), stat("total_osl", "avg"));
    if total_in.is_some() || total_out.is_some() {
        lines.push(format!("  tot     in={}  out={}", whole(total_in), whole(total_out)));
    }
    if let Some(hit) = block.theoretical_prefix_cache_hit {
        lines.push(format!("  trace  theoretical_prefix_cache_hit={hit:.1}%"));
    }
    lines.extend(block.server.and_then(server));
    lines.join("\n")
}

fn rates(block: &LiveBlock<'_>, stat: &impl Fn(&str, &str) -> Option<f64>) -> String {
    let average = stat("request_throughput", "avg");
    let now = match block.previous {
        None => average,
        Some((records, elapsed)) if block.elapsed > elapsed => {
            Some((block.records as f64 - records as f64) / (block.elapsed - elapsed))
        }
        Some(_) => Some(0.0),
    };
    let tenths = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    format!(
        "  rps={} (avg {})  tput_in={}/s  tput_out={}/s  done={} ok={} err={}",
        tenths(now),
        tenths(average),
        whole(stat("input_token_throughput", "avg")),
        whole(stat("output_token_throughput", "avg")),
        thousands(block.records),
        thousands(block.records.saturating_sub(block.failed)),
        thousands(block.failed),
    )
}

fn distributions(stat: &impl Fn(&str, &str) -> Option<f64>) -> Vec<String> {
    let rows: Vec<(&Row, [String; 4])> = ROWS
        .iter()
        .filter(|row| row.shown != Shown::IfKnown || row.stats.iter().any(|name| stat(row.tag, name).is_some()))
        .map(|row| (row, row.stats.map(|name| row.shown.cell(stat(row.tag, name)))))
        .collect();
    let widest = |column: usize| rows.iter().map(|(_, cells)| cells[column].len()).max().unwrap_or(0);
    let widths: [usize; 4] = std::array::from_fn(widest);
    let label_width = rows.iter().map(|(row, _)| row.label.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(row, cells)| {
            let mut line = format!("  {:label_width$}", row.label);
            for ((name, cell), width) in row.stats.iter().zip(cells).zip(widths) {
                let _ = write!(line, "  {name}={cell:>width$}");
            }
            line + row.suffix
        })
        .collect()
}

fn server(line: &ServerLine) -> Option<String> {
    let percent = |name: &str, value: Option<f64>| value.map(|value| format!("{name}={value:.1}%"));
    let rate = |name: &str, value: Option<f64>| value.map(|_| format!("{name}={}/s", whole(value)));
    let parts: Vec<String> = [
        percent("prefix_cache_hit", line.prefix_cache_hit),
        line.unique_in.map(|tokens| format!("unique_in_srv={}", whole(Some(tokens)))),
        percent("ext_cache_hit", line.ext_cache_hit),
        percent("kv_usage", line.kv_usage),
        percent("cpu_kv_usage", line.cpu_kv_usage),
        queue(line),
        rate("tput_in_srv", line.tput_in),
        rate("tput_out_srv", line.tput_out),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("  srv    {}", parts.join(" ")))
}

/// Requests running and waiting; a server may expose only one of them.
fn queue(line: &ServerLine) -> Option<String> {
    let shown = |requests: Option<u64>| requests.map_or("-".to_owned(), |requests| requests.to_string());
    let is_known = line.running.or(line.waiting).is_some();
    is_known.then(|| format!("queue={}r/{}w", shown(line.running), shown(line.waiting)))
}

/// Rounded, halves to even, with a comma every three digits.
fn whole(value: Option<f64>) -> String {
    let known = value.filter(|value| value.is_finite());
    known.map_or("-".to_owned(), |value| commas(&format!("{:.0}", value.round_ties_even())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_exposes_one_side_of_its_queue_shows_that_side() {
        for (values, shown) in [
            (&[("num_running", 5.0), ("num_waiting", 2.0)][..], Some("  srv    queue=5r/2w")),
            (&[("num_running", 5.0)], Some("  srv    queue=5r/-w")),
            (&[("num_waiting", 0.0)], Some("  srv    queue=-r/0w")),
            (&[], None),
        ] {
            let snapshot = ServerSnapshot { values: values.to_vec(), ..ServerSnapshot::default() };
            assert_eq!(server(&ServerLine::of(&snapshot)).as_deref(), shown, "{values:?}");
        }
    }
}
