//! Metric tables: one for each group with something to show.

use super::marks::{marked, too_few_line};
use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::{Align, wrap};
use crate::format::number::grouped;
use crate::run::RunResult;
use aiperf_metrics::{ConsoleGroup, Flags, MetricResult, Summary};
use aiperf_types::EndpointKind;
use std::collections::BTreeMap;

/// Groups with a table, in order, with the addition to their title. Usage is exported and not shown.
const TABLES: &[(ConsoleGroup, &str)] =
    &[(ConsoleGroup::Effective, ": Effective"), (ConsoleGroup::Active, ": Active"), (ConsoleGroup::Default, "")];

/// Tables of metrics that a summary has only if developers ask for them, in order.
const FOR_DEVELOPERS: &[(Flags, &str)] = &[
    (Flags::EXPERIMENTAL, "NVIDIA AIPerf | Experimental Metrics"),
    (Flags::INTERNAL, "NVIDIA AIPerf | Internal Metrics"),
];

/// Metrics without a display order, which follow those that have one, in this order.
const UNORDERED: &[&str] = &[
    "effective_concurrency",
    "effective_decode_throughput",
    "effective_prefill_throughput",
    "effective_decode_concurrency",
    "effective_prefill_concurrency",
    "effective_total_throughput",
    "effective_decode_throughput_per_user",
    "effective_prefill_throughput_per_user",
    "tokens_in_flight",
    "active_decode_throughput",
    "active_prefill_throughput",
    "active_decode_throughput_per_user",
    "active_prefill_throughput_per_user",
    "active_total_throughput",
    "credit_to_start_latency",
    "effective_latency",
    "intended_request_latency",
    "intended_time_to_first_token",
    "adj_time_to_first_token",
    "adj_request_latency",
    "adj_decode_duration",
    "adj_inter_token_latency",
];

/// The last metrics, in this order.
const LAST: &[&str] = &["total_gpu_power", "total_gpu_energy", "output_tokens_per_joule", "energy_per_user"];

/// The longest header that keeps its unit beside it.
const LONGEST_HEADER: usize = 30;

const CACHE_HINT: &str = "Token usage is reported but no prompt-cache read tokens were seen \
    (usage.prompt_tokens_details.cached_tokens absent). If your server uses prefix/KV caching, enable cache reporting so \
    AIPerf can populate the prompt-cache metrics: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report \
    (TRT-LLM reports it by default).";

/// Statistics in the order of their columns.
pub(crate) const NUMBERS: [&str; 7] = ["avg", "min", "max", "p99", "p90", "p50", "std"];
/// Columns that a narrow screen omits, in this order, each if labels would have fewer columns than this.
const GIVE_WAY: [(&str, usize); 6] = [
    ("std", LABEL_WIDTH),
    ("min", LABEL_WIDTH),
    ("p90", LABEL_WIDTH),
    ("max", LABEL_WIDTH),
    ("p99", WORD_WIDTH),
    ("p50", WORD_WIDTH),
];
/// Most labels fit on one line.
const LABEL_WIDTH: usize = 26;
/// Most words fit.
const WORD_WIDTH: usize = 14;
/// On a screen this wide, labels wrap before statistics are omitted.
const ROOM_FOR_ALL: usize = 100;

/// Every group's table, one below the other.
pub(crate) fn tables(run: &RunResult, page: Page) -> Option<String> {
    let of_group =
        |(group, suffix): &(ConsoleGroup, &str)| group_table(&run.metrics, *group, run.endpoint, suffix, page);
    let tables: Vec<Table> = TABLES.iter().filter_map(of_group).collect();
    if tables.is_empty() {
        return None;
    }
    let drawn: String = tables.iter().map(|table| table.draw(page)).collect();
    let marks = if tables.iter().any(Table::has_marks) { too_few_line(page) } else { String::new() };
    Some(format!("\n\n{drawn}{marks}{}", left_out(&tables, run, page).unwrap_or_default()))
}

/// Lists which statistics are not shown, and where they are.
pub(crate) fn left_out(tables: &[Table], run: &RunResult, page: Page) -> Option<String> {
    // Each table omits what it has no room for.
    let missing_in = |name: &str| {
        let lacks = |table: &&Table| !table.columns.iter().any(|column| column.title == name);
        match tables.iter().filter(lacks).count() {
            0 => None,
            some if some < tables.len() => Some(format!("{name} (in some tables)")),
            _ => Some(name.to_owned()),
        }
    };
    let missing: Vec<String> = NUMBERS.iter().filter_map(|name| missing_in(name)).collect();
    let names = &run.artifacts.names;
    let note = format!("Left out to fit the screen: {}; see {}", missing.join(", "), names.summary_csv);
    let painted = |line: &String| format!("{}\n", page.paint(Style::DIM, line.trim_end()));
    (!missing.is_empty()).then(|| wrap(&note, page.width()).iter().map(painted).collect())
}

/// Experimental and internal metrics, when the summary has any.
pub(crate) fn developer_tables(metrics: &Summary, page: Page) -> Option<String> {
    let drawn: String = FOR_DEVELOPERS
        .iter()
        .filter_map(|(flag, title)| {
            let rows = |metric: &&MetricResult| metric.flags.has(*flag);
            Some(format!("\n\n{}", table((*title).into(), metrics, rows, page)?.draw(page)))
        })
        .collect();
    (!drawn.is_empty()).then_some(drawn)
}

/// Speculative decoding, with the share of steps by accepted drafts.
pub(crate) fn spec_decode(metrics: &Summary, endpoint: EndpointKind, page: Page) -> Option<String> {
    let drawn = group_table(metrics, ConsoleGroup::SpecDecode, endpoint, ": Spec Decode", page)?.draw(page);
    let line = accepted_drafts_line(&metrics.spec_decode_histogram);
    let line = line.map(|line| format!("  {}\n", page.paint(Style::CYAN, &line)));
    Some(format!("\n\n{drawn}{}", line.unwrap_or_default()))
}

fn group_table(
    metrics: &Summary,
    group: ConsoleGroup,
    endpoint: EndpointKind,
    suffix: &str,
    page: Page,
) -> Option<Table<'static>> {
    let shown = |metric: &&MetricResult| metric.group == group && metric.flags.allow_table();
    let title = format!("NVIDIA AIPerf | {}{suffix}", endpoint.traits().title);
    table(title, metrics, shown, page)
}

/// HTTP phases, if the user asked to see them.
pub(crate) fn trace_table(run: &RunResult, page: Page) -> Option<String> {
    let rows = |metric: &&MetricResult| metric.flags.has(Flags::HTTP_TRACE_ONLY);
    let title = || "NVIDIA AIPerf | HTTP Trace Timing".to_owned();
    let drawn = run.show_trace_timing.then(|| table(title(), &run.metrics, rows, page)).flatten()?;
    Some(format!("\n\n{}", drawn.draw(page)))
}

/// Explains how to get cache reads reported, if usage is reported without them.
pub(crate) fn cache_hint(metrics: &Summary, page: Page) -> Option<String> {
    metrics.avg("total_usage_prompt_tokens")?;
    if metrics.avg("total_usage_prompt_cache_read_tokens").is_some() {
        return None;
    }
    let lines = wrap(CACHE_HINT, page.width());
    let painted: String = lines.iter().map(|line| format!("{}\n", page.paint(Style::YELLOW, line))).collect();
    Some(format!("\n{painted}"))
}

fn table(
    title: String,
    summary: &Summary,
    is_shown: impl Fn(&&MetricResult) -> bool,
    page: Page,
) -> Option<Table<'static>> {
    let mut metrics: Vec<&MetricResult> = summary.results.iter().filter(is_shown).collect();
    if metrics.is_empty() {
        return None;
    }
    metrics.sort_by_key(|metric| place(&metric.tag, metric.order));
    let column = |title, wraps| Column { title, align: Align::Right, wraps };
    let columns = std::iter::once(column("Metric", true)).chain(NUMBERS.map(|title| column(title, false))).collect();
    let is_narrow = page.is_screen() && page.width() < ROOM_FOR_ALL;
    let rows = metrics.into_iter().map(|metric| row(metric, summary, is_narrow)).collect();
    let mut table = Table { title, title_style: Style::ITALIC, columns, rows };
    give_way(&mut table, page);
    Some(table)
}

/// Removes columns that do not fit on a screen.
pub(crate) fn give_way(table: &mut Table, page: Page) {
    for (name, label_width) in GIVE_WAY {
        let label_width = if page.width() < ROOM_FOR_ALL { label_width } else { WORD_WIDTH };
        if page.is_screen() && table.least_width(label_width) > page.width() {
            table.remove(name);
        }
    }
}

/// The position in a table: by display order, or else by the lists above.
pub(crate) fn place(tag: &str, order: Option<u32>) -> (u32, usize) {
    let within = |list: &[&str]| list.iter().position(|listed| *listed == tag);
    let listed = within(UNORDERED).or_else(|| Some(UNORDERED.len() + 1 + within(LAST)?));
    (order.filter(|order| *order != 0).unwrap_or(u32::MAX), listed.unwrap_or(UNORDERED.len()))
}

fn row(metric: &MetricResult, summary: &Summary, is_narrow: bool) -> Vec<Cell> {
    let label = Cell { text: label(metric, is_narrow), style: Style::CYAN };
    let is_too_few = |name: &str| summary.interval(&metric.tag, name).is_some_and(|interval| !interval.is_enough);
    let numbers = NUMBERS.map(|name| match grouped(metric.stats.get(name)) {
        Some(text) => Cell { text: marked(text, is_too_few(name)), style: Style::GREEN },
        None => Cell { text: "N/A".into(), style: Style::DIM },
    });
    std::iter::once(label).chain(numbers).collect()
}

/// In a narrow table a long header wraps, and its unit follows on its last line.
fn label(metric: &MetricResult, is_narrow: bool) -> String {
    let gap = if metric.header.chars().count() > LONGEST_HEADER && !is_narrow { '\n' } else { ' ' };
    format!("{}{gap}({})", metric.header, metric.unit)
}

/// Counts of accepted drafts that are shown one by one.
const SINGLE_BUCKETS: u32 = 8;

/// The line below the table of speculative decoding: how many drafted tokens steps accepted. `None` without steps.
pub fn accepted_drafts_line(histogram: &BTreeMap<u32, u64>) -> Option<String> {
    let total: u64 = histogram.values().sum();
    if total == 0 {
        return None;
    }
    let percent = |steps: u64| (100.0 * steps as f64 / total as f64).round_ties_even();
    let largest = histogram.keys().next_back().copied().unwrap_or(0);
    let mut parts: Vec<String> = (0..=largest.min(SINGLE_BUCKETS - 1))
        .map(|accepted| format!("{accepted}: {}%", percent(histogram.get(&accepted).copied().unwrap_or(0))))
        .collect();
    if largest >= SINGLE_BUCKETS {
        let more: u64 = histogram.range(SINGLE_BUCKETS..).map(|(_, steps)| steps).sum();
        parts.push(format!(">={SINGLE_BUCKETS}: {}%", percent(more)));
    }
    Some(format!("Accepted drafts per step (% of steps):  {}", parts.join("   ")))
}
