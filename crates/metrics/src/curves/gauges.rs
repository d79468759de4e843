//! All curves at once, over one stretch of time after another.

use crate::curves::changes::Run;
use crate::curves::curve::{CURVES, Curve, CurveStats, Window};
use crate::curves::flight::{Lanes, Rate};
use crate::curves::weighted::{Keep, Kept, Sums, Weighted};
use crate::numbers::gaps::Gaps;
use crate::numbers::stats::Distribution;
use aiperf_types::{Nanos, WallNs};

/// What every curve was for how long.
#[derive(Clone, Debug)]
pub(crate) struct Gauges([Weighted; CURVES]);

impl Gauges {
    pub(crate) fn new(exact: bool) -> Self {
        Self(std::array::from_fn(|_| Weighted::new(exact)))
    }

    #[inline]
    fn of(&mut self, curve: Curve) -> &mut Weighted {
        &mut self.0[curve as usize]
    }

    /// The curves that change with every content.
    fn streaming(&mut self) -> [&mut Weighted; 3] {
        let places = [Curve::DecodeThroughput, Curve::DecodePerUser, Curve::TokensInFlight].map(|curve| curve as usize);
        self.0.get_disjoint_mut(places).unwrap_or_else(|_| unreachable!())
    }

    /// Lets contents pass. Each is one of a request that has begun to answer; how many have does not change meanwhile.
    pub(crate) fn pass(&mut self, run: Run<'_>, lanes: &mut Lanes, since: &mut u64) {
        let [decode, each, tokens] = self.streaming();
        let share = 1.0 / lanes.decoding as f64;
        let first = if decode.is_settled() { lanes.decode.value() } else { lowest_rate(run, lanes.decode, *since) };
        let centre = each.centre_or(first * share);
        let (rates, helds) = (decode.sums(first), tokens.sums(lanes.tokens));
        let mut stream = Stream { lanes, since, share, decode: rates, tokens: helds };
        match (decode.kept(), each.kept(), tokens.kept()) {
            (Kept::Lengths(a), Kept::Lengths(b), Kept::Lengths(c)) => stream.pass(run, a, b, c),
            (Kept::Stretches(a), Kept::Stretches(b), Kept::Stretches(c)) => stream.pass(run, a, b, c),
            _ => {}
        }
        let Stream { decode: rate, tokens: held, .. } = stream;
        decode.add_sums(&rate);
        each.add_sums(&rate.scaled(share, centre));
        tokens.add_sums(&held);
    }

    /// The curves that change with every content held still for so long.
    pub(crate) fn hold(&mut self, length: u64, lanes: &Lanes) {
        self.of(Curve::TokensInFlight).add(length, lanes.tokens);
        let rate = lanes.decode.value();
        self.add_rate(Curve::DecodeThroughput, length, rate, lanes.decoding);
        self.add_rate(Curve::DecodePerUser, length, rate / lanes.decoding as f64, lanes.decoding);
    }

    /// All other curves held still for so long.
    pub(crate) fn add_others(&mut self, length: u64, lanes: &Lanes) {
        self.of(Curve::Concurrency).add(length, lanes.in_flight as f64);
        self.of(Curve::PrefillConcurrency).add(length, lanes.prefilling as f64);
        self.of(Curve::DecodeConcurrency).add(length, lanes.decoding as f64);
        let rate = lanes.prefill.value();
        self.add_rate(Curve::PrefillThroughput, length, rate, lanes.prefilling);
        self.add_rate(Curve::PrefillPerUser, length, rate / lanes.prefilling as f64, lanes.prefilling);
        self.add_rate(Curve::TotalThroughput, length, lanes.total.value(), lanes.in_flight);
    }

    /// A rate held while there was anyone that it could belong to.
    fn add_rate(&mut self, curve: Curve, length: u64, rate: f64, users: i64) {
        let weighted = self.of(curve);
        if users > 0 { weighted.add(length, rate) } else { weighted.add_idle(length) }
    }

    fn settle(&mut self) {
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

    /// The statistics of all curves, with so much more time in which nothing was going on.
    pub(crate) fn stats(&mut self, idle: u64) -> CurveStats {
        let mut stats = CurveStats::default();
        for (place, weighted) in self.0.iter_mut().enumerate() {
            stats.set(place, weighted.stats(idle));
        }
        stats
    }

    pub(crate) fn size(&self) -> usize {
        self.0.iter().map(Weighted::size).sum()
    }
}

/// The lowest rate that holds for any time while contents pass.
fn lowest_rate(run: Run<'_>, mut rate: Rate, mut since: u64) -> f64 {
    let mut lowest = f64::INFINITY;
    for (at, content) in run.iter() {
        if at > since {
            lowest = lowest.min(rate.value());
            since = at;
        }
        rate.pass(content);
    }
    if lowest.is_finite() { lowest } else { rate.value() }
}

/// Contents on their way past the gauges. What is summed up on the way is in local variables: this is done for every content.
struct Stream<'a> {
    lanes: &'a mut Lanes,
    since: &'a mut u64,
    share: f64,
    decode: Sums,
    tokens: Sums,
}

impl Stream<'_> {
    #[inline]
    fn pass<K: Keep>(&mut self, run: Run<'_>, decode: &mut K, each: &mut K, tokens: &mut K) {
        let (mut rate, mut held, mut since) = (self.lanes.decode, self.lanes.tokens, *self.since);
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
            rate.pass(content);
            held += content.tokens;
        }
        (self.lanes.decode, self.lanes.tokens, *self.since) = (rate, held, since);
        (self.decode, self.tokens) = (rates, helds);
    }
}

/// The stretches of time that statistics are wanted of.
#[derive(Clone, Debug)]
pub(crate) enum Frames {
    /// These, one after another.
    Given(Vec<Window>),
    /// All the time from the first request on; and if a length is given, every slice of it.
    Whole(Option<Nanos>),
}

/// Slices that are told apart while a run is on: at 5 KB each, more than anybody reads and less than memory holds.
const MOST_SLICES: usize = 1 << 16;

/// What came of a stretch of time that is over.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Its first instant.
    pub(crate) start: WallNs,
    pub(crate) curves: CurveStats,
    /// The gaps of the requests that began in it, if wanted.
    pub(crate) gaps: Option<Distribution>,
}

#[derive(Clone, Debug)]
struct OpenFrame {
    start: u64,
    gauges: Gauges,
    gaps: Gaps,
}

/// Gauges of one frame after another.
#[derive(Clone, Debug)]
pub(crate) struct Film {
    frames: Frames,
    /// How many stretches may be kept one by one.
    limit: u64,
    exact: bool,
    open: Option<OpenFrame>,
    closed: Vec<Frame>,
    whole: Option<Gauges>,
    scratch: Vec<u64>,
}

impl Film {
    pub(crate) fn new(frames: Frames, limit: u64, exact: bool) -> Self {
        Self { frames, limit, exact, open: None, closed: Vec::new(), whole: None, scratch: Vec::new() }
    }

    /// Where a sweep that begins with a request at `first` has to begin.
    pub(crate) fn begin(&mut self, first: u64) -> u64 {
        let begin = match &self.frames {
            Frames::Given(windows) => windows.first().map_or(first, |window| window.start.0.min(first)),
            Frames::Whole(_) => {
                self.open(first);
                first
            }
        };
        self.cross(begin);
        begin
    }

    fn open(&mut self, start: u64) {
        self.open = Some(OpenFrame { start, gauges: Gauges::new(self.exact), gaps: Gaps::new() });
    }

    /// The next instant at which a frame opens or closes.
    pub(crate) fn edge(&self) -> u64 {
        match (&self.frames, &self.open) {
            (Frames::Whole(Some(length)), Some(frame)) => frame.start + length.0,
            (Frames::Whole(_), _) => u64::MAX,
            (Frames::Given(windows), open) => {
                let window = windows.get(self.closed.len());
                window.map_or(u64::MAX, |window| if open.is_some() { window.end.0 } else { window.start.0 })
            }
        }
    }

    /// After this no frame opens or closes.
    pub(crate) fn last_edge(&self) -> u64 {
        match &self.frames {
            Frames::Given(windows) => windows.iter().map(|window| window.start.max(window.end).0).max().unwrap_or(0),
            Frames::Whole(_) => 0,
        }
    }

    #[inline]
    pub(crate) fn gauges(&mut self) -> Option<&mut Gauges> {
        self.open.as_mut().map(|frame| &mut frame.gauges)
    }

    /// A request with these gaps begins.
    pub(crate) fn take_off(&mut self, gaps: impl Iterator<Item = u64>) {
        if let (Frames::Whole(Some(_)), Some(frame)) = (&self.frames, &mut self.open) {
            self.scratch.clear();
            self.scratch.extend(gaps);
            frame.gaps.add(&self.scratch);
        }
    }

    /// Closes and opens frames whose edge is reached.
    pub(crate) fn cross(&mut self, at: u64) {
        while self.edge() <= at {
            let was_open = self.open.is_some();
            self.close();
            if self.closed.len() >= MOST_SLICES && matches!(self.frames, Frames::Whole(_)) {
                self.frames = Frames::Whole(None);
            }
            if !was_open || matches!(self.frames, Frames::Whole(_)) {
                self.open(at);
            }
        }
    }

    fn close(&mut self) {
        let Some(OpenFrame { start, mut gauges, gaps }) = self.open.take() else { return };
        self.closed.push(Frame { start: WallNs(start), curves: gauges.stats(0), gaps: gaps.distribution() });
        if let Frames::Whole(_) = self.frames {
            match &mut self.whole {
                None => self.whole = Some(gauges),
                Some(whole) => whole.merge(gauges),
            }
        }
    }

    /// Sets sums down, and lets go of stretches that have become too many to be kept one by one.
    pub(crate) fn settle(&mut self) {
        self.gauges().into_iter().for_each(Gauges::settle);
        let gauges = || self.open.iter().map(|frame| &frame.gauges).chain(&self.whole);
        if self.exact && gauges().map(Gauges::stretches).sum::<usize>() as u64 > self.limit {
            self.exact = false;
            self.whole.iter_mut().for_each(Gauges::let_go);
            self.open.iter_mut().for_each(|frame| frame.gauges.let_go());
        }
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        self.close();
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Frames that are over.
    pub(crate) fn closed(&self) -> &[Frame] {
        &self.closed
    }

    /// The statistics of all frames together, with so much more time in which nothing was going on.
    pub(crate) fn whole(&self, idle: u64) -> CurveStats {
        self.whole.clone().map(|mut whole| whole.stats(idle)).unwrap_or_default()
    }

    /// Goes on with the film of a later time.
    pub(crate) fn append(&mut self, other: Self) {
        self.exact &= other.exact;
        self.closed.extend(other.closed);
        match (&mut self.whole, other.whole) {
            (Some(own), Some(others)) => own.merge(others),
            (own, others) => *own = own.take().or(others),
        }
    }

    pub(crate) fn size(&self) -> usize {
        let gauges = self.open.iter().map(|frame| &frame.gauges).chain(&self.whole);
        gauges.map(Gauges::size).sum::<usize>() + self.closed.len() * size_of::<Frame>()
    }
}
