//! The definition of a flag.

use crate::range::{ANY, Range};
use crate::sections::dataset::Dataset;
use crate::sections::envelope::{Benchmark, Envelope};
use crate::sections::phases::Phase;
use crate::setting::{Described, Setting, described, plain_text};

#[derive(Debug)]
pub struct Flag {
    /// Long name with its dashes, as messages spell it.
    pub name: &'static str,
    /// Other spellings, short ones included.
    pub aliases: &'static [&'static str],
    /// The spelling that sets it to false, for the few that have one.
    pub negation: Option<&'static str>,
    /// The type of its value.
    pub kind: FlagType,
    /// Its placeholder in help, if its kind has no fitting one.
    pub value_name: Option<&'static str>,
    /// Its values, in words, if its kind does not list them.
    pub values: Option<fn() -> String>,
    /// How many tokens it takes.
    pub takes: Takes,
    /// The numbers that it accepts, if they differ from those of its key.
    pub range: Option<Range>,
    /// Its default. If the row has none: the default of its key, and nothing for a rule.
    pub default: Option<WhenAbsent>,
    /// Where its value goes in the configuration.
    pub to: To,
    /// Whether it may be used with `--config`.
    pub with_file: bool,
    pub status: Status,
    /// One line of help, if the text of its key is not enough.
    pub summary: &'static str,
    /// What it is limited to, if the rest of it does not act yet.
    pub limited_to: Option<&'static str>,
}

/// The type of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlagType {
    Bool,
    Int,
    Float,
    /// A whole number, or several to sweep over.
    IntOrList,
    /// A number, or several to sweep over.
    FloatOrList,
    Text,
    Path,
    /// A path that must exist.
    ExistingPath,
    /// One of these, in any letter case, `-` and `_` alike.
    Choice(&'static [&'static str]),
    /// One of these, exactly.
    Literal(&'static [&'static str]),
    /// One of these numbers.
    IntChoice(&'static [i64]),
    Choices(&'static [&'static str]),
    Texts,
    Urls,
    /// Several whole numbers above zero.
    Ints,
    /// Several numbers above zero.
    Floats,
    /// `key:value` pairs or a JSON object; values become numbers, booleans or null if they look like it.
    Pairs,
    /// `name: value` headers or a JSON object; values stay text.
    Headers,
    /// `key:value` tags; values stay text.
    Tags,
    /// `metric:number` pairs separated by white space.
    Goodput,
}

/// The default of a flag, as help shows it.
#[derive(Clone, Copy, Debug)]
pub enum WhenAbsent {
    /// The default of its key.
    DefaultOfKey,
    /// A rule decides; these words describe it.
    Words(&'static str),
    /// Made from the constant that the rule uses too.
    Made(fn() -> String),
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
    /// More than one key of `benchmark`, set by a rule of its section. This is the main key.
    Rule(&'static str),
    /// More than one key beside `benchmark`, set by a rule of its section. This is the main key.
    EnvelopeRule(&'static str),
    /// None: it selects the source of the configuration.
    NoKey,
}

impl To {
    /// The key in the form of the documentation.
    pub fn key(self) -> String {
        match self {
            Self::Key(key) => format!("benchmark.{key}"),
            Self::Profiling(key) => format!("benchmark.phases.profiling.{key}"),
            Self::Warmup(key) => format!("benchmark.phases.warmup.{key}"),
            Self::EveryPhase(key) => format!("benchmark.phases.*.{key}"),
            Self::Dataset(key) => format!("benchmark.datasets.main.{key}"),
            Self::Rule(key) => format!("benchmark.{key}"),
            Self::Envelope(key) | Self::EnvelopeRule(key) => key.to_owned(),
            Self::NoKey => String::new(),
        }
    }

    /// Whether its value is that of one key.
    pub(crate) fn is_one_key(self) -> bool {
        !matches!(self, Self::Rule(_) | Self::EnvelopeRule(_) | Self::NoKey)
    }

    /// The key in the form of problems: list items by number.
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
    /// It has an effect.
    Acts,
    /// It is accepted and can have no effect in this design, for this reason.
    NoEffect(&'static str),
    /// It is checked and refused, because its feature does not exist yet.
    NotYet(&'static str),
}

/// A flag is identified by its name.
impl PartialEq for Flag {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Flag {
    /// The definition of the key it sets.
    pub(crate) fn setting(&self) -> Option<Described> {
        match self.to {
            To::Key(key) | To::Rule(key) => described(Benchmark::FIELDS, key),
            To::Envelope(key) | To::EnvelopeRule(key) => described(Envelope::FIELDS, key),
            To::Profiling(key) | To::Warmup(key) | To::EveryPhase(key) => described(Phase::FIELDS, key),
            To::Dataset(key) => described(Dataset::FIELDS, key),
            To::NoKey => None,
        }
    }

    /// The numbers that it accepts.
    pub fn range(&self) -> Range {
        self.range.or_else(|| self.setting()?.field.range).unwrap_or(ANY)
    }

    /// Its default, in words. A switch that is off by default has none.
    pub fn default(&self) -> Option<String> {
        match self.default {
            Some(WhenAbsent::Words(words)) => return Some(words.to_owned()),
            Some(WhenAbsent::Made(make)) => return Some(make()),
            None if !self.to.is_one_key() => return None,
            Some(WhenAbsent::DefaultOfKey) | None => {}
        }
        let text = self.setting()?.default.map(|value| plain_text(&value))?;
        (self.kind != FlagType::Bool || text == "true").then_some(text)
    }

    /// One line of help.
    pub fn about(&self) -> &'static str {
        match self.setting() {
            Some(setting) if self.summary.is_empty() => setting.field.about.trim(),
            _ => self.summary,
        }
    }

    /// Its placeholder in help and messages.
    pub fn placeholder(&self) -> &'static str {
        if let Some(own) = self.value_name {
            return own;
        }
        match self.kind {
            FlagType::Bool => "",
            FlagType::Int => "N",
            FlagType::Float => "NUMBER",
            FlagType::IntOrList => "N[,N...]",
            FlagType::FloatOrList => "NUMBER[,NUMBER...]",
            FlagType::Text => "TEXT",
            FlagType::Path | FlagType::ExistingPath => "PATH",
            FlagType::Choice(_) | FlagType::Literal(_) | FlagType::IntChoice(_) => "CHOICE",
            FlagType::Choices(_) => "CHOICE...",
            FlagType::Texts => "TEXT...",
            FlagType::Urls => "URL...",
            FlagType::Ints => "N[,N...]",
            FlagType::Floats => "NUMBER[,NUMBER...]",
            FlagType::Pairs => "KEY:VALUE...",
            FlagType::Headers => "NAME:VALUE...",
            FlagType::Tags => "KEY:VALUE...",
            FlagType::Goodput => "'METRIC:NUMBER ...'",
        }
    }
}

/// The common values of most flags.
pub(super) const BASE: Flag = Flag {
    name: "",
    aliases: &[],
    negation: None,
    kind: FlagType::Text,
    value_name: None,
    values: None,
    takes: Takes::One,
    range: None,
    default: None,
    to: To::NoKey,
    with_file: true,
    status: Status::Acts,
    summary: "",
    limited_to: None,
};

/// Flags that help shows together.
#[derive(Debug)]
pub struct Group {
    pub title: &'static str,
    /// Its flags, in the order help shows them.
    pub flags: &'static [&'static Flag],
}

/// Defines flags, each as a constant for use in code, and their group in help.
macro_rules! flags {
    ($group:ident: $( $name:ident { $($row:tt)* } )*) => {
        $( pub(crate) const $name: &$crate::flags::Flag = &$crate::flags::Flag { $($row)* ..$crate::flags::flag::BASE }; )*
        pub(super) const $group: &[&$crate::flags::Flag] = &[$($name),*];
    };
}

pub(super) use flags;
