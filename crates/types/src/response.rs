//! What a dialect read out of the bytes of an exchange.

use crate::{MonoNs, RequestError, SpecDecode, Turn, Uncertainty};
use serde::{Deserialize, Serialize};

/// One content response: a piece of the response that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentMark {
    /// Arrival of the read that completed it.
    pub at: MonoNs,
    /// Carries output other than reasoning: text or tool calls.
    pub output: bool,
    pub reasoning: bool,
}

/// Server-reported usage, already looked up under every vendor's names; absent fields were absent or null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens, cached ones included.
    pub prompt_tokens: Option<u64>,
    pub prompt_cache_read_tokens: Option<u64>,
    pub prompt_cache_write_tokens: Option<u64>,
    pub prompt_cache_miss_tokens: Option<u64>,
    pub prompt_audio_tokens: Option<u64>,
    pub tool_use_prompt_tokens: Option<u64>,
    pub prompt_audio_seconds: Option<f64>,
    /// Tokens of the response, reasoning included.
    pub completion_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub completion_audio_tokens: Option<u64>,
    pub accepted_prediction_tokens: Option<u64>,
    pub rejected_prediction_tokens: Option<u64>,
    /// Total as the server states it.
    pub total_tokens: Option<u64>,
}

/// Tokens of a response, as its server counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseTokens {
    /// Without those of reasoning.
    pub output: Option<u64>,
    pub reasoning: Option<u64>,
    /// The counts contradict each other.
    pub is_doubtful: bool,
}

impl Usage {
    /// Tokens of the response. Servers count reasoning among those of the completion, or beside them: their total shows
    /// which.
    pub fn response_tokens(&self) -> ResponseTokens {
        let (output, reasoning) = (self.completion_tokens, self.reasoning_tokens);
        let (Some(completion), Some(thought)) = (output, reasoning.filter(|thought| *thought > 0)) else {
            return ResponseTokens { output, reasoning, is_doubtful: false };
        };
        let stated = self.total_tokens.zip(self.prompt_tokens).map(|(total, prompt)| total.checked_sub(prompt));
        let is_beside = stated.is_some_and(|total| total == Some(completion.saturating_add(thought)));
        let is_among = stated.is_none_or(|total| total == Some(completion));
        if is_beside {
            return ResponseTokens { output, reasoning, is_doubtful: false };
        }
        // Where the total includes no more than the completion, no more than that can have been thought.
        let reasoning = if stated.is_some() && is_among { thought.min(completion) } else { thought };
        ResponseTokens {
            output: Some(completion.saturating_sub(thought)),
            reasoning: Some(reasoning),
            is_doubtful: !is_among || thought > completion,
        }
    }
}

/// What a response leaves for the turns after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The response as a turn; `None` when it is empty.
    pub turn: Option<Turn>,
    /// By which the server knows the response.
    pub response_id: Option<String>,
}

/// What a server reports of a video that it made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoFacts {
    pub inference_seconds: Option<f64>,
    pub peak_memory_mb: Option<f64>,
}

/// An exchange's response, parsed.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Content responses in order of arrival.
    pub content: Vec<ContentMark>,
    /// All output text, concatenated; `None` when no piece of it came.
    pub output_text: Option<String>,
    /// Where in `output_text` the text of each choice ends, when there are several: each is counted alone.
    pub choice_ends: Vec<usize>,
    /// All reasoning text, concatenated; `None` when no piece of it came.
    pub reasoning_text: Option<String>,
    /// Where in `reasoning_text` that of each choice ends, when there are several.
    pub reasoning_ends: Vec<usize>,
    /// Usage, folded over the responses.
    pub usage: Option<Usage>,
    /// Completion tokens of the first response with content and usage.
    pub first_content_tokens: Option<u64>,
    /// Arrival of the last raw response, `[DONE]` and usage included.
    pub last_response: MonoNs,
    /// Raw responses seen.
    pub responses: u32,
    /// Responses that could not be read: their content is lost.
    pub unreadable: u32,
    /// A value of its usage is no count of tokens, and was left out.
    pub unreadable_usage: bool,
    /// A stream ended without what marks the end of such streams.
    pub is_unfinished: bool,
    /// Vectors in the response, where there are any.
    pub vectors: Option<u32>,
    /// Content responses that shared their read with later bytes: they arrived somewhere within an interval.
    pub merged: u32,
    /// Those of them that this process read late.
    pub merged_late: u32,
    /// Sum of the intervals in which merged responses arrived, in nanoseconds.
    pub merged_width_sum: u64,
    /// Widest such interval, in nanoseconds.
    pub merged_width_max: u64,
    /// How much earlier the first content, and the last, may have arrived.
    pub first_uncertainty: Uncertainty,
    pub last_uncertainty: Uncertainty,
    /// What the server reports of speculative decoding.
    pub spec_decode: Option<Box<SpecDecode>>,
    /// Why that report cannot be true.
    pub spec_decode_fault: Option<&'static str>,
    pub video: Option<VideoFacts>,
    /// What it leaves for later turns, where that was asked for.
    pub reply: Option<Box<Reply>>,
    pub error: Option<RequestError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_shows_whether_reasoning_is_counted_beside_the_completion_or_among_it() {
        let tokens = |prompt, completion, reasoning, total| {
            let usage = Usage {
                prompt_tokens: prompt,
                completion_tokens: completion,
                reasoning_tokens: reasoning,
                total_tokens: total,
                ..Usage::default()
            };
            let ResponseTokens { output, reasoning, is_doubtful } = usage.response_tokens();
            (output, reasoning, is_doubtful)
        };
        let some = Some;
        for (counts, wanted) in [
            // Beside it, among it, and more than it.
            ((some(10), some(3), some(50), some(63)), (some(3), some(50), false)),
            ((some(10), some(53), some(50), some(63)), (some(3), some(50), false)),
            ((some(10), some(3), some(50), some(13)), (some(0), some(3), true)),
            // Without a total, it is among it, as most servers have it.
            ((some(10), some(53), some(50), None), (some(3), some(50), false)),
            ((None, some(53), some(50), some(63)), (some(3), some(50), false)),
            ((some(10), some(3), some(50), None), (some(0), some(50), true)),
            // A total of neither.
            ((some(10), some(53), some(50), some(70)), (some(3), some(50), true)),
            ((some(10), some(53), some(50), some(5)), (some(3), some(50), true)),
            // Nothing to distinguish.
            ((some(10), some(3), None, some(99)), (some(3), None, false)),
            ((some(10), some(3), some(0), some(99)), (some(3), some(0), false)),
            ((some(10), None, some(5), some(99)), (None, some(5), false)),
        ] {
            let (prompt, completion, reasoning, total) = counts;
            assert_eq!(tokens(prompt, completion, reasoning, total), wanted, "{counts:?}");
        }
    }
}
