//! What is kept of sessions while they are made: distributions, and the first sessions for the pages.

use super::column::Column;
use super::config::AgenticConfig;
use super::session::{End, Session, Turn};

/// Sessions that a page simulates: so many finish in a reasonable time.
const KEPT_SESSIONS: usize = 1000;
/// Turns of these sessions: the page stays small.
const KEPT_TURNS: u64 = 50_000;

/// Tokens per second that the assumed server reads, without cached ones.
pub(super) const PREFILL: f64 = 20_000.0;
/// Tokens per second that the assumed server writes.
pub(super) const DECODE: f64 = 60.0;

#[derive(Debug)]
pub(super) struct Facts {
    max_prompt: f64,
    pub(super) sessions: u64,
    pub(super) turns: u64,
    pub(super) initial_context: Column,
    pub(super) output: Column,
    pub(super) new_tokens: Column,
    pub(super) delay_ms: Column,
    pub(super) turn_count: Column,
    /// How full contexts are at the end, from 0 to 1.
    pub(super) fill: Column,
    /// The estimated minutes of a session on a server with [`PREFILL`] and [`DECODE`].
    pub(super) minutes: Column,
    ends: [u64; End::ALL.len()],
    /// Sessions per group.
    pub(super) groups: Vec<u64>,
    /// The first sessions.
    pub(super) kept: Vec<Session>,
}

impl Facts {
    pub(super) fn new(config: &AgenticConfig) -> Self {
        Self {
            max_prompt: config.max_prompt as f64,
            sessions: 0,
            turns: 0,
            initial_context: Column::default(),
            output: Column::default(),
            new_tokens: Column::default(),
            delay_ms: Column::default(),
            turn_count: Column::default(),
            fill: Column::default(),
            minutes: Column::default(),
            ends: Default::default(),
            groups: vec![0; config.groups as usize],
            kept: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, session: Session) {
        let seconds = |turn: &Turn| turn.new as f64 / PREFILL + turn.output as f64 / DECODE + turn.delay_ms / 1e3;
        for (at, turn) in session.turns.iter().enumerate() {
            self.output.add(turn.output as f64);
            if at > 0 {
                self.new_tokens.add(turn.new as f64);
                self.delay_ms.add(turn.delay_ms);
            }
        }
        self.initial_context.add(session.turns[0].input as f64);
        self.turn_count.add(session.turns.len() as f64);
        self.fill.add(session.turns[session.turns.len() - 1].input as f64 / self.max_prompt);
        self.minutes.add(session.turns.iter().map(seconds).sum::<f64>() / 60.0);
        self.ends[session.end as usize] += 1;
        self.groups[session.group as usize] += 1;
        self.sessions += 1;
        let before = self.turns;
        self.turns += session.turns.len() as u64;
        if self.kept.len() < KEPT_SESSIONS && before < KEPT_TURNS {
            self.kept.push(session);
        }
    }

    pub(super) fn ended(&self, end: End) -> u64 {
        self.ends[end as usize]
    }
}
