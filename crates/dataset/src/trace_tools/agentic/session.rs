//! One session, turn by turn.

use super::blocks::Blocks;
use super::config::{AgenticConfig, LONGEST, LONGEST_DELAY, Turns};
use super::fault::ConfigFault;
use super::lognormal::Lognormal;
use rand::{Rng, RngExt};

/// The most turns of a session: with less than 30 tokens per turn, a session could go on for ever.
const MOST_TURNS: usize = 10_000;

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its context was full.
    ForcedRetire,
    ProbabilisticReset,
    /// It continues as another session.
    RestartSplit,
    /// It has all of its turns.
    TargetTurns,
}

impl End {
    pub(super) const ALL: [Self; 4] =
        [Self::ForcedRetire, Self::ProbabilisticReset, Self::RestartSplit, Self::TargetTurns];
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// All tokens of its prompt.
    pub(super) input: u64,
    pub(super) output: u64,
    /// The tokens that are not from earlier turns.
    pub(super) new: u64,
    pub(super) delay_ms: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// Decides which ids are its own; its continuation has the same.
    pub(super) index: u64,
    pub(super) group: u32,
    /// At least one.
    pub(super) turns: Vec<Turn>,
    pub(super) end: End,
    pub(super) is_restart: bool,
}

impl Session {
    /// The ids of the blocks of its first prompt.
    pub(super) fn first_ids(&self, blocks: &Blocks) -> Vec<u64> {
        blocks.ids(self.index, self.group, self.turns[0].input)
    }
}

/// What sessions are made by.
pub(super) struct Maker<'a> {
    config: &'a AgenticConfig,
    blocks: Blocks,
    /// Cumulative weights of the groups.
    groups: Vec<f64>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(config: &'a AgenticConfig, blocks: Blocks) -> Self {
        let mut total = 0.0;
        let sums = (1..=config.groups).map(|rank| {
            total += f64::from(rank).powf(-config.zipf_alpha);
            total
        });
        let groups = sums.collect();
        Self { config, blocks, groups }
    }

    /// A session, and its continuation if it is split before turn `split`.
    pub(super) fn make(
        &self,
        index: u64,
        split: Option<u64>,
        rng: &mut impl Rng,
    ) -> Result<(Session, Option<Session>), ConfigFault> {
        if let Some(turns) = &self.config.turns {
            return Ok((self.of_turns(index, turns, rng)?, None));
        }
        let mut session = self.begin(index, rng)?;
        loop {
            if split == Some(session.turns.len() as u64) {
                session.end = End::RestartSplit;
                let first = self.after(&session, rng);
                let mut second = Session { turns: vec![first], is_restart: true, id: id(rng), ..session.clone() };
                while self.goes_on(&mut second, rng)? {}
                return Ok((session, Some(second)));
            }
            if !self.goes_on(&mut session, rng)? {
                return Ok((session, None));
            }
        }
    }

    fn begin(&self, index: u64, rng: &mut impl Rng) -> Result<Session, ConfigFault> {
        let id = id(rng);
        let at = rng.random::<f64>() * self.groups.last().copied().unwrap_or(1.0);
        let group = self.groups.partition_point(|sum| *sum <= at).min(self.groups.len() - 1) as u32;
        let own = (self.config.own_tokens.draw(rng) as u64).max(1);
        let input = self.blocks.prefix_tokens().saturating_add(own).min(self.config.max_prompt - 1);
        self.blocks.check(input)?;
        let first = Turn { input, output: self.output(rng), new: input, delay_ms: 0.0 };
        Ok(Session { id, index, group, turns: vec![first], end: End::ForcedRetire, is_restart: false })
    }

    /// The first turn of a session's continuation.
    fn after(&self, session: &Session, rng: &mut impl Rng) -> Turn {
        let last = session.turns[session.turns.len() - 1];
        let input = (last.input + last.output).min(self.config.max_prompt - 1);
        Turn { input, output: self.output(rng), new: input, delay_ms: 0.0 }
    }

    /// Adds a turn and returns true, or ends the session.
    fn goes_on(&self, session: &mut Session, rng: &mut impl Rng) -> Result<bool, ConfigFault> {
        let next = self.next(session, rng);
        let full = self.config.max_prompt;
        if next.input >= full {
            session.end = End::ForcedRetire;
            return Ok(false);
        }
        let ends = self.config.reset.is_some_and(|reset| {
            let likely = reset.base * (1.0 + (reset.scaling - 1.0) * next.input as f64 / full as f64);
            rng.random::<f64>() < likely
        });
        if ends {
            session.end = End::ProbabilisticReset;
            return Ok(false);
        }
        self.add(session, Turn { output: self.output(rng), ..next })?;
        Ok(true)
    }

    /// Adds a turn if the session is below the limit, so that every session ends.
    fn add(&self, session: &mut Session, turn: Turn) -> Result<(), ConfigFault> {
        self.blocks.check(turn.input)?;
        if session.turns.len() == MOST_TURNS {
            return Err(ConfigFault(format!(
                "a session has more than {MOST_TURNS} turns before its {} tokens are full\n  try: more tokens a turn \
                 (new_tokens_per_turn), or a smaller max_prompt_tokens (--max-isl)",
                self.config.max_prompt
            )));
        }
        session.turns.push(turn);
        Ok(())
    }

    /// The next turn, whose output is not drawn yet.
    fn next(&self, session: &Session, rng: &mut impl Rng) -> Turn {
        let config = self.config;
        let last = session.turns[session.turns.len() - 1];
        let is_agentic = rng.random::<f64>() < config.agentic_fraction;
        let drawn = if is_agentic { config.agentic_delay.draw(rng) } else { config.human_delay.draw(rng) };
        // The fuller the context, the shorter the delay.
        let filled = last.input as f64 / config.max_prompt as f64;
        let delay_ms = (drawn * (1.0 - 0.8 * filled).max(0.2)).min(config.longest_delay.unwrap_or(LONGEST_DELAY));
        let biased = Lognormal { mu: config.new_tokens.mu + config.bias.ln(), ..config.new_tokens };
        let new = (biased.draw(rng) as u64).max(1);
        Turn { input: last.input.saturating_add(last.output).saturating_add(new), output: 0, new, delay_ms }
    }

    fn output(&self, rng: &mut impl Rng) -> u64 {
        (self.config.output.draw(rng) as u64).clamp(self.config.least_output(), LONGEST)
    }

    /// A session with a drawn number of turns.
    fn of_turns(&self, index: u64, turns: &Turns, rng: &mut impl Rng) -> Result<Session, ConfigFault> {
        let wanted = (turns.spread.draw(rng).round() as u64).clamp(turns.min, turns.max);
        for _ in 0..turns.attempts.unwrap_or(1) {
            let mut session = self.begin(index, rng)?;
            session.end = End::TargetTurns;
            while (session.turns.len() as u64) < wanted {
                let next = self.next(&session, rng);
                if next.input >= self.config.max_prompt {
                    session.end = End::ForcedRetire;
                    break;
                }
                self.add(&mut session, Turn { output: self.output(rng), ..next })?;
            }
            if session.end == End::TargetTurns || turns.attempts.is_none() {
                return Ok(session);
            }
        }
        Err(ConfigFault(format!(
            "no session of {wanted} turns fits into {} tokens, tried {} times\n  try: fewer turns (turns.max), \
             allow_truncation, or a larger max_prompt_tokens (--max-isl)",
            self.config.max_prompt,
            turns.attempts.unwrap_or(1)
        )))
    }
}

fn id(rng: &mut impl Rng) -> String {
    format!("sess-{:012x}", rng.next_u64() >> 16)
}
