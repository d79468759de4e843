//! Which conversation a session sends: a function of the seed and of its position alone, for all phases together.

use aiperf_plan::draw::{Purpose, mix};
use aiperf_plan::{Draws, Sampling};

/// Draws conversations.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    conversations: u32,
    purpose: Purpose,
}

impl Sampler {
    /// Over so many conversations, at least one.
    pub fn new(sampling: Sampling, conversations: u32, draws: &Draws) -> Self {
        Self { sampling, conversations: conversations.max(1), purpose: draws.purpose("dataset.sampling") }
    }

    /// The conversation of a position.
    pub fn conversation(&self, position: u64) -> u32 {
        let all = u64::from(self.conversations);
        (match self.sampling {
            Sampling::Sequential => position % all,
            Sampling::Random => below(self.purpose.bits128(position), all),
            Sampling::Shuffle => self.shuffled(position / all, position % all),
        }) as u32
    }

    /// The place of an index in the order of a round: a Feistel network over the next power of four, walked until it
    /// reaches an index that exists. So an order takes no memory, and any place of it is found at once.
    fn shuffled(&self, round: u64, index: u64) -> u64 {
        let all = u64::from(self.conversations);
        let keys = self.purpose.bits128(round);
        let half = (64 - (all - 1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1_u64 << half) - 1;
        let mut at = index;
        loop {
            let (mut left, mut right) = (at >> half, at & mask);
            for step in 0..4 {
                let key = (keys >> (32 * step)) as u64 & 0xffff_ffff;
                (left, right) = (right, left ^ (mix(right << 32 | key) & mask));
            }
            at = left << half | right;
            if at < all {
                return at;
            }
        }
    }
}

/// A number below a bound, all equally likely.
fn below(bits: u128, bound: u64) -> u64 {
    (((bits >> 64) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(sampling: Sampling, conversations: u32, positions: std::ops::Range<u64>) -> Vec<u32> {
        let sampler = Sampler::new(sampling, conversations, &Draws::new(Some(3), ""));
        positions.map(|position| sampler.conversation(position)).collect()
    }

    #[test]
    fn in_order_they_go_round_and_round() {
        assert_eq!(drawn(Sampling::Sequential, 3, 0..7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn shuffled_each_comes_once_a_round_and_rounds_differ() {
        for all in [1, 2, 3, 5, 100, 1000] {
            let rounds: Vec<Vec<u32>> = (0..3)
                .map(|round| drawn(Sampling::Shuffle, all, round * u64::from(all)..(round + 1) * u64::from(all)))
                .collect();
            for round in &rounds {
                let mut sorted = round.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..all));
            }
            assert!(all < 100 || rounds[0] != rounds[1]);
        }
    }

    #[test]
    fn at_random_all_are_about_equally_likely() {
        let mut counts = [0; 10];
        drawn(Sampling::Random, 10, 0..10_000).into_iter().for_each(|conversation| counts[conversation as usize] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }
}
