//! The values of one series, and the fetches that they came with.

use super::StoreFault;
use crate::scrape::{Family, HistogramSample, Labels, MetricKind};
use std::sync::Arc;

/// The upper bound of a bucket: as the first page spells it, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub le: Arc<str>,
    pub value: f64,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: Arc<str>,
    pub(super) kind: MetricKind,
    pub(super) description: Arc<str>,
    pub(super) labels: Labels,
    pub(super) values: Values,
    places: Places,
    /// The page that gave it a value last.
    pub(super) given: u64,
}

#[derive(Debug)]
pub(super) enum Values {
    Scalars(Vec<f64>),
    /// Rows of sum, count, and the observations up to each bound.
    Histograms {
        bounds: Vec<Bound>,
        rows: Vec<f64>,
    },
}

/// Which fetch each value came with.
#[derive(Debug)]
enum Places {
    /// Every one since this.
    Since(u32),
    At(Vec<u32>),
}

/// The bounds of a first sample, ready for rows.
pub(super) fn histograms(buckets: &[(Arc<str>, f64)]) -> Result<Values, StoreFault> {
    let mut bounds = Vec::with_capacity(buckets.len());
    for (le, _) in buckets {
        let value = bound(le).ok_or_else(|| StoreFault::BadBound(Arc::clone(le)))?;
        bounds.push(Bound { le: Arc::clone(le), value });
    }
    bounds.sort_by(|one, other| one.value.total_cmp(&other.value));
    bounds.dedup_by(|later, kept| later.value == kept.value);
    Ok(Values::Histograms { bounds, rows: Vec::new() })
}

/// The value of an upper bound, however infinity is spelled.
fn bound(le: &str) -> Option<f64> {
    // Zero has two signs, which differ in order.
    le.trim().parse().ok().filter(|value: &f64| *value > f64::NEG_INFINITY).map(|value: f64| value + 0.0)
}

impl Column {
    pub(super) fn new(family: &Family, labels: &Labels, values: Values) -> Self {
        Self {
            name: Arc::clone(&family.name),
            kind: family.kind,
            description: Arc::clone(&family.description),
            labels: labels.clone(),
            values,
            places: Places::At(Vec::new()),
            given: 0,
        }
    }

    pub(super) fn is_histogram(&self) -> bool {
        self.kind == MetricKind::Histogram
    }

    pub(super) fn is_of(&self, family: &Family, labels: &Labels) -> bool {
        self.kind == family.kind && self.is_named(family, labels)
    }

    pub(super) fn is_named(&self, family: &Family, labels: &Labels) -> bool {
        self.name == family.name && self.labels == *labels
    }

    pub(super) fn len(&self) -> usize {
        match &self.values {
            Values::Scalars(values) => values.len(),
            Values::Histograms { bounds, rows } => rows.len() / (bounds.len() + 2),
        }
    }

    /// How many numbers it keeps.
    pub(super) fn numbers(&self) -> usize {
        match &self.values {
            Values::Scalars(values) => values.len(),
            Values::Histograms { rows, .. } => rows.len(),
        }
    }

    /// The fetch of a value.
    pub(super) fn place(&self, at: usize) -> usize {
        match &self.places {
            Places::Since(first) => *first as usize + at,
            Places::At(places) => places[at] as usize,
        }
    }

    /// A fetch was put in before others: those from there on move up.
    pub(super) fn make_room(&mut self, fetch: u32) {
        let len = self.len() as u32;
        match &mut self.places {
            Places::Since(first) if *first >= fetch => *first += 1,
            Places::Since(first) if *first + len <= fetch => {}
            Places::Since(first) => {
                let places = *first..*first + len;
                self.places = Places::At(places.map(|place| place + u32::from(place >= fetch)).collect());
            }
            Places::At(places) => places.iter_mut().filter(|place| **place >= fetch).for_each(|place| *place += 1),
        }
    }

    /// Notes that there is a value of this fetch, and returns where it goes; `Err` where there was one already.
    fn claim(&mut self, fetch: u32) -> Result<usize, usize> {
        let len = self.len();
        match &mut self.places {
            _ if len == 0 => {
                self.places = Places::Since(fetch);
                return Ok(0);
            }
            Places::Since(first) if *first + len as u32 == fetch => return Ok(len),
            Places::Since(first) if (*first..*first + len as u32).contains(&fetch) => {
                return Err((fetch - *first) as usize);
            }
            Places::Since(first) => self.places = Places::At((*first..*first + len as u32).collect()),
            Places::At(_) => {}
        }
        let Places::At(places) = &mut self.places else { return Ok(len) };
        let at = places.partition_point(|place| *place < fetch);
        if places.get(at) == Some(&fetch) {
            return Err(at);
        }
        places.insert(at, fetch);
        // A hole that was filled is none: an out-of-order page leaves no list behind.
        let (first, last) = (places[0], places[places.len() - 1]);
        if (last - first) as usize == len {
            self.places = Places::Since(first);
        }
        Ok(at)
    }

    pub(super) fn set_scalar(&mut self, fetch: u32, value: f64) {
        let at = self.claim(fetch);
        let Values::Scalars(values) = &mut self.values else { return };
        match at {
            Ok(at) if at == values.len() => values.push(value),
            Ok(at) => values.insert(at, value),
            Err(at) => values[at] = value,
        }
    }

    /// Buckets that a page omits count zero; buckets beyond the first page's bounds are left out.
    pub(super) fn set_histogram(&mut self, fetch: u32, sample: &HistogramSample) -> Result<(), StoreFault> {
        let at = self.claim(fetch);
        let Values::Histograms { bounds, rows } = &mut self.values else { return Ok(()) };
        let width = bounds.len() + 2;
        let start = match at {
            Ok(at) => {
                let start = at * width;
                rows.splice(start..start, std::iter::repeat_n(0.0, width));
                start
            }
            Err(at) => {
                rows[at * width..(at + 1) * width].fill(0.0);
                at * width
            }
        };
        let row = &mut rows[start..start + width];
        row[0] = sample.sum.unwrap_or_default();
        row[1] = sample.count.unwrap_or_default();
        let mut extra = None;
        for (at, (le, count)) in sample.buckets.iter().enumerate() {
            let same = bounds.get(at).is_some_and(|bound| bound.le == *le).then_some(at);
            match same.or_else(|| find(bounds, le)) {
                Some(at) => row[2 + at] = *count,
                None => extra = Some(StoreFault::NewBound(Arc::clone(le))),
            }
        }
        extra.map_or(Ok(()), Err)
    }
}

/// A restarted server may spell a bound in another way: `1` for `1.0`.
fn find(bounds: &[Bound], le: &str) -> Option<usize> {
    let value = bound(le)?;
    bounds.binary_search_by(|bound| bound.value.total_cmp(&value)).ok()
}
