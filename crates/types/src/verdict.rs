//! Whether the numbers of a run are those of the server.

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
    pub code: &'static str,
    pub grade: Grade,
    pub value: f64,
    /// The value above which it is a reason.
    pub limit: f64,
    pub text: String,
    /// What to do about it.
    pub fix: &'static str,
}

/// The verdict on a run, on one of its phases, or on the part of it that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub grade: Grade,
    /// The worst first.
    pub reasons: Vec<Reason>,
}
