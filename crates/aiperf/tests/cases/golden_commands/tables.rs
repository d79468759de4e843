//! What CSV files and tables of a console look like: titles, columns, rows, and how their numbers are written.

/// A table.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    /// Lines above it; of a CSV file there are none.
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// A row: what is written in it, and how its numbers are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) numbers: Vec<String>,
}

impl Row {
    fn of<'a>(cells: impl Iterator<Item = &'a str>) -> Self {
        let (mut label, mut numbers) = (Vec::new(), Vec::new());
        for cell in cells.map(str::trim) {
            match kind(cell) {
                Some(kind) => numbers.push(kind),
                None => label.push(cell),
            }
        }
        Self { label: label.join(" "), numbers }
    }
}

/// How a number is written; nothing of other text.
fn kind(cell: &str) -> Option<String> {
    if cell.is_empty() || cell == "N/A" {
        return Some("absent".to_owned());
    }
    // The mark on numbers of too few requests is ours.
    let cell = cell.strip_prefix('~').unwrap_or(cell);
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let (digits, exponent) = match digits.split_once("e+").or_else(|| digits.split_once("e-")) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (digits, None),
    };
    let is_whole = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_of_number);
    let kind = match digits.split_once('.') {
        None => is_whole(digits).then(|| "whole".to_owned()),
        Some((whole, rest)) => (is_whole(whole) && is_whole(rest)).then(|| format!("{} decimals", rest.len())),
    };
    match exponent {
        Some(exponent) => kind.filter(|_| is_whole(exponent)).map(|kind| format!("{kind} and an exponent")),
        None => kind,
    }
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b','
}

pub(crate) fn cells_are_numbers_with_as_many_decimals_as_they_have() {
    let kinds = ["12.7062", "-33.68", "1,234", "1.23e+06", "0.0", ""].map(|cell| kind(cell).unwrap());
    assert_eq!(kinds, ["4 decimals", "2 decimals", "whole", "2 decimals and an exponent", "1 decimals", "absent"]);
    for label in ["ms", "run_0001", "p99", "1.2.3", "-", ".5", "e+1", "tokens/sec/user"] {
        assert_eq!(kind(label), None, "{label}");
    }
}

/// The tables of a CSV file: an empty line ends one. Rows that look the same are one: a slice of time has those of
/// all others.
pub(crate) fn of_csv(text: &str) -> Vec<Table> {
    let sections = text.split("\r\n\r\n").map(|section| section.trim_matches(['\r', '\n']));
    let table = |section: &str| {
        let mut lines = section.split("\r\n");
        let columns = lines.next().unwrap_or_default().split(',').map(str::to_owned).collect();
        let mut rows: Vec<Row> = Vec::new();
        for row in lines.map(|line| Row::of(line.split(','))) {
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        Table { title: String::new(), columns, rows }
    };
    sections.filter(|section| !section.is_empty()).map(table).collect()
}

/// The tables of a console's text.
pub(crate) fn of_console(text: &str) -> Vec<Table> {
    let (mut tables, mut title): (Vec<Table>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let cells = |bar: char| -> Vec<&str> { line.trim_matches(bar).split(bar).map(str::trim).collect() };
        match line.chars().next() {
            Some('┏') => {
                let title = std::mem::take(&mut title).join(" ");
                tables.push(Table { title, columns: Vec::new(), rows: Vec::new() });
            }
            Some('┃') => tables.last_mut().unwrap().columns = cells('┃').into_iter().map(str::to_owned).collect(),
            Some('│') if tables.last().is_some_and(|table| table.columns.len() == cells('│').len()) => {
                let (rows, cells) = (&mut tables.last_mut().unwrap().rows, cells('│'));
                let written: Vec<&str> = cells.iter().copied().filter(|cell| !cell.is_empty()).collect();
                match (rows.last_mut(), &written[..]) {
                    // A long cell goes on in the next line.
                    (Some(row), [rest]) if cells.len() > 2 => row.label = format!("{} {rest}", row.label),
                    _ => rows.push(Row::of(cells.into_iter())),
                }
            }
            None => title.clear(),
            _ if line.trim().is_empty() => title.clear(),
            Some('└' | '┡' | '╭' | '╰' | '│') => title.clear(),
            _ => title.push(line.trim()),
        }
    }
    tables
}
