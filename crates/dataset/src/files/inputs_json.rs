//! `inputs_json`: one document of sessions with complete request bodies, as a run writes it.

use aiperf_plan::FileFormat;
use aiperf_types::{ContextMode, Turn};
use serde_json::Value;

use super::fault::Fault;
use super::layout::Layout;
use super::row::{Encode, Row};
use super::{Folder, Format, ReadRow};
use crate::json_kind::kind;

pub(super) const FORMAT: Format = Format {
    name: FileFormat::InputsJson.name(),
    example: r#"{"data": [{"session_id": "s1", "payloads": [{"messages": []}]}]}"#,
    layout: Layout::Items("data"),
    folder: Folder::Refused,
    context_mode: |_| Some(ContextMode::MessageArrayWithResponses),
    hoists_system: false,
    unique_names: true,
    relative_times: false,
    read,
};

fn read(mut row: Row, _: Encode<'_>) -> Result<ReadRow, Fault> {
    let try_it = format!("\n  try: {}", FORMAT.example);
    let session_id = row.session_id()?;
    if session_id.is_none() {
        return Err(Fault(format!("has no session_id{try_it}")));
    }
    let payloads = row.list("payloads")?.filter(|payloads| !payloads.is_empty());
    let Some(payloads) = payloads else { return Err(Fault(format!("has no payloads{try_it}"))) };
    let mut turns = Vec::with_capacity(payloads.len());
    for (index, payload) in payloads.into_iter().enumerate() {
        let Value::Object(body) = payload else {
            return Err(Fault(format!("payloads[{index}] is {}, and a body is an object{try_it}", kind(&payload))));
        };
        turns.push(Turn { role: Some("user".to_owned()), raw_payload: Some(body), ..Turn::default() });
    }
    Ok(ReadRow { session_id, turns, ignored: row.rest(), ..ReadRow::default() })
}
