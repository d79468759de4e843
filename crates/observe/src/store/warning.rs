//! Short warnings, given once, about parts of a page that cannot be stored.

use crate::scrape::Labels;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Most series of an endpoint that are named for one kind of fault.
const MOST_NAMED: usize = 5;

/// Something that is not stored, or not completely. Its text does not name the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreWarning {
    Series {
        name: Arc<str>,
        labels: Labels,
        fault: StoreFault,
    },
    /// Others have the same fault, and are not named.
    MoreSeries(StoreFault),
    /// The endpoint has more series than the limit.
    TooManySeries {
        /// The metric that has most of them.
        name: Arc<str>,
        of_name: usize,
        most: usize,
    },
    /// Its series have more label names than the limit.
    TooManyLabels {
        most: usize,
    },
    /// The values of all endpoints take all the memory they may.
    Full {
        bytes: u64,
    },
}

/// What is wrong with a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// An upper bound that is no number: the series is left out.
    BadBound(Arc<str>),
    /// A histogram became a single value, or the other way round: its new values are left out.
    ChangedShape,
    /// A bound that the first page did not have: its observations are left out.
    NewBound(Arc<str>),
}

/// Warnings about an endpoint that were given, and are not repeated.
#[derive(Debug, Default)]
pub(super) struct Warned {
    by_fault: HashMap<&'static str, Named>,
    too_many_series: bool,
    too_many_labels: bool,
}

#[derive(Debug, Default)]
struct Named {
    series: Vec<u64>,
    and_more: bool,
}

impl Warned {
    pub(super) fn fault(
        &mut self,
        series: u64,
        name: &Arc<str>,
        labels: &Labels,
        fault: StoreFault,
    ) -> Option<StoreWarning> {
        let named = self.by_fault.entry(fault.name()).or_default();
        if named.and_more || named.series.contains(&series) {
            return None;
        }
        if named.series.len() == MOST_NAMED {
            named.and_more = true;
            return Some(StoreWarning::MoreSeries(fault));
        }
        named.series.push(series);
        Some(StoreWarning::Series { name: Arc::clone(name), labels: labels.clone(), fault })
    }

    pub(super) fn too_many_series(
        &mut self,
        largest: impl FnOnce() -> (Arc<str>, usize),
        most: usize,
    ) -> Option<StoreWarning> {
        (!std::mem::replace(&mut self.too_many_series, true)).then(|| {
            let (name, of_name) = largest();
            StoreWarning::TooManySeries { name, of_name, most }
        })
    }
}

impl Warned {
    pub(super) fn too_many_labels(&mut self, most: usize) -> Option<StoreWarning> {
        (!std::mem::replace(&mut self.too_many_labels, true)).then_some(StoreWarning::TooManyLabels { most })
    }
}

impl StoreFault {
    const fn name(&self) -> &'static str {
        match self {
            Self::BadBound(_) => "bad bound",
            Self::ChangedShape => "changed shape",
            Self::NewBound(_) => "new bound",
        }
    }
}

impl fmt::Display for StoreWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Series { name, labels, fault } => {
                f.write_str(name)?;
                for (at, (label, value)) in labels.iter().enumerate() {
                    write!(f, "{}{label}={value:?}", if at == 0 { "{" } else { "," })?;
                }
                f.write_str(if labels.is_empty() { ": " } else { "}: " })?;
                fault.fmt(f)
            }
            Self::MoreSeries(fault) => write!(f, "more series have the same fault and are not named: {fault}"),
            Self::TooManySeries { name, of_name, most } => write!(
                f,
                "at most {most} series are kept, and there are more; {of_name} of those that are kept are of {name}; \
                 further label sets are left out\n  try: take labels that differ from request to request off that \
                 metric, on the server"
            ),
            Self::TooManyLabels { most } => {
                write!(f, "labels of {most} names are kept, and there are more: series with others are left out")
            }
            Self::Full { bytes } => write!(
                f,
                "the values of all pages so far take {} MiB of memory, and no more than that is kept; from now on only \
                 pages from the start and the end of each phase are\n  try: a longer \
                 AIPERF_SERVER_METRICS_COLLECTION_INTERVAL, or fewer URLs for --server-metrics",
                bytes >> 20
            ),
        }
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadBound(le) => write!(f, "the bucket bound {le:?} is not a number; the series is left out"),
            Self::ChangedShape => f.write_str(
                "changed between a histogram and a single value; only what it was first is kept, the rest is left out",
            ),
            Self::NewBound(le) => {
                write!(f, "the bucket bound {le:?} was not on the first page; its observations are left out")
            }
        }
    }
}
