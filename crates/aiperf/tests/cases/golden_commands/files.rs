//! One file held against the other.

use crate::golden_commands::command::GoldenRun;
use crate::golden_commands::decided;
use crate::golden_commands::outline::Outline;
use crate::golden_commands::tables::{self, Table};
use serde_json::Value;

/// A kind of file: how its name is known, and how two of them are compared.
struct Kind {
    is_kind: fn(&str) -> bool,
    compare: fn(&GoldenRun, &str, &str) -> Vec<String>,
}

const KINDS: &[Kind] = &[
    // What is in them is the server's, and the reference's server is not ours: they have goldens of their own.
    Kind { is_kind: |name| name.contains("server_metrics"), compare: nothing },
    Kind { is_kind: |name| is_aggregate(name) && name.ends_with(".json"), compare: aggregates },
    Kind { is_kind: is_aggregate, compare: nothing },
    Kind { is_kind: |name| name.ends_with(".jsonl"), compare: lines },
    Kind { is_kind: |name| name.ends_with(".json"), compare: documents },
    Kind { is_kind: |name| name.ends_with(".csv"), compare: csv },
    Kind { is_kind: |name| name.ends_with("_console.txt"), compare: console },
];

/// How a file differs from that of the reference.
pub(crate) fn differences(run: &GoldenRun, name: &str, ours: &str, theirs: &str) -> Vec<String> {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    match KINDS.iter().find(|kind| (kind.is_kind)(file_name)) {
        Some(kind) => (kind.compare)(run, ours, theirs),
        None => vec!["nothing here compares such a file".to_owned()],
    }
}

fn nothing(_: &GoldenRun, _: &str, _: &str) -> Vec<String> {
    Vec::new()
}

/// Whether a file sums up the runs of several.
fn is_aggregate(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    ["_aggregate", "_collated", "_sweep"].iter().any(|ending| stem.ends_with(ending))
}

/// What is summed up is the runs' own: how it is made of them has goldens of its own.
fn aggregates(run: &GoldenRun, ours: &str, theirs: &str) -> Vec<String> {
    let about = |text: &str| -> [Value; 1] {
        let mut document: Value = serde_json::from_str(text).unwrap();
        let of_runs = ["metrics", "per_combination_metrics", "best_configurations", "pareto_optimal"];
        document.as_object_mut().unwrap().retain(|key, _| !of_runs.contains(&key.as_str()));
        [document]
    };
    outlines(run, &about(ours), &about(theirs))
}

fn documents(run: &GoldenRun, ours: &str, theirs: &str) -> Vec<String> {
    let mut found = Vec::new();
    let ends = |text: &str| text.ends_with('\n');
    if ends(ours) != ends(theirs) {
        found.push(format!("its last line ends in a line break: {}, not {}", ends(ours), ends(theirs)));
    }
    let indent = |text: &str| text.lines().nth(1).map(|line| line.len() - line.trim_start().len());
    if indent(ours) != indent(theirs) {
        found.push(format!("indented by {:?}, not {:?}", indent(ours), indent(theirs)));
    }
    let parse = |text: &str| -> [Value; 1] { [serde_json::from_str(text).unwrap()] };
    let (ours, theirs) = (parse(ours), parse(theirs));
    found.extend(outlines(run, &ours, &theirs));
    if ours[0].get("benchmark_id").is_some() {
        found.extend(figures(run, &ours[0], &theirs[0]));
    }
    found
}

/// Figures that the command decides.
fn figures(run: &GoldenRun, ours: &Value, theirs: &Value) -> Vec<String> {
    let average = |summary: &Value, tag: &str| summary[tag]["avg"].to_string();
    let tags = decided::decided_by_the_command(run).into_iter();
    let figures = tags.map(|tag| (tag, average(ours, tag), average(theirs, tag)));
    figures
        .filter(|(_, ours, theirs)| ours != theirs)
        .map(|(tag, ours, theirs)| format!("{tag}: {ours}, not {theirs}"))
        .collect()
}

/// Lines are compared with those of the same fate: failed, given up, of the warm-up.
fn lines(run: &GoldenRun, ours: &str, theirs: &str) -> Vec<String> {
    let parse = |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let (our_records, their_records) = (parse(ours), parse(theirs));
    let mut found = Vec::new();
    if !ours.ends_with('\n') {
        found.push("its last line does not end".to_owned());
    }
    let compact: Vec<String> = our_records.iter().map(Value::to_string).collect();
    if let Some((line, _)) = ours.lines().zip(&compact).find(|(line, compact)| line != compact) {
        found.push(format!("not compact: {}", line.chars().take(200).collect::<String>()));
    }
    for fate in fates(&their_records) {
        let of_fate = |records: &[Value]| -> Vec<Value> {
            records.iter().filter(|record| fate_of(record) == fate).cloned().collect()
        };
        let (ours, theirs) = (of_fate(&our_records), of_fate(&their_records));
        if ours.is_empty() {
            found.push(format!("no line like {fate:?}"));
            continue;
        }
        let differences = outlines(run, &ours, &theirs);
        found.extend(differences.iter().map(|difference| format!("of {fate:?}: {difference}")));
    }
    found
}

type Fate = (String, bool, String);

fn fate_of(record: &Value) -> Fate {
    let metadata = &record["metadata"];
    let error = record.get("error").and_then(|error| error["type"].as_str()).unwrap_or("answered");
    let phase = metadata["benchmark_phase"].as_str().unwrap_or_default();
    (phase.to_owned(), metadata["was_cancelled"] == true, error.to_owned())
}

fn fates(records: &[Value]) -> Vec<Fate> {
    let mut fates: Vec<Fate> = records.iter().map(fate_of).collect();
    fates.sort();
    fates.dedup();
    fates
}

fn outlines(run: &GoldenRun, ours: &[Value], theirs: &[Value]) -> Vec<String> {
    let of = |documents: &[Value]| Outline::of(documents, decided::varies);
    let differences = of(ours).differences(&of(theirs));
    let left = differences.into_iter().filter(|difference| decided::why(run, difference).is_none());
    left.map(|difference| difference.to_string()).collect()
}

fn csv(run: &GoldenRun, ours: &str, theirs: &str) -> Vec<String> {
    let mut found = Vec::new();
    if ours.replace("\r\n", "").contains(['\r', '\n']) || !ours.ends_with("\r\n") {
        found.push("a line does not end in CR LF".to_owned());
    }
    found.extend(compare_tables(run, &tables::of_csv(ours), &tables::of_csv(theirs)));
    found
}

fn console(run: &GoldenRun, ours: &str, theirs: &str) -> Vec<String> {
    compare_tables(run, &tables::of_console(ours), &tables::of_console(theirs))
}

fn compare_tables(run: &GoldenRun, ours: &[Table], theirs: &[Table]) -> Vec<String> {
    let name = |table: &Table| format!("{} ({})", table.title, table.columns.join(","));
    let names = |tables: &[&Table]| -> Vec<String> { tables.iter().map(|table| name(table)).collect() };
    let ours: Vec<&Table> = ours.iter().filter(|table| decided::why_a_table(run, table).is_none()).collect();
    let theirs: Vec<&Table> = theirs.iter().filter(|table| decided::why_no_table(table).is_none()).collect();
    let in_place = |tables: &[&Table]| -> Vec<String> {
        names(tables)
            .into_iter()
            .zip(tables)
            .filter(|(_, table)| !decided::stands_elsewhere(table))
            .map(|(name, _)| name)
            .collect()
    };
    if in_place(&ours) != in_place(&theirs) || ours.len() != theirs.len() {
        return vec![format!("tables {:?}, not {:?}", names(&ours), names(&theirs))];
    }
    let pairs = ours.iter().filter_map(|table| Some((table, theirs.iter().find(|other| name(other) == name(table))?)));
    pairs
        .flat_map(|(table, other)| {
            compare_rows(run, table, other).into_iter().map(|difference| format!("{}: {difference}", table.title))
        })
        .collect()
}

fn compare_rows(run: &GoldenRun, ours: &Table, theirs: &Table) -> Vec<String> {
    let labels = |table: &Table| -> Vec<String> { table.rows.iter().map(|row| decided::label(&row.label)).collect() };
    let (our_labels, their_labels) = (labels(ours), labels(theirs));
    let without = |labels: &[String], others: &[String], is_added: bool| -> Vec<String> {
        let alone = labels.iter().filter(|label| !others.contains(label));
        alone.filter(|label| decided::why_row(run, label, is_added).is_none()).cloned().collect()
    };
    let mut found = Vec::new();
    found.extend(without(&their_labels, &our_labels, false).iter().map(|label| format!("no row {label:?}")));
    found.extend(without(&our_labels, &their_labels, true).iter().map(|label| format!("a row {label:?}")));
    let common = |labels: &[String], others: &[String]| -> Vec<String> {
        let common = labels.iter().filter(|label| others.contains(label));
        common.filter(|label| !decided::has_no_order(label)).cloned().collect()
    };
    let (our_order, their_order) = (common(&our_labels, &their_labels), common(&their_labels, &our_labels));
    if our_order != their_order {
        found.push(format!("rows in the order {our_order:?}, not {their_order:?}"));
    }
    for (row, label) in ours.rows.iter().zip(&our_labels) {
        let others = || theirs.rows.iter().zip(&their_labels).filter(|(_, other)| *other == label).map(|(row, _)| row);
        let is_known = others().next().is_none() || others().any(|other| other.numbers == row.numbers);
        if !is_known && decided::why_numbers(run, label).is_none() {
            found.push(format!("numbers of {label:?} are written {:?}", row.numbers));
        }
    }
    found
}
