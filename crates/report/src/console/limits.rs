//! The table of limits: the condition, the observed value, and the verdict.

use super::page::{Page, Style};
use super::table::{Cell, Column, Table};
use super::text::{Align, wrap_hanging};
use crate::format::number::{grouped, thousands};
use aiperf_metrics::{DOUBTFUL_MS, JudgedLimit, LimitVerdict, Verdict};

/// Every limit with its verdict, and below what is not sure about the observed values. `None` without limits. `verdict`:
/// that of the run on its own numbers.
pub(crate) fn table(judged: &[JudgedLimit], verdict: Option<&Verdict>, page: Page) -> Option<String> {
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
    let mut out = format!("\n\n{}", table.draw(page));
    let cautions =
        judged.iter().filter_map(|judged| Some(format!("{}: {}", judged.limit.metric, limit_caution(judged)?)));
    let doubt = verdict.filter(|verdict| !verdict.is_trustworthy());
    let doubt = doubt.map(|verdict| format!("The observed values are {}", verdict.in_words()));
    for line in cautions.chain(doubt).flat_map(|line| wrap_hanging(&line, page.width(), 2)) {
        out.push_str(&format!("{}\n", page.paint(Style::YELLOW, &line)));
    }
    Some(out)
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

/// What is not sure about the observed value: too few requests, or a measurement that can be off. `None` if nothing is.
pub fn limit_caution(judged: &JudgedLimit) -> Option<String> {
    let stat = judged.limit.stat();
    let too_few = judged.too_few.map(|requests| format!("{} requests are not enough for {stat}", thousands(requests)));
    let is_near = |bound: f64| judged.observed.is_some_and(|value| (value - judged.limit.threshold).abs() <= bound);
    let bound = judged.bound.filter(|bound| *bound > DOUBTFUL_MS || is_near(*bound));
    let bound =
        bound.map(|bound| format!("the measurement itself can be off by {}", in_unit(&shown(bound), judged.unit)));
    let cautions: Vec<String> = too_few.into_iter().chain(bound).collect();
    (!cautions.is_empty()).then(|| cautions.join("; "))
}

/// A limit and its verdict, in one sentence, with what is not sure about it.
pub fn limit_line(judged: &JudgedLimit) -> String {
    let caution = limit_caution(judged).map(|caution| format!("; {caution}")).unwrap_or_default();
    format!("{}{caution}", verdict_line(judged))
}

fn verdict_line(judged: &JudgedLimit) -> String {
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
    use aiperf_metrics::{Grade, Reason};
    use aiperf_types::{Limit, SlaOp};

    fn judged(metric: &str, op: SlaOp, threshold: f64, unit: &'static str, observed: Option<f64>) -> JudgedLimit {
        let limit = Limit { metric: metric.into(), stat: Some("p99".into()), op, threshold, unit: None };
        JudgedLimit { limit, unit, observed, bound: None, too_few: None }
    }

    #[test]
    fn every_limit_is_a_row() {
        let rows = [
            judged("time_to_first_token", SlaOp::Gt, 200.0, "ms", Some(1250.5)),
            judged("output_token_throughput_per_user", SlaOp::Lt, 0.001, "tokens/sec/user", Some(0.0014)),
            judged("request_latency", SlaOp::Ge, 5.0, "ms", None),
        ];
        insta::assert_snapshot!(table(&rows, Some(&Verdict::default()), Page::plain(80)).unwrap_or_default(), @r"
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
        assert_eq!(table(&[], Some(&Verdict::default()), Page::plain(80)), None);
        let lines: Vec<String> = rows.iter().map(limit_line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        time_to_first_token.p99 is 1,250.50 ms, which crosses the limit: it fails the run if > 200 ms
        output_token_throughput_per_user.p99 is 0.0014 tokens/sec/user; it fails the run if < 0.001 tokens/sec/user
        request_latency.p99 was not measured; it fails the run if >= 5 ms
        ");
    }

    #[test]
    fn what_is_not_sure_is_below_the_table_and_the_verdict_of_the_run_last() {
        let sure = judged("time_to_first_token", SlaOp::Gt, 200.0, "ms", Some(150.0));
        let few = JudgedLimit { too_few: Some(60), bound: Some(0.01), ..sure.clone() };
        let off = JudgedLimit { bound: Some(12.0), ..sure.clone() };
        let near = JudgedLimit { bound: Some(0.04), observed: Some(199.97), ..sure.clone() };
        let cautions = [&sure, &few, &off, &near].map(limit_caution);
        let off_by = |ms: &str| Some(format!("the measurement itself can be off by {ms} ms"));
        let expected = [None, Some("60 requests are not enough for p99".to_owned()), off_by("12.00"), off_by("0.04")];
        assert_eq!(cautions, expected);
        let reason = Reason {
            code: "core_wait".into(),
            grade: Grade::Doubtful,
            value: 0.042,
            limit: 0.01,
            text: "a worker waited for a core for 4.2% of the run".into(),
            fix: "taskset".into(),
        };
        let verdict = Verdict { grade: Grade::Doubtful, reasons: vec![reason] };
        let text = table(&[sure, few], Some(&verdict), Page::plain(80)).unwrap_or_default();
        let below: Vec<&str> = text.lines().skip_while(|line| !line.starts_with('└')).skip(1).collect();
        assert_eq!(
            below,
            [
                "time_to_first_token: 60 requests are not enough for p99",
                "The observed values are doubtful: a worker waited for a core for 4.2% of the run"
            ]
        );
    }
}
