//! Which samples of a series count, and over what length of time.

use crate::results::TimeRange;
use crate::scrape::MetricKind;
use crate::store::{Store, StoredSeries};
use aiperf_types::{PhaseId, PhaseKind, WallNs};
use std::ops::Range;

/// How a window of time is applied to samples that are tagged with phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Windowing {
    /// A rate's divisor is the length of the phase, and gauges and slices stay inside it. Totals may come from pages
    /// fetched after its end, when the server has counted the rest.
    #[default]
    ProfilingWindow,
    /// From the first tagged sample to the last, whenever the phase ended: golden data was recorded this way, and it is
    /// only used to compare with it.
    AsReference,
}

/// The window of statistics: samples of some phases, and their duration.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    samples: Chosen,
    range: TimeRange,
    windowing: Windowing,
}

#[derive(Clone, Copy, Debug)]
enum Chosen {
    Kind(PhaseKind),
    /// By its position among all phases.
    Phase(u16),
    /// No page was tagged: all samples in the range.
    Untagged {
        /// Totals may come from pages up to the last one with changes.
        and_updates: bool,
    },
}

impl Window {
    /// Over all phases of a kind; by time alone if no page has such a tag.
    pub fn over_kind(store: &Store, kind: PhaseKind, range: TimeRange, windowing: Windowing) -> Self {
        let mut fetches = store.endpoints().iter().flat_map(|endpoint| endpoint.fetches());
        let is_tagged = fetches.any(|fetch| fetch.phase.as_ref().is_some_and(|phase| phase.kind == kind));
        let and_updates = kind == PhaseKind::Profiling;
        let samples = if is_tagged { Chosen::Kind(kind) } else { Chosen::Untagged { and_updates } };
        Self { samples, range, windowing }
    }

    pub fn over_phase(index: u16, range: TimeRange, windowing: Windowing) -> Self {
        Self { samples: Chosen::Phase(index), range, windowing }
    }

    /// Over all samples in a range, tagged or not.
    pub fn over_time(range: TimeRange, windowing: Windowing) -> Self {
        Self { samples: Chosen::Untagged { and_updates: false }, range, windowing }
    }

    /// From the start of the phases to their end.
    pub fn range(&self) -> TimeRange {
        self.range
    }

    pub(crate) fn is_tagged(&self, phase: Option<&PhaseId>) -> bool {
        match self.samples {
            Chosen::Kind(kind) => phase.is_some_and(|phase| phase.kind == kind),
            Chosen::Phase(index) => phase.is_some_and(|phase| phase.index == index),
            Chosen::Untagged { .. } => true,
        }
    }

    /// The samples of a series that are in the window, or `None` where none is.
    pub fn view<'a>(&self, series: StoredSeries<'a>) -> Option<View<'a>> {
        let is_tagged = |sample: &usize| self.is_tagged(series.fetch(*sample).phase.as_deref());
        let first = (0..series.len()).find(is_tagged)?;
        let reference = self.reference(series, first);
        let tagged_from = reference.map_or(first, |reference| first.max(reference + 1));
        let mut samples = Vec::with_capacity(series.len() - tagged_from + 1);
        samples.extend(reference);
        samples.extend((tagged_from..series.len()).filter(is_tagged));
        let times: Vec<u64> = samples.iter().map(|&sample| series.fetch(sample).at.0).collect();
        let (first, last) = (series.fetch(first).at.0, *times.last()?);

        let TimeRange { start: WallNs(start), end: WallNs(end) } = self.range;
        let tagged = first..last.max(first + 1);
        let (window, scraped, totals_until) = match self.samples {
            Chosen::Untagged { and_updates } => {
                let updated = series.endpoint().last_update().filter(|_| and_updates);
                let until = end.max(updated.map_or(0, |at| at.0));
                (start..end, start..until, until)
            }
            _ if start < end => (start..end, tagged, last),
            // The phase's own times are not known.
            _ => (tagged.clone(), tagged, last),
        };
        let (range, seconds, learn_until) = match self.windowing {
            Windowing::ProfilingWindow => {
                let seconds = window.end.saturating_sub(window.start) as f64 / 1e9;
                (window, Some(seconds), totals_until)
            }
            Windowing::AsReference => (scraped, None, u64::MAX),
        };
        let is_tagged = !matches!(self.samples, Chosen::Untagged { .. });
        let view = View { series, samples, times, range, totals_until, seconds, learn_until, is_tagged };
        (view.range.start < view.range.end).then_some(view)
    }

    /// The sample from which totals are counted, given the first tagged one.
    ///
    /// A page that was requested before the phase and arrived after its start is neither tagged nor before it: what was
    /// counted until then would be lost.
    fn reference(&self, series: StoredSeries<'_>, first_tagged: usize) -> Option<usize> {
        let before_tagged = first_tagged.checked_sub(1);
        let is_timed = self.windowing == Windowing::ProfilingWindow && !self.range.is_empty();
        if !is_timed || matches!(self.samples, Chosen::Untagged { .. }) {
            return before_tagged;
        }
        let is_total = matches!(series.kind(), MetricKind::Counter | MetricKind::Histogram);
        let before_start = series.samples_before(self.range.start).checked_sub(1);
        before_start.or(before_tagged.filter(|_| is_total))
    }
}

/// The samples of a series in a window, including the one before them.
#[derive(Clone, Debug)]
pub struct View<'a> {
    pub(crate) series: StoredSeries<'a>,
    /// Positions in the series.
    pub(crate) samples: Vec<usize>,
    /// Their instants, in nanoseconds.
    pub(crate) times: Vec<u64>,
    /// The range of gauges and slices, both ends included.
    pub(crate) range: Range<u64>,
    /// Totals may come from samples up to here.
    pub(crate) totals_until: u64,
    /// The divisor of rates, if it is not the time between two samples.
    seconds: Option<f64>,
    /// Samples up to here show where observations lie within buckets.
    learn_until: u64,
    /// Chosen by phase, not by time.
    is_tagged: bool,
}

impl<'a> View<'a> {
    pub fn series(&self) -> StoredSeries<'a> {
        self.series
    }

    /// Of samples of gauges.
    pub(crate) fn inside(&self) -> Range<usize> {
        let inside = self.since()..self.until(self.range.end);
        if !inside.is_empty() {
            return inside;
        }
        // The phase was shorter than the time between two pages. The page right after it is nearest; later pages show a
        // server that has nothing left to do.
        let after = inside.end;
        match self.reference().filter(|_| self.is_tagged) {
            _ if after < self.until(self.totals_until) => after..after + 1,
            Some(before) => before..before + 1,
            None => inside,
        }
    }

    /// Of samples that totals are made of.
    pub(crate) fn totalled(&self) -> Range<usize> {
        self.since()..self.until(self.totals_until)
    }

    /// Of samples to learn from, the reference being given.
    pub(crate) fn learned_from(&self, reference: usize) -> Range<usize> {
        reference..self.until(self.learn_until)
    }

    /// The last sample before the window.
    pub(crate) fn reference(&self) -> Option<usize> {
        self.since().checked_sub(1)
    }

    /// The divisor of rates of a total between two samples.
    pub(crate) fn seconds(&self, from: usize, to: usize) -> f64 {
        self.seconds.unwrap_or_else(|| self.times[to].saturating_sub(self.times[from]) as f64 / 1e9)
    }

    fn since(&self) -> usize {
        self.times.partition_point(|time| *time < self.range.start)
    }

    /// The number of samples up to an instant.
    pub(crate) fn until(&self, instant: u64) -> usize {
        self.times.partition_point(|time| *time <= instant)
    }
}
