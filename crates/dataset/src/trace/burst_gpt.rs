//! `burst_gpt_trace`: one request per line of CSV, by its time and lengths.

use aiperf_plan::{TraceFormat, TracePlan};

use super::entry::{Content, Entry, Session};
use super::fields::MOST_TOKENS_IN_ROW;
use super::row_file::RowFile;
use super::{Format, Layout};
use crate::error::DatasetError;
use crate::turn_shape::FARTHEST_MS;

pub(super) const FORMAT: Format = Format {
    name: TraceFormat::BurstGpt,
    example: "Timestamp,Request tokens,Response tokens",
    members: &[],
    block_size: 512,
    open,
    read,
};

const COLUMNS: [&str; 3] = ["Timestamp", "Request tokens", "Response tokens"];
const MS_A_SECOND: f64 = 1e3;

fn open(plan: &TracePlan) -> Result<(RowFile, Layout), DatasetError> {
    let mut file = RowFile::lines(&plan.path)?;
    let refused = |fault: String| DatasetError::of_file(&plan.path, fault);
    let header =
        file.take_header()?.ok_or_else(|| refused(format!("has no rows\n  try: a line {}", FORMAT.example)))?;
    let names = cells(&header);
    let position = |column: &str| names.iter().position(|name| name == column);
    let missing: Vec<&str> = COLUMNS.into_iter().filter(|column| position(column).is_none()).collect();
    if !missing.is_empty() {
        return Err(refused(format!(
            "has no column {}\n  its first line names {}\n  try: a first line {}",
            missing.join(", "),
            names.join(", "),
            FORMAT.example
        )));
    }
    let columns = COLUMNS.map(|column| position(column).unwrap_or_default());
    Ok((file, Layout { columns, ..Layout::default() }))
}

/// Reads a row; `None` for one without valid numbers, which the logs contain.
fn read<'a>(layout: &Layout, text: &'a str) -> Result<Option<Entry<'a>>, String> {
    let cells = cells(text);
    let [time, input, output] = layout.columns.map(|column| cells.get(column).map_or("", |cell| cell.trim()));
    let time_ms = time.parse().ok().map(|seconds: f64| seconds * MS_A_SECOND);
    let time_ms = time_ms.filter(|time| time.abs() <= FARTHEST_MS);
    let tokens = |cell: &str| cell.parse().ok().filter(|tokens| *tokens <= MOST_TOKENS_IN_ROW);
    let (Some(time_ms), Some(input), Some(output)) = (time_ms, tokens(input), tokens(output)) else { return Ok(None) };
    Ok(Some(Entry {
        session: Session::Alone,
        timestamp_ms: Some(time_ms),
        delay_ms: None,
        duration_ms: None,
        input_tokens: Some(input),
        output_tokens: Some(output),
        content: Content::Made { hash_ids: Vec::new() },
        extra: None,
    }))
}

/// The cells of a line. Quoted cells may contain commas, and doubled quotes.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut marks = line.chars().peekable();
    while let Some(mark) = marks.next() {
        match mark {
            '"' if quoted && marks.peek() == Some(&'"') => {
                marks.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            mark => cell.push(mark),
        }
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}
