//! Requests that are cancelled on purpose, as by impatient clients.

use crate::draw::{Draws, Purpose};
use aiperf_types::Nanos;
use serde::{Deserialize, Serialize};

/// The share of a phase's requests that is cancelled, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancellation {
    /// More than 0, at most 100.
    pub rate_percent: f64,
    /// From the last written byte of the request to the end of its connection.
    pub delay: Nanos,
}

impl Cancellation {
    /// The draws of one phase. Phases with equal settings cancel different requests.
    pub fn draws(&self, draws: &Draws, phase: u16) -> CancellationDraws {
        let purpose = draws.purpose(&format!("request_cancellation:{phase}"));
        CancellationDraws { purpose, threshold: threshold(self.rate_percent) }
    }
}

/// The draws of one phase, made once and used for every request.
#[derive(Clone, Debug)]
pub struct CancellationDraws {
    purpose: Purpose,
    /// Of 2^53 equally likely numbers, those below it cancel.
    threshold: u64,
}

impl CancellationDraws {
    pub fn fall_on(&self, number: u64) -> bool {
        ((self.purpose.bits128(number) >> 75) as u64) < self.threshold
    }
}

fn threshold(rate_percent: f64) -> u64 {
    (rate_percent / 100.0 * (1_u64 << 53) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rate_percent: f64, seed: u64, phase: u16) -> Vec<u64> {
        let draws = Cancellation { rate_percent, delay: Nanos::ZERO }.draws(&Draws::new(Some(seed), ""), phase);
        (0..4000).filter(|number| draws.fall_on(*number)).collect()
    }

    #[test]
    fn the_share_of_cancelled_requests_is_the_requested_one() {
        assert_eq!(chosen(100.0, 1, 0).len(), 4000);
        for rate in [5.0, 25.0, 50.0] {
            let (wanted, got) = (rate * 40.0, chosen(rate, 1, 0).len() as f64);
            // Four standard deviations of a binomial draw.
            let far = 4.0 * (wanted * (1.0 - rate / 100.0)).sqrt();
            assert!((got - wanted).abs() < far, "{got} of 4000 at {rate} percent");
        }
    }

    #[test]
    fn a_draw_depends_on_seed_phase_and_number_only() {
        assert_eq!(chosen(10.0, 1, 0), chosen(10.0, 1, 0));
        assert_ne!(chosen(10.0, 1, 0), chosen(10.0, 1, 1));
        assert_ne!(chosen(10.0, 1, 0), chosen(10.0, 2, 0));
        let (cancellation, draws) =
            (Cancellation { rate_percent: 10.0, delay: Nanos::ZERO }, Draws::new(Some(1), "ignored"));
        let one_by_one: Vec<u64> =
            (0..4000).rev().filter(|number| cancellation.draws(&draws, 0).fall_on(*number)).collect();
        assert!(one_by_one.into_iter().rev().eq(chosen(10.0, 1, 0)));
    }

    #[test]
    fn a_larger_rate_cancels_the_same_requests_and_more() {
        let few = chosen(10.0, 1, 0);
        let many = chosen(30.0, 1, 0);
        assert!(few.iter().all(|number| many.contains(number)));
    }
}
