//! All curves together: for how long each had which value.

use crate::curves::change::Levels;
use crate::curves::changes::Run;
use crate::curves::curve::{CURVES, Curve, CurveStats};
use crate::curves::percentile_source::{IntoHistograms, IntoStretches, KeepContents, PercentileSource};
use crate::curves::weighted::{Sums, Weighted};
use crate::numbers::in_parallel::in_parallel;
use crate::numbers::sum::Sum;

/// Stretches for which it pays to start another thread.
const STRETCHES_A_THREAD: usize = 1 << 16;

/// For how long every curve had which value.
#[derive(Clone, Debug)]
pub(crate) struct Gauges {
    curves: [Weighted; CURVES],
    kept: PercentileSource,
}

impl Gauges {
    pub(crate) fn new(exact: bool) -> Self {
        Self { curves: std::array::from_fn(|_| Weighted::new()), kept: PercentileSource::new(exact) }
    }

    #[inline]
    fn curve_mut(&mut self, curve: Curve) -> &mut Weighted {
        &mut self.curves[curve as usize]
    }

    /// Adds the time between contents. All belong to requests that have their first content, so the number of these
    /// does not change in between.
    pub(crate) fn add_contents(&mut self, run: Run<'_>, levels: &mut Levels, since: &mut u64) {
        let places = Curve::STREAMING.map(|curve| curve as usize);
        let [decode, each, tokens] = self.curves.get_disjoint_mut(places).unwrap_or_else(|_| unreachable!());
        let decoding = levels.decoding;
        let share = 1.0 / decoding as f64;
        let first = if decode.is_settled() { levels.decode.value() } else { lowest_rate(run, levels.decode, *since) };
        let around = each.begin_sums(first * share);
        let (rates, helds) = (decode.begin_sums(first), tokens.begin_sums(levels.tokens));
        let mut stream = Stream { levels, since, decode: rates, tokens: helds };
        match &mut self.kept {
            PercentileSource::Stretches(stretches) => stream.add(run, IntoStretches::new(stretches, decoding)),
            PercentileSource::Histograms(histograms) => stream.add(run, IntoHistograms::new(histograms, decoding)),
        }
        let Stream { decode: rate, tokens: held, .. } = stream;
        decode.add_sums(&rate);
        each.add_sums(&rate.scaled(share, &around));
        tokens.add_sums(&held);
    }

    /// The curves that change with every content were constant for `length`.
    pub(crate) fn add_streaming(&mut self, length: u64, levels: &Levels) {
        self.kept.add_streaming(length, levels);
        self.curve_mut(Curve::TokensInFlight).add(length, levels.tokens);
        let rate = levels.decode.value();
        self.add_rate(Curve::DecodeThroughput, length, rate, levels.decoding);
        self.add_rate(Curve::DecodePerUser, length, rate / levels.decoding as f64, levels.decoding);
    }

    /// All other curves were constant for `length`.
    pub(crate) fn add_others(&mut self, length: u64, levels: &Levels) {
        self.kept.add_others(length, levels);
        self.curve_mut(Curve::Concurrency).add(length, levels.in_flight as f64);
        self.curve_mut(Curve::PrefillConcurrency).add(length, levels.prefilling as f64);
        self.curve_mut(Curve::DecodeConcurrency).add(length, levels.decoding as f64);
        let rate = levels.prefill.value();
        self.add_rate(Curve::PrefillThroughput, length, rate, levels.prefilling);
        self.add_rate(Curve::PrefillPerUser, length, rate / levels.prefilling as f64, levels.prefilling);
        self.add_rate(Curve::TotalThroughput, length, levels.total.value(), levels.in_flight);
    }

    /// A rate was constant; time without users does not count.
    fn add_rate(&mut self, curve: Curve, length: u64, rate: f64, users: i64) {
        let weighted = self.curve_mut(curve);
        if users > 0 { weighted.add(length, rate) } else { weighted.add_idle(length) }
    }

    /// Sets the rate of produced tokens to zero while requests had content: so far no request had gaps, and from now on
    /// some have.
    pub(crate) fn set_decode_to_zero(&mut self) {
        self.curve_mut(Curve::DecodeThroughput).set_to_zero();
        self.curve_mut(Curve::DecodePerUser).set_to_zero();
        self.kept.set_decode_to_zero(self.curves[Curve::DecodeThroughput as usize].busy());
    }

    pub(crate) fn settle(&mut self) {
        self.curves.iter_mut().for_each(Weighted::settle);
    }

    /// About the number of stretches of single curves that are stored one by one.
    pub(crate) fn stretches(&self) -> usize {
        self.kept.stretches()
    }

    /// Drops the stretches: from now on percentiles come from histograms.
    pub(crate) fn let_go(&mut self) {
        self.kept.let_go();
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.curves.iter_mut().zip(&other.curves).for_each(|(own, other)| own.merge(other));
        self.kept.merge(other.kept);
    }

    /// The statistics of all curves, with `idle` more time without load, on at most `threads` threads.
    pub(crate) fn stats(&self, idle: u64, threads: usize) -> CurveStats {
        let curves: Vec<Curve> = Curve::all().collect();
        let of_curve = |(): &mut (), at: usize| {
            let curve: Curve = curves[at];
            self.curves[curve as usize].stats(idle, self.kept.quantiles(curve))
        };
        let threads = threads.min(self.stretches() / STRETCHES_A_THREAD).max(1);
        let mut stats = CurveStats::default();
        let found = in_parallel(threads, curves.len(), of_curve);
        curves.iter().zip(found).for_each(|(curve, found)| stats.set(*curve, found));
        stats
    }

    pub(crate) fn size(&self) -> usize {
        self.kept.size()
    }
}

/// The lowest rate that holds for any time during a run of contents.
fn lowest_rate(run: Run<'_>, mut rate: Sum, mut since: u64) -> f64 {
    let mut lowest = f64::INFINITY;
    for (at, content) in run.iter() {
        if at > since {
            lowest = lowest.min(rate.value());
            since = at;
        }
        content.change_rate(&mut rate);
    }
    if lowest.is_finite() { lowest } else { rate.value() }
}

/// Passes contents to the gauges. The sums are local variables, because this runs for every content.
struct Stream<'a> {
    levels: &'a mut Levels,
    since: &'a mut u64,
    decode: Sums,
    tokens: Sums,
}

impl Stream<'_> {
    #[inline]
    fn add(&mut self, run: Run<'_>, mut kept: impl KeepContents) {
        let (mut rate, mut held, mut since) = (self.levels.decode, self.levels.tokens, *self.since);
        let (mut rates, mut helds) = (self.decode, self.tokens);
        for (at, content) in run.iter() {
            if at > since {
                let length = at - since;
                let value = rate.value();
                rates.add(length, value);
                helds.add(length, held);
                kept.keep(length, value, held);
                since = at;
            }
            content.change_rate(&mut rate);
            held += content.tokens;
        }
        (self.levels.decode, self.levels.tokens, *self.since) = (rate, held, since);
        (self.decode, self.tokens) = (rates, helds);
    }
}
