//! Every flag of `profile`: one table that drives parsing, validation, help, completions and the manual.
//!
//! A flag is a row: its name, its values, the key that it sets, and whether it acts. A flag whose feature does not
//! exist yet is parsed and checked like any other and then refused by name, so that no flag is ever ignored silently.
//! Each row is also a constant, by which code asks whether the flag was given. Its range, default and text are those of
//! its setting, unless the row has its own.

mod accuracy;
mod conversation;
mod endpoint;
mod flag;
mod input;
mod limits;
mod load;
mod media;
mod observe;
mod output;
mod prompt;
mod runs;
mod service;
mod shaping;

pub use crate::range::Range;
pub(crate) use conversation::*;
pub(crate) use endpoint::*;
pub use flag::{Flag, FlagType, Group, Status, Takes, To, WhenAbsent};
pub(crate) use input::*;
pub(crate) use limits::*;
pub(crate) use load::*;
pub(crate) use media::*;
pub(crate) use observe::*;
pub(crate) use output::*;
pub(crate) use prompt::*;
pub(crate) use runs::*;
pub(crate) use service::*;

/// Every flag, in the order help shows them.
pub static GROUPS: &[Group] = &[
    Group { title: "Endpoint", flags: endpoint::ENDPOINT_FLAGS },
    Group { title: "Tokenizer", flags: endpoint::TOKENIZER_FLAGS },
    Group { title: "Input", flags: input::INPUT_FLAGS },
    Group { title: "Fixed Schedule", flags: input::FIXED_SCHEDULE_FLAGS },
    Group { title: "Goodput", flags: input::GOODPUT_FLAGS },
    Group { title: "Conversation Input", flags: conversation::CONVERSATION_INPUT_FLAGS },
    Group { title: "Prompt", flags: prompt::PROMPT_FLAGS },
    Group { title: "Cache Bust", flags: prompt::CACHE_BUST_FLAGS },
    Group { title: "Prefix Prompt", flags: prompt::PREFIX_PROMPT_FLAGS },
    Group { title: "Input Sequence Length (ISL)", flags: prompt::INPUT_SEQUENCE_LENGTH_FLAGS },
    Group { title: "Output Sequence Length (OSL)", flags: prompt::OUTPUT_SEQUENCE_LENGTH_FLAGS },
    Group { title: "Audio Input", flags: media::AUDIO_INPUT_FLAGS },
    Group { title: "Image Input", flags: media::IMAGE_INPUT_FLAGS },
    Group { title: "Video Input", flags: media::VIDEO_INPUT_FLAGS },
    Group { title: "Rankings", flags: shaping::RANKINGS_FLAGS },
    Group { title: "Synthesis", flags: shaping::SYNTHESIS_FLAGS },
    Group { title: "Load Generator", flags: load::LOAD_GENERATOR_FLAGS },
    Group { title: "Scenario", flags: load::SCENARIO_FLAGS },
    Group { title: "Warmup", flags: load::WARMUP_FLAGS },
    Group { title: "User-Centric Rate", flags: load::USER_CENTRIC_RATE_FLAGS },
    Group { title: "Request Cancellation", flags: load::REQUEST_CANCELLATION_FLAGS },
    Group { title: "Output", flags: output::OUTPUT_FLAGS },
    Group { title: "Limits", flags: limits::LIMITS_FLAGS },
    Group { title: "HTTP Trace", flags: output::HTTP_TRACE_FLAGS },
    Group { title: "Server Metrics", flags: observe::SERVER_METRICS_FLAGS },
    Group { title: "Network Latency", flags: observe::NETWORK_LATENCY_FLAGS },
    Group { title: "GPU Telemetry", flags: observe::GPU_TELEMETRY_FLAGS },
    Group { title: "UI", flags: service::UI_FLAGS },
    Group { title: "Multi-Run", flags: runs::MULTI_RUN_FLAGS },
    Group { title: "Accuracy", flags: accuracy::ACCURACY_FLAGS },
    Group { title: "Service", flags: service::SERVICE_FLAGS },
    Group { title: "Workers", flags: service::WORKERS_FLAGS },
    Group { title: "ZMQ Communication", flags: service::ZMQ_COMMUNICATION_FLAGS },
];

pub fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags).copied()
}

/// The flag with this spelling, and its boolean: false for a negation.
pub fn find(spelling: &str) -> Option<(&'static Flag, bool)> {
    all().find_map(|flag| {
        if flag.name == spelling || flag.aliases.contains(&spelling) {
            Some((flag, true))
        } else if flag.negation == Some(spelling) {
            Some((flag, false))
        } else {
            None
        }
    })
}

/// Every spelling of every flag.
pub fn spellings() -> impl Iterator<Item = &'static str> {
    all().flat_map(|flag| std::iter::once(flag.name).chain(flag.aliases.iter().copied()).chain(flag.negation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_flag_that_sets_a_key_names_a_setting_and_has_a_summary() {
        for flag in all() {
            assert!(
                !flag.to.is_one_key() || flag.setting().is_some(),
                "{} sets {}, which is no setting",
                flag.name,
                flag.to.key()
            );
            assert!(!flag.about().is_empty(), "{}", flag.name);
        }
    }

    #[test]
    fn no_spelling_belongs_to_two_flags() {
        let mut seen = BTreeSet::new();
        for spelling in spellings() {
            assert!(seen.insert(spelling), "{spelling}");
        }
    }
}
