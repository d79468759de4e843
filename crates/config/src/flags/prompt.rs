//! Flags: prompt, cache bust, prefix prompt, input sequence length (isl), output sequence length (osl).

use super::Status::*;
use super::*;

pub(super) const PROMPT: &[Flag] = &[
    Flag {
        name: "--prompt-batch-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--batch-size-text", "--batch-size", "-b"],
        default: Some("1"),
        path: "datasets[0].prompts.batch_size",
        status: NotYet("its feature does not exist yet"),
        summary: "Text inputs per request",
        ..BASE
    },
    Flag {
        name: "--prompt-corpus",
        kind: Kind::Choice(&["sonnet", "coding", "random"]),
        path: "datasets[0].prompts.corpus",
        status: NotYet("its feature does not exist yet"),
        summary: "Source text for generated prompts",
        ..BASE
    },
];

pub(super) const CACHE_BUST: &[Flag] = &[Flag {
    name: "--cache-bust",
    kind: Kind::Choice(&[
        "none",
        "system_prefix",
        "system_suffix",
        "first_turn_prefix",
        "first_turn_suffix",
        "warmup_isolation_system",
        "warmup_isolation_first_turn",
    ]),
    default: Some("none"),
    path: "datasets[0].prompts.cache_bust.target",
    status: NotYet("its feature does not exist yet"),
    summary: "Where a per-conversation cache-defeating marker goes",
    ..BASE
}];

pub(super) const PREFIX_PROMPT: &[Flag] = &[
    Flag {
        name: "--system-prompt",
        kind: Kind::Text,
        path: "datasets[0].system_prompt",
        status: NotYet("its feature does not exist yet"),
        summary: "Verbatim system message for every conversation",
        ..BASE
    },
    Flag {
        name: "--system-prompt-file",
        kind: Kind::Path,
        path: "datasets[0].system_prompt_file",
        status: NotYet("its feature does not exist yet"),
        summary: "File holding the verbatim system message",
        ..BASE
    },
    Flag {
        name: "--prompt-prefix-pool-size",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--prefix-prompt-pool-size", "--num-prefix-prompts"],
        path: "datasets[0].prefix_prompts.pool_size",
        status: NotYet("its feature does not exist yet"),
        summary: "How many distinct prefixes to build",
        ..BASE
    },
    Flag {
        name: "--prompt-prefix-length",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--prefix-prompt-length"],
        path: "datasets[0].prefix_prompts.length",
        status: NotYet("its feature does not exist yet"),
        summary: "Tokens per pooled prefix",
        ..BASE
    },
    Flag {
        name: "--shared-system-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].prefix_prompts.shared_system_length",
        status: NotYet("its feature does not exist yet"),
        summary: "Tokens of a generated system prompt shared by all sessions",
        ..BASE
    },
    Flag {
        name: "--user-context-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].prefix_prompts.user_context_length",
        status: NotYet("its feature does not exist yet"),
        summary: "Tokens of a generated per-session context prefix",
        ..BASE
    },
];

pub(super) const INPUT_SEQUENCE_LENGTH: &[Flag] = &[
    Flag {
        name: "--prompt-input-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--synthetic-input-tokens-mean", "--isl"],
        default: Some("550"),
        path: "datasets[0].prompts.isl.mean",
        status: Acts,
        summary: "Mean prompt length in tokens; list sweeps",
        ..BASE
    },
    Flag {
        name: "--prompt-input-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--synthetic-input-tokens-stddev", "--isl-stddev"],
        path: "datasets[0].prompts.isl.stddev",
        status: Acts,
        summary: "Spread of prompt length; list sweeps",
        ..BASE
    },
    Flag {
        name: "--prompt-input-tokens-block-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--synthetic-input-tokens-block-size", "--isl-block-size"],
        path: "datasets[0].prompts.block_size",
        status: NotYet("its feature does not exist yet"),
        summary: "Tokens per hash-id block",
        ..BASE
    },
    Flag {
        name: "--seq-dist",
        kind: Kind::Text,
        aliases: &["--sequence-distribution"],
        path: "datasets[0].prompts.sequence_distribution",
        status: NotYet("its feature does not exist yet"),
        summary: "Weighted mix of input/output length pairs",
        ..BASE
    },
    Flag {
        name: "--random-range-ratio",
        kind: Kind::Text,
        path: "datasets[0].prompts.random_range_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Uniform window around the lengths, as a ratio or JSON pair",
        ..BASE
    },
    Flag {
        name: "--random-corpus-style",
        kind: Kind::Choice(&["vllm", "sglang"]),
        default: Some("vllm"),
        path: "datasets[0].prompts.random_corpus_style",
        status: NotYet("its feature does not exist yet"),
        summary: "Which window formula the ratio uses",
        ..BASE
    },
];

pub(super) const OUTPUT_SEQUENCE_LENGTH: &[Flag] = &[
    Flag {
        name: "--prompt-output-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--output-tokens-mean", "--osl"],
        path: "datasets[0].prompts.osl.mean",
        status: Acts,
        summary: "Mean requested output tokens; list sweeps",
        ..BASE
    },
    Flag {
        name: "--prompt-output-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--output-tokens-stddev", "--osl-stddev"],
        path: "datasets[0].prompts.osl.stddev",
        status: Acts,
        summary: "Spread of requested output tokens; list sweeps",
        ..BASE
    },
];
