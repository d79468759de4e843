//! All curves at once: what each was for how long.

use crate::curves::change::Levels;
use crate::curves::changes::Run;
use crate::curves::curve::{CURVES, Curve, CurveStats};
use crate::curves::weighted::{Keep, Kept, Sums, Weighted};
use crate::numbers::sum::Sum;

/// What every curve was for how long.
#[derive(Clone, Debug)]
pub(crate) struct Gauges([Weighted; CURVES]);

impl Gauges {
    pub(crate) fn new(exact: bool) -> Self {
        Self(std::array::from_fn(|_| Weighted::new(exact)))
    }

    #[inline]
    fn curve_mut(&mut self, curve: Curve) -> &mut Weighted {
        &mut self.0[curve as usize]
    }

    /// The curves that change with every content.
    fn streaming(&mut self) -> [&mut Weighted; 3] {
        let places = [Curve::DecodeThroughput, Curve::DecodePerUser, Curve::TokensInFlight].map(|curve| curve as usize);
        self.0.get_disjoint_mut(places).unwrap_or_else(|_| unreachable!())
    }

    /// Adds the time between contents. Each is one of a request that has begun to answer; how many have does not change meanwhile.
    pub(crate) fn add_contents(&mut self, run: Run<'_>, levels: &mut Levels, since: &mut u64) {
        let [decode, each, tokens] = self.streaming();
        let share = 1.0 / levels.decoding as f64;
        let first = if decode.is_settled() { levels.decode.value() } else { lowest_rate(run, levels.decode, *since) };
        let around = each.begin_sums(first * share);
        let (rates, helds) = (decode.begin_sums(first), tokens.begin_sums(levels.tokens));
        let mut stream = Stream { levels, since, share, decode: rates, tokens: helds };
        match (decode.kept(), each.kept(), tokens.kept()) {
            (Kept::Lengths(a), Kept::Lengths(b), Kept::Lengths(c)) => stream.add(run, a, b, c),
            (Kept::Stretches(a), Kept::Stretches(b), Kept::Stretches(c)) => stream.add(run, a, b, c),
            _ => {}
        }
        let Stream { decode: rate, tokens: held, .. } = stream;
        decode.add_sums(&rate);
        each.add_sums(&rate.scaled(share, &around));
        tokens.add_sums(&held);
    }

    /// The curves that change with every content held still for so long.
    pub(crate) fn add_streaming(&mut self, length: u64, levels: &Levels) {
        self.curve_mut(Curve::TokensInFlight).add(length, levels.tokens);
        let rate = levels.decode.value();
        self.add_rate(Curve::DecodeThroughput, length, rate, levels.decoding);
        self.add_rate(Curve::DecodePerUser, length, rate / levels.decoding as f64, levels.decoding);
    }

    /// All other curves held still for so long.
    pub(crate) fn add_others(&mut self, length: u64, levels: &Levels) {
        self.curve_mut(Curve::Concurrency).add(length, levels.in_flight as f64);
        self.curve_mut(Curve::PrefillConcurrency).add(length, levels.prefilling as f64);
        self.curve_mut(Curve::DecodeConcurrency).add(length, levels.decoding as f64);
        let rate = levels.prefill.value();
        self.add_rate(Curve::PrefillThroughput, length, rate, levels.prefilling);
        self.add_rate(Curve::PrefillPerUser, length, rate / levels.prefilling as f64, levels.prefilling);
        self.add_rate(Curve::TotalThroughput, length, levels.total.value(), levels.in_flight);
    }

    /// A rate held while there was anyone that it could belong to.
    fn add_rate(&mut self, curve: Curve, length: u64, rate: f64, users: i64) {
        let weighted = self.curve_mut(curve);
        if users > 0 { weighted.add(length, rate) } else { weighted.add_idle(length) }
    }

    /// No tokens were produced while requests were answering: those that did had no gaps, and later ones do.
    pub(crate) fn set_decode_to_zero(&mut self) {
        self.curve_mut(Curve::DecodeThroughput).set_to_zero();
        self.curve_mut(Curve::DecodePerUser).set_to_zero();
    }

    pub(crate) fn settle(&mut self) {
        self.0.iter_mut().for_each(Weighted::settle);
    }

    pub(crate) fn stretches(&self) -> usize {
        self.0.iter().map(Weighted::stretches).sum()
    }

    pub(crate) fn let_go(&mut self) {
        self.0.iter_mut().for_each(Weighted::let_go);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| own.merge(other));
    }

    /// The statistics of all curves, with so much more time in which nothing was going on. The order of what is kept is lost.
    pub(crate) fn compute_stats(&mut self, idle: u64) -> CurveStats {
        let mut stats = CurveStats::default();
        for (place, weighted) in self.0.iter_mut().enumerate() {
            stats.set(place, weighted.compute_stats(idle));
        }
        stats
    }

    /// The same of a copy, one curve at a time: stretches may take a hundred megabytes.
    pub(crate) fn stats(&self, idle: u64) -> CurveStats {
        let mut stats = CurveStats::default();
        for (place, weighted) in self.0.iter().enumerate() {
            stats.set(place, weighted.clone().compute_stats(idle));
        }
        stats
    }

    pub(crate) fn size(&self) -> usize {
        self.0.iter().map(Weighted::size).sum()
    }
}

/// The lowest rate that holds for any time while contents pass.
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

/// Contents on their way past the gauges. What is summed up on the way is in local variables: this is done for every content.
struct Stream<'a> {
    levels: &'a mut Levels,
    since: &'a mut u64,
    share: f64,
    decode: Sums,
    tokens: Sums,
}

impl Stream<'_> {
    #[inline]
    fn add<K: Keep>(&mut self, run: Run<'_>, decode: &mut K, each: &mut K, tokens: &mut K) {
        let (mut rate, mut held, mut since) = (self.levels.decode, self.levels.tokens, *self.since);
        let (mut rates, mut helds) = (self.decode, self.tokens);
        for (at, content) in run.iter() {
            if at > since {
                let length = at - since;
                let value = rate.value();
                rates.add(length, value);
                helds.add(length, held);
                decode.keep(length, value);
                each.keep(length, value * self.share);
                tokens.keep(length, held);
                since = at;
            }
            content.change_rate(&mut rate);
            held += content.tokens;
        }
        (self.levels.decode, self.levels.tokens, *self.since) = (rate, held, since);
        (self.decode, self.tokens) = (rates, helds);
    }
}
