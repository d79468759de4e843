//! Statistics of the samples of a metric, within a span of time. A sample that is not a number was not there.

use super::table::GpuMetricKind;
use crate::numbers;
use aiperf_types::{Stats, WallNs};

/// A span of time, both ends included; open where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: Option<WallNs>,
    pub end: Option<WallNs>,
}

impl Span {
    fn holds(self, at: WallNs) -> bool {
        self.start.is_none_or(|start| start <= at) && self.end.is_none_or(|end| at <= end)
    }
}

/// By how much a counter grew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Increase {
    pub amount: f64,
    /// How often it fell, which means that it was reset.
    pub resets: u64,
}

/// The statistics of a metric, and how often it fell where it should not; `None` without a sample.
pub fn of_kind(kind: GpuMetricKind, times: &[WallNs], values: &[f64], span: Span) -> Option<(Stats, u64)> {
    match kind {
        GpuMetricKind::Gauge => gauge(within(times, values, span)).map(|stats| (stats, 0)),
        GpuMetricKind::Counter => increase(times, values, span).map(|grown| (Stats::of(grown.amount), grown.resets)),
        GpuMetricKind::Code => code(&within(times, values, span)).map(|stats| (stats, 0)),
    }
}

/// From the last sample before the span, or else the first within it, to the last within it. A counter that fell was
/// reset, and its count until then is unknown: if it ended below its start, there is no value.
pub fn increase(times: &[WallNs], values: &[f64], span: Span) -> Option<Increase> {
    let samples = || times.iter().copied().zip(values.iter().copied()).filter(|(_, value)| !value.is_nan());
    let inside: Vec<f64> = samples().filter(|(at, _)| span.holds(*at)).map(|(_, value)| value).collect();
    let last = *inside.last()?;
    let before = span.start.and_then(|start| samples().rfind(|(at, _)| *at < start));
    let first = before.map_or(inside[0], |(_, value)| value);
    let path: Vec<f64> = std::iter::once(first).chain(inside).collect();
    let resets = path.windows(2).filter(|pair| pair[1] < pair[0]).count() as u64;
    Some(Increase { amount: (last - first).max(0.0), resets })
}

fn within(times: &[WallNs], values: &[f64], span: Span) -> Vec<f64> {
    let samples = times.iter().zip(values).filter(|(at, value)| span.holds(**at) && !value.is_nan());
    samples.map(|(_, value)| *value).collect()
}

fn gauge(mut values: Vec<f64>) -> Option<Stats> {
    let (sum, std) = (numbers::sum(&values), numbers::deviation(&values));
    let (min, max) = numbers::least_and_most(&values);
    let mut stats = Stats {
        avg: Some(numbers::mean(&values)),
        min: Some(min),
        max: Some(max),
        sum: Some(sum),
        std: Some(std),
        count: Some(values.len() as u64),
        ..Stats::default()
    };
    stats.set_percentiles(numbers::percentiles(&mut values)?.map(Some));
    Some(stats)
}

/// The last one where files show single values, and the largest.
fn code(values: &[f64]) -> Option<Stats> {
    let (_, max) = numbers::least_and_most(values);
    Some(Stats { max: Some(max), ..Stats::of(*values.last()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: [WallNs; 4] = [WallNs(5), WallNs(10), WallNs(20), WallNs(30)];
    const SPAN: Span = Span { start: Some(WallNs(10)), end: Some(WallNs(30)) };

    #[test]
    fn a_counter_that_fell_is_marked() {
        let grown = |values: &[f64]| increase(&TIMES, values, SPAN).map(|grown| (grown.amount, grown.resets));
        assert_eq!(grown(&[1.0, 2.0, 4.0, 7.0]), Some((6.0, 0)));
        assert_eq!(grown(&[5.0, 6.0, 0.5, 1.0]), Some((0.0, 1)));
        assert_eq!(grown(&[1.0, 6.0, 0.5, 4.0]), Some((3.0, 1)), "it may have caught up since");
        assert_eq!(grown(&[1.0, f64::NAN, f64::NAN, f64::NAN]), None);
    }

    #[test]
    fn codes_give_the_last_and_the_largest() {
        let (stats, _) = of_kind(GpuMetricKind::Code, &TIMES, &[99.0, 79.0, f64::NAN, 13.0], SPAN).unwrap();
        assert_eq!(stats, Stats { avg: Some(13.0), max: Some(79.0), ..Stats::default() });
    }

    #[test]
    fn what_is_not_a_number_is_not_counted() {
        let (stats, _) = of_kind(GpuMetricKind::Gauge, &TIMES, &[9.0, 1.0, f64::NAN, 3.0], SPAN).unwrap();
        assert_eq!((stats.count, stats.avg, stats.max), (Some(2), Some(2.0), Some(3.0)));
    }
}
