//! Which conversation the n-th session takes.

use std::num::NonZeroUsize;

/// Conversations in order, from the first again after the last. Phases share one, so that the next phase goes on where
/// the last one stopped.
#[derive(Clone, Debug)]
pub struct Sampler {
    len: NonZeroUsize,
    position: u64,
}

impl Sampler {
    /// Over so many conversations.
    pub fn sequential(len: NonZeroUsize) -> Self {
        Self { len, position: 0 }
    }

    /// The conversation of the n-th draw, wherever the sampler stands.
    pub fn at(&self, n: u64) -> usize {
        (n % self.len.get() as u64) as usize
    }

    /// The conversation of the next draw.
    pub fn draw(&mut self) -> usize {
        let conversation = self.at(self.position);
        self.position += 1;
        conversation
    }

    /// How many draws were made.
    pub fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_go_round() {
        let mut sampler = Sampler::sequential(NonZeroUsize::new(3).unwrap());
        let drawn: Vec<usize> = (0..7).map(|_| sampler.draw()).collect();
        assert_eq!(drawn, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(sampler.position(), 7);
        assert_eq!(sampler.at(4), 1);
    }
}
