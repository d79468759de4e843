//! Flags: Rankings, Synthesis.

use super::flag::Status::Acts;
use super::flag::{FlagType, To, flags};
use crate::range::at_least;

flags! { RANKINGS_FLAGS:
    RANKINGS_PASSAGES_MEAN {
        name: "--rankings-passages-mean",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::Dataset("rankings.passages.mean"),
        status: Acts,
        summary: "Mean passages per ranking request",
    }
    RANKINGS_PASSAGES_STDDEV {
        name: "--rankings-passages-stddev",
        kind: FlagType::Int,
        to: To::Dataset("rankings.passages.stddev"),
        status: Acts,
        summary: "Spread of passages per request",
    }
    RANKINGS_PASSAGES_PROMPT_TOKEN_MEAN {
        name: "--rankings-passages-prompt-token-mean",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::Dataset("rankings.passage_tokens.mean"),
        status: Acts,
        summary: "Mean tokens per passage",
    }
    RANKINGS_PASSAGES_PROMPT_TOKEN_STDDEV {
        name: "--rankings-passages-prompt-token-stddev",
        kind: FlagType::Int,
        to: To::Dataset("rankings.passage_tokens.stddev"),
        status: Acts,
        summary: "Spread of tokens per passage",
    }
    RANKINGS_QUERY_PROMPT_TOKEN_MEAN {
        name: "--rankings-query-prompt-token-mean",
        kind: FlagType::Int,
        range: Some(at_least(1.0)),
        to: To::Dataset("rankings.query_tokens.mean"),
        status: Acts,
        summary: "Mean tokens per query",
    }
    RANKINGS_QUERY_PROMPT_TOKEN_STDDEV {
        name: "--rankings-query-prompt-token-stddev",
        kind: FlagType::Int,
        to: To::Dataset("rankings.query_tokens.stddev"),
        status: Acts,
        summary: "Spread of tokens per query",
    }
}

flags! { SYNTHESIS_FLAGS:
    SYNTHESIS_SPEEDUP_RATIO {
        name: "--synthesis-speedup-ratio",
        kind: FlagType::Float,
        to: To::Dataset("synthesis.speedup_ratio"),
        status: Acts,
    }
    SYNTHESIS_PREFIX_LEN_MULTIPLIER {
        name: "--synthesis-prefix-len-multiplier",
        kind: FlagType::Float,
        to: To::Dataset("synthesis.prefix_len_multiplier"),
        status: Acts,
    }
    SYNTHESIS_PREFIX_ROOT_MULTIPLIER {
        name: "--synthesis-prefix-root-multiplier",
        kind: FlagType::Int,
        to: To::Dataset("synthesis.prefix_root_multiplier"),
        status: Acts,
    }
    SYNTHESIS_PROMPT_LEN_MULTIPLIER {
        name: "--synthesis-prompt-len-multiplier",
        kind: FlagType::Float,
        to: To::Dataset("synthesis.prompt_len_multiplier"),
        status: Acts,
    }
    SYNTHESIS_OUTPUT_LEN_MULTIPLIER {
        name: "--synthesis-output-len-multiplier",
        kind: FlagType::Float,
        to: To::Dataset("synthesis.output_len_multiplier"),
        status: Acts,
    }
    SYNTHESIS_MAX_ISL {
        name: "--synthesis-max-isl",
        kind: FlagType::Int,
        to: To::Dataset("synthesis.max_isl"),
        status: Acts,
    }
    SYNTHESIS_MAX_OSL {
        name: "--synthesis-max-osl",
        kind: FlagType::Int,
        to: To::Dataset("synthesis.max_osl"),
        status: Acts,
    }
}
