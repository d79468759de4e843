//! Metrics of the user: a file with a row `DCGM_FIELD, gauge|counter, help text` for each, as for DCGM exporters. The
//! help text contains the display name and, in `(in UNIT)`, the unit.

use super::dcgm;
use super::table::{CustomMetric, GpuMetric, GpuMetricKind, METRICS};
use aiperf_types::acts_on_terminal;
use std::collections::HashSet;
use std::sync::Arc;

/// A row that gives no metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// From 1.
    pub line: usize,
    pub why: String,
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Custom {
    pub metrics: Vec<CustomMetric>,
    pub skipped: Vec<SkippedRow>,
}

/// The prefix of DCGM fields.
const FIELD: &str = "DCGM_FI_";
/// Prefixes to remove.
const PREFIXES: [&str; 2] = ["DCGM_FI_DEV_", "DCGM_FI_PROF_"];
/// Words that stay in capitals.
const ABBREVIATIONS: [&str; 10] = ["gpu", "xid", "sm", "nvlink", "pci", "pcie", "cpu", "ram", "vram", "ecc"];
/// Characters of a row that a message shows.
const SHOWN: usize = 60;

/// Units by their spelling in rows, in lower case: the name, and the factor for a value.
const UNITS: &[(&str, &str, f64)] = &[
    ("w", "W", 1.0),
    ("%", "%", 1.0),
    ("percent", "%", 1.0),
    ("gb", "GB", 1.0),
    ("gib", "GB", 1.073741824),
    ("mb", "MB", 1.0),
    ("mib", "MB", 1.048576),
    ("kb", "KB", 1.0),
    ("kib", "KB", 1.024),
    ("mhz", "MHz", 1.0),
    ("ghz", "GHz", 1.0),
    ("c", "°C", 1.0),
    ("°c", "°C", 1.0),
    ("celsius", "°C", 1.0),
    ("count", "count", 1.0),
    ("us", "us", 1.0),
    ("ms", "ms", 1.0),
    ("s", "sec", 1.0),
    // Millijoules, the unit of DCGM; megajoules have a capital.
    ("mj", "MJ", 1e-9),
    ("j", "J", 1.0),
];

/// A value without a known unit is a count.
const COUNT: (&str, f64) = ("count", 1.0);

/// Metrics of one file: a GPU reports a few hundred.
const MOST_METRICS: usize = 4096;

/// Reads a file. Every text is valid; bad rows are skipped.
pub fn parse(text: &str) -> Custom {
    let mut custom = Custom::default();
    let mut known: HashSet<Arc<str>> = METRICS.iter().map(|metric| metric.key.as_ref().into()).collect();
    for (index, row) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let row = row.trim();
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        match read(row, &known) {
            Ok(Some(_)) if custom.metrics.len() == MOST_METRICS => {
                let why = format!("a file gives {MOST_METRICS} metrics at most");
                custom.skipped.push(SkippedRow { line: index + 1, why });
                break;
            }
            Ok(Some(metric)) => {
                known.insert(metric.metric.key.as_ref().into());
                custom.metrics.push(metric);
            }
            Ok(None) => {}
            Err(why) => custom.skipped.push(SkippedRow { line: index + 1, why }),
        }
    }
    custom
}

/// The metric of a row; `None` if it is collected anyway.
fn read(row: &str, known: &HashSet<Arc<str>>) -> Result<Option<CustomMetric>, String> {
    let mut cells = row.splitn(3, ',').map(str::trim);
    let (Some(field), Some(kind), Some(help)) = (cells.next(), cells.next(), cells.next()) else {
        return Err(format!("'{}' is not `FIELD, gauge|counter, help text`", shown(row)));
    };
    if !field.starts_with(FIELD) {
        return Err(format!("'{}' does not begin with {FIELD}", shown(field)));
    }
    let kind = match kind {
        "gauge" => GpuMetricKind::Gauge,
        "counter" => GpuMetricKind::Counter,
        other => return Err(format!("'{}' is neither gauge nor counter", shown(other))),
    };
    if dcgm::is_known(field) {
        return Ok(None);
    }
    let key = key(field);
    if known.contains(key.as_str()) {
        return Err(format!("{} is there already, as {}", shown(field), shown(&key)));
    }
    let (unit, factor) = unit(help);
    let metric = GpuMetric { name: name(help, &key).into(), key: key.into(), unit: unit.into(), kind };
    Ok(Some(CustomMetric { field: field.to_owned(), metric, factor }))
}

fn key(field: &str) -> String {
    let rest = PREFIXES.iter().find_map(|prefix| field.strip_prefix(prefix)).unwrap_or(field);
    format!("nvidia_{}", rest.to_lowercase())
}

/// The text before the first bracket, with a capital for each word; the key if there is none.
fn name(help: &str, key: &str) -> String {
    let text = help.split('(').next().unwrap_or_default().trim();
    let text = if text.is_empty() { key.replace('_', " ") } else { text.to_owned() };
    text.split_whitespace().map(capitalised).collect::<Vec<_>>().join(" ")
}

fn capitalised(word: &str) -> String {
    let small = word.to_lowercase();
    if ABBREVIATIONS.contains(&small.as_str()) {
        return small.to_uppercase();
    }
    let mut letters = small.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The unit of the first `(in UNIT)`.
fn unit(help: &str) -> (&'static str, f64) {
    let brackets = help.split('(').skip(1).filter_map(|rest| rest.split_once(')')).map(|(inside, _)| inside);
    let named = |inside: &str| {
        let (word, unit) = inside.split_once(char::is_whitespace)?;
        let unit = unit.trim();
        (word.eq_ignore_ascii_case("in") && !unit.is_empty() && !unit.contains(char::is_whitespace))
            .then(|| unit.to_owned())
    };
    let Some(unit) = brackets.filter_map(named).next() else { return COUNT };
    if unit == "MJ" {
        return ("MJ", 1.0);
    }
    let small = unit.to_lowercase();
    UNITS.iter().find(|(known, ..)| *known == small).map_or(COUNT, |(_, unit, factor)| (unit, *factor))
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).map(|c| if acts_on_terminal(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn only(row: &str) -> CustomMetric {
        let custom = parse(row);
        assert_eq!((custom.metrics.len(), custom.skipped.len()), (1, 0), "{custom:?}");
        custom.metrics.into_iter().next().unwrap()
    }

    #[test]
    fn a_unit_that_is_called_otherwise_is_converted() {
        for (unit, called, factor) in [
            ("mJ", "MJ", 1e-9),
            ("MJ", "MJ", 1.0),
            ("J", "J", 1.0),
            ("MiB", "MB", 1.048576),
            ("GiB", "GB", 1.073741824),
            ("KiB", "KB", 1.024),
            ("GB", "GB", 1.0),
            ("°C", "°C", 1.0),
            ("furlongs", "count", 1.0),
        ] {
            let row = only(&format!("DCGM_FI_DEV_X, gauge, Some thing (In {unit})"));
            assert_eq!((&*row.metric.unit, row.factor), (called, factor), "{unit}");
        }
        assert_eq!(only("DCGM_FI_DEV_X, gauge, a (in two words) b (in W)").metric.unit, "W");
    }

    #[test]
    fn a_counter_is_a_counter() {
        assert_eq!(only("DCGM_FI_DEV_X, counter, n").metric.kind, GpuMetricKind::Counter);
    }

    #[test]
    fn rows_that_give_nothing_are_reported_by_line() {
        let text = "# head\n\nDCGM_FI_DEV_X, gauge\nFOO, gauge, x\nDCGM_FI_DEV_Y, Gauge, y\nDCGM_FI_DEV_A, gauge, a\n\
                    DCGM_FI_PROF_A, gauge, again\nDCGM_FI_DEV_TEMPERATURE, gauge, taken\nDCGM_FI_DEV_GPU_TEMP, gauge, t\n";
        let custom = parse(text);
        assert_eq!(custom.metrics.len(), 1);
        let lines: Vec<usize> = custom.skipped.iter().map(|row| row.line).collect();
        assert_eq!(lines, [3, 4, 5, 7, 8]);
        assert_eq!(custom.skipped[2].why, "'Gauge' is neither gauge nor counter");
    }

    #[test]
    fn a_file_of_very_many_rows_is_read_up_to_a_number_of_them() {
        let text: String = (0..100_000).map(|n| format!("DCGM_FI_DEV_M{n}, gauge, m (in W)\n")).collect();
        let custom = parse(&text);
        assert_eq!((custom.metrics.len(), custom.skipped.len()), (MOST_METRICS, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_a_file(text in "\\PC*|(DCGM_FI_[A-Z_]{0,9}, ?(gauge|counter), ?[a-zé( )inMJ%]{0,20}\n){0,9}") {
            let custom = parse(&text);
            for row in &custom.metrics {
                prop_assert!(row.factor.is_finite() && row.metric.key.starts_with("nvidia_"));
                prop_assert!(!row.metric.name.is_empty());
            }
            prop_assert!(custom.metrics.len() + custom.skipped.len() <= text.lines().count());
        }
    }
}
