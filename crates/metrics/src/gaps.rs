//! The gaps between content responses: summed up as they come, kept one by one only while they are few.

use crate::columns::Columns;
use crate::facts::{Fact, Facts};
use crate::histogram::Histogram;
use crate::scope::Scalar;
use crate::stats::{Distribution, Moments, Stats};
use aiperf_types::{Nanos, WallNs};
use std::collections::BTreeMap;

/// Parts of an octave: a value is known to within 0.049%.
const BITS: u32 = 10;

/// One population of gaps: percentiles from a histogram, everything else exact.
#[derive(Clone, Debug)]
struct Population {
    histogram: Histogram,
    moments: Moments,
    min: u64,
    max: u64,
}

impl Population {
    fn new() -> Self {
        Self { histogram: Histogram::new(BITS), moments: Moments::default(), min: u64::MAX, max: 0 }
    }

    #[inline]
    fn add(&mut self, gap: u64) {
        self.histogram.add(gap as f64);
        self.moments.add(gap);
        self.min = self.min.min(gap);
        self.max = self.max.max(gap);
    }

    fn merge(&mut self, other: &Self) {
        self.histogram.merge(&other.histogram);
        self.moments.merge(&other.moments);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    fn distribution(&self) -> Option<Distribution> {
        let count = self.moments.count;
        if count == 0 {
            return None;
        }
        let sum = self.moments.sum;
        let mut stats = Stats {
            avg: Some(sum as f64 / count as f64),
            min: Some(self.min as f64),
            max: Some(self.max as f64),
            sum: Some(sum as f64),
            std: Some(self.moments.std()),
            count: Some(count),
            ..Stats::default()
        };
        stats.set_percentiles(self.histogram.percentiles(self.min as f64, self.max as f64));
        Some(Distribution { stats, sum: Scalar::Int(sum as i128), adjusted: None })
    }
}

/// All gaps of a phase, and of its slices once they are too many to keep.
#[derive(Clone, Debug)]
pub(crate) struct Gaps {
    whole: Population,
    slice: Option<Nanos>,
    origin: Option<u64>,
    earliest: u64,
    spilled: bool,
    slices: BTreeMap<u64, Population>,
}

impl Gaps {
    pub(crate) fn new(slice: Option<Nanos>) -> Self {
        Self {
            whole: Population::new(),
            slice,
            origin: None,
            earliest: u64::MAX,
            spilled: false,
            slices: BTreeMap::new(),
        }
    }

    pub(crate) fn anchor(&mut self, first: WallNs) {
        if !self.spilled {
            self.origin = Some(first.0);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.whole.moments.count
    }

    pub(crate) fn add(&mut self, facts: &Facts, gaps: &[u64]) {
        let start = facts.get(Fact::Start).unwrap_or(0);
        self.earliest = self.earliest.min(start);
        gaps.iter().for_each(|&gap| self.whole.add(gap));
        if self.spilled {
            self.add_to_slice(start, gaps);
        }
    }

    fn add_to_slice(&mut self, start: u64, gaps: &[u64]) {
        let Some(slice) = self.slice.filter(|_| !gaps.is_empty()) else { return };
        let origin = self.origin.unwrap_or(self.earliest);
        let population = self.slices.entry(start.saturating_sub(origin) / slice.0).or_insert_with(Population::new);
        gaps.iter().for_each(|&gap| population.add(gap));
    }

    /// Sorts the gaps that are still kept into slices, since they are about to be let go.
    pub(crate) fn spill(&mut self, kept: &Columns) {
        self.spilled = true;
        self.origin = self.origin.or((self.earliest < u64::MAX).then_some(self.earliest));
        if self.slice.is_some() {
            kept.each_with_gaps(&[Fact::Start], |_, facts, gaps| {
                self.add_to_slice(facts.get(Fact::Start).unwrap_or(0), gaps);
            });
        }
    }

    /// Slices of both are added by number: their origins are the same, or a first request apart.
    pub(crate) fn merge(&mut self, other: Self) {
        self.whole.merge(&other.whole);
        self.earliest = self.earliest.min(other.earliest);
        self.spilled |= other.spilled;
        self.origin = match (self.origin, other.origin) {
            (Some(own), Some(others)) => Some(own.min(others)),
            (own, others) => own.or(others),
        };
        for (number, population) in other.slices {
            self.slices.entry(number).or_insert_with(Population::new).merge(&population);
        }
    }

    pub(crate) fn distribution(&self) -> Option<Distribution> {
        self.whole.distribution()
    }

    /// The gaps of each slice, for slices that start at `first` and have these numbers. They are the ones summed up here if the
    /// origin was the same; if an earlier record came later, those that lie mostly within.
    pub(crate) fn slice_distributions(&self, first: u64, numbers: &[u64]) -> Vec<Option<Distribution>> {
        let mut populations: Vec<Option<Population>> = vec![None; numbers.len()];
        let (Some(slice), Some(origin)) = (self.slice, self.origin) else { return vec![None; numbers.len()] };
        for (number, population) in &self.slices {
            let middle = (origin + number * slice.0 + slice.0 / 2).saturating_sub(first) / slice.0;
            let next = numbers.partition_point(|&known| known < middle);
            let nearest = match (next.checked_sub(1), numbers.get(next)) {
                (Some(before), Some(&after)) if middle - numbers[before] < after - middle => before,
                (Some(before), None) => before,
                _ => next,
            };
            match populations.get_mut(nearest) {
                Some(Some(known)) => known.merge(population),
                Some(unknown) => *unknown = Some(population.clone()),
                None => {}
            }
        }
        populations.iter().map(|population| population.as_ref().and_then(Population::distribution)).collect()
    }

    pub(crate) fn size(&self) -> usize {
        let slices: usize = self.slices.values().map(|population| population.histogram.size()).sum();
        self.whole.histogram.size() + slices
    }
}
