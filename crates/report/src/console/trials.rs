//! Several runs of one benchmark, as lines of the log: the plan, and the results.

use super::sweep::failed_lines;
use crate::aggregate::trials::{AcrossRuns, ConfidenceReport};
use crate::aggregate::verdicts::RunVerdicts;

/// Columns of the rules between blocks: with the time and level of a log line, they fit a terminal of 80 columns.
const RULE: usize = 56;
/// Metrics by which runs are compared.
const KEY_METRICS: [&str; 4] = ["request_throughput", "time_to_first_token", "inter_token_latency", "request_latency"];
/// The first of these that a metric has represents it.
const KEY_STATS: [&str; 4] = ["avg", "p99", "max", "p50"];
/// How to read the numbers.
const GUIDE: [&str; 7] = [
    "How to read this:",
    "  CV (deviation relative to the mean) < 5%: excellent repeatability",
    "  CV 5-10%: good",
    "  CV 10-20%: fair; more or longer runs would help",
    "  CV > 20%: high; look for what differs between runs",
    "  The interval holds the true mean at its confidence level;",
    "  where those of two configurations overlap, they may be the same.",
];

/// What is about to run.
#[derive(Clone, Debug)]
pub struct MultiRunPlan {
    /// `None` if results decide.
    pub configurations: Option<usize>,
    pub trials: usize,
    /// At most; `None` if there is no limit.
    pub total_runs: Option<usize>,
    pub confidence_level: f64,
    pub cooldown_seconds: f64,
    /// Lines on when trials end early, and on how long everything may take.
    pub notes: Vec<String>,
}

/// Lines before the first run.
pub fn multi_run_banner(plan: &MultiRunPlan) -> Vec<String> {
    let mut lines = heading("Starting Multi-Run Benchmark");
    lines.extend(plan.configurations.map(|count| format!("  Configurations: {count}")));
    lines.push(format!("  Trials per config: {}", plan.trials));
    lines.extend(plan.total_runs.map(|count| format!("  Total runs: {count}")));
    lines.extend([
        format!("  Confidence level: {}", percent(plan.confidence_level)),
        format!("  Cooldown between runs: {:?}s", plan.cooldown_seconds),
    ]);
    lines.extend(plan.notes.iter().map(|note| format!("  {note}")));
    lines.push(rule());
    lines
}

/// Lines after the last run.
pub fn multi_run_summary(report: &ConfidenceReport) -> Vec<String> {
    let mut lines = heading("AGGREGATE STATISTICS SUMMARY");
    lines.extend([
        "Aggregation Type: confidence".to_owned(),
        format!("Total Runs: {}", report.tally.runs),
        format!("Successful Runs: {}", report.tally.successful.len()),
    ]);
    lines.extend(failed_lines(&report.tally));
    lines.extend(verdict_lines(&report.verdicts));
    lines.push(format!("Confidence Level: {}", percent(report.level)));
    lines.extend([String::new(), "Key Metrics:".to_owned()]);
    for tag in KEY_METRICS {
        let found = KEY_STATS.iter().find_map(|stat| {
            let key = format!("{tag}_{stat}");
            report.metrics.iter().find(|(known, _)| *known == key).map(|(_, across)| (stat, across))
        });
        if let Some((stat, across)) = found {
            lines.push(String::new());
            lines.push(format!("{} ({}):", title(tag), title(stat)));
            lines.extend(block(across, report.level));
        }
    }
    lines.push(String::new());
    lines.extend(GUIDE.map(str::to_owned));
    lines.push(rule());
    lines
}

/// The worst verdict of the runs on their own numbers, with the main reason of each that has one.
fn verdict_lines(verdicts: &RunVerdicts) -> Vec<String> {
    let Some(worst) = verdicts.grade() else { return Vec::new() };
    let doubted = verdicts.runs.iter().filter_map(|(label, verdict)| Some((label, verdict.main_reason()?)));
    let reasons = doubted
        .flat_map(|(label, reason)| [format!("  - {label}: {}", reason.text), format!("    try: {}", reason.fix)]);
    let head = format!("Verdict: {} ({})", worst.name(), verdicts.counts());
    std::iter::once(head).chain(reasons).collect()
}

fn block(across: &AcrossRuns, level: f64) -> Vec<String> {
    let unit = &across.unit;
    let line = |name: &str, value: Option<f64>| match value {
        Some(value) => format!("  {name:<8} {value:>12.4} {unit}"),
        None => format!("  {name:<8} {:>12}", "N/A"),
    };
    let cv = match across.cv {
        Some(cv) if cv.is_finite() => format!("{:.2}%", cv * 100.0),
        _ => "N/A".to_owned(),
    };
    let interval = match (across.ci_low, across.ci_high) {
        (Some(low), Some(high)) => format!("[{low:.4}, {high:.4}] {unit}"),
        _ => "N/A".to_owned(),
    };
    vec![
        line("Mean:", across.mean),
        line("Std Dev:", across.std),
        line("Min:", Some(across.min)),
        line("Max:", Some(across.max)),
        format!("  {:<8} {cv:>12}", "CV:"),
        format!("  {} CI: {interval}", percent(level)),
    ]
}

fn heading(text: &str) -> Vec<String> {
    vec![rule(), text.to_owned(), rule()]
}

fn rule() -> String {
    "=".repeat(RULE)
}

/// A share as whole percent, or with the decimals it has.
fn percent(share: f64) -> String {
    let text = format!("{:.4}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn title(words: &str) -> String {
    crate::aggregate::confidence_csv::title_case(words)
}
