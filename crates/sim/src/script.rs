//! The configuration made ready for serving, and the random draws it asks for.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::apis::{ApiError, InferenceRequest, Output};
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

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// At the limit; the last content event says so.
    Length,
    /// By itself; an event without text says so.
    Stop,
}

/// How long an answer is going to be, for each choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) tokens: u32,
    /// How many of them are reasoning.
    pub(crate) reasoning: u32,
    /// How many tokens each step drafted.
    pub(crate) drafts: u32,
    pub(crate) finish: Finish,
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

    /// The model an answer names, or why there is none.
    pub(crate) fn model(&self, request: &InferenceRequest) -> Result<String, ApiError> {
        match (&self.config.model, &request.model) {
            (Some(served), Some(asked)) if served != asked => Err(ApiError::unknown_model(asked, served)),
            (_, Some(asked)) => Ok(asked.clone()),
            (_, None) => Ok(self.config.listed_model().to_owned()),
        }
    }

    /// The length of the answer to a request, or why it is refused.
    pub(crate) fn length(&self, output: Output, request: &InferenceRequest, number: u64) -> Result<Length, ApiError> {
        let Output::Text { reasoning } = output else {
            return Ok(Length { tokens: request.pictures, reasoning: 0, drafts: 0, finish: Finish::Stop });
        };
        if let (Some(limit), Some(asked)) = (self.config.max_model_len, request.max_tokens)
            && request.prompt_tokens.saturating_add(asked) > limit.get()
        {
            return Err(ApiError::too_long(asked, limit.get()));
        }
        let (limit, at_limit) = match request.max_tokens {
            Some(limit) => (limit, Finish::Length),
            // A model left to itself says what it has to say and stops.
            None => (self.config.osl.get(), if request.ignore_eos { Finish::Length } else { Finish::Stop }),
        };
        let by_itself = self.config.eos.filter(|_| !request.ignore_eos).map(|spread| {
            let drawn = spread.draw(&mut self.random(Purpose::Length, number)).round() as u32;
            drawn.max(request.min_tokens).max(1)
        });
        let (tokens, finish) = match by_itself {
            Some(tokens) if tokens < limit => (tokens, Finish::Stop),
            _ => (limit, at_limit),
        };
        let reasoning = if reasoning { self.config.reasoning_tokens.min(tokens) } else { 0 };
        Ok(Length { tokens, reasoning, drafts: self.config.draft_tokens, finish })
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
    use crate::apis;
    use std::num::NonZeroU32;
    use std::time::Duration;

    fn length_of(config: SimConfig, body: &str) -> Length {
        let script = Script::new(config).unwrap();
        let request = apis::read("/v1/chat/completions", body).unwrap();
        script.length(Output::Text { reasoning: true }, &request, 0).unwrap()
    }

    #[test]
    fn an_answer_is_as_long_as_asked_for() {
        let config = SimConfig { osl: NonZeroU32::new(9).unwrap(), ..SimConfig::default() };
        let asked = length_of(config.clone(), r#"{"messages":[],"max_tokens":5}"#);
        assert_eq!((asked.tokens, asked.finish), (5, Finish::Length));
        let left = length_of(config, r#"{"messages":[]}"#);
        assert_eq!((left.tokens, left.finish), (9, Finish::Stop));
    }

    #[test]
    fn a_model_that_stops_early_keeps_to_min_tokens_and_ignore_eos() {
        let config = SimConfig { eos: Some("3".parse().unwrap()), ..SimConfig::default() };
        for (members, tokens, finish) in [
            ("", 3, Finish::Stop),
            (r#","min_tokens":4"#, 4, Finish::Stop),
            (r#","min_tokens":8"#, 8, Finish::Length),
            (r#","ignore_eos":true"#, 8, Finish::Length),
        ] {
            let length = length_of(config.clone(), &format!(r#"{{"messages":[],"max_tokens":8{members}}}"#));
            assert_eq!((length.tokens, length.finish), (tokens, finish), "{members}");
        }
    }

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
