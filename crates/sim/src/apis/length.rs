//! The length of responses, by the script and by the request.

use super::{ApiError, InferenceRequest, Output};
use crate::script::{Purpose, Script};

/// Why a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// At the limit; the last content event reports it.
    Length,
    /// By itself; an event without text reports it.
    Stop,
}

/// The planned length of a response, for each choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) tokens: u32,
    /// How many of them are reasoning.
    pub(crate) reasoning: u32,
    /// How many tokens each step drafted.
    pub(crate) drafts: u32,
    pub(crate) finish: Finish,
}

impl Length {
    /// The length of the response to a request, or why it is refused.
    pub(super) fn of(
        script: &Script,
        output: Output,
        request: &InferenceRequest,
        number: u64,
    ) -> Result<Self, ApiError> {
        let config = &script.config;
        let Output::Text { reasoning } = output else {
            return Ok(Length { tokens: request.pictures, reasoning: 0, drafts: 0, finish: Finish::Stop });
        };
        if let (Some(limit), Some(asked)) = (config.max_model_len, request.max_tokens)
            && request.prompt_tokens.saturating_add(asked) > limit.get()
        {
            return Err(ApiError::too_long(asked, limit.get()));
        }
        let (limit, at_limit) = match request.max_tokens {
            Some(limit) => (limit, Finish::Length),
            // A model without a limit stops by itself.
            None => (config.osl.get(), if request.ignore_eos { Finish::Length } else { Finish::Stop }),
        };
        let by_itself = config.eos.filter(|_| !request.ignore_eos).map(|spread| {
            let drawn = spread.draw(&mut script.random(Purpose::Length, number)).round() as u32;
            drawn.max(request.min_tokens).max(1)
        });
        let (tokens, finish) = match by_itself {
            Some(tokens) if tokens < limit => (tokens, Finish::Stop),
            _ => (limit, at_limit),
        };
        let reasoning = if reasoning { config.reasoning_tokens.min(tokens) } else { 0 };
        Ok(Length { tokens, reasoning, drafts: config.draft_tokens, finish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SimConfig;
    use std::num::NonZeroU32;

    fn length_of(config: SimConfig, body: &str) -> Length {
        let script = Script::new(config).unwrap();
        let request = crate::apis::read("/v1/chat/completions", body).unwrap();
        Length::of(&script, Output::Text { reasoning: true }, &request, 0).unwrap()
    }

    #[test]
    fn a_response_is_as_long_as_asked_for() {
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
}
