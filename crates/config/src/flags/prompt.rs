//! Flags: Prompt, Cache Bust, Prefix Prompt, Input Sequence Length (ISL), Output Sequence Length (OSL).

use super::flag::Status::{Acts, NotYet};
use super::flag::{BASE, Flag, Kind, To};
use crate::choice::Choice;
use crate::range::{ANY, at_least};
use crate::sections::dataset;

pub(super) static PROMPT: &[Flag] = &[
    Flag {
        name: "--prompt-batch-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--batch-size-text", "--batch-size", "-b"],
        default: Some("1"),
        to: To::Dataset("prompts.batch_size"),
        status: NotYet("a request has one prompt"),
        summary: "Text inputs per request",
        ..BASE
    },
    Flag {
        name: "--prompt-corpus",
        kind: Kind::Choice(dataset::Corpus::NAMES),
        to: To::Dataset("prompts.corpus"),
        status: NotYet("prompts come from the built-in corpus"),
        summary: "Source text for generated prompts",
        ..BASE
    },
];

pub(super) static CACHE_BUST: &[Flag] = &[Flag {
    name: "--cache-bust",
    kind: Kind::Choice(dataset::CacheBustTarget::NAMES),
    default: Some("none"),
    to: To::Dataset("prompts.cache_bust.target"),
    status: NotYet("prompts carry no marker"),
    summary: "Where a per-conversation cache-defeating marker goes",
    ..BASE
}];

pub(super) static PREFIX_PROMPT: &[Flag] = &[
    Flag {
        name: "--system-prompt",
        kind: Kind::Text,
        to: To::Dataset("system_prompt"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Verbatim system message for every conversation",
        ..BASE
    },
    Flag {
        name: "--system-prompt-file",
        kind: Kind::Path,
        to: To::Dataset("system_prompt_file"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "File holding the verbatim system message",
        ..BASE
    },
    Flag {
        name: "--prompt-prefix-pool-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--prefix-prompt-pool-size", "--num-prefix-prompts"],
        to: To::Dataset("prefix_prompts.pool_size"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "How many distinct prefixes to build",
        ..BASE
    },
    Flag {
        name: "--prompt-prefix-length",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--prefix-prompt-length"],
        to: To::Dataset("prefix_prompts.length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens per pooled prefix",
        ..BASE
    },
    Flag {
        name: "--shared-system-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("prefix_prompts.shared_system_length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens of a generated system prompt shared by all sessions",
        ..BASE
    },
    Flag {
        name: "--user-context-prompt-length",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("prefix_prompts.user_context_length"),
        status: NotYet("prompts have no prefix or system message"),
        summary: "Tokens of a generated per-session context prefix",
        ..BASE
    },
];

pub(super) static INPUT_SEQUENCE_LENGTH: &[Flag] = &[
    Flag {
        name: "--prompt-input-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--synthetic-input-tokens-mean", "--isl"],
        default: Some("550"),
        to: To::Dataset("prompts.isl.mean"),
        status: Acts,
        summary: "Mean prompt length in tokens; list sweeps",
        but: Some("one value so far"),
        ..BASE
    },
    Flag {
        name: "--prompt-input-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--synthetic-input-tokens-stddev", "--isl-stddev"],
        default: Some("0"),
        to: To::Dataset("prompts.isl.stddev"),
        status: Acts,
        summary: "Spread of prompt length; list sweeps",
        but: Some("one value so far"),
        ..BASE
    },
    Flag {
        name: "--prompt-input-tokens-block-size",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--synthetic-input-tokens-block-size", "--isl-block-size"],
        to: To::Dataset("prompts.block_size"),
        status: NotYet("prompts have one normal length"),
        summary: "Tokens per hash-id block",
        ..BASE
    },
    Flag {
        name: "--seq-dist",
        kind: Kind::Text,
        aliases: &["--sequence-distribution"],
        to: To::Dataset("prompts.sequence_distribution"),
        status: NotYet("prompts have one normal length"),
        summary: "Weighted mix of input/output length pairs",
        ..BASE
    },
    Flag {
        name: "--random-range-ratio",
        kind: Kind::Text,
        to: To::Dataset("prompts.random_range_ratio"),
        status: NotYet("prompts have one normal length"),
        summary: "Uniform window around the lengths, as a ratio or JSON pair",
        ..BASE
    },
    Flag {
        name: "--random-corpus-style",
        kind: Kind::Choice(dataset::RandomStyle::NAMES),
        default: Some("vllm"),
        to: To::Dataset("prompts.random_corpus_style"),
        status: NotYet("prompts have one normal length"),
        summary: "Which window formula the ratio uses",
        ..BASE
    },
];

pub(super) static OUTPUT_SEQUENCE_LENGTH: &[Flag] = &[
    Flag {
        name: "--prompt-output-tokens-mean",
        kind: Kind::IntOrList(ANY),
        aliases: &["--output-tokens-mean", "--osl"],
        to: To::Dataset("prompts.osl.mean"),
        status: Acts,
        summary: "Mean requested output tokens; list sweeps",
        but: Some("one value so far"),
        ..BASE
    },
    Flag {
        name: "--prompt-output-tokens-stddev",
        kind: Kind::FloatOrList(ANY),
        aliases: &["--output-tokens-stddev", "--osl-stddev"],
        default: Some("0"),
        to: To::Dataset("prompts.osl.stddev"),
        status: Acts,
        summary: "Spread of requested output tokens; list sweeps",
        but: Some("one value so far"),
        ..BASE
    },
];
