//! Messages about bad input: what, where, why, and the fix.

use aiperf_plan::redact::Redactor;
use std::fmt;

/// One problem with the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, naming the flag or the file and line.
    pub what: String,
    /// Why, one line each.
    pub why: Vec<String>,
    pub hint: Option<String>,
    /// The location in the configuration: a dotted path, empty if the problem is about the command line itself.
    pub location: String,
}

impl Problem {
    /// A problem without a reason so far.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Two inputs of which a run can have one.
    pub(crate) fn exclusive(one: impl fmt::Display, other: impl fmt::Display) -> Self {
        Self::new(format!("{one} and {other} exclude each other"))
    }

    /// The same, for two flags.
    pub(crate) fn leave_one_out(one: &str, other: &str) -> Self {
        Self::exclusive(one, other).hint(format!("leave {one} or {other} out"))
    }

    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why.push(why.into());
        self
    }

    /// With a fix.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, without these secrets.
    pub(crate) fn without_secrets(self, secrets: &Redactor) -> Self {
        let hidden = |text: String| secrets.hide(&text).into_owned();
        Self {
            what: hidden(self.what),
            why: self.why.into_iter().map(hidden).collect(),
            hint: self.hint.map(hidden),
            ..self
        }
    }

    /// With a place in the configuration.
    pub fn at(mut self, location: impl Into<String>) -> Self {
        self.location = location.into();
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        for why in &self.why {
            write!(f, "\n  {why}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  try: {hint}")?;
        }
        Ok(())
    }
}

/// A flag, or several, without effect unless another is given.
pub(crate) fn needs(given: &str, needed: &str, why: &str) -> Problem {
    let (verb, it) = if given.contains(", ") { ("need", "them") } else { ("needs", given) };
    Problem::new(format!("{given} {verb} {needed}")).because(why).hint(format!("add {needed}, or leave {it} out"))
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The input is bad: at least one problem.
    #[error("{}", join(.0))]
    Invalid(Vec<Problem>),
    /// The user asked for help: this text belongs on stdout.
    #[error("{0}")]
    Help(String),
}

impl ConfigError {
    /// The exit code of the command.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::Invalid(_) => 2,
            Self::Help(_) => 0,
        }
    }

    /// The problems; none if the user asked for help.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid(problems) => problems,
            Self::Help(_) => &[],
        }
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self::Invalid(vec![problem])
    }
}

/// The most problems that are listed: a file of another kind has thousands.
pub(crate) const SHOWN: usize = 50;

fn join(problems: &[Problem]) -> String {
    let mut texts: Vec<String> = problems.iter().take(SHOWN).map(Problem::to_string).collect();
    if problems.len() > SHOWN {
        texts.push(format!("and {} more problems", problems.len() - SHOWN));
    }
    texts.join("\nerror: ")
}
