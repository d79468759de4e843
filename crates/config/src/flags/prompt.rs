//! Flags: Prompt, Cache Bust, Prefix Prompt, Input Sequence Length (ISL), Output Sequence Length (OSL).

use super::flag::Status::{Acts, NotYet};
use super::flag::{Kind, To, flags};
use crate::choice::Choice;
use crate::range::{ANY, at_least};
use crate::sections::dataset;

flags! { PROMPT_FLAGS:
    PROMPT_BATCH_SIZE {
        name: "--prompt-batch-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--batch-size-text", "--batch-size", "-b"],
        default: Some("1"),
        to: To::Dataset("prompts.batch_size"),
        status: NotYet("a request has one prompt"),
        summary: "Text inputs per request",
    }
    PROMPT_CORPUS {
        name: "--prompt-corpus",
        kind: Kind::Choice(dataset::Corpus::NAMES),
        to: To::Dataset("prompts.corpus"),
        status: NotYet("prompts come from the built-in corpus"),
        summary: "Source text for generated prompts",
    }
}

flags! { CACHE_BUST_FLAGS:
    CACHE_BUST {
        name: "--cache-bust",
        kind: Kind::Choice(dataset::CacheBustTarget::NAMES),
        default: Some("none"),
        to: To::Dataset("prompts.cache_bust.target"),
        status: NotYet("prompts carry no marker"),
        summary: "Where a per-conversation cache-defeating marker goes",
    }
}

flags! { PREFIX_PROMPT_FLAGS:
    SYSTEM_PROMPT {
        name: "--system-prompt",
        kind: Kind::Text,
        to: To::Dataset("system_prompt"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Verbatim system message for every conversation",
    }
    SYSTEM_PROMPT_FILE {
        name: "--system-prompt-file",
        kind: Kind::Path,
        to: To::Dataset("system_prompt_file"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "File holding the verbatim system message",
    }
    PROMPT_PREFIX_POOL_SIZE {
        name: "--prompt-prefix-pool-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--prefix-prompt-pool-size", "--num-prefix-prompts"],
        to: To::Dataset("prefix_prompts.pool_size"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "How many distinct prefixes to build",
    }
    PROMPT_PREFIX_LENGTH {
        name: "--prompt-prefix-length",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--prefix-prompt-length"],
        to: To::Dataset("prefix_prompts.length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens per pooled prefix",
    }
    SHARED_SYSTEM_PROMPT_LENGTH {
        name: "--shared-system-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("prefix_prompts.shared_system_length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens of a generated system prompt shared by all sessions",
    }
    USER_CONTEXT_PROMPT_LENGTH {
        name: "--user-context-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("prefix_prompts.user_context_length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens of a generated per-session context prefix",
    }
}

flags! { INPUT_SEQUENCE_LENGTH_FLAGS:
    PROMPT_INPUT_TOKENS_MEAN {
        name: "--prompt-input-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--synthetic-input-tokens-mean", "--isl"],
        default: Some("550"),
        to: To::Dataset("prompts.isl.mean"),
        status: Acts,
        summary: "Mean prompt length in tokens; list sweeps",
        but: Some("one value so far"),
    }
    PROMPT_INPUT_TOKENS_STDDEV {
        name: "--prompt-input-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--synthetic-input-tokens-stddev", "--isl-stddev"],
        default: Some("0"),
        to: To::Dataset("prompts.isl.stddev"),
        status: Acts,
        summary: "Spread of prompt length; list sweeps",
        but: Some("one value so far"),
    }
    PROMPT_INPUT_TOKENS_BLOCK_SIZE {
        name: "--prompt-input-tokens-block-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--synthetic-input-tokens-block-size", "--isl-block-size"],
        to: To::Dataset("prompts.block_size"),
        status: NotYet("prompts have one normal length"),
        summary: "Tokens per hash-id block",
    }
    SEQ_DIST {
        name: "--seq-dist",
        kind: Kind::Text,
        aliases: &["--sequence-distribution"],
        to: To::Dataset("prompts.sequence_distribution"),
        status: NotYet("prompts have one normal length"),
        summary: "Weighted mix of input/output length pairs",
    }
    RANDOM_RANGE_RATIO {
        name: "--random-range-ratio",
        kind: Kind::Text,
        to: To::Dataset("prompts.random_range_ratio"),
        status: NotYet("prompts have one normal length"),
        summary: "Uniform window around the lengths, as a ratio or JSON pair",
    }
    RANDOM_CORPUS_STYLE {
        name: "--random-corpus-style",
        kind: Kind::Choice(dataset::RandomStyle::NAMES),
        default: Some("vllm"),
        to: To::Dataset("prompts.random_corpus_style"),
        status: NotYet("prompts have one normal length"),
        summary: "Which window formula the ratio uses",
    }
}

flags! { OUTPUT_SEQUENCE_LENGTH_FLAGS:
    PROMPT_OUTPUT_TOKENS_MEAN {
        name: "--prompt-output-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--output-tokens-mean", "--osl"],
        to: To::Dataset("prompts.osl.mean"),
        status: Acts,
        summary: "Mean requested output tokens; list sweeps",
        but: Some("one value so far"),
    }
    PROMPT_OUTPUT_TOKENS_STDDEV {
        name: "--prompt-output-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--output-tokens-stddev", "--osl-stddev"],
        default: Some("0"),
        to: To::Dataset("prompts.osl.stddev"),
        status: Acts,
        summary: "Spread of requested output tokens; list sweeps",
        but: Some("one value so far"),
    }
}
