//! The data for percentiles of curves: every stretch of time one by one, or one histogram per curve.

use crate::curves::change::Levels;
use crate::curves::curve::{CURVES, Curve};
use crate::numbers::chunks::Chunks;
use crate::numbers::histogram::{Histogram, NOTHING};
use crate::numbers::quantiles::TimeByRange;

/// Parts of an octave in the histograms, as a power of two: a percentile is exact to 0.05%.
const BITS: u32 = 11;

/// For how long every curve had which value.
#[derive(Clone, Debug)]
pub(crate) enum PercentileSource {
    Stretches(Stretches),
    Histograms(Box<[Histogram<BITS>; CURVES]>),
}

/// Stretches of time in which some curves were constant. Curves are stored together, which halves the memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretches {
    streaming: Chunks<Streaming>,
    others: Chunks<Others>,
}

/// The curves that change with every content.
#[derive(Clone, Copy, Debug)]
struct Streaming {
    length: u32,
    decoding: u32,
    decode: f64,
    tokens: f64,
}

/// All other curves.
#[derive(Clone, Copy, Debug)]
struct Others {
    length: u32,
    in_flight: u32,
    prefilling: u32,
    decoding: u32,
    prefill: f64,
    total: f64,
}

/// How many curves change from one such stretch to the next: all three, and about four of the six.
const STREAMING_CURVES: usize = 3;
const OTHER_CURVES: usize = 4;

/// A stretch in parts of 32 bits each; few are longer than four seconds.
fn parts(length: u64) -> impl Iterator<Item = u32> {
    let longest = u64::from(u32::MAX);
    std::iter::repeat_n(u32::MAX, (length / longest) as usize)
        .chain([(length % longest) as u32])
        .filter(|part| *part > 0)
}

fn count(users: i64) -> u32 {
    u32::try_from(users).unwrap_or(0)
}

impl Stretches {
    #[inline]
    fn push_streaming(&mut self, length: u64, decoding: u32, decode: f64, tokens: f64) {
        match u32::try_from(length) {
            Ok(length) => self.streaming.push(Streaming { length, decoding, decode, tokens }),
            Err(_) => {
                parts(length).for_each(|length| self.streaming.push(Streaming { length, decoding, decode, tokens }));
            }
        }
    }

    fn push_others(&mut self, length: u64, levels: &Levels) {
        let (prefill, total) = (levels.prefill.value(), levels.total.value());
        let [in_flight, prefilling, decoding] = [levels.in_flight, levels.prefilling, levels.decoding].map(count);
        for length in parts(length) {
            self.others.push(Others { length, in_flight, prefilling, decoding, prefill, total });
        }
    }

    /// The values of a curve and how long each held, stretch by stretch, without the time in which the curve has no
    /// users.
    fn of_curve(&self, curve: Curve) -> impl Iterator<Item = (f64, u64)> + '_ {
        let streaming = curve.is_streaming().then(|| self.streaming.iter());
        let streaming = streaming.into_iter().flatten().map(move |stretch| (stretch.value(curve), stretch.length));
        let others = (!curve.is_streaming()).then(|| self.others.iter());
        let others = others.into_iter().flatten().map(move |stretch| (stretch.value(curve), stretch.length));
        streaming.chain(others).filter_map(weigh)
    }
}

fn weigh((value, length): (Option<f64>, u32)) -> Option<(f64, u64)> {
    value.map(|value| (if value.abs() < NOTHING { 0.0 } else { value }, u64::from(length)))
}

impl Streaming {
    fn value(&self, curve: Curve) -> Option<f64> {
        let rate = || (self.decoding > 0).then_some(self.decode);
        match curve {
            Curve::DecodeThroughput => rate(),
            Curve::DecodePerUser => rate().map(|rate| rate / f64::from(self.decoding)),
            _ => Some(self.tokens),
        }
    }
}

impl Others {
    fn value(&self, curve: Curve) -> Option<f64> {
        let prefill = || (self.prefilling > 0).then_some(self.prefill);
        match curve {
            Curve::Concurrency => Some(f64::from(self.in_flight)),
            Curve::PrefillConcurrency => Some(f64::from(self.prefilling)),
            Curve::DecodeConcurrency => Some(f64::from(self.decoding)),
            Curve::PrefillThroughput => prefill(),
            Curve::PrefillPerUser => prefill().map(|rate| rate / f64::from(self.prefilling)),
            _ => (self.in_flight > 0).then_some(self.total),
        }
    }
}

impl PercentileSource {
    pub(crate) fn new(exact: bool) -> Self {
        if exact { Self::Stretches(Stretches::default()) } else { Self::Histograms(Box::default()) }
    }

    /// The curves that change with every content were constant for `length`.
    pub(crate) fn add_streaming(&mut self, length: u64, levels: &Levels) {
        let (decode, tokens, decoding) = (levels.decode.value(), levels.tokens, count(levels.decoding));
        match self {
            Self::Stretches(stretches) => stretches.push_streaming(length, decoding, decode, tokens),
            Self::Histograms(histograms) => {
                let stretch = Streaming { length: 0, decoding, decode, tokens };
                for curve in Curve::STREAMING {
                    add(histograms, curve, length, stretch.value(curve));
                }
            }
        }
    }

    /// All other curves were constant for `length`.
    pub(crate) fn add_others(&mut self, length: u64, levels: &Levels) {
        match self {
            Self::Stretches(stretches) => stretches.push_others(length, levels),
            Self::Histograms(histograms) => {
                let (prefill, total) = (levels.prefill.value(), levels.total.value());
                let [in_flight, prefilling, decoding] =
                    [levels.in_flight, levels.prefilling, levels.decoding].map(count);
                let stretch = Others { length: 0, in_flight, prefilling, decoding, prefill, total };
                for curve in Curve::OTHERS {
                    add(histograms, curve, length, stretch.value(curve));
                }
            }
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Stretches(_))
    }

    /// About the number of stretches of single curves that are stored one by one.
    pub(crate) fn stretches(&self) -> usize {
        match self {
            Self::Stretches(kept) => kept.streaming.len() * STREAMING_CURVES + kept.others.len() * OTHER_CURVES,
            Self::Histograms(_) => 0,
        }
    }

    /// Drops the stretches: from now on percentiles come from histograms.
    pub(crate) fn let_go(&mut self) {
        let Self::Stretches(stretches) = self else { return };
        let Stretches { streaming, others } = std::mem::take(stretches);
        let mut histograms = Box::default();
        for stretch in streaming.into_iter() {
            for curve in Curve::STREAMING {
                add(&mut histograms, curve, u64::from(stretch.length), stretch.value(curve));
            }
        }
        for stretch in others.into_iter() {
            for curve in Curve::OTHERS {
                add(&mut histograms, curve, u64::from(stretch.length), stretch.value(curve));
            }
        }
        *self = Self::Histograms(histograms);
    }

    pub(crate) fn merge(&mut self, mut other: Self) {
        if !self.is_exact() || !other.is_exact() {
            self.let_go();
            other.let_go();
        }
        match (self, other) {
            (Self::Stretches(own), Self::Stretches(others)) => {
                own.streaming.append(others.streaming);
                own.others.append(others.others);
            }
            (Self::Histograms(own), Self::Histograms(others)) => {
                own.iter_mut().zip(others.iter()).for_each(|(own, others)| own.merge(others));
            }
            _ => {}
        }
    }

    /// Sets the rate of produced tokens to zero for the time in which requests had content.
    pub(crate) fn set_decode_to_zero(&mut self, busy: u64) {
        match self {
            Self::Stretches(stretches) => stretches.streaming.iter_mut().for_each(|stretch| stretch.decode = 0.0),
            Self::Histograms(histograms) => {
                for curve in [Curve::DecodeThroughput, Curve::DecodePerUser] {
                    histograms[curve as usize] = Histogram::default();
                    histograms[curve as usize].add(busy, 0.0);
                }
            }
        }
    }

    /// Computes quantiles of a curve: for each target (ascending) the smallest value by which that much time has
    /// passed.
    pub(crate) fn quantiles(&self, curve: Curve) -> impl FnMut(&[f64], &mut [f64], f64) + '_ {
        let mut by_range = None;
        move |targets, found, top| match self {
            Self::Stretches(stretches) => {
                let by_range = by_range.get_or_insert_with(|| TimeByRange::of(stretches.of_curve(curve)));
                by_range.quantiles(stretches.of_curve(curve), targets, found, top);
            }
            Self::Histograms(histograms) => histograms[curve as usize].quantiles(targets, found, top),
        }
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Stretches(stretches) => stretches.streaming.size() + stretches.others.size(),
            Self::Histograms(histograms) => histograms.iter().map(Histogram::size).sum(),
        }
    }
}

#[inline]
fn add(histograms: &mut [Histogram<BITS>; CURVES], curve: Curve, length: u64, value: Option<f64>) {
    if let Some(value) = value {
        histograms[curve as usize].add(length, value);
    }
}

/// Stores the changes by contents, in one of the two forms. The number of requests with content stays the same.
pub(crate) trait KeepContents {
    /// `decode` tokens per second were produced, and `tokens` were in flight, for `length` nanoseconds.
    fn keep(&mut self, length: u64, decode: f64, tokens: f64);
}

/// Stores stretches one by one.
pub(crate) struct IntoStretches<'a> {
    stretches: &'a mut Stretches,
    decoding: u32,
}

/// Stores only the total time of each value.
pub(crate) struct IntoHistograms<'a> {
    decode: &'a mut Histogram<BITS>,
    each: &'a mut Histogram<BITS>,
    tokens: &'a mut Histogram<BITS>,
    share: f64,
}

impl<'a> IntoStretches<'a> {
    pub(crate) fn new(stretches: &'a mut Stretches, decoding: i64) -> Self {
        Self { stretches, decoding: count(decoding) }
    }
}

impl<'a> IntoHistograms<'a> {
    pub(crate) fn new(histograms: &'a mut [Histogram<BITS>; CURVES], decoding: i64) -> Self {
        let places = Curve::STREAMING.map(|curve| curve as usize);
        let [decode, each, tokens] = histograms.get_disjoint_mut(places).unwrap_or_else(|_| unreachable!());
        Self { decode, each, tokens, share: 1.0 / decoding as f64 }
    }
}

impl KeepContents for IntoStretches<'_> {
    #[inline]
    fn keep(&mut self, length: u64, decode: f64, tokens: f64) {
        self.stretches.push_streaming(length, self.decoding, decode, tokens);
    }
}

impl KeepContents for IntoHistograms<'_> {
    #[inline]
    fn keep(&mut self, length: u64, decode: f64, tokens: f64) {
        self.decode.add(length, decode);
        self.each.add(length, decode * self.share);
        self.tokens.add(length, tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(in_flight: i64, decoding: i64, decode: f64, tokens: f64) -> Levels {
        let mut levels = Levels { in_flight, decoding, tokens, ..Levels::default() };
        levels.decode.add(decode);
        levels
    }

    fn median(kept: &PercentileSource, curve: Curve, total: f64) -> f64 {
        let mut found = [0.0];
        kept.quantiles(curve)(&[total / 2.0], &mut found, f64::MAX);
        found[0]
    }

    #[test]
    fn stretches_and_histograms_give_the_same_percentiles() {
        let long = 3 << 32;
        let mut stretches = PercentileSource::new(true);
        let mut histograms = PercentileSource::new(false);
        for kept in [&mut stretches, &mut histograms] {
            for (length, levels) in
                [(5, levels(1, 0, 0.0, 7.0)), (long, levels(4, 2, 64.0, 9.0)), (9, levels(2, 1, 16.0, 8.0))]
            {
                kept.add_streaming(length, &levels);
                kept.add_others(length, &levels);
            }
        }
        let mut let_go = stretches.clone();
        let_go.let_go();
        assert!(stretches.is_exact() && !let_go.is_exact() && let_go.stretches() == 0);
        for kept in [&stretches, &histograms, &let_go] {
            let busy = long as f64 + 9.0;
            assert_eq!(median(kept, Curve::DecodeThroughput, busy), 64.0);
            assert_eq!(median(kept, Curve::DecodePerUser, busy), 32.0);
            assert_eq!(median(kept, Curve::TokensInFlight, busy + 5.0), 9.0);
            assert_eq!(median(kept, Curve::Concurrency, busy + 5.0), 4.0);
            assert_eq!(median(kept, Curve::DecodeThroughput, 18.0), 16.0);
        }
    }
}
