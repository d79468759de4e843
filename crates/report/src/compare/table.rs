//! A comparison for people: the sides, one table per pair, the reasons for open verdicts, and the limits.

use super::{CompareReport, Judgement, LimitOutcome, Method, Numbers, Pair, Reason, Row, RowVerdict, Side};
use crate::console::marks::{marked, too_few_line};
use crate::console::page::{Page, Style};
use crate::console::table::{Cell, Column, Table};
use crate::console::text::{Align, literal, wrap_hanging, wrap_whole};
use crate::format::number::{grouped, thousands};

/// Marks that refer from a verdict to its reason.
const MARKS: [&str; 9] = ["¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"];
/// Columns of a metric's name before the table takes its narrow form.
const LABEL_WIDTH: usize = 24;
/// The longest name that keeps its unit beside it, if there is a row for it below.
const LONGEST_HEADER: usize = 30;
/// Columns of short names, and the fewest, before they continue in the next row.
const SHORT_NAME: usize = 16;
const LEAST_NAME: usize = 9;
/// The longest unit after a short name: longer ones are left out.
const SHORT_UNIT: usize = 6;
const SHARES_LINE: &str = "Shares of requests are compared by their counts (Fisher's exact test).";
/// Settings to name one by one.
const NAMED_SETTINGS: usize = 8;

/// The whole report.
pub fn compare_text(report: &CompareReport, page: Page) -> String {
    let mut out = String::from("\n");
    for side in &report.sides {
        push_wrapped(&mut out, page, Style::PLAIN, &side_line(side), 3);
    }
    for note in &report.notes {
        push_wrapped(&mut out, page, Style::YELLOW, &literal(note), 2);
    }
    for pair in &report.pairs {
        out.push_str(&pair_text(report, pair, page));
    }
    out
}

fn side_line(side: &Side) -> String {
    let runs = match side.runs {
        1 => "one run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let records = side.records.map(|records| format!(", {} records", thousands(records as u64))).unwrap_or_default();
    let verdict = match (side.verdicts.grade(), side.verdicts.has_doubts()) {
        (None, _) => String::new(),
        (Some(verdict), true) if side.verdicts.runs.len() > 1 => {
            format!(", {} ({})", verdict.name(), side.verdicts.counts())
        }
        (Some(verdict), _) => format!(", {}", verdict.name()),
    };
    format!("{}  {}: {runs}{records}{verdict}", side.label, literal(&side.path))
}

fn pair_text(report: &CompareReport, pair: &Pair, page: Page) -> String {
    let (first, second) = report.labels(pair);
    let mut out = String::new();
    if let Some(line) = settings_line(pair, first, second) {
        push_wrapped(&mut out, page, Style::YELLOW, &line, 2);
    }
    let reasons = reasons(&pair.rows);
    let table = fitting_table(report, pair, &reasons, page);
    out.push_str(&format!("\n{}", table.draw(page)));
    if table.has_marks() {
        out.push_str(&too_few_line(page));
    }
    for (mark, reason) in MARKS.iter().zip(&reasons) {
        let words = format!("{mark} {}", reason_words(*reason, &pair.rows));
        push_wrapped(&mut out, page, Style::DIM, &words, 2);
    }
    if pair.method != Method::Summaries {
        push_wrapped(&mut out, page, Style::DIM, &method_line(report, pair), 2);
    }
    if pair.rows.iter().any(|row| row.is_share) {
        push_wrapped(&mut out, page, Style::DIM, SHARES_LINE, 2);
    }
    for judgement in &pair.judgements {
        let style = match judgement.outcome {
            LimitOutcome::Within => Style::GREEN,
            LimitOutcome::Beyond => Style::BOLD_RED,
            LimitOutcome::Undecided(_) => Style::YELLOW,
        };
        let words = judgement_words(judgement, first, second, report.level);
        push_wrapped(&mut out, page, style, &format!("--fail-on {}: {words}", literal(&judgement.rule)), 2);
    }
    out
}

fn method_line(report: &CompareReport, pair: &Pair) -> String {
    let level = percent_of_level(report.level);
    let (first, second) = report.labels(pair);
    let from = match pair.method {
        Method::Trials => "how runs differ from each other (Welch)",
        Method::Records | Method::Summaries => "how requests vary over time within each run",
    };
    format!("Differences are {second} less {first}; {level} intervals and verdicts come from {from}.")
}

fn settings_line(pair: &Pair, first: &str, second: &str) -> Option<String> {
    if pair.settings.is_empty() {
        return None;
    }
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not set)".to_owned());
    let named = pair.settings.iter().take(NAMED_SETTINGS);
    let named: Vec<String> =
        named.map(|one| format!("{} {} | {}", one.path, value(&one.first), value(&one.second))).collect();
    let more = match pair.settings.len().saturating_sub(NAMED_SETTINGS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(literal(&format!("The settings of {first} and {second} differ: {}{more}", named.join("; "))))
}

/// A reason in words; how far measurements can be off differs by row.
fn reason_words(reason: Reason, rows: &[Row]) -> String {
    if reason != Reason::ErrorBound {
        return reason.words().to_owned();
    }
    let off = rows.iter().filter(|row| row.verdict == RowVerdict::Undecided(reason));
    let off = off.map(|row| format!("{} {} ({} {})", precise(row.bound()), row.unit, row.short, row.stat));
    format!("the measurement itself can be off by {}", off.collect::<Vec<_>>().join(", "))
}

/// Two decimals, or as many as a small number needs. What is divided by a time that may be zero has no limit.
fn precise(value: f64) -> String {
    if value.is_infinite() {
        return "an unlimited number of".to_owned();
    }
    if value < 0.01 { format!("{value:.1e}") } else { grouped(Some(value)).unwrap_or_else(|| "N/A".to_owned()) }
}

/// Each reason once, in the order of the rows.
fn reasons(rows: &[Row]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for row in rows {
        if let RowVerdict::Undecided(reason) = row.verdict
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
    }
    reasons
}

/// The table in the form that fits the page.
fn fitting_table<'a>(report: &'a CompareReport, pair: &Pair, reasons: &[Reason], page: Page) -> Table<'a> {
    let wide = table(report, pair, reasons, Form::Wide);
    // A name broken into many lines is harder to read than its short form.
    if wide.least_width(LABEL_WIDTH) <= page.width() {
        return wide;
    }
    let narrow = |name_width| table(report, pair, reasons, Form::Narrow { name_width });
    let fits = |table: &Table| table.least_width(usize::MAX) <= page.width();
    (LEAST_NAME..=SHORT_NAME).rev().map(narrow).find(fits).unwrap_or_else(|| narrow(LEAST_NAME))
}

/// The form of a table, by width.
#[derive(Clone, Copy)]
enum Form {
    Wide,
    /// Short names, broken to about this many columns at words, and one column for difference and interval.
    Narrow {
        name_width: usize,
    },
}

fn table<'a>(report: &'a CompareReport, pair: &Pair, reasons: &[Reason], form: Form) -> Table<'a> {
    let is_narrow = matches!(form, Form::Narrow { .. });
    let (first, second) = report.labels(pair);
    let column = |title: &'a str, wraps| Column { title, align: Align::Right, wraps };
    let mut columns = vec![column("Metric", true), column("Stat", false), column(first, false), column(second, false)];
    if is_narrow {
        columns.push(column("Diff [interval]", false));
    } else {
        columns.extend([column("Difference", false), column("%", false), column("Interval, %", false)]);
    }
    columns.push(Column { title: "Verdict", align: Align::Left, wraps: false });
    let of_metric = pair.rows.chunk_by(|one, next| one.tag == next.tag);
    let rows = of_metric.flat_map(|rows| {
        let labels = labels(&rows[0], rows.len(), form);
        rows.iter().zip(labels).map(|(row, label)| cells(row, label, reasons, is_narrow))
    });
    let rows = rows.collect();
    Table { title: "NVIDIA AIPerf | Comparison".to_owned(), title_style: Style::ITALIC, columns, rows }
}

fn cells(row: &Row, label: String, reasons: &[Reason], is_narrow: bool) -> Vec<Cell> {
    let cell = |text: String, style| Cell { text, style };
    let number = |value| grouped(Some(value)).unwrap_or_else(|| "N/A".to_owned());
    let numbers = &row.numbers;
    let mut cells = vec![
        cell(label, Style::CYAN),
        cell(row.stat.clone(), Style::PLAIN),
        cell(marked(number(numbers.first), row.too_few.0), Style::GREEN),
        cell(marked(number(numbers.second), row.too_few.1), Style::GREEN),
    ];
    let style = match row.verdict {
        RowVerdict::Better => Style::BOLD_GREEN,
        RowVerdict::Worse => Style::BOLD_RED,
        RowVerdict::Neutral | RowVerdict::Equal | RowVerdict::Undecided(_) => Style::DIM,
    };
    if is_narrow {
        cells.push(cell(narrow_difference(numbers), Style::PLAIN));
    } else {
        let interval =
            numbers.relative_interval().map(|(low, high)| format!("{} to {}", share(low, 2), share(high, 2)));
        cells.extend([
            cell(signed(numbers.difference), Style::PLAIN),
            cell(numbers.relative.map_or_else(|| "N/A".to_owned(), |relative| share(relative, 2)), Style::PLAIN),
            cell(interval.unwrap_or_else(|| "N/A".to_owned()), Style::PLAIN),
        ]);
    }
    cells.push(cell(verdict(row.verdict, reasons), style));
    cells
}

/// The name of a metric, which may continue below if it has several rows.
fn labels(row: &Row, count: usize, form: Form) -> Vec<String> {
    let Row { header, short, unit, .. } = row;
    let mut lines = match form {
        Form::Narrow { name_width } if unit.len() > SHORT_UNIT || short.contains(unit) => wrap_whole(short, name_width),
        Form::Narrow { name_width } => wrap_whole(&format!("{short} ({unit})"), name_width),
        Form::Wide if header.len() > LONGEST_HEADER => vec![header.clone(), format!("({unit})")],
        Form::Wide => vec![format!("{header} ({unit})")],
    };
    if lines.len() > count {
        let rest = lines.split_off(count - 1).join(" ");
        lines.push(rest);
    }
    lines.resize(count, String::new());
    lines
}

fn verdict(verdict: RowVerdict, reasons: &[Reason]) -> String {
    let mark = match verdict {
        RowVerdict::Undecided(reason) => reasons.iter().position(|one| *one == reason).and_then(|at| MARKS.get(at)),
        _ => None,
    };
    format!("{}{}", verdict.name(), mark.unwrap_or(&""))
}

/// `+5.1% [-1.2, +9.0]`; in the unit if there is no share.
fn narrow_difference(numbers: &Numbers) -> String {
    let Some(relative) = numbers.relative else { return signed(numbers.difference) };
    let interval = numbers.relative_interval().map(|(low, high)| format!(" [{}, {}]", share(low, 1), share(high, 1)));
    format!("{}%{}", share(relative, 1), interval.unwrap_or_default())
}

/// A share in percent, with its sign.
fn share(share: f64, decimals: usize) -> String {
    match share * 100.0 {
        percent if percent == f64::INFINITY => "∞".to_owned(),
        percent if percent == f64::NEG_INFINITY => "-∞".to_owned(),
        percent => {
            let text = format!("{percent:+.decimals$}");
            // Zero has no sign.
            if text[1..].chars().all(|c| matches!(c, '0' | '.')) { text[1..].to_owned() } else { text }
        }
    }
}

/// A number with its sign.
fn signed(value: f64) -> String {
    match grouped(Some(value)) {
        Some(text) if text == "0.00" || text == "-0.00" => "0.00".to_owned(),
        Some(text) if value > 0.0 => format!("+{text}"),
        Some(text) => text,
        None if value == f64::INFINITY => "∞".to_owned(),
        None if value == f64::NEG_INFINITY => "-∞".to_owned(),
        None => "N/A".to_owned(),
    }
}

/// The verdict on a limit, in one line.
pub(super) fn judgement_words(judgement: &Judgement, first: &str, second: &str, level: f64) -> String {
    let Judgement { unit, limit, interval, relative, .. } = judgement;
    let number = |value: f64| grouped(Some(value)).unwrap_or_else(|| "N/A".to_owned());
    let relative = relative.map(|relative| format!(" ({}%)", share(relative, 1))).unwrap_or_default();
    let mut out = format!(
        "{}: {first} {}, {second} {}{relative}, limit {} {unit}",
        judgement.outcome.name(),
        number(judgement.first),
        number(judgement.second),
        number(*limit),
    );
    if let Some((low, high)) = interval {
        out.push_str(&format!(
            "; {second} less the limit lies between {} and {} ({})",
            signed(*low),
            signed(*high),
            percent_of_level(level)
        ));
    }
    if let Some((before, after)) = judgement.more_failures {
        let percent = |share: f64| format!("{:.2}%", share * 100.0);
        out.push_str(&format!(
            "; {second} fails more requests ({} against {}), and this is of those that succeeded",
            percent(after),
            percent(before)
        ));
    }
    if let LimitOutcome::Undecided(reason) = judgement.outcome {
        let words = match reason {
            Reason::WithinNoise => "the limit lies within what chance may do",
            Reason::ManyComparisons => "would be decided alone, but not among so many limits (Holm)",
            Reason::ErrorBound => &format!("the measurement itself can be off by {} {unit}", precise(judgement.bound)),
            other => other.words(),
        };
        out.push_str(&format!("; {words}"));
    }
    out
}

fn percent_of_level(level: f64) -> String {
    let text = format!("{:.2}", level * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn push_wrapped(out: &mut String, page: Page, style: Style, text: &str, indent: usize) {
    for line in wrap_hanging(text, page.width(), indent) {
        out.push_str(&page.paint(style, &line));
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Judgement, SettingDifference};
    use super::*;
    use crate::aggregate::verdicts::RunVerdicts;
    use crate::console::text::width;
    use aiperf_metrics::{Grade, Verdict};

    fn row(tag: &str, stat: &str, numbers: (f64, f64, Option<(f64, f64)>), verdict: RowVerdict) -> Row {
        let (first, second, interval) = numbers;
        Row {
            tag: tag.to_owned(),
            header: "Output Token Throughput Per User".to_owned(),
            short: "Output TPS/User".to_owned(),
            unit: "tokens/sec/user".to_owned(),
            stat: stat.to_owned(),
            larger_is_better: Some(true),
            numbers: Numbers {
                first,
                second,
                difference: second - first,
                relative: (first != 0.0).then(|| (second - first) / first),
                interval,
                p: None,
                corrected_p: None,
                effective: None,
            },
            is_share: false,
            bounds: None,
            too_few: (false, false),
            verdict,
        }
    }

    fn report() -> CompareReport {
        let side = |label: &str| Side {
            label: label.into(),
            path: format!("runs/{label}"),
            runs: 1,
            records: Some(1234),
            verdicts: RunVerdicts::default(),
        };
        let rows = vec![
            row("a", "avg", (12_345.678, 13_000.0, Some((-10.0, 1_300.0))), RowVerdict::Better),
            row("a", "p99", (100.0, 90.0, Some((f64::NEG_INFINITY, 3.0))), RowVerdict::Undecided(Reason::FewRecords)),
            row("b", "avg", (0.0, 1.0, None), RowVerdict::Undecided(Reason::OneValue)),
        ];
        let judgement = Judgement {
            rule: "a:p99:-5%".into(),
            unit: "tokens/sec/user".into(),
            first: 100.0,
            second: 90.0,
            relative: Some(-0.1),
            limit: 95.0,
            interval: Some((-8.0, -2.0)),
            p: Some(0.001),
            corrected_p: Some(0.001),
            is_of_successes: true,
            more_failures: None,
            bound: 0.0,
            outcome: LimitOutcome::Beyond,
        };
        let setting =
            |at: usize| SettingDifference { path: format!("phases.{at}"), first: Some("1".into()), second: None };
        let pair = Pair {
            first: 0,
            second: 1,
            method: Method::Records,
            rows,
            settings: (0..10).map(setting).collect(),
            failures: None,
            judgements: vec![judgement],
        };
        let notes = vec!["B was \u{1b}[31mcut".to_owned()];
        CompareReport { version: "1".into(), level: 0.95, sides: vec![side("A"), side("B")], pairs: vec![pair], notes }
    }

    #[test]
    fn every_line_fits_and_an_open_verdict_shows_its_reason() {
        for columns in [60, 80, 100, 120, 200] {
            let text = compare_text(&report(), Page::screen(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in [
                "A runs/A: one run, 1,234 records",
                "¹ too little data",
                "² one value a run",
                "; and 2 more",
                "--fail-on a:p99:-5%: beyond: A 100.00, B 90.00 (-10.0%), limit 95.00 tokens/sec/user; B less the limit lies \
                 between -8.00 and -2.00 (95%)",
            ] {
                assert!(flat.contains(words), "{columns}: {words}:\n{text}");
            }
        }
    }

    #[test]
    fn a_difference_within_the_error_of_the_measurement_shows_how_large_it_is() {
        let mut report = report();
        let row = &mut report.pairs[0].rows[1];
        (row.bounds, row.verdict) = (Some((12.0, 0.0)), RowVerdict::Undecided(Reason::ErrorBound));
        let judgement = &mut report.pairs[0].judgements[0];
        (judgement.bound, judgement.outcome) = (12.0, LimitOutcome::Undecided(Reason::ErrorBound));
        let verdict = Verdict { grade: Grade::Doubtful, reasons: Vec::new() };
        report.sides[1].verdicts = RunVerdicts { runs: vec![("after".to_owned(), verdict)] };
        let text = compare_text(&report, Page::screen(80));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "B runs/B: one run, 1,234 records, doubtful",
            "¹ the measurement itself can be off by 12.00 tokens/sec/user (Output TPS/User p99)",
            "(95%); the measurement itself can be off by 12.00 tokens/sec/user",
        ] {
            assert!(flat.contains(words), "{words}:\n{text}");
        }
    }

    #[test]
    fn values_of_too_few_requests_are_marked_on_their_own_side() {
        let mut report = report();
        report.pairs[0].rows[1].too_few = (false, true);
        for columns in [60, 80, 140] {
            let text = compare_text(&report, Page::screen(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            assert!(text.contains(" 100.00 ") && text.contains(" ~90.00 "), "{text}");
            assert!(text.contains("\n~ too few independent requests: "), "{text}");
        }
    }

    #[test]
    fn a_narrow_screen_has_short_names_and_one_column_for_difference_and_interval() {
        let text = compare_text(&report(), Page::screen(80));
        for wanted in [
            "│ Output   │ avg │ 12,345.68 │ 13,000.00 │ +5.3% [-0.1, +10.5] │ better     │",
            "│ TPS/User │ p99 │    100.00 │     90.00 │   -10.0% [-∞, +3.0] │ undecided¹ │",
        ] {
            let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.lines().any(|line| squeezed(line) == squeezed(wanted)), "{wanted}\n{text}");
        }
        let wide = compare_text(&report(), Page::screen(140));
        assert!(wide.contains("Output Token Throughput Per User │  avg"), "{wide}");
        assert!(wide.contains("(tokens/sec/user) │  p99"), "{wide}");
        assert!(wide.contains("+654.32 │  +5.30 │ -0.08 to +10.53 │ better"), "{wide}");
    }
}
