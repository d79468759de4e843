//! The registry as text: `docs/metrics.md` for people, JSON for programs.

use crate::registry::families::FAMILIES;
use crate::registry::flags::{Flags, MEANINGS};
use crate::registry::metric::{Metric, Population};
use std::fmt::Write;

pub fn markdown() -> String {
    let mut text = String::from(INTRODUCTION);
    for (family, metrics) in FAMILIES {
        let _ = writeln!(text, "\n## {family}\n");
        for metric in *metrics {
            entry(&mut text, metric);
        }
    }
    text.push_str("\n## Flags\n\n| flag | meaning |\n| --- | --- |\n");
    for ((name, _), meaning) in Flags::ALL.iter().zip(MEANINGS) {
        let _ = writeln!(text, "| `{name}` | {} |", meaning.trim());
    }
    text
}

const INTRODUCTION: &str = "\
# Metrics

After this page you know what each metric means, how it is computed and when it is absent. You can name a metric in
`--goodput`, `--fail-if` and `aiperf compare --metrics`. These commands print the page:

    aiperf metrics              # as text
    aiperf metrics --json       # for programs

The name in each heading is the tag of the metric. It is also the key in the summary:
`jq .time_to_first_token.p99 profile_export_aiperf.json`.

| kind | values | exported as |
| --- | --- | --- |
| record | one per request | a distribution: `avg`, `min`, `max`, `sum`, `p1` to `p99`, `std`, `count` |
| list | several per request | one distribution of all values |
| aggregate | one per run, accumulated over its requests | a single number, `avg` |
| derived | one per run, computed from other metrics | a single number, `avg` |
| analysis | a distribution over the whole run | a distribution |

`std` is the sample standard deviation (divisor n - 1). For curves over time, such as concurrency, it is the deviation
over time.

Percentiles interpolate linearly between the two closest ranks. There are two exceptions. Percentiles of error-adjusted
metrics are the nearest rank. A percentile of a curve is the smallest value that the curve does not exceed for that
share of the time.

Times are integers, in nanoseconds. If a metric has two units, the second one is displayed, and `--goodput` takes values
in it. In formulas, `duration_s` is `benchmark_duration` in seconds, or the length of the slice.

Statistics of record metrics are exact. Beyond 16 million values of a list metric, its percentiles come from a
log-linear histogram and are within 0.05%. The same holds for curves with more than 8 million steps. All other
statistics stay exact. The summary states which case applies.
";

fn entry(text: &mut String, metric: &Metric) {
    let _ = write!(text, "### `{}`\n\n{}", metric.tag, metric.header);
    if let Some(short) = metric.short.filter(|short| *short != metric.header) {
        let _ = write!(text, " ({short})");
    }
    let _ = write!(text, " · {} · {}", metric.kind().name(), metric.unit.name());
    if metric.display != metric.unit {
        let _ = write!(text, " → {}", metric.display.name());
    }
    match metric.population {
        Population::Every => text.push_str(" · of every record"),
        Population::Failed => text.push_str(" · of failed records"),
        Population::Valid => {}
    }
    let _ = write!(text, " · console: {}", metric.group.name());
    if let Some(order) = metric.order {
        let _ = write!(text, " {order}");
    }
    let _ = writeln!(text, "\n\n- value: {}", metric.formula);
    if !metric.absent.is_empty() {
        let _ = writeln!(text, "- absent when: {}", metric.absent);
    }
    for (name, tags) in [("needs", metric.needs), ("looks at", metric.uses)] {
        if !tags.is_empty() {
            let _ = writeln!(text, "- {name}: {}", quoted(tags.iter().copied(), '`'));
        }
    }
    if metric.flags != Flags::NONE {
        let _ = writeln!(text, "- flags: {}", quoted(metric.flags.names(), '`'));
    }
    text.push('\n');
}

fn quoted<'a>(words: impl Iterator<Item = &'a str>, quote: char) -> String {
    words.map(|word| format!("{quote}{word}{quote}")).collect::<Vec<_>>().join(", ")
}

/// The registry as a JSON array of objects.
pub fn registry_json() -> String {
    let mut text = String::from("[");
    for (family, metrics) in FAMILIES {
        for metric in *metrics {
            if text.len() > 1 {
                text.push(',');
            }
            object(&mut text, family, metric);
        }
    }
    text.push_str("\n]\n");
    text
}

fn object(text: &mut String, family: &str, metric: &Metric) {
    let optional = |value: Option<String>| value.unwrap_or_else(|| "null".to_owned());
    let fields: [(&str, String); 16] = [
        ("tag", string(metric.tag)),
        ("header", string(metric.header)),
        ("short_header", optional(metric.short.map(string))),
        ("short_header_hide_unit", metric.hide_unit.to_string()),
        ("family", string(family)),
        ("kind", string(metric.kind().name())),
        ("unit", string(metric.unit.name())),
        ("display_unit", string(metric.display.name())),
        ("console_group", string(metric.group.name())),
        ("display_order", optional(metric.order.map(|order| order.to_string()))),
        ("larger_is_better", optional(metric.larger_is_better().map(|larger| larger.to_string()))),
        ("flags", format!("[{}]", quoted(metric.flags.names(), '"'))),
        ("needs", format!("[{}]", quoted(metric.needs.iter().copied(), '"'))),
        ("uses", format!("[{}]", quoted(metric.uses.iter().copied(), '"'))),
        ("formula", string(metric.formula)),
        ("absent_when", string(metric.absent)),
    ];
    let members: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    let _ = write!(text, "\n  {{{}}}", members.join(", "));
}

/// Texts of the registry are ASCII without control characters; a test checks this.
fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
