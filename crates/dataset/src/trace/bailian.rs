//! `bailian_trace`: one request per line, by its lengths, the blocks it shares and the request that it replies to.

use aiperf_plan::TraceFormat;
use serde::Deserialize;

use super::entry::{Chat, Content, Entry, Session};
use super::fields::{self, Member};
use super::{Format, Layout, lines};

pub(super) const FORMAT: Format = Format {
    name: TraceFormat::Bailian,
    example: r#"{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 64, "output_length": 8, "hash_ids": [1]}"#,
    members: &["chat_id", "parent_chat_id", "timestamp", "input_length", "output_length", "turn", "hash_ids"],
    block_size: 16,
    open: lines,
    read,
};

/// The parent of a request that is no reply.
const NO_PARENT: i64 = -1;
const MS_A_SECOND: f64 = 1e3;

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    chat_id: Member<'a>,
    #[serde(borrow)]
    parent_chat_id: Member<'a>,
    #[serde(borrow)]
    timestamp: Member<'a>,
    #[serde(borrow)]
    input_length: Member<'a>,
    #[serde(borrow)]
    output_length: Member<'a>,
    #[serde(borrow)]
    turn: Member<'a>,
    #[serde(borrow)]
    hash_ids: Member<'a>,
}

fn read<'a>(_: &Layout, text: &'a str) -> Result<Option<Entry<'a>>, String> {
    let row: Row<'a> = fields::row(text, FORMAT.example)?;
    let missing = |name: &str| format!("has no {name}\n  try: {}", FORMAT.example);
    let small = |name: &str, member| {
        let number = fields::whole(name, member)?;
        number.map(|number| i64::try_from(number).map_err(|_| format!("{name} {number} is too large"))).transpose()
    };
    let chat = Chat {
        id: small("chat_id", row.chat_id)?.ok_or_else(|| missing("chat_id"))?,
        parent: small("parent_chat_id", row.parent_chat_id)?.unwrap_or(NO_PARENT),
        turn: small("turn", row.turn)?.unwrap_or(1),
    };
    let timestamp = fields::timestamp_ms("timestamp", row.timestamp, MS_A_SECOND)?;
    Ok(Some(Entry {
        session: Session::Reply(chat),
        timestamp_ms: Some(timestamp.ok_or_else(|| missing("timestamp"))?),
        delay_ms: None,
        duration_ms: None,
        input_tokens: Some(fields::tokens("input_length", row.input_length)?.ok_or_else(|| missing("input_length"))?),
        output_tokens: Some(
            fields::tokens("output_length", row.output_length)?.ok_or_else(|| missing("output_length"))?,
        ),
        content: Content::Made { hash_ids: fields::ids("hash_ids", row.hash_ids)? },
        extra: None,
    }))
}
