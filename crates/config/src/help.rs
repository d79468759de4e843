//! Help, from the table of flags. Each paragraph is one line: the caller wraps it.

use crate::flags::{Flag, FlagType, GROUPS, Status};
use crate::values;

const COLUMN: usize = 34;

const USAGE: &str =
    "Usage: aiperf profile --model NAME [--url HOST:PORT] [FLAGS]\n       aiperf profile --config FILE.yaml [FLAGS]\n";

const EXAMPLES: &[(&str, &str)] = &[
    (
        "100 streamed chat requests, 10 at a time",
        "aiperf profile --model Qwen/Qwen3-0.6B --url localhost:8000 --streaming --concurrency 10 --request-count 100",
    ),
    (
        "A minute of load after a warmup, with fixed lengths",
        "aiperf profile -m m -u localhost:8000 --streaming --concurrency 32 --warmup-request-count 32 --isl 1024 --osl 256 \
         --extra-inputs ignore_eos:true --benchmark-duration 60",
    ),
    ("A benchmark from a file, with one setting changed", "aiperf profile --config bench.yaml --concurrency 64"),
];

const FOOTER: &str = "\
Values: --flag VALUE or --flag=VALUE; -m VALUE, -m=VALUE or -mVALUE. A switch is --flag or --flag=false. A list is \
--flag a b, --flag a --flag b, and for some flags --flag a,b. Underscores equal dashes.
Exit codes: 0 done, 1 the run failed, 2 bad input (nothing was sent), 130 and 143 stopped by a signal.
";

impl Flag {
    /// The spelling that help shows first: a much shorter alias, or the name itself.
    pub fn usual(&self) -> &'static str {
        let long = self.aliases.iter().filter(|alias| alias.starts_with("--"));
        let shortest = long.min_by_key(|alias| alias.len());
        match shortest {
            Some(alias) if alias.len() + 3 <= self.name.len() => alias,
            _ => self.name,
        }
    }

    /// Its single-dash spelling, if it has one.
    pub fn short(&self) -> Option<&'static str> {
        self.aliases.iter().copied().find(|alias| !alias.starts_with("--"))
    }

    /// Its other long spellings.
    pub fn others(&self) -> Vec<&'static str> {
        let all =
            std::iter::once(self.name).chain(self.aliases.iter().copied().filter(|alias| alias.starts_with("--")));
        all.filter(|spelling| *spelling != self.usual()).chain(self.negation).collect()
    }

    /// Its values, in words, if its placeholder does not show them.
    pub fn rule(&self) -> Option<String> {
        if let Some(values) = self.values {
            return Some(values());
        }
        match self.kind {
            FlagType::Int | FlagType::Float | FlagType::IntOrList | FlagType::FloatOrList => {
                let range = self.range();
                (range.low.is_some() || range.high.is_some()).then(|| range.in_words())
            }
            FlagType::Choice(choices) | FlagType::Literal(choices) | FlagType::Choices(choices) => {
                Some(values::offered(self, choices).join(", "))
            }
            FlagType::IntChoice(choices) => Some(choices.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")),
            _ => None,
        }
    }
}

/// The flags that act, one line each.
pub fn short_help() -> String {
    let mut out = format!("Benchmark a server\n\n{USAGE}");
    for group in GROUPS {
        let flags: Vec<&Flag> = group.flags.iter().copied().filter(|flag| flag.status == Status::Acts).collect();
        if !flags.is_empty() {
            out.push_str(&format!("\n{}:\n", group.title));
        }
        for flag in flags {
            entry(&mut out, flag, &in_short(flag));
        }
    }
    out.push_str("\nEvery flag, with choices and examples: aiperf profile --help\n");
    out
}

/// One line about a flag: its effect, the names that only it accepts, its other spellings, and its limits.
fn in_short(flag: &Flag) -> String {
    let mut text = flag.about().to_owned();
    text.extend(flag.values.map(|values| format!(": {}", values())));
    let others = flag.others();
    let also = (!others.is_empty()).then(|| format!("also: {}", others.join(", ")));
    let notes: Vec<String> = also.into_iter().chain(flag.limited_to.map(str::to_owned)).collect();
    if !notes.is_empty() {
        text.push_str(&format!(" ({})", notes.join("; ")));
    }
    text
}

/// Every flag with its choices, range, default, other spellings and key in a configuration file.
pub fn long_help() -> String {
    let mut out = format!("Benchmark a server\n\n{USAGE}\nExamples:\n");
    for (what, command) in EXAMPLES {
        out.push_str(&format!("  {what}\n    {command}\n"));
    }
    for group in GROUPS {
        out.push_str(&format!("\n{}:\n", group.title));
        for flag in group.flags {
            entry(&mut out, flag, flag.about());
            for line in details(flag) {
                out.push_str(&format!("{:1$}{line}\n", "", COLUMN + 2));
            }
        }
    }
    out.push('\n');
    out.push_str(FOOTER);
    out
}

/// What long help lists for a flag besides its summary.
pub(crate) fn details(flag: &Flag) -> Vec<String> {
    let mut lines = Vec::new();
    let label = match flag.kind {
        _ if flag.values.is_some() => "choices",
        FlagType::Choice(_) | FlagType::Literal(_) | FlagType::Choices(_) | FlagType::IntChoice(_) => "choices",
        _ => "range",
    };
    lines.extend(flag.rule().map(|rule| format!("{label}: {rule}")));
    lines.extend(flag.default().map(|default| format!("default: {default}")));
    let others = flag.others();
    if !others.is_empty() {
        lines.push(format!("also: {}", others.join(", ")));
    }
    let key = flag.to.key();
    if !key.is_empty() {
        lines.push(format!("file: {key}"));
    }
    match flag.status {
        Status::Acts => lines.extend(flag.limited_to.map(str::to_owned)),
        Status::NoEffect(reason) => lines.push(format!("no effect here: {reason}")),
        Status::NotYet(reason) => lines.push(format!("not there yet: {reason}")),
    }
    lines
}

fn entry(out: &mut String, flag: &Flag, text: &str) {
    let short = flag.short().map_or_else(|| "    ".to_owned(), |short| format!("{short}, "));
    let head = format!("  {short}{} {}", flag.usual(), flag.placeholder());
    let head = head.trim_end();
    if head.len() + 1 < COLUMN {
        out.push_str(&format!("{head:COLUMN$}{text}\n"));
    } else {
        out.push_str(&format!("{head}\n{:COLUMN$}{text}\n", ""));
    }
}
