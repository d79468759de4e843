//! What cannot be kept of a page, told once a series.

use crate::scrape::Labels;
use std::fmt;
use std::sync::Arc;

/// A sample that could not be kept, or not wholly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreWarning {
    pub endpoint_url: Arc<str>,
    pub name: Arc<str>,
    pub labels: Labels,
    pub fault: StoreFault,
}

/// Why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// An upper bound that is no number: the series is left out.
    BadBound(Arc<str>),
    /// A histogram became a single value, or the other way round: what it says now is left out.
    ChangedShape,
    /// A bound that the first page did not have: its observations are left out.
    NewBound(Arc<str>),
}

impl StoreFault {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::BadBound(_) => "bad bound",
            Self::ChangedShape => "changed shape",
            Self::NewBound(_) => "new bound",
        }
    }
}

impl fmt::Display for StoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint_url, name, labels, fault } = self;
        write!(f, "{endpoint_url}: {name}")?;
        for (at, (label, value)) in labels.iter().enumerate() {
            write!(f, "{}{label}={value:?}", if at == 0 { "{" } else { "," })?;
        }
        f.write_str(if labels.is_empty() { ": " } else { "}: " })?;
        match fault {
            StoreFault::BadBound(le) => write!(f, "the bucket bound {le:?} is not a number; the series is left out"),
            StoreFault::ChangedShape => f.write_str(
                "changed between a histogram and a single value; only what it was first is kept, the rest is left out",
            ),
            StoreFault::NewBound(le) => {
                write!(f, "the bucket bound {le:?} was not on the first page; its observations are left out")
            }
        }
    }
}
