//! `mooncake_trace`: one request per line, by its lengths and the blocks it shares, or by its content.

use aiperf_plan::TraceFormat;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::entry::{Content, Entry, Session};
use super::fields::{self, Member};
use super::{Format, Layout, lines};

pub(super) const FORMAT: Format = Format {
    name: TraceFormat::Mooncake,
    example: r#"{"timestamp": 0, "input_length": 1024, "output_length": 64, "hash_ids": [1, 2]}"#,
    members: &[
        "type",
        "session_id",
        "timestamp",
        "delay",
        "input_length",
        "output_length",
        "hash_ids",
        "text_input",
        "messages",
        "tools",
        "payload",
        "extra",
    ],
    block_size: 512,
    open: lines,
    read,
};

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(rename = "type", borrow)]
    kind: Member<'a>,
    #[serde(borrow)]
    session_id: Member<'a>,
    #[serde(borrow)]
    timestamp: Member<'a>,
    #[serde(borrow)]
    delay: Member<'a>,
    #[serde(borrow)]
    input_length: Member<'a>,
    #[serde(borrow)]
    output_length: Member<'a>,
    #[serde(borrow)]
    hash_ids: Member<'a>,
    #[serde(borrow)]
    text_input: Member<'a>,
    #[serde(borrow)]
    messages: Member<'a>,
    #[serde(borrow)]
    tools: Member<'a>,
    #[serde(borrow)]
    payload: Member<'a>,
    #[serde(borrow)]
    extra: Member<'a>,
}

/// A message, of which only the role is checked.
#[derive(Deserialize)]
struct Message {
    role: Option<IgnoredAny>,
}

fn read<'a>(_: &Layout, text: &'a str) -> Result<Option<Entry<'a>>, String> {
    let row: Row<'a> = fields::row(text, FORMAT.example)?;
    let name = FORMAT.name.name();
    if fields::text("type", row.kind)?.is_some_and(|kind| kind != name) {
        return Err(format!(
            "type is not that of a row of {name}\n  try: --custom-dataset-type with the type of its rows"
        ));
    }
    if let Some(extra) = row.extra.filter(|extra| !extra.get().starts_with('{')) {
        return Err(format!("extra must be an object, not {}", fields::shown(extra)));
    }
    let session = fields::session("session_id", row.session_id)?.map_or(Session::Alone, Session::Named);
    Ok(Some(Entry {
        session,
        timestamp_ms: fields::timestamp_ms("timestamp", row.timestamp, 1.0)?,
        delay_ms: fields::delay_ms(row.delay)?,
        duration_ms: None,
        input_tokens: fields::tokens("input_length", row.input_length)?,
        output_tokens: fields::tokens("output_length", row.output_length)?,
        content: content(&row)?,
        extra: row.extra,
    }))
}

/// The content to send; a row has exactly one.
fn content<'a>(row: &Row<'a>) -> Result<Content<'a>, String> {
    let ways = [
        ("input_length", row.input_length),
        ("text_input", row.text_input),
        ("messages", row.messages),
        ("payload", row.payload),
    ];
    let given: Vec<&str> = ways.iter().filter(|(_, way)| way.is_some()).map(|(name, _)| *name).collect();
    let [way] = given[..] else {
        let found = if given.is_empty() { "has none".to_owned() } else { format!("has {}", given.join(" and ")) };
        return Err(format!(
            "a row has one of input_length, text_input, messages and payload, and this {found}\n  try: {}",
            FORMAT.example
        ));
    };
    if row.hash_ids.is_some() && way != "input_length" {
        return Err(format!("hash_ids stand for text of input_length, and this row has {way}\n  try: leave them out"));
    }
    if row.tools.is_some() && way != "messages" {
        return Err(format!("tools go with messages, and this row has {way}\n  try: leave them out"));
    }
    if let Some(tools) = row.tools.filter(|tools| !fields::is_filled_list(tools)) {
        return Err(format!("tools must be a list of at least one, not {}", empty_or(tools)));
    }
    if let Some(messages) = row.messages {
        let read: Result<Vec<Message>, _> = serde_json::from_str(messages.get());
        let found = read.map_err(|_| "messages must be a list of objects".to_owned())?;
        if found.is_empty() {
            return Err("messages is empty\n  try: at least one message".into());
        }
        if let Some(index) = found.iter().position(|message| message.role.is_none()) {
            return Err(format!(
                "messages[{index}] has no role\n  try: {{\"role\": \"user\", \"content\": \"hello\"}}"
            ));
        }
        return Ok(Content::Messages { messages, tools: row.tools });
    }
    if let Some(payload) = row.payload {
        if !fields::is_filled_object(payload) {
            return Err(format!("payload must be an object with members, not {}", empty_or(payload)));
        }
        return Ok(Content::Payload(payload));
    }
    match fields::text("text_input", row.text_input)? {
        Some(text) => Ok(Content::Text(text)),
        None => Ok(Content::Made { hash_ids: fields::ids("hash_ids", row.hash_ids)? }),
    }
}

fn empty_or(member: &serde_json::value::RawValue) -> &'static str {
    if member.get().starts_with(['[', '{']) { "an empty one" } else { fields::shown(member) }
}
