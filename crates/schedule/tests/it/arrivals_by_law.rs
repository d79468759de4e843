//! Random arrivals follow their law: Kolmogorov-Smirnov at 1%, with fixed seeds.

use aiperf_plan::{ArrivalLaw, Draws, Ramp, RateLevel, RatePlan, RatePoint};
use aiperf_schedule::{Intervals, RateCurve};
use aiperf_types::Nanos;

const SECOND: u64 = 1_000_000_000;

fn masses(law: ArrivalLaw, seed: u64, count: usize) -> Vec<f64> {
    let mut intervals = Intervals::new(&law, &Draws::new(Some(seed), "").purpose("intervals"));
    (0..count).map(|_| intervals.next()).collect()
}

/// Whether values follow a distribution, given as its cumulative function.
fn assert_follow(mut values: Vec<f64>, cumulative: impl Fn(f64) -> f64, what: &str) {
    values.sort_by(f64::total_cmp);
    let all = values.len() as f64;
    let apart = values.iter().enumerate().map(|(index, value)| {
        let share = cumulative(*value);
        (share - index as f64 / all).abs().max((share - (index + 1) as f64 / all).abs())
    });
    let largest = apart.fold(0.0, f64::max);
    assert!(largest < 1.628 / all.sqrt(), "{what}: {largest} over {all} values");
}

fn exponential(x: f64) -> f64 {
    1.0 - (-x).exp()
}

/// The gamma distribution of a whole shape and mean 1: one less the first terms of a Poisson distribution.
fn gamma(shape: u32) -> impl Fn(f64) -> f64 {
    move |x| {
        let scaled = x * f64::from(shape);
        let mut term = (-scaled).exp();
        let mut below = 0.0;
        for k in 0..shape {
            below += term;
            term *= scaled / f64::from(k + 1);
        }
        1.0 - below
    }
}

#[test]
fn poisson_masses_are_exponential() {
    for count in [4_000, 100_000] {
        assert_follow(masses(ArrivalLaw::Poisson, 11, count), exponential, "poisson");
    }
}

#[test]
fn gamma_masses_have_their_shape() {
    for shape in [1_u32, 2, 4, 9] {
        let law = ArrivalLaw::Gamma { smoothness: f64::from(shape) };
        for count in [4_000, 100_000] {
            assert_follow(masses(law, 12, count), gamma(shape), "gamma");
        }
    }
}

#[test]
fn masses_have_mean_one_and_the_deviation_of_their_law() {
    let laws = [
        (ArrivalLaw::Poisson, 1.0),
        (ArrivalLaw::Gamma { smoothness: 0.25 }, 0.25),
        (ArrivalLaw::Gamma { smoothness: 4.0 }, 4.0),
    ];
    for (law, shape) in laws {
        let masses = masses(law, 13, 100_000);
        let all = masses.len() as f64;
        let mean = masses.iter().sum::<f64>() / all;
        let variance = masses.iter().map(|mass| (mass - mean).powi(2)).sum::<f64>() / all;
        // Four deviations of the mean; the variance of a variance is wider, so a twentieth is allowed there.
        assert!((mean - 1.0).abs() < 4.0 / (shape * all).sqrt(), "{law:?}: {mean}");
        assert!((variance * shape - 1.0).abs() < 0.05, "{law:?}: {variance}");
    }
}

/// Two rates that change: a climb that goes on for the whole time, and a series up and down.
fn changing() -> Vec<(&'static str, RatePlan)> {
    let ramp = Some(Ramp::linear(Nanos(1000 * SECOND)));
    let points = [(0.0, 10.0), (200.0, 150.0), (400.0, 20.0), (1000.0, 180.0)];
    let points = points.into_iter().map(|(seconds, rate)| RatePoint { seconds, rate }).collect();
    let series = RatePlan { level: RateLevel::Series(points), ramp: None };
    vec![("ramp", RatePlan { ramp, ..RatePlan::fixed(200.0) }), ("series", series)]
}

#[test]
fn under_a_rate_that_changes_the_gaps_follow_their_law_after_time_change() {
    for (name, plan) in changing() {
        let draws = Draws::new(Some(5), "");
        let curve = RateCurve::new(&plan, Nanos(SECOND / 10), &draws.purpose("ramp"));
        for (law, cumulative) in [
            (ArrivalLaw::Poisson, Box::new(exponential) as Box<dyn Fn(f64) -> f64>),
            (ArrivalLaw::Gamma { smoothness: 3.0 }, Box::new(gamma(3))),
        ] {
            for count in [4_000, 60_000] {
                let mut sum = 0.0;
                let instants = masses(law, 14, count).into_iter().map(|mass| {
                    sum += mass;
                    curve.instant_of(sum)
                });
                let passed: Vec<f64> = instants.map(|at| curve.expected(at)).collect();
                let gaps = std::iter::once(passed[0]).chain(passed.windows(2).map(|pair| pair[1] - pair[0]));
                assert_follow(gaps.collect(), &cumulative, name);
            }
        }
    }
}

#[test]
fn under_a_rate_that_changes_as_many_arrive_as_its_integral_gives() {
    for (name, plan) in changing() {
        for seed in 0..20 {
            let draws = Draws::new(Some(seed), "");
            let curve = RateCurve::new(&plan, Nanos(SECOND / 10), &draws.purpose("ramp"));
            let mut intervals = Intervals::new(&ArrivalLaw::Poisson, &draws.purpose("intervals"));
            let (from, to) = (Nanos(100 * SECOND), Nanos(300 * SECOND));
            let (mut sum, mut arrivals) = (0.0, 0_u32);
            loop {
                sum += intervals.next();
                let at = curve.instant_of(sum);
                if at >= to {
                    break;
                }
                arrivals += u32::from(at >= from);
            }
            let expected = curve.expected(to) - curve.expected(from);
            assert!((f64::from(arrivals) - expected).abs() < 4.0 * expected.sqrt(), "{name}: {arrivals} of {expected}");
        }
    }
}
