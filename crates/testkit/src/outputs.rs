//! Reads the four outputs of a run back and checks them against a list of groups.

use crate::vocabulary::{Each, Group, Row, Shape, Table};
use serde_json::Value;
use std::collections::BTreeSet;

/// Members of the summary JSON that are no metrics, in every run that ended well.
pub const MEMBERS: &[&str] = &[
    "schema_version",
    "aiperf_version",
    "benchmark_id",
    "input_config",
    "run_info",
    "was_cancelled",
    "is_complete",
    "error_summary",
    "start_time",
    "end_time",
];

/// The members of a stats block, in order.
const BLOCK: &[&str] =
    &["unit", "avg", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std", "count", "sum"];
const CSV_DISTRIBUTIONS: &str = "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std";
const CSV_SINGLES: &str = "Metric,Value";
const CONSOLE: &str = "Metric,avg,min,max,p99,p90,p50,std";

/// The outputs of one run.
pub struct Shown {
    /// The title of the console's tables.
    pub title: &'static str,
    pub summary: Value,
    pub csv: String,
    pub lines: Vec<Value>,
    pub console: String,
    /// The trace table was requested.
    pub with_trace: bool,
    /// Members of the summary besides those of every run.
    pub extra_members: &'static [&'static str],
    /// It is known how many requests failed: one of four, or none. That decides which statistics of adjusted metrics
    /// are infinite.
    pub one_of_four: bool,
}

impl Shown {
    /// Checks all four outputs against these groups and returns the number of metrics. Every line of a successful
    /// request must have all metrics that a line can have; every other line, those of failed requests.
    pub fn shows(&self, groups: &[Group]) -> usize {
        for line in &self.lines {
            line_shows(line, groups);
        }
        self.summary_shows(groups)
    }

    /// Checks JSON, CSV and console against these groups and returns the number of metrics.
    pub fn summary_shows(&self, groups: &[Group]) -> usize {
        let rows = rows(groups);
        self.json_shows(&rows);
        self.csv_shows(&rows);
        self.console_shows(&rows);
        println!("{}: {} metrics", std::thread::current().name().unwrap_or("?"), rows.len());
        rows.len()
    }

    /// Checks one record line against these groups.
    pub fn line_shows(&self, at: usize, groups: &[Group]) {
        line_shows(&self.lines[at], groups);
    }

    fn json_shows(&self, rows: &[Row]) {
        let members = self.summary.as_object().expect("an object");
        let is_metric =
            |name: &&String| !MEMBERS.contains(&name.as_str()) && !self.extra_members.contains(&name.as_str());
        same(members.keys().filter(is_metric).map(String::as_str), rows.iter().map(|row| row.tag), "summary JSON");
        let missing = MEMBERS.iter().chain(self.extra_members).filter(|name| !members.contains_key(**name));
        assert_eq!(missing.count(), 0, "summary JSON: {:?}", members.keys());
        for row in rows {
            self.block_is(&members[row.tag], row);
        }
    }

    fn csv_shows(&self, rows: &[Row]) {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| row.tag);
        let (singles, distributions): (Vec<Row>, Vec<Row>) = rows.iter().partition(|row| row.shape == Shape::Single);
        let mut expected = vec![CSV_DISTRIBUTIONS.to_owned()];
        expected.extend(distributions.iter().map(csv_label));
        expected.extend([String::new(), CSV_SINGLES.to_owned()]);
        expected.extend(singles.iter().map(csv_label));
        let mut got: Vec<String> = self.csv.split("\r\n").map(str::to_owned).collect();
        assert_eq!(got.pop().as_deref(), Some(""), "the CSV ends with a line break");
        let label = |line: &String| match line.as_str() {
            CSV_DISTRIBUTIONS | CSV_SINGLES => line.clone(),
            _ => line.split(',').next().unwrap_or_default().to_owned(),
        };
        same_list(&got.iter().map(label).collect::<Vec<_>>(), &expected, "summary CSV");
        for (line, row) in
            got[1..].iter().zip(&distributions).chain(got[distributions.len() + 3..].iter().zip(&singles))
        {
            let statistics = if row.shape == Shape::Single { "Metric,avg" } else { CSV_DISTRIBUTIONS };
            for (statistic, cell) in statistics.split(',').zip(line.split(',')).skip(1) {
                self.check(row.shape, statistic, !cell.is_empty(), line);
                assert!(cell.is_empty() || cell.parse::<f64>().is_ok_and(f64::is_finite), "{statistic} in {line}");
            }
        }
    }

    fn console_shows(&self, rows: &[Row]) {
        let title = |suffix: &str| format!("NVIDIA AIPerf | {}{suffix}", self.title);
        let mut tables = vec![
            ("NVIDIA AIPerf | Experimental Metrics".to_owned(), Table::Experimental),
            ("NVIDIA AIPerf | Internal Metrics".to_owned(), Table::Internal),
            (title(": Effective"), Table::Effective),
            (title(": Active"), Table::Active),
            (title(""), Table::Main),
            (title(": Spec Decode"), Table::SpecDecode),
        ];
        if self.with_trace {
            tables.insert(5, ("NVIDIA AIPerf | HTTP Trace Timing".to_owned(), Table::Trace));
        }
        // If no request succeeded, only the errors are shown.
        if !rows.iter().any(|row| row.tag == "request_count") {
            tables.clear();
        }
        let mut expected = Vec::new();
        for (title, table) in tables {
            let mut rows: Vec<&Row> = rows.iter().filter(|row| row.table == table).collect();
            rows.sort_by_key(|row| row.place);
            if !rows.is_empty() {
                expected.push((title, rows));
            }
        }
        let mut got = console_tables(&self.console);
        got.retain(|table| table.title != "NVIDIA AIPerf | Error Summary");
        let titles: Vec<&str> = got.iter().map(|table| table.title.as_str()).collect();
        assert_eq!(titles, expected.iter().map(|(title, _)| title.as_str()).collect::<Vec<_>>(), "console");
        for (table, (title, rows)) in got.iter().zip(&expected) {
            assert_eq!(table.heads.join(","), CONSOLE, "{title}");
            let labels: Vec<String> = table.rows.iter().map(|(label, _)| label.clone()).collect();
            same_list(&labels, &rows.iter().map(|row| console_label(row)).collect::<Vec<_>>(), title);
            for ((label, cells), row) in table.rows.iter().zip(rows) {
                for (statistic, cell) in CONSOLE.split(',').skip(1).zip(cells) {
                    self.check(row.shape, statistic, cell != "N/A", label);
                }
            }
        }
    }

    /// Checks the stats block of a metric.
    pub fn block_is(&self, block: &Value, row: &Row) {
        let keys: Vec<&str> = block.as_object().expect("a block").keys().map(String::as_str).collect();
        let in_order: Vec<&str> = BLOCK.iter().copied().filter(|key| keys.contains(key)).collect();
        assert_eq!(keys, in_order, "{}", row.tag);
        assert_eq!(block["unit"], row.unit, "{}", row.tag);
        for &key in BLOCK.iter().filter(|key| **key != "unit") {
            self.check(row.shape, key, keys.contains(&key), row.tag);
        }
        for key in keys.into_iter().filter(|key| *key != "unit") {
            let fits = if key == "count" { block[key].is_u64() } else { block[key].is_f64() };
            assert!(fits, "{} {key}: {}", row.tag, block[key]);
        }
    }

    /// Checks whether a statistic is present.
    fn check(&self, shape: Shape, statistic: &str, is_there: bool, place: &str) {
        let expected = match shape {
            Shape::Distribution => true,
            Shape::WithoutCount => statistic != "count",
            Shape::Single => statistic == "avg",
            Shape::Curve => ["avg", "p50", "p90", "p95", "p99", "min", "max", "std"].contains(&statistic),
            Shape::Adjusted if ["avg", "max", "std", "sum"].contains(&statistic) => false,
            Shape::Adjusted if ["min", "count"].contains(&statistic) => true,
            Shape::Adjusted if !self.one_of_four => return,
            Shape::Adjusted => ["p1", "p5", "p10", "p25", "p50", "p75"].contains(&statistic),
        };
        assert_eq!(is_there, expected, "{statistic} in {place}");
    }

    /// The mean, or the single value, of a metric.
    pub fn avg(&self, tag: &str) -> f64 {
        self.stat(tag, "avg")
    }

    /// A statistic of a metric.
    pub fn stat(&self, tag: &str, statistic: &str) -> f64 {
        let block = &self.summary[tag];
        rounded(block[statistic].as_f64().unwrap_or_else(|| panic!("{statistic} of {tag}: {block}")))
    }

    /// The value of a metric in the line of a request.
    pub fn value(&self, line: usize, tag: &str) -> f64 {
        let metric = &self.lines[line]["metrics"][tag];
        rounded(metric["value"].as_f64().unwrap_or_else(|| panic!("{tag}: {metric}")))
    }
}

/// A number to thirteen digits: further digits of a sum depend on the order of its terms.
fn rounded(value: f64) -> f64 {
    format!("{value:.12e}").parse().expect("a number")
}

/// All rows of some groups; none may occur twice.
fn rows(groups: &[Group]) -> Vec<Row> {
    let rows: Vec<Row> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    let tags: BTreeSet<&str> = rows.iter().map(|row| row.tag).collect();
    assert_eq!(tags.len(), rows.len(), "a group is listed twice");
    rows
}

fn line_shows(line: &Value, groups: &[Group]) {
    let failed = !line["error"].is_null();
    let rows: Vec<Row> =
        rows(groups).into_iter().filter(|row| row.each != Each::Nothing && row.of_failed == failed).collect();
    let metrics = line["metrics"].as_object().expect("metrics");
    same(metrics.keys().map(String::as_str), rows.iter().map(|row| row.tag), "record line");
    for row in rows {
        let (value, unit) = (&metrics[row.tag]["value"], &metrics[row.tag]["unit"]);
        assert_eq!(unit, row.unit, "{}", row.tag);
        let fits = match row.each {
            Each::Int => value.is_i64() || value.is_u64(),
            Each::Float => value.is_f64(),
            Each::List => value.as_array().is_some_and(|list| list.iter().all(Value::is_f64)),
            Each::Nothing => false,
        };
        assert!(fits, "{}: {value} is not {:?}", row.tag, row.each);
        assert_eq!(metrics[row.tag].as_object().map(serde_json::Map::len), Some(2), "{}", row.tag);
    }
}

/// The CSV label: a unit that only counts something is left out.
fn csv_label(row: &Row) -> String {
    match row.unit {
        "count" | "requests" => row.header.to_owned(),
        unit => format!("{} ({unit})", row.header),
    }
}

/// The unit of a long header is on a line of its own.
fn console_label(row: &Row) -> String {
    let gap = if row.header.len() > 30 { "\n" } else { " " };
    format!("{}{gap}({})", row.header, row.unit)
}

/// A table as it was drawn: its title, its heads, and the label and cells of each row.
struct Drawn {
    title: String,
    heads: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
}

fn console_tables(text: &str) -> Vec<Drawn> {
    let mut tables: Vec<Drawn> = Vec::new();
    for line in text.lines() {
        let cells = |border: char| -> Vec<String> {
            line.trim_matches(border).split(border).map(|cell| cell.trim().to_owned()).collect()
        };
        let Some(table) = tables.last_mut().filter(|_| line.starts_with(['┃', '│'])) else {
            let title = line.trim();
            if title.starts_with("NVIDIA AIPerf | ") {
                tables.push(Drawn { title: title.to_owned(), heads: Vec::new(), rows: Vec::new() });
            }
            continue;
        };
        if line.starts_with('┃') {
            table.heads = cells('┃');
            continue;
        }
        let mut cells = cells('│');
        // A panel has lines of one cell.
        if cells.len() == 1 {
            continue;
        }
        let label = cells.remove(0);
        match table.rows.last_mut() {
            Some((above, _)) if cells.iter().all(String::is_empty) => *above = format!("{above}\n{label}"),
            _ => table.rows.push((label, cells)),
        }
    }
    tables
}

/// Compares two sets and names missing and unexpected items.
fn same<'a>(got: impl Iterator<Item = &'a str>, expected: impl Iterator<Item = &'a str>, what: &str) {
    let (got, expected): (BTreeSet<&str>, BTreeSet<&str>) = (got.collect(), expected.collect());
    let missing: Vec<&&str> = expected.difference(&got).collect();
    let unexpected: Vec<&&str> = got.difference(&expected).collect();
    assert!(missing.is_empty() && unexpected.is_empty(), "{what}: missing {missing:?}, not expected {unexpected:?}");
}

/// Compares two lists, and their order.
fn same_list(got: &[String], expected: &[String], what: &str) {
    same(got.iter().map(String::as_str), expected.iter().map(String::as_str), what);
    assert_eq!(got, expected, "{what}");
}
