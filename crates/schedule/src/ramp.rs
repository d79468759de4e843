//! Limits that climb to their target one by one.

use aiperf_plan::draw::Purpose;
use aiperf_plan::{Ramp, RampStrategy};
use aiperf_types::Nanos;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1};

/// The steps of a limit: when it changes, since the start, and to what. The first is at zero, the last at the end of
/// the ramp.
#[derive(Clone, Debug)]
pub struct LimitSteps {
    from: u32,
    to: u32,
    /// The next step, from 0; past the last when there are no more.
    next: u64,
    duration: Nanos,
    pace: Pace,
}

#[derive(Clone, Debug)]
enum Pace {
    Linear,
    Exponential,
    Poisson(Box<EventTimes>),
}

impl LimitSteps {
    /// From one to a target.
    pub fn new(target: u32, ramp: &Ramp, purpose: &Purpose) -> Self {
        Self::between(1, target.max(1), ramp, purpose)
    }

    /// From any value to any other, up or down.
    pub fn between(from: u32, to: u32, ramp: &Ramp, purpose: &Purpose) -> Self {
        let pace = match ramp.strategy {
            RampStrategy::Linear => Pace::Linear,
            RampStrategy::Exponential => Pace::Exponential,
            RampStrategy::Poisson => Pace::Poisson(Box::new(EventTimes::new(u64::from(from.abs_diff(to)), purpose))),
        };
        Self { from, to, next: 0, duration: ramp.duration, pace }
    }
}

impl Iterator for LimitSteps {
    type Item = (Nanos, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let last = u64::from(self.from.abs_diff(self.to));
        let step = self.next;
        if step > last {
            return None;
        }
        self.next += 1;
        let by = step as u32;
        let limit = if self.from <= self.to { self.from + by } else { self.from - by };
        if step == 0 {
            return Some((Nanos::ZERO, limit));
        }
        let length = self.duration.0;
        let at = match &mut self.pace {
            Pace::Linear => divide_rounded(u128::from(length) * u128::from(step), u128::from(last)),
            Pace::Exponential => share(length, (step as f64 / last as f64).sqrt()),
            Pace::Poisson(times) => share(length, times.next().unwrap_or(1.0)),
        };
        Some((Nanos(at), limit))
    }
}

fn divide_rounded(of: u128, by: u128) -> u64 {
    ((of + by / 2) / by) as u64
}

fn share(of: u64, part: f64) -> u64 {
    ((of as f64 * part).round() as u64).min(of)
}

/// The instants of a Poisson process of so many events, as shares of the time to the last of them.
///
/// They are drawn twice, first to know how long they take together, so that any number takes no memory.
#[derive(Clone, Debug)]
pub(crate) struct EventTimes {
    random: ChaCha8Rng,
    left: u64,
    passed: f64,
    whole: f64,
}

impl EventTimes {
    pub(crate) fn new(events: u64, purpose: &Purpose) -> Self {
        let random = purpose.at(0);
        let mut ahead = random.clone();
        let whole = (0..events).map(|_| gap(&mut ahead)).sum();
        Self { random, left: events, passed: 0.0, whole }
    }
}

fn gap(random: &mut ChaCha8Rng) -> f64 {
    Exp1.sample(random)
}

impl Iterator for EventTimes {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.left = self.left.checked_sub(1)?;
        self.passed += gap(&mut self.random);
        Some(if self.left == 0 { 1.0 } else { (self.passed / self.whole).min(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::Draws;

    const SECOND: u64 = 1_000_000_000;

    fn steps(target: u32, strategy: RampStrategy, seed: u64) -> Vec<(Nanos, u32)> {
        let ramp = Ramp { duration: Nanos(10 * SECOND), strategy };
        LimitSteps::new(target, &ramp, &Draws::new(Some(seed), "").purpose("ramp")).collect()
    }

    #[test]
    fn every_strategy_takes_each_value_once_in_order_and_ends_on_time() {
        for strategy in [RampStrategy::Linear, RampStrategy::Exponential, RampStrategy::Poisson] {
            for target in [1, 2, 3, 17, 1000] {
                let steps = steps(target, strategy, 1);
                assert!(steps.iter().map(|step| step.1).eq(1..=target), "{strategy:?} {target}");
                assert!(steps.is_sorted_by_key(|step| step.0), "{strategy:?} {target}");
                assert_eq!(steps[0].0, Nanos::ZERO);
                assert!(target == 1 || steps[target as usize - 1].0 == Nanos(10 * SECOND), "{strategy:?} {target}");
            }
        }
    }

    #[test]
    fn an_exponential_ramp_has_a_quarter_of_its_climb_at_half_its_time() {
        let steps = steps(101, RampStrategy::Exponential, 1);
        assert_eq!(steps[25], (Nanos(5 * SECOND), 26));
    }

    #[test]
    fn a_poisson_ramp_is_uneven_and_comes_again_with_its_seed() {
        let poisson = |seed| steps(50, RampStrategy::Poisson, seed);
        assert_eq!(poisson(1), poisson(1));
        assert_ne!(poisson(1), poisson(2));
        assert_ne!(poisson(1), steps(50, RampStrategy::Linear, 1));
    }

    #[test]
    fn a_ramp_of_no_length_is_at_its_target_at_once() {
        let ramp = Ramp::linear(Nanos::ZERO);
        let steps = LimitSteps::new(4, &ramp, &Draws::new(Some(1), "").purpose("ramp"));
        assert_eq!(steps.last(), Some((Nanos::ZERO, 4)));
    }
}
