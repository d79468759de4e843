//! Tokens of the command line to flags with their raw values.
//!
//! This is our own tokeniser rather than clap. A list flag takes tokens up to the next flag, while a scalar refuses a
//! second occurrence. A boolean takes no token but accepts `=false`. `-vv` is one token and not `-v` twice. Underscores
//! equal dashes in every name. Nothing may be abbreviated. The same table row must also drive the configuration file,
//! completions and the manual. clap supports some of these, but not all together.

use crate::error::Problem;
use crate::flags::{self, Flag, FlagType, Takes};
use crate::nearest::nearest;
use std::iter::Peekable;

/// A flag as given.
#[derive(Clone, Debug)]
pub(crate) struct RawFlag {
    pub flag: &'static Flag,
    /// The user's spelling, for messages.
    pub spelled: String,
    /// The tokens that came with it.
    pub raw: Raw,
}

/// What came with a flag.
#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Bool(bool),
    /// Tokens, in order over all occurrences.
    Tokens(Vec<String>),
}

/// What the tokens ask for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A run with these flags.
    Run(Vec<RawFlag>),
    ShortHelp,
    LongHelp,
}

/// Parses the tokens after `profile`; every bad one is a problem.
pub(crate) fn read(args: &[String]) -> Result<Asked, Vec<Problem>> {
    let mut given: Vec<RawFlag> = Vec::new();
    let mut problems = Vec::new();
    let mut rest = args.iter().map(String::as_str).peekable();
    while let Some(token) = rest.next() {
        match token {
            "-h" => return Ok(Asked::ShortHelp),
            "--help" => return Ok(Asked::LongHelp),
            _ => {}
        }
        let before = problems.len();
        if looks_like_flag(token) {
            match flag(token, &mut rest) {
                Ok(raw) => problems.extend(add(&mut given, raw).err()),
                Err(problem) => problems.push(problem),
            }
        } else {
            problems.push(stray(token, given.last()));
        }
        // Tokens after a bad one, up to the next flag, belong to it.
        while problems.len() > before && rest.next_if(|next| !looks_like_flag(next)).is_some() {}
    }
    if problems.is_empty() { Ok(Asked::Run(given)) } else { Err(problems) }
}

/// The flag that a token names, with the tokens that belong to it.
fn flag<'a>(token: &str, rest: &mut Peekable<impl Iterator<Item = &'a str>>) -> Result<RawFlag, Problem> {
    let (spelled, inline) = split(token);
    let Some((flag, positive)) = flags::find(&spelled) else { return Err(unknown(&spelled)) };
    let raw = match flag.takes {
        Takes::Nothing => Raw::Bool(switch(flag, &spelled, inline, positive)?),
        Takes::One => match inline.or_else(|| rest.next_if(|next| !looks_like_flag(next)).map(str::to_owned)) {
            Some(value) => Raw::Tokens(vec![value]),
            None => return Err(missing(flag, &spelled)),
        },
        Takes::Many { space, .. } => {
            let mut tokens: Vec<String> = inline.into_iter().collect();
            let first = tokens.is_empty();
            while (space || (first && tokens.is_empty())) && rest.peek().is_some_and(|next| !looks_like_flag(next)) {
                tokens.extend(rest.next().map(str::to_owned));
            }
            if tokens.is_empty() && !space {
                return Err(missing(flag, &spelled));
            }
            Raw::Tokens(tokens)
        }
    };
    Ok(RawFlag { flag, spelled, raw })
}

/// Adds a flag: a scalar may occur once; a list grows.
fn add(given: &mut Vec<RawFlag>, new: RawFlag) -> Result<(), Problem> {
    let Some(old) = given.iter_mut().find(|old| old.flag.name == new.flag.name) else {
        given.push(new);
        return Ok(());
    };
    match (&mut old.raw, new.raw) {
        (Raw::Tokens(tokens), Raw::Tokens(more)) if matches!(new.flag.takes, Takes::Many { .. }) => tokens.extend(more),
        _ => {
            let name = &new.spelled;
            let twice = if old.spelled == *name {
                format!("{name} is given twice")
            } else {
                format!("{name} is given twice, the first time as {}", old.spelled)
            };
            return Err(Problem::new(twice)
                .because("it takes one value, and there are two")
                .hint(format!("give {name} once")));
        }
    }
    Ok(())
}

fn switch(flag: &Flag, spelled: &str, inline: Option<String>, positive: bool) -> Result<bool, Problem> {
    match inline.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None => Ok(positive),
        Some("true") => Ok(positive),
        Some("false") => Ok(!positive),
        Some(other) => Err(Problem::new(format!("{spelled}={other} is neither true nor false"))
            .hint(format!("{spelled}, or {spelled}=false"))
            .at(flag.to.location())),
    }
}

/// Name and value of `--name=value` or `-nvalue`; underscores in the name become dashes.
fn split(token: &str) -> (String, Option<String>) {
    if token.starts_with("--") {
        let (name, value) = match token.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (token, None),
        };
        return (format!("--{}", name[2..].replace('_', "-")), value);
    }
    if flags::find(token).is_some() {
        return (token.to_owned(), None);
    }
    if let Some((name, value)) = token.split_once('=')
        && flags::find(name).is_some()
    {
        return (name.to_owned(), Some(value.to_owned()));
    }
    let end = token.char_indices().nth(2).map_or(token.len(), |(at, _)| at);
    match flags::find(&token[..end]) {
        Some((flag, _)) if flag.takes != Takes::Nothing => (token[..end].to_owned(), Some(token[end..].to_owned())),
        _ => (token.to_owned(), None),
    }
}

/// A token that starts with a dash is a flag, unless it is a negative number or a lone dash.
fn looks_like_flag(token: &str) -> bool {
    let Some(rest) = token.strip_prefix('-') else { return false };
    let number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') || rest == "inf" || rest == "nan";
    !rest.is_empty() && !number
}

fn stray(token: &str, last: Option<&RawFlag>) -> Problem {
    let problem = Problem::new(format!("unexpected argument '{token}'"));
    match last {
        _ if token.ends_with(".yaml") || token.ends_with(".yml") => {
            problem.because("a configuration file needs its flag").hint(format!("--config {token}"))
        }
        Some(given) if given.flag.kind == FlagType::Bool => {
            let name = &given.spelled;
            problem.because(format!("{name} is a switch and takes no value after a space")).hint(format!(
                "{name}, or {name}={}",
                if token.eq_ignore_ascii_case("true") { "true" } else { "false" }
            ))
        }
        Some(given) => problem
            .because(format!("profile takes only flags, and {} already has its value", given.spelled))
            .hint("quote a value that contains spaces"),
        None => problem.because("profile takes only flags").hint("aiperf profile --model NAME --url HOST:PORT"),
    }
}

fn unknown(spelled: &str) -> Problem {
    let problem = Problem::new(format!("unknown flag {spelled}"));
    let positive = spelled.strip_prefix("--no-").map(|rest| format!("--{rest}"));
    if let Some((flag, _)) = positive.as_deref().and_then(flags::find) {
        let name = positive.as_deref().unwrap_or(flag.name);
        return problem.because(format!("{name} has no negative form")).hint(if flag.takes == Takes::Nothing {
            format!("{name}=false")
        } else {
            format!("leave {name} out")
        });
    }
    match nearest(spelled, flags::spellings()) {
        Some(near) if spelled.len() > 2 => problem.hint(near),
        _ => problem.hint("aiperf profile --help, which lists every flag"),
    }
}

fn missing(flag: &Flag, spelled: &str) -> Problem {
    Problem::new(format!("{spelled} needs a value"))
        .hint(format!("{spelled} {}", flag.placeholder()))
        .at(flag.to.location())
}
