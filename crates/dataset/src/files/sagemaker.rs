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
    let timestamp_ms = milliseconds(time).ok_or_else(|| {
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

/// Milliseconds since 1970 of an ISO 8601 time; UTC if there is no zone.
fn milliseconds(text: &str) -> Option<f64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if date.next().is_some() || !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        _ => 31,
    };
    let zone = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(zone);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let fraction =
        format!("0.{fraction}").parse::<f64>().ok().filter(|_| fraction.bytes().all(|b| b.is_ascii_digit()))?;
    let mut clock = clock.split(':').map(digits);
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    if clock.next().is_some() || !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days since 1970 of a date. Years begin in March here.
    let (from_march, of_year) = (year - i64::from(month <= 2), (month + 9) % 12);
    let days = from_march * 365 + from_march.div_euclid(4) - from_march.div_euclid(100)
        + from_march.div_euclid(400)
        + (of_year * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_seconds(zone)?;
    Some((seconds as f64 + fraction) * 1e3)
}

fn offset_seconds(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None | Some(b'Z' | b'z') => return (zone.len() < 2).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let zone = &zone[1..];
    let (hours, minutes) = match zone.split_once(':') {
        Some(parts) => parts,
        None if zone.len() == 4 && zone.is_ascii() => zone.split_at(2),
        None => (zone, "0"),
    };
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_zone_and_fraction() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0.0),
            ("2000-02-29T12:00:00+00:00", 951_825_600_000.0),
            ("2026-04-29T00:03:18Z", 1_777_420_998_000.0),
            ("2026-04-29T02:03:18.250+02:00", 1_777_420_998_250.0),
            ("2026-04-28 19:03:18-0500", 1_777_420_998_000.0),
            ("2026-04-29T00:03", 1_777_420_980_000.0),
            ("1969-12-31T23:59:59Z", -1000.0),
        ] {
            assert_eq!(milliseconds(text), Some(ms), "{text}");
        }
        for text in ["", "yesterday", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T25:00Z"]
        {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
