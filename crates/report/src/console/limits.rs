//! The table of limits: the condition, the observed value, and the verdict.

use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::Align;
use crate::format::number::grouped;
use aiperf_metrics::{JudgedLimit, LimitVerdict};

/// Every limit with its verdict; `None` without limits.
pub(crate) fn table(judged: &[JudgedLimit], page: Page) -> Option<String> {
    if judged.is_empty() {
        return None;
    }
    let column = |title, wraps| Column { title, align: Align::Right, wraps };
    let table = Table {
        title: "NVIDIA AIPerf | Limits".into(),
        title_style: Style::ITALIC,
        columns: vec![column("Metric", true), column("fails if", false), column("observed", false), column("", true)],
        rows: judged.iter().map(row).collect(),
    };
    Some(format!("\n\n{}", table.draw(page)))
}

fn row(judged: &JudgedLimit) -> Vec<Cell> {
    let (limit, verdict) = (&judged.limit, judged.verdict());
    let style = match verdict {
        LimitVerdict::Met => Style::GREEN,
        LimitVerdict::Crossed => Style::BOLD_RED,
        LimitVerdict::NotMeasured => Style::BOLD_YELLOW,
    };
    let observed = judged.observed.map_or_else(|| "N/A".to_owned(), shown);
    let cell = |text: String, style| Cell { text, style };
    vec![
        cell(label(judged), Style::CYAN),
        cell(format!("{} {}", limit.op.sign(), limit.threshold), Style::PLAIN),
        cell(observed, Style::PLAIN),
        cell(verdict.name().to_owned(), style),
    ]
}

/// The metric's name as in other tables, with its statistic; it breaks between them if there is no room.
fn label(judged: &JudgedLimit) -> String {
    let stat = judged.limit.stat.as_ref().map(|stat| format!(" {stat}")).unwrap_or_default();
    format!("{}{stat} ({})", judged.limit.metric, judged.unit)
}

/// The condition alone: `> 200 ms`.
fn fails_if(judged: &JudgedLimit) -> String {
    in_unit(&format!("{} {}", judged.limit.op.sign(), judged.limit.threshold), judged.unit)
}

fn in_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// Two decimals, unless they would show another number.
fn shown(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    let is_close = (rounded - value).abs() <= value.abs() / 1000.0;
    grouped(Some(value)).filter(|_| is_close).unwrap_or_else(|| value.to_string())
}

/// A limit and its verdict, in one sentence.
pub fn limit_line(judged: &JudgedLimit) -> String {
    let (subject, condition) = (judged.limit.subject(), fails_if(judged));
    match judged.observed {
        None => format!("{subject} was not measured; it fails the run if {condition}"),
        Some(value) => {
            let value = in_unit(&shown(value), judged.unit);
            match judged.verdict() {
                LimitVerdict::Met => format!("{subject} is {value}; it fails the run if {condition}"),
                _ => format!("{subject} is {value}, which crosses the limit: it fails the run if {condition}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Limit, SlaOp};

    fn judged(metric: &str, op: SlaOp, threshold: f64, unit: &'static str, observed: Option<f64>) -> JudgedLimit {
        let limit = Limit { metric: metric.into(), stat: Some("p99".into()), op, threshold, unit: None };
        JudgedLimit { limit, unit, observed }
    }

    #[test]
    fn every_limit_is_a_row() {
        let rows = [
            judged("time_to_first_token", SlaOp::Gt, 200.0, "ms", Some(1250.5)),
            judged("output_token_throughput_per_user", SlaOp::Lt, 0.001, "tokens/sec/user", Some(0.0014)),
            judged("request_latency", SlaOp::Ge, 5.0, "ms", None),
        ];
        insta::assert_snapshot!(table(&rows, Page::plain(80)).unwrap_or_default(), @r"
                                     NVIDIA AIPerf | Limits                             
        ┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━━━━━┓
        ┃                                  Metric ┃ fails if ┃ observed ┃              ┃
        ┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━━━┩
        │            time_to_first_token p99 (ms) │    > 200 │ 1,250.50 │      crossed │
        │    output_token_throughput_per_user p99 │  < 0.001 │   0.0014 │          met │
        │                       (tokens/sec/user) │          │          │              │
        │                request_latency p99 (ms) │     >= 5 │      N/A │ not measured │
        └─────────────────────────────────────────┴──────────┴──────────┴──────────────┘
        ");
        assert_eq!(table(&[], Page::plain(80)), None);
        let lines: Vec<String> = rows.iter().map(limit_line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        time_to_first_token.p99 is 1,250.50 ms, which crosses the limit: it fails the run if > 200 ms
        output_token_throughput_per_user.p99 is 0.0014 tokens/sec/user; it fails the run if < 0.001 tokens/sec/user
        request_latency.p99 was not measured; it fails the run if >= 5 ms
        ");
    }
}
