//! Flags: Prompt, Cache Bust, Prefix Prompt, Input Sequence Length (ISL), Output Sequence Length (OSL).

use super::flag::Status::Acts;
use super::flag::{FlagType, To, WhenAbsent, flags};
use crate::choice::Choice;
use crate::sections::dataset::{self, INPUT_TOKENS};
use aiperf_plan::RandomStyle;

flags! { PROMPT_FLAGS:
    PROMPT_BATCH_SIZE {
        name: "--prompt-batch-size",
        kind: FlagType::Int,
        aliases: &["--batch-size-text", "--batch-size", "-b"],
        to: To::Dataset("prompts.batch_size"),
        status: Acts,
    }
    PROMPT_CORPUS {
        name: "--prompt-corpus",
        kind: FlagType::Choice(dataset::Corpus::NAMES),
        to: To::Dataset("prompts.corpus"),
        status: Acts,
    }
}

flags! { CACHE_BUST_FLAGS:
    CACHE_BUST {
        name: "--cache-bust",
        kind: FlagType::Choice(dataset::CacheBustTarget::NAMES),
        to: To::Dataset("prompts.cache_bust.target"),
        status: Acts,
    }
}

flags! { PREFIX_PROMPT_FLAGS:
    SYSTEM_PROMPT {
        name: "--system-prompt",
        kind: FlagType::Text,
        to: To::Dataset("system_prompt"),
        status: Acts,
    }
    SYSTEM_PROMPT_FILE {
        name: "--system-prompt-file",
        kind: FlagType::Path,
        to: To::Dataset("system_prompt_file"),
        status: Acts,
    }
    PROMPT_PREFIX_POOL_SIZE {
        name: "--prompt-prefix-pool-size",
        kind: FlagType::Int,
        aliases: &["--prefix-prompt-pool-size", "--num-prefix-prompts"],
        to: To::Dataset("prefix_prompts.pool_size"),
        status: Acts,
    }
    PROMPT_PREFIX_LENGTH {
        name: "--prompt-prefix-length",
        kind: FlagType::Int,
        aliases: &["--prefix-prompt-length"],
        to: To::Dataset("prefix_prompts.length"),
        status: Acts,
    }
    SHARED_SYSTEM_PROMPT_LENGTH {
        name: "--shared-system-prompt-length",
        kind: FlagType::Int,
        to: To::Dataset("prefix_prompts.shared_system_length"),
        status: Acts,
    }
    USER_CONTEXT_PROMPT_LENGTH {
        name: "--user-context-prompt-length",
        kind: FlagType::Int,
        to: To::Dataset("prefix_prompts.user_context_length"),
        status: Acts,
    }
}

flags! { INPUT_SEQUENCE_LENGTH_FLAGS:
    PROMPT_INPUT_TOKENS_MEAN {
        name: "--prompt-input-tokens-mean",
        kind: FlagType::IntOrList,
        aliases: &["--synthetic-input-tokens-mean", "--isl"],
        default: Some(WhenAbsent::Made(|| INPUT_TOKENS.to_string())),
        to: To::Dataset("prompts.isl.mean"),
        status: Acts,
        summary: "Mean prompt length in tokens; list sweeps",
    }
    PROMPT_INPUT_TOKENS_STDDEV {
        name: "--prompt-input-tokens-stddev",
        kind: FlagType::FloatOrList,
        aliases: &["--synthetic-input-tokens-stddev", "--isl-stddev"],
        to: To::Dataset("prompts.isl.stddev"),
        status: Acts,
        summary: "Spread of prompt length; list sweeps",
    }
    PROMPT_INPUT_TOKENS_BLOCK_SIZE {
        name: "--prompt-input-tokens-block-size",
        kind: FlagType::Int,
        aliases: &["--synthetic-input-tokens-block-size", "--isl-block-size"],
        to: To::Dataset("prompts.block_size"),
        status: Acts,
    }
    SEQ_DIST {
        name: "--seq-dist",
        kind: FlagType::Text,
        aliases: &["--sequence-distribution"],
        to: To::Dataset("prompts.sequence_distribution"),
        status: Acts,
        summary: "Weighted mix of input/output length pairs",
    }
    RANDOM_RANGE_RATIO {
        name: "--random-range-ratio",
        kind: FlagType::Text,
        to: To::Dataset("prompts.random_range_ratio"),
        status: Acts,
        summary: "Uniform window around the lengths, as a ratio or JSON pair",
    }
    RANDOM_CORPUS_STYLE {
        name: "--random-corpus-style",
        kind: FlagType::Choice(RandomStyle::NAMES),
        to: To::Dataset("prompts.random_corpus_style"),
        status: Acts,
    }
}

flags! { OUTPUT_SEQUENCE_LENGTH_FLAGS:
    PROMPT_OUTPUT_TOKENS_MEAN {
        name: "--prompt-output-tokens-mean",
        kind: FlagType::IntOrList,
        aliases: &["--output-tokens-mean", "--osl"],
        to: To::Dataset("prompts.osl.mean"),
        status: Acts,
        summary: "Mean requested output tokens; list sweeps",
    }
    PROMPT_OUTPUT_TOKENS_STDDEV {
        name: "--prompt-output-tokens-stddev",
        kind: FlagType::FloatOrList,
        aliases: &["--output-tokens-stddev", "--osl-stddev"],
        to: To::Dataset("prompts.osl.stddev"),
        status: Acts,
        summary: "Spread of requested output tokens; list sweeps",
    }
}
