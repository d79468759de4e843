//! Which blocks of a prompt occurred before, by layer.

use super::blocks::Blocks;
use super::config::AgenticConfig;
use super::session::Session;
use serde_json::{Value, json};

/// Sessions to list: more are not read one by one.
const SHOWN: usize = 50;

pub(super) fn structure(config: &AgenticConfig, sessions: &[Session]) -> Value {
    let blocks = config.blocks();
    let sessions: Vec<Value> = sessions
        .iter()
        .take(SHOWN)
        .map(|session| json!({"session_id": session.id, "turns": turns(config, blocks, session)}))
        .collect();
    json!({"block_size": config.block_size, "l1_blocks": blocks.global, "l15_blocks": blocks.group, "sessions": sessions})
}

fn turns(config: &AgenticConfig, blocks: Blocks, session: &Session) -> Vec<Value> {
    let mut there = 0;
    let turn = |(at, turn): (usize, &super::session::Turn)| {
        let all = turn.input.div_ceil(config.block_size);
        // A first turn finds the shared blocks; a later turn finds all blocks of the turns before.
        let global = all.min(blocks.global);
        let group = (all - global).min(blocks.group);
        let own = if at == 0 { all } else { there }.saturating_sub(global + group);
        let new = all - global - group - own;
        let layers = [
            (global, "L1", "cached"),
            (group, "L1.5", "cached"),
            (own, "L2", if at == 0 { "new" } else { "cached" }),
            (new, "L3", "new"),
        ];
        let mut start = 0;
        let mut segments = Vec::new();
        for (count, layer, status) in layers.into_iter().filter(|(count, ..)| *count > 0) {
            segments.push(json!({"start": start, "count": count, "layer": layer, "status": status}));
            start += count;
        }
        there = all;
        json!({
            "turn_index": at, "input_length": turn.new, "output_length": turn.output, "num_blocks": all, "segments": segments,
        })
    };
    session.turns.iter().enumerate().map(turn).collect()
}
