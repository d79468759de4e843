//! `multi_turn`: one conversation per line, as a list of turns, each like a row of `single_turn`.

use super::fault::Fault;
use super::layout::Layout;
use super::row::{Encode, Row};
use super::{Folder, Format, ReadRow, single_turn};
use aiperf_plan::FileFormat;

pub(super) const FORMAT: Format = Format {
    name: FileFormat::MultiTurn.name(),
    example: r#"{"turns": [{"text": "hello"}, {"text": "go on"}]}"#,
    layout: Layout::Lines,
    folder: Folder::Refused,
    // Turns build on each other and on the responses received.
    context_mode: |_| None,
    hoists_system: true,
    unique_names: false,
    relative_times: false,
    read,
};

fn read(mut row: Row, encode: Encode<'_>) -> Result<ReadRow, Fault> {
    row.check_type(FORMAT.name)?;
    let session_id = row.session_id()?;
    let items = row.list("turns")?.unwrap_or_default();
    if items.is_empty() {
        return Err(Fault(format!("has no turns\n  try: {}", FORMAT.example)));
    }
    let (mut turns, mut ignored) = (Vec::with_capacity(items.len()), row.rest());
    for (index, item) in items.into_iter().enumerate() {
        let read = Row::of(item, "a turn").and_then(|row| single_turn::read_turn(row, encode));
        let read = read.map_err(|Fault(fault)| Fault(format!("turns[{index}]: {fault}")))?;
        // The conversation takes its id from the row.
        let own_id = read.session_id.map(|_| "session_id".to_owned());
        ignored.extend(own_id.into_iter().chain(read.ignored).map(|name| format!("turns.{name}")));
        turns.push(read.turn);
    }
    Ok(ReadRow { session_id, turns, ignored, ..ReadRow::default() })
}
