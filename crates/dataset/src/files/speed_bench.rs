//! `speed_bench_*`: one question of SPEED-Bench per line; its messages are the turns.

use aiperf_types::{Media, Turn};
use serde_json::Value;

use super::fault::Fault;
use super::layout::Layout;
use super::row::{Encode, Row};
use super::{Folder, Format, ReadRow};

pub(super) const FORMAT: Format = Format {
    name: "speed_bench",
    example: r#"{"question_id": "<32 characters>", "category": "math", "messages": [{"role": "user", "content": "1+1?"}]}"#,
    layout: Layout::Lines,
    folder: Folder::Refused,
    // Turns build on each other and on the responses received.
    context_mode: |_| None,
    hoists_system: false,
    unique_names: false,
    relative_times: false,
    read,
};

const ID_LENGTH: usize = 32;
/// The published files have this in place of a question until they are filled in.
const PLACEHOLDER: &str = "FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH";

fn read(mut row: Row, _: Encode<'_>) -> Result<ReadRow, Fault> {
    let id = row.string("question_id")?.unwrap_or_default();
    let length = id.chars().count();
    if length != ID_LENGTH {
        return Err(Fault(format!(
            "question_id has {length} characters, and one has {ID_LENGTH}\n  try: the file as SPEED-Bench publishes it"
        )));
    }
    let Some(category) = row.string("category")? else {
        return Err(Fault(format!("has no category\n  try: {}", FORMAT.example)));
    };
    let messages = row.list("messages")?.unwrap_or_default();
    if messages.is_empty() {
        return Err(Fault(format!("has no messages\n  try: {}", FORMAT.example)));
    }
    let turns = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| turn(message).map_err(|Fault(fault)| Fault(format!("messages[{index}]: {fault}"))));
    let turns = turns.collect::<Result<_, _>>()?;
    Ok(ReadRow { session_id: Some(id), turns, ignored: row.rest(), category: Some(category), ..ReadRow::default() })
}

fn turn(message: Value) -> Result<Turn, Fault> {
    let mut message = Row::of(message, "a message")?;
    let mut text_of = |name: &str| {
        let text = message.string(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| Fault(format!("has no {name}\n  try: {}", FORMAT.example)))
    };
    let (role, content) = (text_of("role")?, text_of("content")?);
    if content.trim() == PLACEHOLDER {
        return Err(Fault(
            "has a placeholder in place of its text\n  try: the file filled in by SPEED-Bench's own script".into(),
        ));
    }
    let text = Media { name: String::new(), contents: vec![content], uuids: Vec::new() };
    Ok(Turn { role: Some(role), texts: vec![text], ..Turn::default() })
}
