//! Flags: Conversation Input.

use super::flag::Status::Acts;
use super::flag::{FlagType, Takes, To, WhenAbsent, flags};
use crate::range::at_least;
use crate::sections::dataset::{MEAN_TURN_DELAY, MEAN_TURNS, SYNTHETIC_ENTRIES};

flags! { CONVERSATION_INPUT_FLAGS:
    CONVERSATION_NUM {
        name: "--conversation-num",
        kind: FlagType::IntOrList,
        aliases: &["--num-conversations", "--num-sessions"],
        to: To::Profiling("sessions"),
        status: Acts,
        summary: "Number of conversations to run; list sweeps",
    }
    NUM_DATASET_ENTRIES {
        name: "--num-dataset-entries",
        kind: FlagType::Int,
        aliases: &["--num-prompts"],
        default: Some(WhenAbsent::Made(|| format!("--conversation-num, else --request-count, else {SYNTHETIC_ENTRIES}"))),
        to: To::Dataset("entries"),
        status: Acts,
    }
    CONVERSATION_TURN_MEAN {
        name: "--conversation-turn-mean",
        kind: FlagType::IntOrList,
        range: Some(at_least(1.0)),
        aliases: &["--session-turns-mean"],
        default: Some(WhenAbsent::Made(|| MEAN_TURNS.to_string())),
        to: To::Dataset("turns.mean"),
        status: Acts,
        summary: "Mean turns per conversation; list sweeps",
    }
    CONVERSATION_TURN_STDDEV {
        name: "--conversation-turn-stddev",
        kind: FlagType::Int,
        aliases: &["--session-turns-stddev"],
        to: To::Dataset("turns.stddev"),
        status: Acts,
        summary: "Spread of turns per conversation",
    }
    CONVERSATION_TURN_DELAY_MEAN {
        name: "--conversation-turn-delay-mean",
        kind: FlagType::Float,
        value_name: Some("MS"),
        aliases: &["--session-turn-delay-mean"],
        default: Some(WhenAbsent::Made(|| MEAN_TURN_DELAY.to_string())),
        to: To::Dataset("turn_delay.mean"),
        status: Acts,
        summary: "Mean pause between a response and the next turn, milliseconds",
    }
    CONVERSATION_TURN_DELAY_STDDEV {
        name: "--conversation-turn-delay-stddev",
        kind: FlagType::Float,
        value_name: Some("MS"),
        aliases: &["--session-turn-delay-stddev"],
        to: To::Dataset("turn_delay.stddev"),
        status: Acts,
        summary: "Spread of that pause, milliseconds",
    }
    CONVERSATION_TURN_DELAY_RATIO {
        name: "--conversation-turn-delay-ratio",
        kind: FlagType::Float,
        aliases: &["--session-delay-ratio"],
        to: To::Dataset("turn_delay_ratio"),
        status: Acts,
    }
    INTER_TURN_DELAY_CAP_SECONDS {
        name: "--inter-turn-delay-cap-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Dataset("inter_turn_delay_cap_seconds"),
        status: Acts,
        limited_to: Some("only multi_turn and traces so far"),
    }
    MAX_IDLE_GAP_CAP_SECONDS {
        name: "--max-idle-gap-cap-seconds",
        kind: FlagType::Float,
        value_name: Some("SECONDS"),
        to: To::Dataset("max_idle_gap_cap_seconds"),
        status: Acts,
    }
    REPLAY_SPEEDUP {
        name: "--replay-speedup",
        kind: FlagType::Float,
        to: To::Dataset("replay_speedup"),
        status: Acts,
    }
    OPEN_LOOP_REPLAY {
        name: "--open-loop-replay",
        kind: FlagType::Bool,
        negation: Some("--no-open-loop-replay"),
        takes: Takes::Nothing,
        to: To::Dataset("open_loop_replay"),
        status: Acts,
    }
    OPEN_LOOP_STRICT {
        name: "--open-loop-strict",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Dataset("open_loop_strict"),
        status: Acts,
    }
    OMIT_KV_HINTS {
        name: "--omit-kv-hints",
        kind: FlagType::Bool,
        takes: Takes::Nothing,
        to: To::Dataset("omit_kv_hints"),
        status: Acts,
    }
    FORCE_MIN_TOKENS {
        name: "--force-min-tokens",
        kind: FlagType::Bool,
        negation: Some("--no-force-min-tokens"),
        takes: Takes::Nothing,
        to: To::Dataset("force_min_tokens"),
        status: Acts,
    }
}
