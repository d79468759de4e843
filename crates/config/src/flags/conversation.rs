//! Flags: conversation input.

use super::Status::*;
use super::*;

pub(super) const CONVERSATION_INPUT: &[Flag] = &[
    Flag {
        name: "--conversation-num",
        kind: Kind::IntOrList(ANY),
        aliases: &["--num-conversations", "--num-sessions"],
        path: "phases[profiling].sessions; datasets[0].entries",
        status: NotYet("its feature does not exist yet"),
        summary: "Number of conversations to run; list sweeps",
        ..BASE
    },
    Flag {
        name: "--num-dataset-entries",
        kind: Kind::Int(at_least(1.0)),
        aliases: &["--num-prompts"],
        default: Some("100"),
        path: "datasets[0].entries",
        status: Acts,
        summary: "Unique dataset entries to build or read",
        ..BASE
    },
    Flag {
        name: "--conversation-turn-mean",
        kind: Kind::IntOrList(at_least(1.0)),
        aliases: &["--session-turns-mean"],
        default: Some("1"),
        path: "datasets[0].turns.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean turns per conversation; list sweeps",
        ..BASE
    },
    Flag {
        name: "--conversation-turn-stddev",
        kind: Kind::Int(at_least(0.0)),
        aliases: &["--session-turns-stddev"],
        path: "datasets[0].turns.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of turns per conversation",
        ..BASE
    },
    Flag {
        name: "--conversation-turn-delay-mean",
        kind: Kind::Float(at_least(0.0)),
        aliases: &["--session-turn-delay-mean"],
        path: "datasets[0].turn_delay.mean",
        status: NotYet("its feature does not exist yet"),
        summary: "Mean pause between turns, milliseconds",
        ..BASE
    },
    Flag {
        name: "--conversation-turn-delay-stddev",
        kind: Kind::Float(at_least(0.0)),
        aliases: &["--session-turn-delay-stddev"],
        path: "datasets[0].turn_delay.stddev",
        status: NotYet("its feature does not exist yet"),
        summary: "Spread of the pause between turns, milliseconds",
        ..BASE
    },
    Flag {
        name: "--conversation-turn-delay-ratio",
        kind: Kind::Float(at_least(0.0)),
        aliases: &["--session-delay-ratio"],
        default: Some("1.0"),
        path: "datasets[0].turn_delay_ratio",
        status: NotYet("its feature does not exist yet"),
        summary: "Factor applied to every turn pause",
        ..BASE
    },
    Flag {
        name: "--inter-turn-delay-cap-seconds",
        kind: Kind::Float(at_least(0.0)),
        path: "datasets[0].inter_turn_delay_cap_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Upper bound on replayed turn delays, seconds",
        ..BASE
    },
    Flag {
        name: "--max-idle-gap-cap-seconds",
        kind: Kind::Float(more_than(0.0)),
        path: "datasets[0].max_idle_gap_cap_seconds",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: shrink global idle gaps to this many replay seconds",
        ..BASE
    },
    Flag {
        name: "--replay-speedup",
        kind: Kind::Float(more_than(0.0)),
        path: "datasets[0].replay_speedup",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: replay this many times faster",
        ..BASE
    },
    Flag {
        name: "--open-loop-replay",
        kind: Kind::Bool,
        negation: Some("--no-open-loop-replay"),
        takes: Takes::Nothing,
        default: Some("true"),
        path: "datasets[0].open_loop_replay",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: start sessions at absolute recorded times",
        ..BASE
    },
    Flag {
        name: "--open-loop-strict",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "datasets[0].open_loop_strict",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: treat every row as its own session at its own time",
        ..BASE
    },
    Flag {
        name: "--omit-kv-hints",
        kind: Kind::Bool,
        takes: Takes::Nothing,
        path: "datasets[0].omit_kv_hints",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: leave hash_ids and block_size out of bodies",
        ..BASE
    },
    Flag {
        name: "--force-min-tokens",
        kind: Kind::Bool,
        negation: Some("--no-force-min-tokens"),
        takes: Takes::Nothing,
        default: Some("true"),
        path: "datasets[0].force_min_tokens",
        status: NotYet("its feature does not exist yet"),
        summary: "Baseten trace: set min_tokens to the recorded output length",
        ..BASE
    },
];
