//! `baseten_trace`: one request per row of a columnar file, by its prompt, its time and its cached blocks.

use aiperf_plan::{SessionColumn, TraceFormat, TracePlan};
use serde::Deserialize;

use super::entry::{Content, Entry, Session};
use super::fields::{self, Member};
use super::row_file::RowFile;
use super::{Format, Layout};
use crate::error::DatasetError;
use crate::turn_shape::LONGEST_MS;

pub(super) const FORMAT: Format = Format {
    name: TraceFormat::Baseten,
    example: "columns timestamp_start_unix_ms, prompt, input_tokens and output_tokens",
    members: MEMBERS,
    block_size: 512,
    open,
    read,
};

const REQUIRED: &[&str] = &["timestamp_start_unix_ms", "prompt", "input_tokens", "output_tokens"];
const MEMBERS: &[&str] = &[
    "timestamp_start_unix_ms",
    "prompt",
    "input_tokens",
    "output_tokens",
    "total_hashes",
    "provided_session_id",
    "poor_man_session_id",
    "duration_e2e_ms",
    "block_size",
];

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    timestamp_start_unix_ms: Member<'a>,
    #[serde(borrow)]
    prompt: Member<'a>,
    #[serde(borrow)]
    input_tokens: Member<'a>,
    #[serde(borrow)]
    output_tokens: Member<'a>,
    #[serde(borrow)]
    total_hashes: Member<'a>,
    #[serde(borrow)]
    provided_session_id: Member<'a>,
    #[serde(borrow)]
    poor_man_session_id: Member<'a>,
    #[serde(borrow)]
    duration_e2e_ms: Member<'a>,
    #[serde(borrow)]
    block_size: Member<'a>,
}

fn open(plan: &TracePlan) -> Result<(RowFile, Layout), DatasetError> {
    let (mut session, mut unread) = (None, Vec::new());
    let file = RowFile::columns(&plan.path, MEMBERS, |names, others| {
        let missing: Vec<&str> = REQUIRED.iter().copied().filter(|column| !names.contains(column)).collect();
        if !missing.is_empty() {
            return Err(format!("has no column {}\n  try: a file with {}", missing.join(", "), FORMAT.example));
        }
        let asked = plan.baseten.session_column;
        session = [asked, asked.other()].into_iter().find(|column| names.contains(&column.name()));
        unread = others.to_vec();
        Ok(())
    })?;
    Ok((file, Layout { session, unread, ..Layout::default() }))
}

fn read<'a>(layout: &Layout, text: &'a str) -> Result<Option<Entry<'a>>, String> {
    let row: Row<'a> = fields::row(text, FORMAT.example)?;
    let missing = |name: &str| format!("has no {name}\n  try: a file with {}", FORMAT.example);
    let column = layout.session.map(|column| match column {
        SessionColumn::Provided => ("provided_session_id", row.provided_session_id),
        SessionColumn::PoorMan => ("poor_man_session_id", row.poor_man_session_id),
    });
    let session = column.map(|(name, id)| fields::session(name, id)).transpose()?.flatten();
    let time = fields::timestamp_ms("timestamp_start_unix_ms", row.timestamp_start_unix_ms, 1.0)?;
    let time = time.ok_or_else(|| missing("timestamp_start_unix_ms"))?;
    if time < 0.0 {
        return Err(format!("timestamp_start_unix_ms {time} is below 0"));
    }
    let duration_ms = fields::number("duration_e2e_ms", row.duration_e2e_ms)?;
    if let Some(duration) = duration_ms.filter(|duration| duration.abs() > LONGEST_MS) {
        return Err(format!("duration_e2e_ms {duration:e} is no duration: one is at most {LONGEST_MS:e}"));
    }
    let block_size = fields::tokens("block_size", row.block_size)?;
    if block_size == Some(0) {
        return Err("block_size 0 is no size: 1 or more".into());
    }
    fields::ids("total_hashes", row.total_hashes)?;
    Ok(Some(Entry {
        session: session.map_or(Session::Alone, Session::Named),
        timestamp_ms: Some(time),
        delay_ms: None,
        duration_ms,
        input_tokens: Some(fields::tokens("input_tokens", row.input_tokens)?.ok_or_else(|| missing("input_tokens"))?),
        output_tokens: Some(
            fields::tokens("output_tokens", row.output_tokens)?.ok_or_else(|| missing("output_tokens"))?,
        ),
        content: Content::Hinted {
            prompt: fields::text("prompt", row.prompt)?.ok_or_else(|| missing("prompt"))?,
            hash_ids: row.total_hashes.filter(|hashes| fields::is_filled_list(hashes)),
            block_size,
        },
        extra: None,
    }))
}
