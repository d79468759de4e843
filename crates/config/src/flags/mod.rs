//! Every flag of `profile`: one table that drives parsing, validation, help, completions and the manual.
//!
//! A flag is a row. What it is called, what it takes, where its value goes in the configuration, and whether it
//! acts: a flag whose feature does not exist yet is parsed and checked like any other and then refused by name, so
//! that no flag is ever ignored in silence.

mod accuracy;
mod conversation;
mod endpoint;
mod flag;
mod input;
mod load;
mod media;
mod observe;
mod output;
mod prompt;
mod runs;
mod service;
mod shaping;

pub use crate::range::Range;
pub use flag::{Flag, Group, Kind, Status, Takes, To};

/// Every flag, in the order help shows them.
pub static GROUPS: &[Group] = &[
    Group { title: "Endpoint", flags: endpoint::ENDPOINT },
    Group { title: "Tokenizer", flags: endpoint::TOKENIZER },
    Group { title: "Input", flags: input::INPUT },
    Group { title: "Fixed Schedule", flags: input::FIXED_SCHEDULE },
    Group { title: "Goodput", flags: input::GOODPUT },
    Group { title: "Conversation Input", flags: conversation::CONVERSATION_INPUT },
    Group { title: "Prompt", flags: prompt::PROMPT },
    Group { title: "Cache Bust", flags: prompt::CACHE_BUST },
    Group { title: "Prefix Prompt", flags: prompt::PREFIX_PROMPT },
    Group { title: "Input Sequence Length (ISL)", flags: prompt::INPUT_SEQUENCE_LENGTH },
    Group { title: "Output Sequence Length (OSL)", flags: prompt::OUTPUT_SEQUENCE_LENGTH },
    Group { title: "Audio Input", flags: media::AUDIO_INPUT },
    Group { title: "Image Input", flags: media::IMAGE_INPUT },
    Group { title: "Video Input", flags: media::VIDEO_INPUT },
    Group { title: "Rankings", flags: shaping::RANKINGS },
    Group { title: "Synthesis", flags: shaping::SYNTHESIS },
    Group { title: "Load Generator", flags: load::LOAD_GENERATOR },
    Group { title: "Scenario", flags: load::SCENARIO },
    Group { title: "Warmup", flags: load::WARMUP },
    Group { title: "User-Centric Rate", flags: load::USER_CENTRIC_RATE },
    Group { title: "Request Cancellation", flags: load::REQUEST_CANCELLATION },
    Group { title: "Output", flags: output::OUTPUT },
    Group { title: "HTTP Trace", flags: output::HTTP_TRACE },
    Group { title: "Server Metrics", flags: observe::SERVER_METRICS },
    Group { title: "Network Latency", flags: observe::NETWORK_LATENCY },
    Group { title: "GPU Telemetry", flags: observe::GPU_TELEMETRY },
    Group { title: "UI", flags: service::UI },
    Group { title: "Multi-Run", flags: runs::MULTI_RUN },
    Group { title: "Accuracy", flags: accuracy::ACCURACY },
    Group { title: "Service", flags: service::SERVICE },
    Group { title: "Workers", flags: service::WORKERS },
    Group { title: "ZMQ Communication", flags: service::ZMQ_COMMUNICATION },
];

/// Every flag.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags)
}

/// The flag with this spelling, and the boolean it stands for: false for a negation.
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
    fn no_spelling_belongs_to_two_flags() {
        let mut seen = BTreeSet::new();
        for spelling in spellings() {
            assert!(seen.insert(spelling), "{spelling}");
        }
    }
}
