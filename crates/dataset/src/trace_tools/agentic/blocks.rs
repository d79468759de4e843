//! The block ids of a prompt: first those of all sessions, then those of a group, then the session's own.

use super::fault::ConfigFault;

/// The most blocks that all sessions share: the first row of every session lists them.
pub(super) const MOST_GLOBAL_BLOCKS: u64 = 100_000;
/// The most groups that have ids.
pub(super) const MOST_GROUPS: u32 = 1000;
/// The most blocks of a group that have ids.
pub(super) const MOST_GROUP_BLOCKS: u64 = 200;
/// The most blocks of a session that have ids.
const MOST_SESSION_BLOCKS: u64 = 4000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    size: u64,
    /// Blocks that all sessions share.
    pub(super) global: u64,
    /// Blocks that the sessions of a group share.
    pub(super) group: u64,
}

impl Blocks {
    /// Blocks of a size, of which all sessions and those of a group share so many tokens.
    pub(super) fn new(size: u64, global_tokens: u64, group_tokens: u64) -> Self {
        Self { size, global: global_tokens.div_ceil(size), group: group_tokens.div_ceil(size) }
    }

    /// Tokens before the session's own.
    pub(super) fn prefix_tokens(&self) -> u64 {
        (self.global + self.group) * self.size
    }

    /// The ids of a prompt of `tokens` tokens.
    pub(super) fn ids(&self, session: u64, group: u32, tokens: u64) -> Vec<u64> {
        let blocks = tokens.div_ceil(self.size);
        let global = blocks.min(self.global);
        let of_group = (blocks - global).min(self.group);
        let own = blocks - global - of_group;
        let group_start = self.global + u64::from(group) * MOST_GROUP_BLOCKS;
        let own_start = self.global + u64::from(MOST_GROUPS) * MOST_GROUP_BLOCKS + session * MOST_SESSION_BLOCKS;
        (0..global).chain(group_start..group_start + of_group).chain(own_start..own_start + own).collect()
    }

    /// Refuses a prompt for whose blocks there are no ids.
    pub(super) fn check(&self, tokens: u64) -> Result<(), ConfigFault> {
        let own = tokens.div_ceil(self.size).saturating_sub(self.global + self.group);
        if own <= MOST_SESSION_BLOCKS {
            return Ok(());
        }
        Err(ConfigFault(format!(
            "a session of {tokens} tokens has {own} blocks of its own, and there are ids for {MOST_SESSION_BLOCKS}\n  try: a \
             larger block_size than {}, or a smaller max_prompt_tokens (--max-isl)",
            self.size
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::kinds::datasets::AGENTIC_PROMPT;

    #[test]
    fn golden_prompts_have_the_recorded_ids() {
        AGENTIC_PROMPT.run(
            |_| None,
            |case| {
                let number = |name: &str| case[name].as_u64().unwrap();
                let shared = (number("layer1_tokens"), number("layer1_5_tokens"));
                let blocks = Blocks::new(number("block_size"), shared.0, shared.1);
                let found = (blocks.global, blocks.group, blocks.prefix_tokens());
                assert_eq!(found, (number("l1_blocks"), number("l15_blocks"), number("prefix_tokens")));
                let ids = blocks.ids(number("session_index"), number("group_id") as u32, number("input_length"));
                assert_eq!(serde_json::to_value(ids).unwrap(), case["hash_ids"]);
            },
        );
    }
}
