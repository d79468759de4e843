//! A rate over time as pieces of polynomials: how many arrivals it gives by an instant, and by which instant so many.
//!
//! The integral and its inverse are exact up to rounding: nothing is stepped through, so an instant after an hour is as
//! good as the first. Inside a piece, times are counted from its own start and masses from the mass before it, which
//! keeps f64 well below a nanosecond at any rate and length a run has.

use crate::ramp::EventTimes;
use crate::setup::Setup;
use aiperf_plan::draw::Purpose;
use aiperf_plan::{Draws, Plan, Ramp, RampStrategy, RateLevel, RatePlan, TimingPlan};
use aiperf_types::{Nanos, PhaseIndex};

/// A ramp in random steps has at most so many: past this they are too small to be seen.
const MOST_STEPS: f64 = 10_000.0;

/// Requests a second over a phase.
#[derive(Clone, Debug)]
pub struct RateCurve {
    /// By start; the first starts at zero, the last does not end.
    pieces: Vec<Piece>,
}

/// A stretch of time in which the rate is `level + slope * s + bend * s^2`, s in seconds since its start.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Nanos,
    level: f64,
    slope: f64,
    bend: f64,
    /// Arrivals expected before it.
    before: f64,
}

impl Piece {
    fn rate(&self, s: f64) -> f64 {
        self.level + (self.slope + self.bend * s) * s
    }

    fn mass(&self, s: f64) -> f64 {
        (self.level + (self.slope / 2.0 + self.bend / 3.0 * s) * s) * s
    }

    /// The seconds at which a mass is reached, at most `end`.
    fn seconds(&self, mass: f64, end: f64) -> f64 {
        if mass <= 0.0 {
            return 0.0;
        }
        if self.bend != 0.0 {
            return self.search(mass, end);
        }
        if self.slope == 0.0 {
            return (mass / self.level).min(end);
        }
        // The root without a difference of like numbers; a falling rate may meet zero within rounding.
        let root = (self.level * self.level + 2.0 * self.slope * mass).max(0.0).sqrt();
        (2.0 * mass / (self.level + root)).min(end)
    }

    /// Newton's steps, halving wherever one would leave the bracket.
    fn search(&self, mass: f64, end: f64) -> f64 {
        let (mut low, mut high) = (0.0, end);
        let mut at = end / 2.0;
        for _ in 0..128 {
            let off = self.mass(at) - mass;
            if off > 0.0 {
                high = at
            } else {
                low = at
            }
            let newton = at - off / self.rate(at);
            let next = if newton > low && newton < high { newton } else { low + (high - low) / 2.0 };
            if (next - at).abs() < 1e-11 {
                return next;
            }
            at = next;
        }
        at
    }
}

impl RateCurve {
    /// A rate that climbs begins where a linear climb would be after `step`; a ramp in random steps draws from
    /// `purpose`.
    pub fn new(plan: &RatePlan, step: Nanos, purpose: &Purpose) -> Self {
        let first = match &plan.level {
            RateLevel::Fixed(rate) => *rate,
            RateLevel::Series(points) => points.first().map_or(0.0, |point| point.rate),
        };
        let mut curve = Self { pieces: Vec::new() };
        let mut start = Nanos::ZERO;
        if let Some(ramp) = plan.ramp.as_ref().filter(|ramp| ramp.duration > Nanos::ZERO) {
            curve.climb(first, ramp, step, purpose);
            start = ramp.duration;
        }
        curve.push(start, first, 0.0, 0.0);
        if let RateLevel::Series(points) = &plan.level {
            let at = |seconds: f64| Nanos(start.0.saturating_add((seconds * 1e9).round() as u64));
            for pair in points.windows(2) {
                let slope = (pair[1].rate - pair[0].rate) / (pair[1].seconds - pair[0].seconds);
                curve.push(at(pair[0].seconds), pair[0].rate, slope, 0.0);
            }
            points.last().into_iter().for_each(|point| curve.push(at(point.seconds), point.rate, 0.0, 0.0));
        }
        curve
    }

    /// The rate of a phase as its schedule has it.
    pub fn of_phase(plan: &RatePlan, setup: &Setup, phase: PhaseIndex) -> Self {
        Self::drawn(plan, &setup.draws, &setup.timing, phase)
    }

    /// The same of a plan, for those who ask after the run; `None` where the phase has no rate.
    pub fn in_plan(plan: &Plan, phase: PhaseIndex) -> Option<Self> {
        let rate = plan.phases.get(usize::from(phase.0))?.arrival.rate_plan()?;
        Some(Self::drawn(rate, &plan.draws(), &plan.timing, phase))
    }

    fn drawn(plan: &RatePlan, draws: &Draws, timing: &TimingPlan, phase: PhaseIndex) -> Self {
        let purpose = draws.purpose(&format!("rate_ramp:{}", phase.0));
        Self::new(plan, timing.rate_ramp_step, &purpose)
    }

    fn climb(&mut self, target: f64, ramp: &Ramp, step: Nanos, purpose: &Purpose) {
        let length = ramp.duration.as_secs_f64();
        let from = target * (step.as_secs_f64() / length).min(1.0);
        let range = target - from;
        match ramp.strategy {
            RampStrategy::Linear => self.push(Nanos::ZERO, from, range / length, 0.0),
            RampStrategy::Exponential => self.push(Nanos::ZERO, from, 0.0, range / (length * length)),
            RampStrategy::Poisson => {
                self.push(Nanos::ZERO, from, 0.0, 0.0);
                // One event a request a second that is climbed; the last is the target itself, which follows.
                let events = range.ceil().clamp(1.0, MOST_STEPS);
                let times = EventTimes::new(events as u64, purpose).take(events as usize - 1);
                for (index, share) in times.enumerate() {
                    let at = Nanos((ramp.duration.0 as f64 * share).round() as u64);
                    self.push(at, from + range * ((index + 1) as f64 / events), 0.0, 0.0);
                }
            }
        }
    }

    /// Appends a piece, instead of the last one where that would have no length.
    fn push(&mut self, start: Nanos, level: f64, slope: f64, bend: f64) {
        let mut before = 0.0;
        if let Some(last) = self.pieces.last() {
            before = last.before + last.mass(seconds_between(last.start, start));
            if last.start >= start {
                before = last.before;
                self.pieces.pop();
            }
        }
        self.pieces.push(Piece { start, level, slope, bend, before });
    }

    /// Requests a second at an instant since the start.
    pub fn rate_at(&self, elapsed: Nanos) -> f64 {
        let piece = self.piece_by(|piece| piece.start <= elapsed);
        piece.rate(seconds_between(piece.start, elapsed))
    }

    /// Arrivals expected up to an instant: the integral of the rate.
    pub fn expected(&self, elapsed: Nanos) -> f64 {
        let piece = self.piece_by(|piece| piece.start <= elapsed);
        piece.before + piece.mass(seconds_between(piece.start, elapsed))
    }

    /// The instant by which so many arrivals are expected; [`Nanos::MAX`] if that never comes.
    pub fn instant_of(&self, count: f64) -> Nanos {
        let index = self.index_by(|piece| piece.before <= count);
        let piece = &self.pieces[index];
        let end = self.pieces.get(index + 1).map(|next| next.start);
        let room = end.map_or(f64::INFINITY, |end| seconds_between(piece.start, end));
        let seconds = piece.seconds((count - piece.before).max(0.0), room);
        // A float past what 64 bits hold becomes the largest number, which is "never".
        let at = if seconds.is_nan() { Nanos::MAX } else { Nanos((seconds * 1e9).round() as u64) };
        Nanos(piece.start.0.saturating_add(at.0)).min(end.unwrap_or(Nanos::MAX))
    }

    fn piece_by(&self, is_reached: impl Fn(&Piece) -> bool) -> &Piece {
        &self.pieces[self.index_by(is_reached)]
    }

    fn index_by(&self, is_reached: impl Fn(&Piece) -> bool) -> usize {
        self.pieces.partition_point(is_reached).saturating_sub(1)
    }
}

fn seconds_between(from: Nanos, to: Nanos) -> f64 {
    Nanos(to.0.saturating_sub(from.0)).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_plan::RatePoint;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const STEP: Nanos = Nanos(SECOND / 10);

    fn curve(plan: &RatePlan) -> RateCurve {
        RateCurve::new(plan, STEP, &Draws::new(Some(1), "").purpose("ramp"))
    }

    fn ramped(rate: f64, seconds: f64, strategy: RampStrategy) -> RatePlan {
        let ramp = Ramp { duration: Nanos::from_secs_f64(seconds), strategy };
        RatePlan { ramp: Some(ramp), ..RatePlan::fixed(rate) }
    }

    fn series(points: &[(f64, f64)]) -> RatePlan {
        let points = points.iter().map(|&(seconds, rate)| RatePoint { seconds, rate }).collect();
        RatePlan { level: RateLevel::Series(points), ramp: None }
    }

    #[test]
    fn a_constant_rate_is_exact_after_hours() {
        let curve = curve(&RatePlan::fixed(2000.0));
        for count in [1_u64, 7_200_001, 1_000_000_007] {
            assert_eq!(curve.instant_of(count as f64), Nanos(count * 500_000), "{count}");
        }
    }

    #[test]
    fn what_follows_an_hour_of_climbing_is_exact_to_a_nanosecond() {
        let hour = 3600.0;
        let curve = curve(&ramped(2000.0, hour, RampStrategy::Linear));
        // From 2000/36000 to 2000 over an hour, then even.
        let climbed = (2000.0 / 36_000.0 + 2000.0) / 2.0 * hour;
        let after = (climbed + 1.0).floor();
        let exact = 3600.0e9 + (after - climbed) * 500_000.0;
        assert!((curve.instant_of(after).0 as f64 - exact).abs() <= 1.0);
        assert!((curve.expected(Nanos(3600 * SECOND)) - climbed).abs() < 1e-6);
    }

    #[test]
    fn half_a_linear_climb_is_reached_where_its_integral_is_half() {
        let curve = curve(&ramped(10.0, 4.0, RampStrategy::Linear));
        assert!((curve.rate_at(Nanos::ZERO) - 0.25).abs() < 1e-12);
        assert!((curve.rate_at(Nanos(2 * SECOND)) - 5.125).abs() < 1e-12);
        // 0.25 s + 9.75 s^2 / 8 = 5.375 at 2 s.
        assert_eq!(curve.instant_of(5.375), Nanos(2 * SECOND));
    }

    #[test]
    fn a_climb_shorter_than_its_first_step_begins_at_its_target() {
        let curve = curve(&ramped(10.0, 0.05, RampStrategy::Linear));
        assert_eq!(curve.rate_at(Nanos::ZERO), 10.0);
        assert_eq!(curve.instant_of(1.0), Nanos(SECOND / 10));
    }

    #[test]
    fn an_exponential_climb_has_a_quarter_of_its_range_at_half_its_time() {
        let curve = curve(&ramped(10.0, 4.0, RampStrategy::Exponential));
        assert!((curve.rate_at(Nanos(2 * SECOND)) - (0.25 + 9.75 / 4.0)).abs() < 1e-12);
        assert_eq!(curve.rate_at(Nanos(4 * SECOND)), 10.0);
    }

    #[test]
    fn a_poisson_climb_goes_up_in_equal_steps_and_ends_on_time() {
        let curve = curve(&ramped(10.0, 4.0, RampStrategy::Poisson));
        let rates: Vec<f64> = curve.pieces.iter().map(|piece| piece.level).collect();
        assert_eq!(rates.len(), 11);
        assert!(rates.windows(2).all(|pair| (pair[1] - pair[0] - 0.975).abs() < 1e-9), "{rates:?}");
        assert_eq!(curve.pieces[10].start, Nanos(4 * SECOND));
    }

    #[test]
    fn a_series_begins_where_its_ramp_ends() {
        let ramp = Some(Ramp::linear(Nanos(2 * SECOND)));
        let curve = curve(&RatePlan { ramp, ..series(&[(1.0, 4.0), (3.0, 8.0)]) });
        let at = |seconds: f64| curve.rate_at(Nanos::from_secs_f64(seconds));
        assert_eq!([at(2.0), at(3.0), at(4.0), at(5.0), at(90.0)], [4.0, 4.0, 6.0, 8.0, 8.0]);
    }

    #[test]
    fn what_no_rate_ever_reaches_is_never_due() {
        assert_eq!(curve(&RatePlan::fixed(0.0)).instant_of(1.0), Nanos::MAX);
        assert_eq!(curve(&RatePlan::fixed(1e-12)).instant_of(1e9), Nanos::MAX);
        assert_eq!(curve(&RatePlan::fixed(5.0)).instant_of(f64::INFINITY), Nanos::MAX);
    }

    #[test]
    fn nothing_is_expected_at_once_even_where_a_climb_begins_at_zero() {
        let draws = Draws::new(Some(1), "").purpose("ramp");
        for strategy in [RampStrategy::Linear, RampStrategy::Exponential, RampStrategy::Poisson] {
            let curve = RateCurve::new(&ramped(10.0, 4.0, strategy), Nanos::ZERO, &draws);
            assert_eq!(curve.rate_at(Nanos::ZERO), 0.0);
            assert!(curve.instant_of(0.0) < Nanos(4 * SECOND));
            assert!(curve.instant_of(1.0) > Nanos::ZERO);
        }
    }

    fn plans() -> impl Strategy<Value = RatePlan> {
        let rate = prop_oneof![0.01..10.0_f64, 10.0..5000.0];
        let strategy =
            prop_oneof![Just(RampStrategy::Linear), Just(RampStrategy::Exponential), Just(RampStrategy::Poisson)];
        let ramp = proptest::option::of(
            (0.01..3600.0_f64, strategy)
                .prop_map(|(seconds, strategy)| Ramp { duration: Nanos::from_secs_f64(seconds), strategy }),
        );
        let points = proptest::collection::vec((0.001..600.0_f64, rate.clone()), 2..8).prop_map(|gaps| {
            let mut seconds = -gaps[0].0.min(0.5);
            let point = |(gap, rate): (f64, f64)| {
                seconds += gap;
                RatePoint { seconds, rate }
            };
            RateLevel::Series(gaps.into_iter().map(point).collect())
        });
        (prop_oneof![rate.prop_map(RateLevel::Fixed), points], ramp).prop_map(|(level, ramp)| RatePlan { level, ramp })
    }

    proptest! {
        #[test]
        fn the_instant_of_a_count_is_where_so_many_are_expected(plan in plans(), share in 0.0..1.0_f64) {
            let curve = curve(&plan);
            let count = share * curve.expected(Nanos(7200 * SECOND));
            let at = curve.instant_of(count);
            // Half a nanosecond of the fastest rate there is, and what f64 holds of the count.
            let off = (curve.expected(at) - count).abs();
            prop_assert!(off < 5000.0 * 0.6e-9 + count * 1e-14, "{count} at {at:?} is off by {off}");
        }

        #[test]
        fn an_instant_comes_back_from_its_count(plan in plans(), at in 0..7200 * SECOND) {
            let curve = curve(&plan);
            let back = curve.instant_of(curve.expected(Nanos(at)));
            let off = (back.0 as f64 - at as f64).abs() * curve.rate_at(Nanos(at)).max(0.01) * 1e-9;
            prop_assert!(off < 1e-8, "{at} comes back as {back:?}");
        }

        #[test]
        fn later_means_more_and_more_means_later(plan in plans(), a in 0..7200 * SECOND, b in 0..7200 * SECOND) {
            let curve = curve(&plan);
            let (early, late) = (a.min(b), a.max(b));
            let (few, many) = (curve.expected(Nanos(early)), curve.expected(Nanos(late)));
            prop_assert!(few <= many);
            prop_assert!(curve.instant_of(few) <= curve.instant_of(many));
        }

        #[test]
        fn even_arrivals_in_a_window_are_as_many_as_the_integral(
            plan in plans(),
            start in 0..600 * SECOND,
            length in 0..5 * SECOND,
        ) {
            let curve = curve(&plan);
            let (early, late) = (Nanos(start), Nanos(start + length));
            let (from, to) = (curve.expected(early), curve.expected(late));
            let due = |count: f64| (early..late).contains(&curve.instant_of(count));
            let first = (from.ceil() as u64).saturating_sub(2);
            let arrivals = (first..first + (to - from) as u64 + 6).filter(|count| due(*count as f64)).count();
            prop_assert!((arrivals as f64 - (to - from)).abs() <= 1.0 + 1e-6, "{arrivals} instead of {}", to - from);
        }
    }
}
