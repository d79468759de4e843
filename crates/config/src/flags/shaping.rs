//! Flags: Rankings, Synthesis.

use super::flag::Status::NotYet;
use super::flag::{BASE, Flag, Kind, To};
use crate::range::{at_least, more_than};

pub(super) static RANKINGS: &[Flag] = &[
    Flag {
        name: "--rankings-passages-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("10"),
        to: To::Dataset("rankings.passages.mean"),
        status: NotYet("ranking requests are not made"),
        summary: "Mean passages per ranking request",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-stddev",
        kind: Kind::Int(at_least(0.0)),
        to: To::Dataset("rankings.passages.stddev"),
        status: NotYet("ranking requests are not made"),
        summary: "Spread of passages per request",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-prompt-token-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("128"),
        to: To::Dataset("rankings.passage_tokens.mean"),
        status: NotYet("ranking requests are not made"),
        summary: "Mean tokens per passage",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-prompt-token-stddev",
        kind: Kind::Int(at_least(0.0)),
        to: To::Dataset("rankings.passage_tokens.stddev"),
        status: NotYet("ranking requests are not made"),
        summary: "Spread of tokens per passage",
        ..BASE
    },
    Flag {
        name: "--rankings-query-prompt-token-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("32"),
        to: To::Dataset("rankings.query_tokens.mean"),
        status: NotYet("ranking requests are not made"),
        summary: "Mean tokens per query",
        ..BASE
    },
    Flag {
        name: "--rankings-query-prompt-token-stddev",
        kind: Kind::Int(at_least(0.0)),
        to: To::Dataset("rankings.query_tokens.stddev"),
        status: NotYet("ranking requests are not made"),
        summary: "Spread of tokens per query",
        ..BASE
    },
];

pub(super) static SYNTHESIS: &[Flag] = &[
    Flag {
        name: "--synthesis-speedup-ratio",
        kind: Kind::Float(more_than(0.0)),
        default: Some("1.0"),
        to: To::Dataset("synthesis.speedup_ratio"),
        status: NotYet("traces are not reshaped"),
        summary: "Divide trace timestamps by this factor",
        ..BASE
    },
    Flag {
        name: "--synthesis-prefix-len-multiplier",
        kind: Kind::Float(more_than(0.0)),
        default: Some("1.0"),
        to: To::Dataset("synthesis.prefix_len_multiplier"),
        status: NotYet("traces are not reshaped"),
        summary: "Scale shared-prefix lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-prefix-root-multiplier",
        kind: Kind::Int(at_least(1.0)),
        default: Some("1"),
        to: To::Dataset("synthesis.prefix_root_multiplier"),
        status: NotYet("traces are not reshaped"),
        summary: "Spread a trace over this many independent prefix trees",
        ..BASE
    },
    Flag {
        name: "--synthesis-prompt-len-multiplier",
        kind: Kind::Float(more_than(0.0)),
        default: Some("1.0"),
        to: To::Dataset("synthesis.prompt_len_multiplier"),
        status: NotYet("traces are not reshaped"),
        summary: "Scale unique prompt lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-output-len-multiplier",
        kind: Kind::Float(at_least(0.0)),
        default: Some("1.0"),
        to: To::Dataset("synthesis.output_len_multiplier"),
        status: NotYet("traces are not reshaped"),
        summary: "Scale output lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-max-isl",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("synthesis.max_isl"),
        status: NotYet("traces are not reshaped"),
        summary: "Skip trace rows with longer inputs",
        ..BASE
    },
    Flag {
        name: "--synthesis-max-osl",
        kind: Kind::Int(at_least(1.0)),
        to: To::Dataset("synthesis.max_osl"),
        status: NotYet("traces are not reshaped"),
        summary: "Cap trace output lengths",
        ..BASE
    },
];
