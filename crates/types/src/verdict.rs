//! Whether the numbers of a run are those of the server.

use std::borrow::Cow;

/// How far the numbers of a run can be trusted; the worst is the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    #[default]
    Trustworthy,
    Doubtful,
    /// They show this client instead of the server.
    ClientBound,
}

impl Grade {
    /// The name in every output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trustworthy => "trustworthy",
            Self::Doubtful => "doubtful",
            Self::ClientBound => "client-bound",
        }
    }

    /// The grade with such a name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Trustworthy, Self::Doubtful, Self::ClientBound].into_iter().find(|grade| grade.name() == name)
    }

    /// The value of the metric `verdict`.
    pub const fn value(self) -> f64 {
        match self {
            Self::Trustworthy => 0.0,
            Self::Doubtful => 1.0,
            Self::ClientBound => 2.0,
        }
    }
}

/// One reason for a verdict. One of grade `trustworthy` is for information.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub code: Cow<'static, str>,
    pub grade: Grade,
    pub value: f64,
    /// The value above which it is a reason.
    pub limit: f64,
    pub text: String,
    /// What to do about it.
    pub fix: Cow<'static, str>,
}

/// The verdict on a run, on one of its phases, or on the part of it that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub grade: Grade,
    /// The worst first.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Whether there is nothing to warn about.
    pub fn is_trustworthy(&self) -> bool {
        self.grade == Grade::Trustworthy
    }

    /// The worst reason; `None` if there is nothing to warn about.
    pub fn main_reason(&self) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.grade != Grade::Trustworthy)
    }

    /// The verdict and its main reason, in one sentence.
    pub fn in_words(&self) -> String {
        let reason = self.main_reason().map(|reason| format!(": {}", reason.text)).unwrap_or_default();
        format!("{}{reason}", self.grade.name())
    }
}
