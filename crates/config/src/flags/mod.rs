//! Every flag of `profile`: one table that drives parsing, validation, help, completions and the manual.
//!
//! A flag is a row. What it is called, what it takes, where its value goes in the configuration, and whether it
//! acts: a flag whose feature does not exist yet is parsed and checked like any other and then refused by name, so
//! that no flag is ever ignored in silence.

mod accuracy;
mod conversation;
mod endpoint;
mod input;
mod load;
mod media;
mod observe;
mod output;
mod prompt;
mod runs;
mod service;
mod shaping;

/// One flag.
#[derive(Debug)]
pub struct Flag {
    /// Long name with its dashes, as messages spell it.
    pub name: &'static str,
    /// Other spellings, short ones included.
    pub aliases: &'static [&'static str],
    /// The spelling that sets it to false, for the few that have one.
    pub negation: Option<&'static str>,
    /// What its value is.
    pub kind: Kind,
    /// How many tokens it takes.
    pub takes: Takes,
    /// What runs when it is not given, as help shows it.
    pub default: Option<&'static str>,
    /// Where its value goes in the configuration.
    pub to: To,
    /// Whether it may stand beside `--config`.
    pub with_file: bool,
    /// Whether it acts.
    pub status: Status,
    /// One line of help.
    pub summary: &'static str,
    /// What of it does not act yet, though the rest does.
    pub but: Option<&'static str>,
}

/// What a flag's value is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// True when given.
    Bool,
    /// A whole number.
    Int(Range),
    /// A number.
    Float(Range),
    /// A whole number, or several to sweep over.
    IntOrList(Range),
    /// A number, or several to sweep over.
    FloatOrList(Range),
    /// Any text.
    Text,
    /// A path.
    Path,
    /// A path of something that exists.
    ExistingPath,
    /// One of these, in any letter case, `-` and `_` alike.
    Choice(&'static [&'static str]),
    /// One of these, exactly.
    Literal(&'static [&'static str]),
    /// One of these numbers.
    IntChoice(&'static [i64]),
    /// Several of these.
    Choices(&'static [&'static str]),
    /// Several texts.
    Texts,
    /// Several URLs.
    Urls,
    /// Several whole numbers above zero.
    Ints,
    /// Several numbers above zero.
    Floats,
    /// `key:value` pairs or a JSON object; values become numbers, booleans or null where they look like it.
    Pairs,
    /// `name: value` headers or a JSON object; values stay text.
    Headers,
    /// `key:value` tags; values stay text.
    Tags,
    /// `metric:number` pairs separated by white space.
    Goodput,
}

/// Where a flag's value goes in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A key of `benchmark`.
    Key(&'static str),
    /// A key beside `benchmark`.
    Envelope(&'static str),
    /// A key of the profiling phase.
    Profiling(&'static str),
    /// A key of the warmup phase.
    Warmup(&'static str),
    /// A key of every phase.
    EveryPhase(&'static str),
    /// A key of the dataset.
    Dataset(&'static str),
    /// More than one key, or none: a rule of its section. The key it is mostly about.
    Rule(&'static str),
}

impl To {
    /// The key as documentation writes it.
    pub fn key(self) -> String {
        match self {
            Self::Key(key) => format!("benchmark.{key}"),
            Self::Profiling(key) => format!("benchmark.phases.profiling.{key}"),
            Self::Warmup(key) => format!("benchmark.phases.warmup.{key}"),
            Self::EveryPhase(key) => format!("benchmark.phases.*.{key}"),
            Self::Dataset(key) => format!("benchmark.datasets.main.{key}"),
            Self::Envelope(key) => key.to_owned(),
            Self::Rule(key) if key.starts_with("sweep") || key == "random_seed" || key.is_empty() => key.to_owned(),
            Self::Rule(key) => format!("benchmark.{key}"),
        }
    }

    /// The key as problems name it: list items by number.
    pub fn location(self) -> String {
        match self {
            Self::Profiling(key) => format!("benchmark.phases.0.{key}"),
            Self::Warmup(key) => format!("benchmark.phases.0.{key}"),
            Self::EveryPhase(key) => format!("benchmark.phases.0.{key}"),
            Self::Dataset(key) => format!("benchmark.datasets.0.{key}"),
            _ => self.key(),
        }
    }
}

/// How many tokens a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: its presence is its value.
    Nothing,
    /// Exactly one, once.
    One,
    /// One for each occurrence.
    Many {
        /// Each token is split at commas.
        comma: bool,
        /// Tokens up to the next flag belong to it.
        space: bool,
    },
}

/// Whether a flag acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does what help says.
    Acts,
    /// It is accepted and can have no effect in this design, for this reason.
    NoEffect(&'static str),
    /// It is checked and refused: what it belongs to does not exist yet.
    NotYet(&'static str),
}

/// Which numbers are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower bound and whether it is itself allowed.
    pub low: Option<(f64, bool)>,
    /// Upper bound and whether it is itself allowed.
    pub high: Option<(f64, bool)>,
}

/// Any number.
pub const ANY: Range = Range { low: None, high: None };

/// This or more.
pub const fn at_least(low: f64) -> Range {
    Range { low: Some((low, true)), high: None }
}

/// More than this.
pub const fn more_than(low: f64) -> Range {
    Range { low: Some((low, false)), high: None }
}

/// Between two bounds, each allowed itself or not.
pub const fn between(low: f64, with_low: bool, high: f64, with_high: bool) -> Range {
    Range { low: Some((low, with_low)), high: Some((high, with_high)) }
}

impl Range {
    /// Whether a number is allowed. NaN never is, when there is any bound.
    pub fn holds(&self, value: f64) -> bool {
        let low = self.low.is_none_or(|(low, with)| value > low || (with && value == low));
        let high = self.high.is_none_or(|(high, with)| value < high || (with && value == high));
        low && high
    }

    /// The rule in words, after "must be".
    pub fn in_words(&self) -> String {
        let low = self.low.map(|(n, with)| if with { format!("at least {n}") } else { format!("more than {n}") });
        let high = self.high.map(|(n, with)| if with { format!("at most {n}") } else { format!("less than {n}") });
        match (low, high) {
            (Some(low), Some(high)) => format!("{low} and {high}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "a number".to_owned(),
        }
    }
}

impl Flag {
    /// What stands for its value in help and messages.
    pub fn placeholder(&self) -> &'static str {
        match self.kind {
            _ if self.name == "--model-names" => "NAME",
            _ if self.name.ends_with("-seconds")
                || self.name.ends_with("-duration")
                || self.name.ends_with("-period") =>
            {
                "SECONDS"
            }
            Kind::Bool => "",
            Kind::Int(_) => "N",
            Kind::Float(_) => "NUMBER",
            Kind::IntOrList(_) => "N[,N...]",
            Kind::FloatOrList(_) => "NUMBER[,NUMBER...]",
            Kind::Text => "TEXT",
            Kind::Path | Kind::ExistingPath => "PATH",
            Kind::Choice(_) | Kind::Literal(_) | Kind::IntChoice(_) => "CHOICE",
            Kind::Choices(_) => "CHOICE...",
            Kind::Texts => "TEXT...",
            Kind::Urls => "URL...",
            Kind::Ints => "N[,N...]",
            Kind::Floats => "NUMBER[,NUMBER...]",
            Kind::Pairs => "KEY:VALUE...",
            Kind::Headers => "NAME:VALUE...",
            Kind::Tags => "KEY:VALUE...",
            Kind::Goodput => "'METRIC:NUMBER ...'",
        }
    }
}

/// What most flags have in common.
const BASE: Flag = Flag {
    name: "",
    aliases: &[],
    negation: None,
    kind: Kind::Text,
    takes: Takes::One,
    default: None,
    to: To::Rule(""),
    with_file: true,
    status: Status::Acts,
    summary: "",
    but: None,
};

/// Flags that help shows together.
#[derive(Debug)]
pub struct Group {
    /// Title in help.
    pub title: &'static str,
    /// Its flags, in the order help shows them.
    pub flags: &'static [Flag],
}

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
