//! `raw_payload`: one complete request body per line, sent as compact JSON.

use aiperf_plan::FileFormat;
use aiperf_types::{ContextMode, Turn};
use serde_json::Value;

use super::fault::Fault;
use super::layout::Layout;
use super::row::{Encode, Row};
use super::{Folder, Format, ReadRow};
use crate::json_kind::kind;

pub(super) const FORMAT: Format = Format {
    name: FileFormat::RawPayload.name(),
    example: r#"{"messages": [{"role": "user", "content": "hello"}]}"#,
    layout: Layout::Lines,
    folder: Folder::ConversationAFile,
    context_mode: |_| Some(ContextMode::MessageArrayWithResponses),
    hoists_system: false,
    unique_names: false,
    relative_times: false,
    read,
};

fn read(row: Row, _: Encode<'_>) -> Result<ReadRow, Fault> {
    let body = row.into_members();
    match body.get("messages") {
        Some(Value::Array(_)) => {}
        found => {
            let found = found.map_or_else(|| "it has none".to_owned(), |value| format!("it has {}", kind(value)));
            return Err(Fault(format!(
                "a body of raw_payload has a list of messages, and {found}\n  try: {}",
                FORMAT.example
            )));
        }
    }
    let turn = Turn { role: Some("user".to_owned()), raw_payload: Some(body), ..Turn::default() };
    Ok(ReadRow { turns: vec![turn], ..ReadRow::default() })
}
