//! `sagemaker_data_capture`: requests that a SageMaker endpoint captured, each sent again at its recorded time.

use aiperf_plan::FileFormat;
use aiperf_types::Turn;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::fault::Fault;
use super::layout::Layout;
use super::row::{Encode, Row, wrong};
use super::{Folder, Format, ReadRow};
use crate::iso_time::unix_ms;
use crate::json_kind::kind;

pub(super) const FORMAT: Format = Format {
    name: FileFormat::SagemakerDataCapture.name(),
    example: r#"{"captureData": {"endpointInput": {"data": "...", "encoding": "JSON"}}, "eventMetadata": {"inferenceTime": "2026-01-31T12:00:00Z"}}"#,
    layout: Layout::Lines,
    folder: Folder::AllFiles,
    context_mode: |_| None,
    hoists_system: false,
    unique_names: false,
    relative_times: true,
    read,
};

fn read(mut row: Row, _: Encode<'_>) -> Result<ReadRow, Fault> {
    let part = |row: &mut Row, name: &str| {
        row.object(name)?.ok_or_else(|| Fault(format!("has no {name}\n  try: {}", FORMAT.example)))
    };
    let event = part(&mut row, "eventMetadata")?;
    let mut captured = part(&mut row, "captureData")?;
    let time = event.get("inferenceTime").and_then(Value::as_str).unwrap_or_default();
    let timestamp_ms = unix_ms(time).ok_or_else(|| {
        let shown: String = time.chars().take(60).collect();
        Fault(format!("inferenceTime '{shown}' is no time\n  try: ISO 8601, as in 2026-01-31T12:00:00Z"))
    })?;
    let body = captured.remove("endpointInput").map(decoded).transpose()?.flatten();
    let mut body = Row::of(body.map_or(Value::Null, Value::Object), "what an endpoint was sent")
        .map_err(|_| Fault(no_messages("it is no JSON object")))?;
    let messages = match body.take("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => messages,
        Some(Value::Array(_)) => return Err(Fault(no_messages("its list is empty"))),
        Some(other) => return Err(Fault(no_messages(&format!("it has {}", kind(&other))))),
        None => return Err(Fault(no_messages("it has none"))),
    };
    let max_tokens = body.count("max_tokens")?;
    let max_tokens = max_tokens.map_or_else(|| body.count("max_completion_tokens"), |limit| Ok(Some(limit)))?;
    let turn = Turn {
        timestamp_ms: Some(timestamp_ms),
        max_tokens,
        raw_messages: Some(messages),
        raw_tools: body.list("tools")?.filter(|tools| !tools.is_empty()),
        ..Turn::default()
    };
    // A bad response is no reason to refuse the request.
    let answer = captured.remove("endpointOutput").and_then(|output| decoded(output).ok().flatten());
    let input_length = answer.and_then(|answer| answer.get("usage")?.get("prompt_tokens")?.as_u64());
    Ok(ReadRow { turns: vec![turn], input_length, ..ReadRow::default() })
}

fn no_messages(found: &str) -> String {
    format!(
        "captureData.endpointInput has to hold a list of messages, and {found}\n  requests of chat completions can be \
         sent again, others cannot\n  try: --custom-dataset-type raw_payload with their bodies, a line each"
    )
}

/// The captured data; `None` if its encoding contains no JSON.
fn decoded(captured: Value) -> Result<Option<Map<String, Value>>, Fault> {
    let mut captured = Row::of(captured, "what was captured")?;
    let encoding = captured.string("encoding")?.unwrap_or_else(|| "BASE64".to_owned());
    let Some(data) = captured.take("data") else { return Ok(None) };
    let Value::String(data) = data else { return Err(wrong("data", "a text", &data)) };
    let bytes = match encoding.to_ascii_uppercase().as_str() {
        "JSON" => data.into_bytes(),
        "BASE64" => STANDARD.decode(data.trim()).map_err(|error| {
            Fault(format!("data is not base64: {error}\n  try: encoding JSON where it is plain text"))
        })?,
        _ => return Ok(None),
    };
    let read = serde_json::from_slice(&bytes);
    read.map(Some).map_err(|error| Fault(format!("data holds no JSON object: {error}")))
}
