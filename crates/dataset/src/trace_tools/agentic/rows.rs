//! The trace: one row per turn.

use super::session::Session;
use crate::trace_tools::numbers::rounded;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes rows. A later turn contains only its new tokens, under ids that no earlier row has.
pub(super) struct Rows {
    block_size: u64,
    next_id: u64,
}

impl Rows {
    pub(super) fn new(block_size: u64) -> Self {
        Self { block_size, next_id: 0 }
    }

    /// Writes one row per turn of a session; `first_ids` are those of its first prompt.
    pub(super) fn write(&mut self, session: &Session, first_ids: &[u64], to: &mut dyn Write) -> io::Result<()> {
        let past = |ids: &[u64]| ids.iter().max().map_or(0, |last| last + 1);
        for (at, turn) in session.turns.iter().enumerate() {
            let new = |from: u64| (from..from + turn.new.div_ceil(self.block_size)).collect();
            let ids: Vec<u64> = if at == 0 { first_ids.to_vec() } else { new(self.next_id) };
            self.next_id = self.next_id.max(past(&ids));
            let mut row = Map::new();
            row.insert("session_id".into(), json!(session.id));
            row.insert("input_length".into(), json!(turn.new));
            row.insert("output_length".into(), json!(turn.output));
            row.insert("hash_ids".into(), json!(ids));
            if at > 0 {
                row.insert("delay".into(), json!(rounded(turn.delay_ms, 1)));
            } else {
                row.insert("timestamp".into(), json!(0.0));
                row.insert("group_id".into(), json!(session.group));
                if session.is_restart {
                    row.insert("is_restart".into(), json!(true));
                }
            }
            writeln!(to, "{}", Value::Object(row))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::{End, Turn};
    use super::*;
    use aiperf_golden::kinds::datasets::AGENTIC_ROWS;

    #[test]
    fn golden_sessions_are_written_as_recorded() {
        AGENTIC_ROWS.run(
            |_| None,
            |case| {
                let list = case["sessions"].as_array().unwrap();
                let turn = |turn: &Value| {
                    let number = |name: &str| turn[name].as_u64().unwrap();
                    let (input, output, new) = (number("input_length"), number("output_length"), number("new_tokens"));
                    Turn { input, output, new, delay_ms: turn["delay_ms"].as_f64().unwrap() }
                };
                let session = |(index, one): (usize, &Value)| Session {
                    id: one["session_id"].as_str().unwrap().into(),
                    index: index as u64,
                    group: one["group_id"].as_u64().unwrap() as u32,
                    turns: one["turns"].as_array().unwrap().iter().map(turn).collect(),
                    end: End::ForcedRetire,
                    is_restart: one["is_restart_continuation"].as_bool().unwrap(),
                };
                let mut rows = Rows::new(case["block_size"].as_u64().unwrap());
                let mut found = Vec::new();
                for (index, one) in list.iter().enumerate() {
                    let ids: Vec<u64> = serde_json::from_value(one["turns"][0]["hash_ids"].clone()).unwrap();
                    rows.write(&session((index, one)), &ids, &mut found).unwrap();
                }
                let found = String::from_utf8(found).unwrap();
                assert_eq!(found, case["dataset_jsonl"].as_str().unwrap());
            },
        );
    }
}
