//! Every page of a run, stored as columns: a list of fetches per endpoint, and only the values of each series.
//!
//! A value is found by the position of its fetch, which is stored only for series that some pages lacked. So an hour of
//! pages takes little more than its numbers.

mod column;
mod warning;

pub use column::Bound;
pub use warning::{StoreFault, StoreWarning};

use crate::scrape::{Family, Labels, MetricKind, Samples, Scrape};
use aiperf_types::{Nanos, PhaseId, WallNs};
use column::{Column, Values};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use warning::Warned;

/// Label names of an endpoint: servers have a few dozen.
const MOST_LABEL_NAMES: usize = 1_000;

/// The limits of the store.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Series of an endpoint.
    series: usize,
    /// Values of all endpoints.
    bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { series: 100_000, bytes: 1 << 30 }
    }
}

/// The pages of all endpoints so far.
#[derive(Debug, Default)]
pub struct Store {
    /// In the order of their first response.
    endpoints: Vec<Endpoint>,
    hasher: RandomState,
    /// Pages added so far; identifies the series that the current page has already set.
    pages: u64,
    /// Numbers stored so far, of all endpoints.
    numbers: u64,
    limits: Limits,
}

/// The pages of one endpoint.
#[derive(Debug)]
pub struct Endpoint {
    url: Arc<str>,
    /// In order of their instants.
    fetches: Vec<Fetch>,
    /// In order of first appearance.
    columns: Vec<Column>,
    /// Columns by the hash of name and labels.
    by_key: HashMap<u64, Vec<u32>>,
    /// Of all series: tables have a column for each.
    label_names: HashSet<Arc<str>>,
    /// The columns of the last page, in its order: the next page usually has the same.
    page_order: Vec<u32>,
    warned: Warned,
}

/// One page as endpoints count them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    pub at: WallNs,
    pub latency: Nanos,
    pub phase: Option<Arc<PhaseId>>,
    pub is_duplicate: bool,
}

/// One series of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct StoredSeries<'a> {
    endpoint: &'a Endpoint,
    column: &'a Column,
}

impl Store {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Every series, endpoint by endpoint.
    pub fn series(&self) -> impl Iterator<Item = StoredSeries<'_>> {
        self.endpoints.iter().flat_map(Endpoint::series)
    }

    /// The last page, of any endpoint, that differed from the one before it.
    pub fn last_update(&self) -> Option<WallNs> {
        self.endpoints.iter().filter_map(Endpoint::last_update).max()
    }

    /// The bytes of the stored values.
    pub fn bytes(&self) -> u64 {
        self.numbers * size_of::<f64>() as u64
    }

    /// Whether only pages that results need should be added: those of starts and ends of phases.
    pub fn is_full(&self) -> bool {
        self.bytes() >= self.limits.bytes
    }

    /// Inserts a page by its time, after those of the same instant. A full store accepts it as well.
    ///
    /// Returns a short warning if something cannot be stored, however much it is.
    pub fn add(&mut self, scrape: Scrape) -> Vec<StoreWarning> {
        if scrape.families.is_empty() {
            return Vec::new();
        }
        let was_full = self.is_full();
        self.pages += 1;
        let number = self.endpoint(&scrape.endpoint_url);
        let endpoint = &mut self.endpoints[number];
        let fetch = endpoint.place(&scrape);
        let mut warned = std::mem::take(&mut endpoint.warned);
        let known = std::mem::take(&mut endpoint.page_order);
        let (pages, most_series, hasher) = (self.pages, self.limits.series, &self.hasher);
        let mut page = Page { endpoint, known, order: Vec::new(), pages, most_series, numbers: 0, hasher };
        let mut warnings = Vec::new();
        for family in &scrape.families {
            let mut given = |labels: &Labels, page: &Page<'_>, result: Result<(), Refusal>| {
                warnings.extend(result.err().and_then(|refusal| match refusal {
                    Refusal::TooManySeries => warned.too_many_series(|| page.largest_metric(), most_series),
                    Refusal::TooManyLabels => warned.too_many_labels(MOST_LABEL_NAMES),
                    Refusal::Fault(fault) => warned.fault(page.key(family, labels), &family.name, labels, fault),
                }));
            };
            match &family.samples {
                Samples::Scalars(samples) => {
                    for sample in samples {
                        let new = || Ok(Values::Scalars(Vec::new()));
                        let set = |column: &mut Column| {
                            column.set_scalar(fetch, sample.value);
                            Ok(())
                        };
                        let result = page.give(family, &sample.labels, new, set);
                        given(&sample.labels, &page, result);
                    }
                }
                Samples::Histograms(samples) => {
                    for sample in samples {
                        let new = || column::histograms(&sample.buckets);
                        let set = |column: &mut Column| column.set_histogram(fetch, sample);
                        let result = page.give(family, &sample.labels, new, set);
                        given(&sample.labels, &page, result);
                    }
                }
            }
        }
        let Page { order, numbers, .. } = page;
        self.endpoints[number].page_order = order;
        self.endpoints[number].warned = warned;
        self.numbers += numbers;
        warnings.extend((self.is_full() && !was_full).then_some(StoreWarning::Full { bytes: self.limits.bytes }));
        warnings
    }

    fn endpoint(&mut self, url: &Arc<str>) -> usize {
        let known = self.endpoints.iter().position(|endpoint| endpoint.url == *url);
        known.unwrap_or_else(|| {
            self.endpoints.push(Endpoint {
                url: Arc::clone(url),
                fetches: Vec::new(),
                columns: Vec::new(),
                by_key: HashMap::new(),
                label_names: HashSet::new(),
                page_order: Vec::new(),
                warned: Warned::default(),
            });
            self.endpoints.len() - 1
        })
    }
}

/// Why a sample is not stored.
enum Refusal {
    Fault(StoreFault),
    TooManySeries,
    TooManyLabels,
}

impl From<StoreFault> for Refusal {
    fn from(fault: StoreFault) -> Self {
        Self::Fault(fault)
    }
}

/// An endpoint while a page is added to it.
struct Page<'a> {
    endpoint: &'a mut Endpoint,
    /// The columns of the page before, in its order.
    known: Vec<u32>,
    /// Those of this page.
    order: Vec<u32>,
    pages: u64,
    most_series: usize,
    /// Numbers that the page added.
    numbers: u64,
    hasher: &'a RandomState,
}

impl Page<'_> {
    fn key(&self, family: &Family, labels: &Labels) -> u64 {
        self.hasher.hash_one((&family.name, labels))
    }

    /// Sets the value of a sample's column, which is found or created.
    fn give(
        &mut self,
        family: &Family,
        labels: &Labels,
        new: impl FnOnce() -> Result<Values, StoreFault>,
        set: impl FnOnce(&mut Column) -> Result<(), StoreFault>,
    ) -> Result<(), Refusal> {
        let expected = self.known.get(self.order.len()).copied();
        let number = match expected.filter(|&number| self.endpoint.columns[number as usize].is_of(family, labels)) {
            Some(number) => number,
            None => self.find(family, labels, new)?,
        };
        self.order.push(number);
        let column = &mut self.endpoint.columns[number as usize];
        column.given = self.pages;
        let before = column.numbers();
        let result = set(column);
        self.numbers += (column.numbers() - before) as u64;
        Ok(result?)
    }

    /// The name with the most series, and their number.
    fn largest_metric(&self) -> (Arc<str>, usize) {
        let mut series: HashMap<&Arc<str>, usize> = HashMap::new();
        self.endpoint.columns.iter().for_each(|column| *series.entry(&column.name).or_default() += 1);
        let largest = series.into_iter().max_by_key(|(name, series)| (*series, *name));
        largest.map_or_else(|| (Arc::from(""), 0), |(name, series)| (Arc::clone(name), series))
    }

    /// A series keeps its first kind. Several kinds of one name exist side by side only if one page has them.
    fn find(
        &mut self,
        family: &Family,
        labels: &Labels,
        values: impl FnOnce() -> Result<Values, StoreFault>,
    ) -> Result<u32, Refusal> {
        let key = self.key(family, labels);
        let columns = &self.endpoint.columns;
        let mut same: Vec<u32> = self.endpoint.by_key.get(&key).cloned().unwrap_or_default();
        same.retain(|&number| columns[number as usize].is_named(family, labels));
        let exact = same.iter().find(|&&number| columns[number as usize].kind == family.kind);
        let free = same.iter().find(|&&number| columns[number as usize].given != self.pages);
        let is_histogram = family.kind == MetricKind::Histogram;
        match (exact, free) {
            (Some(&number), _) => return Ok(number),
            (None, Some(&number)) if columns[number as usize].is_histogram() == is_histogram => return Ok(number),
            (None, Some(_)) => return Err(StoreFault::ChangedShape.into()),
            (None, None) => {}
        }
        if columns.len() >= self.most_series {
            return Err(Refusal::TooManySeries);
        }
        let names = &mut self.endpoint.label_names;
        let new: Vec<&Arc<str>> = labels.iter().map(|(name, _)| name).filter(|name| !names.contains(*name)).collect();
        if names.len() + new.len() > MOST_LABEL_NAMES {
            return Err(Refusal::TooManyLabels);
        }
        names.extend(new.into_iter().cloned());
        let number = columns.len() as u32;
        let column = Column::new(family, labels, values()?);
        self.endpoint.columns.push(column);
        self.endpoint.by_key.entry(key).or_default().push(number);
        Ok(number)
    }
}

impl Endpoint {
    pub fn url(&self) -> &Arc<str> {
        &self.url
    }

    pub fn fetches(&self) -> &[Fetch] {
        &self.fetches
    }

    /// In order of first appearance.
    pub fn series(&self) -> impl ExactSizeIterator<Item = StoredSeries<'_>> {
        self.columns.iter().map(|column| StoredSeries { endpoint: self, column })
    }

    /// The last page that differed from the one before it.
    pub fn last_update(&self) -> Option<WallNs> {
        self.fetches.iter().rev().find(|fetch| !fetch.is_duplicate).map(|fetch| fetch.at)
    }

    /// Adds the fetch, makes room for its values, and returns its position.
    fn place(&mut self, scrape: &Scrape) -> u32 {
        let at = scrape.times.at;
        let fetch =
            Fetch { at, latency: scrape.times.latency, phase: scrape.phase.clone(), is_duplicate: scrape.is_duplicate };
        let place = self.fetches.partition_point(|other| other.at <= at);
        if place < self.fetches.len() {
            self.columns.iter_mut().for_each(|column| column.make_room(place as u32));
        }
        self.fetches.insert(place, fetch);
        place as u32
    }
}

impl<'a> StoredSeries<'a> {
    pub fn endpoint(self) -> &'a Endpoint {
        self.endpoint
    }

    pub fn name(self) -> &'a Arc<str> {
        &self.column.name
    }

    pub fn kind(self) -> MetricKind {
        self.column.kind
    }

    pub fn description(self) -> &'a Arc<str> {
        &self.column.description
    }

    pub fn labels(self) -> &'a Labels {
        &self.column.labels
    }

    /// The number of its samples.
    pub fn len(self) -> usize {
        self.column.len()
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The fetch of a sample.
    pub fn fetch(self, sample: usize) -> &'a Fetch {
        &self.endpoint.fetches[self.column.place(sample)]
    }

    /// The number of its samples before an instant.
    pub fn samples_before(self, instant: WallNs) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.fetch(middle).at < instant { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// For gauges, counters and unknown kinds; empty for histograms.
    pub fn scalars(self) -> &'a [f64] {
        match &self.column.values {
            Values::Scalars(values) => values,
            Values::Histograms { .. } => &[],
        }
    }

    /// Upper bounds of a histogram, sorted; empty for other kinds.
    pub fn bounds(self) -> &'a [Bound] {
        match &self.column.values {
            Values::Scalars(_) => &[],
            Values::Histograms { bounds, .. } => bounds,
        }
    }

    /// One sample of a histogram: its sum, its count, and the observations up to each bound.
    pub fn histogram(self, sample: usize) -> (f64, f64, &'a [f64]) {
        let Values::Histograms { bounds, rows } = &self.column.values else { return (0.0, 0.0, &[]) };
        let width = bounds.len() + 2;
        let row = &rows[sample * width..(sample + 1) * width];
        (row[0], row[1], &row[2..])
    }
}

#[cfg(test)]
mod tests;
