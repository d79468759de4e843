//! Recorded sessions of agents (Exgentic): each row is a session, each model call a request with its whole context.
//!
//! Calls are sent one after another, each after the recorded delay from the response to the one before; or, with a
//! fixed schedule, each at its own time.

pub(super) mod filters;
pub(super) mod messages;

use aiperf_plan::PublicPlan;
use aiperf_types::{ContextMode, Conversation, Turn};
use serde_json::Value;

use self::filters::{Filters, source_model};
use super::kind::{Found, RowReader, With};
use super::row::{Fault, Row};
use crate::iso_time::unix_ms;

/// One of the two versions of the set.
pub(super) struct Exgentic {
    pub(super) version: u8,
}

/// The header by which a router keeps a session on one server.
const SESSION_HEADER: &str = "x-dynamo-session-id";
/// The status of a span that failed.
const FAILED: i64 = 2;

const NOT_CALLS: &str = "spans other than calls to a model";
const FAILED_CALLS: &str = "calls that failed";
const EMPTY_CALLS: &str = "calls without tokens";
const NO_MATCH: &str = "sessions that no filter asks for";
const OUTSIDE: &str = "calls outside the offsets of the schedule";
const NO_CALLS: &str = "sessions without a call that can be sent";

impl RowReader for Exgentic {
    fn columns(&self) -> Option<Vec<&'static str>> {
        Some(vec!["harness", "session_id", "models", "benchmark", "spans"])
    }

    fn check_filters(&self, plan: &PublicPlan) -> Result<(), Fault> {
        Filters::of(&plan.filters, self.version).map(drop)
    }

    fn read(&self, row: Row, with: With<'_>) -> Result<Found, Fault> {
        let row = row.json()?;
        let filters = Filters::of(&with.plan.filters, self.version)?;
        let named =
            |name: &str| row[name].as_str().filter(|text| !text.is_empty()).ok_or_else(|| format!("has no {name}"));
        let (session, harness) = (named("session_id")?, named("harness")?);
        let models = strings(&row["models"]).ok_or("models must be a list of non-empty strings")?;
        let spans = row["spans"].as_array().filter(|spans| spans.iter().all(Value::is_object));
        let spans = spans.ok_or("spans must be a list of objects")?;
        let models: Vec<&str> = models.into_iter().map(source_model).collect();
        let label = Some(format!("{harness}/{}", models.join("+")));
        if !filters.match_row(harness, &models, row["benchmark"].as_str()) {
            return Ok(Found { label, ..Found::dropped(NO_MATCH) });
        }
        let mut dropped = Dropped::default();
        let mut calls = Vec::new();
        for (index, span) in spans.iter().enumerate() {
            let call = call(session, span, &mut dropped);
            let call = call.map_err(|fault| format!("session '{session}', span {index}: {fault}"))?;
            calls.extend(call.map(|call| (index, call)));
        }
        // A stable sort: calls with the same start stay in the order of the row.
        calls.sort_by(|(_, a), (_, b)| a.start_ms.total_cmp(&b.start_ms));
        if calls.is_empty() {
            dropped.0.push((NO_CALLS, 1));
        }
        let conversations = if with.plan.is_scheduled {
            let mut conversations = at_their_times(session, calls);
            let all = conversations.len();
            conversations.retain(|one| with.plan.window.contains(one.turns[0].timestamp_ms.unwrap_or_default()));
            let left_out = (all - conversations.len()) as u64;
            dropped.0.extend((left_out > 0).then_some((OUTSIDE, left_out)));
            conversations
        } else {
            in_turn(session, calls)
        };
        Ok(Found { conversations, dropped: dropped.0, label })
    }
}

#[derive(Default)]
struct Dropped(Vec<(&'static str, u64)>);

/// A recorded call.
struct Call {
    start_ms: f64,
    end_ms: f64,
    turn: Turn,
}

fn call(session: &str, span: &Value, dropped: &mut Dropped) -> Result<Option<Call>, Fault> {
    let attributes = &span["attributes"];
    let is_call = match &span["type"] {
        Value::Null => attributes["gen_ai.operation.name"] == "chat",
        kind => kind == "llm_call",
    };
    if !is_call {
        dropped.0.push((NOT_CALLS, 1));
        return Ok(None);
    }
    if span["status"]["code"].as_i64() == Some(FAILED) {
        dropped.0.push((FAILED_CALLS, 1));
        return Ok(None);
    }
    let tokens = |name: &str| attributes[name].as_i64().ok_or("has non-integer token counts");
    let (asked, answered) = (tokens("gen_ai.usage.input_tokens")?, tokens("gen_ai.usage.output_tokens")?);
    if asked <= 0 || answered <= 0 {
        dropped.0.push((EMPTY_CALLS, 1));
        return Ok(None);
    }
    let (start_ms, end_ms) = (instant(&span["start_time"])?, instant(&span["end_time"])?);
    if end_ms < start_ms {
        return Err("span ends before it starts".into());
    }
    let limit = match &attributes["gen_ai.request.max_tokens"] {
        Value::Null => answered,
        wanted => {
            let positive = wanted.as_i64().filter(|wanted| *wanted > 0);
            positive.ok_or("gen_ai.request.max_tokens must be a positive integer")?
        }
    };
    let system = messages::system(&attributes["gen_ai.system_instructions"])?;
    let input = messages::messages(&attributes["gen_ai.input.messages"])?;
    let turn = Turn {
        max_tokens: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
        raw_messages: Some(system.into_iter().chain(input).collect()),
        raw_tools: messages::tools(&attributes["gen_ai.tool.definitions"])?,
        extra_body: messages::extra(attributes)?,
        extra_headers: vec![(SESSION_HEADER.to_owned(), session.to_owned())],
        ..Turn::default()
    };
    Ok(Some(Call { start_ms, end_ms, turn }))
}

/// One conversation of all calls, each after the response to the one before.
fn in_turn(session: &str, calls: Vec<(usize, Call)>) -> Vec<Conversation> {
    let mut ended = None;
    let turn = |(_, Call { start_ms, end_ms, turn }): (usize, Call)| {
        let delay_ms = ended.replace(end_ms).map(|ended: f64| (start_ms - ended).max(0.0));
        Turn { delay_ms, ..turn }
    };
    let turns: Vec<Turn> = calls.into_iter().map(turn).collect();
    if turns.is_empty() { Vec::new() } else { vec![conversation(session.to_owned(), turns)] }
}

/// One conversation per call, at its time since the first call of the session.
fn at_their_times(session: &str, calls: Vec<(usize, Call)>) -> Vec<Conversation> {
    let zero = calls.first().map_or(0.0, |(_, call)| call.start_ms);
    let at = |(index, Call { start_ms, turn, .. }): (usize, Call)| {
        let turn = Turn { timestamp_ms: Some(start_ms - zero), ..turn };
        conversation(format!("{session}:{index}"), vec![turn])
    };
    calls.into_iter().map(at).collect()
}

/// Each request carries its whole context.
fn conversation(session_id: String, turns: Vec<Turn>) -> Conversation {
    let context_mode = Some(ContextMode::MessageArrayWithResponses);
    Conversation { session_id, turns, context_mode, ..Conversation::default() }
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(|item| item.as_str().filter(|text| !text.is_empty())).collect()
}

/// Milliseconds since 1970.
fn instant(value: &Value) -> Result<f64, Fault> {
    let time = value.as_str().and_then(unix_ms);
    time.ok_or_else(|| format!("{value} is no time\n  try: 2026-01-31T12:00:00.000Z"))
}
