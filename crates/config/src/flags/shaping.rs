//! Flags: rankings, synthesis.

use super::Status::*;
use super::*;

pub(super) const RANKINGS: &[Flag] = &[
    Flag {
        name: "--rankings-passages-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("1"),
        path: "datasets[0].rankings.passages.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean passages per ranking request",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-stddev",
        kind: Kind::Int(at_least(0.0)),
        path: "datasets[0].rankings.passages.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of passages per request",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-prompt-token-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("550"),
        path: "datasets[0].rankings.passage_tokens.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean tokens per passage",
        ..BASE
    },
    Flag {
        name: "--rankings-passages-prompt-token-stddev",
        kind: Kind::Int(at_least(0.0)),
        path: "datasets[0].rankings.passage_tokens.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of tokens per passage",
        ..BASE
    },
    Flag {
        name: "--rankings-query-prompt-token-mean",
        kind: Kind::Int(at_least(1.0)),
        default: Some("550"),
        path: "datasets[0].rankings.query_tokens.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean tokens per query",
        ..BASE
    },
    Flag {
        name: "--rankings-query-prompt-token-stddev",
        kind: Kind::Int(at_least(0.0)),
        path: "datasets[0].rankings.query_tokens.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of tokens per query",
        ..BASE
    },
];

pub(super) const SYNTHESIS: &[Flag] = &[
    Flag {
        name: "--synthesis-speedup-ratio",
        kind: Kind::Float(at_least(0.0)),
        default: Some("1.0"),
        path: "datasets[0].synthesis.speedup_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Divide trace timestamps by this factor",
        ..BASE
    },
    Flag {
        name: "--synthesis-prefix-len-multiplier",
        kind: Kind::Float(at_least(0.0)),
        default: Some("1.0"),
        path: "datasets[0].synthesis.prefix_len_multiplier",
        status: NotYet("its feature does not exist yet"),
        summary: "Scale shared-prefix lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-prefix-root-multiplier",
        kind: Kind::Int(at_least(1.0)),
        default: Some("1"),
        path: "datasets[0].synthesis.prefix_root_multiplier",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread a trace over this many independent prefix trees",
        ..BASE
    },
    Flag {
        name: "--synthesis-prompt-len-multiplier",
        kind: Kind::Float(at_least(0.0)),
        default: Some("1.0"),
        path: "datasets[0].synthesis.prompt_len_multiplier",
        status: NotYet("its feature does not exist yet"),
        summary: "Scale unique prompt lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-output-len-multiplier",
        kind: Kind::Float(at_least(0.0)),
        default: Some("1.0"),
        path: "datasets[0].synthesis.output_len_multiplier",
        status: NotYet("its feature does not exist yet"),
        summary: "Scale output lengths of a trace",
        ..BASE
    },
    Flag {
        name: "--synthesis-max-isl",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].synthesis.max_isl",
        status: NotYet("its feature does not exist yet"),
        summary: "Skip trace rows with longer inputs",
        ..BASE
    },
    Flag {
        name: "--synthesis-max-osl",
        kind: Kind::Int(at_least(1.0)),
        path: "datasets[0].synthesis.max_osl",
        status: NotYet("its feature does not exist yet"),
        summary: "Cap trace output lengths",
        ..BASE
    },
];
