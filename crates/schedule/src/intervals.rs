//! How far apart arrivals are, as mass: the share of one expected arrival that has to pass before the next.
//!
//! Masses have mean 1 whatever the rate is. An arrival is due when the integral of the rate has grown by its mass
//! ([`crate::RateCurve::instant_of`]), so a rate that changes stretches and squeezes intervals without a new draw, and
//! the expected count is the integral.

use aiperf_plan::ArrivalLaw;
use aiperf_plan::draw::Purpose;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma};

/// The masses between arrivals, in order.
#[derive(Clone, Debug)]
pub struct Intervals {
    law: Law,
    random: ChaCha8Rng,
}

#[derive(Clone, Copy, Debug)]
enum Law {
    Constant,
    Exponential,
    Gamma(Gamma<f64>),
}

impl Intervals {
    /// The n-th mass is a function of the purpose and of n alone. All come from one stream: a stream for each would cost ten
    /// times the draw, and a rate may have millions of ticks that find no slot.
    pub fn new(law: &ArrivalLaw, purpose: &Purpose) -> Self {
        let law = match *law {
            ArrivalLaw::Constant => Law::Constant,
            ArrivalLaw::Poisson => Law::Exponential,
            // Past what a number can hold, arrivals are as even as they get.
            ArrivalLaw::Gamma { smoothness } => {
                Gamma::new(smoothness, 1.0 / smoothness).map_or(Law::Constant, Law::Gamma)
            }
        };
        Self { law, random: purpose.at(0) }
    }

    /// The mass to the next arrival.
    #[expect(clippy::should_implement_trait, reason = "there is always a next one")]
    pub fn next(&mut self) -> f64 {
        match self.law {
            Law::Constant => 1.0,
            Law::Exponential => Exp1.sample(&mut self.random),
            Law::Gamma(gamma) => gamma.sample(&mut self.random),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::Draws;

    fn masses(law: ArrivalLaw, seed: u64, count: usize) -> Vec<f64> {
        let mut intervals = Intervals::new(&law, &Draws::new(Some(seed), "").purpose("intervals"));
        (0..count).map(|_| intervals.next()).collect()
    }

    #[test]
    fn constant_arrivals_are_one_apart() {
        assert_eq!(masses(ArrivalLaw::Constant, 1, 3), [1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_same_seed_draws_the_same_masses_and_another_draws_others() {
        for law in [ArrivalLaw::Poisson, ArrivalLaw::Gamma { smoothness: 4.0 }] {
            assert_eq!(masses(law, 1, 50), masses(law, 1, 50));
            assert_ne!(masses(law, 1, 50), masses(law, 2, 50));
        }
    }

    #[test]
    fn a_smoothness_that_no_float_can_hold_is_even() {
        assert_eq!(masses(ArrivalLaw::Gamma { smoothness: f64::INFINITY }, 1, 2), [1.0, 1.0]);
    }
}
