//! The configuration prepared for serving, and its random draws.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::config::SimConfig;
use crate::error::SimError;
use crate::fault::Faults;

/// What a random draw is for. Draws for one purpose do not move those for another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Latency = 1,
    Length,
    Fault,
    Refusal,
    Hook,
    Lookup,
    Job,
}

/// A checked configuration.
pub(crate) struct Script {
    pub(crate) config: SimConfig,
    pub(crate) faults: Faults,
    pub(crate) step_ns: Option<u64>,
}

impl Script {
    pub(crate) fn new(config: SimConfig) -> Result<Self, SimError> {
        config.check()?;
        let faults = Faults::new(&config.faults).ok_or(SimError::FaultRates)?;
        let step_ns = config.step.map(|step| step.as_nanos() as u64);
        Ok(Script { config, faults, step_ns })
    }

    /// A generator that is a function of seed, purpose and number alone.
    pub(crate) fn random(&self, purpose: Purpose, number: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.config.seed ^ (purpose as u64) << 56);
        random.set_stream(number);
        random
    }

    /// The moment at which a token due at `due_ns` may be written: with steps, the first step not before it.
    pub(crate) fn rounded_up(&self, due_ns: u64) -> u64 {
        self.step_ns.map_or(due_ns, |step| due_ns.div_ceil(step) * step)
    }

    /// From one event to the next, which carries so many tokens.
    pub(crate) fn interval_ns(&self, tokens: u32, random: &mut ChaCha8Rng) -> u64 {
        self.step_ns.unwrap_or_else(|| (0..tokens).map(|_| self.config.itl.draw_ns(random)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn steps_round_up() {
        let script = Script::new(SimConfig { step: Some(Duration::from_nanos(10)), ..SimConfig::default() }).unwrap();
        assert_eq!([20, 21, 29, 30].map(|due| script.rounded_up(due)), [20, 30, 30, 30]);
    }

    #[test]
    fn draws_depend_on_seed_purpose_and_number_alone() {
        use rand::RngExt;
        let script = |seed| Script::new(SimConfig { seed, ..SimConfig::default() }).unwrap();
        let draw = |seed, purpose, number| script(seed).random(purpose, number).random::<u64>();
        assert_eq!(draw(1, Purpose::Latency, 5), draw(1, Purpose::Latency, 5));
        assert_ne!(draw(1, Purpose::Latency, 5), draw(2, Purpose::Latency, 5));
        assert_ne!(draw(1, Purpose::Latency, 5), draw(1, Purpose::Length, 5));
        assert_ne!(draw(1, Purpose::Latency, 5), draw(1, Purpose::Latency, 6));
    }
}
