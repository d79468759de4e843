//! How often a comparison gives a verdict: on pairs of runs that do not differ, and on pairs that do.
//!
//! The ordinary test takes seconds and fewer pairs; all of it, with a table:
//! `cargo test --release -p aiperf-statistics --test alarms -- --ignored --nocapture`.

use aiperf_statistics::comparison::{Direction, Doubt, Series, Statistic, Verdict, compare};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp1, Gamma, LogNormal, StandardNormal};

const STATISTICS: [(&str, Statistic); 5] = [
    ("mean", Statistic::Mean),
    ("p50", Statistic::Percentile(50.0)),
    ("p90", Statistic::Percentile(90.0)),
    ("p95", Statistic::Percentile(95.0)),
    ("p99", Statistic::Percentile(99.0)),
];

/// A run of some kind, its values times a factor.
type Run = fn(&mut ChaCha8Rng, f64) -> Vec<f64>;

/// By name: kinds of runs whose records are independent, and others near the capacity of a queue or persistent otherwise.
const INDEPENDENT: &[(&str, Run)] = &[
    ("500 lognormal, cv 0.2", |random, factor| lognormal(random, 500, 0.2, factor)),
    ("5,000 lognormal, cv 0.2", |random, factor| lognormal(random, 5000, 0.2, factor)),
    ("5,000 gamma, cv 0.2", |random, factor| gamma(random, 5000, 0.2, factor)),
    ("2,000 lognormal, cv 1", |random, factor| lognormal(random, 2000, 1.0, factor)),
    ("1,000 lognormal, cv 2", |random, factor| lognormal(random, 1000, 2.0, factor)),
];
const CORRELATED: &[(&str, Run)] = &[
    ("2,000 AR(1) 0.5", |random, factor| autoregressive(random, 2000, 0.5, factor)),
    ("2,000 AR(1) 0.9", |random, factor| autoregressive(random, 2000, 0.9, factor)),
    ("5,000 AR(1) 0.98", |random, factor| autoregressive(random, 5000, 0.98, factor)),
    ("3,000 M/G/1 0.5, cv 2", |random, factor| queue(random, 3000, 1, 0.5, 2.0, factor)),
    ("5,000 M/G/1 0.7, cv 1", |random, factor| queue(random, 5000, 1, 0.7, 1.0, factor)),
    ("5,000 M/G/1 0.9, cv 1", |random, factor| queue(random, 5000, 1, 0.9, 1.0, factor)),
    ("5,000 M/G/1 0.9, cv 0.3", |random, factor| queue(random, 5000, 1, 0.9, 0.3, factor)),
    ("20,000 M/G/1 0.9, cv 1", |random, factor| queue(random, 20_000, 1, 0.9, 1.0, factor)),
    ("5,000 M/G/8 0.8, cv 1", |random, factor| queue(random, 5000, 8, 0.8, 1.0, factor)),
    ("20,000 M/G/8 0.9, cv 0.5", |random, factor| queue(random, 20_000, 8, 0.9, 0.5, factor)),
    ("10,000 M/G/16 0.9, cv 0.5", |random, factor| queue(random, 10_000, 16, 0.9, 0.5, factor)),
    ("5,000 M/G/32 0.95, cv 1", |random, factor| queue(random, 5000, 32, 0.95, 1.0, factor)),
];

fn lognormal(random: &mut ChaCha8Rng, count: usize, cv: f64, factor: f64) -> Vec<f64> {
    let variance = (1.0 + cv * cv).ln();
    let latency = LogNormal::new(-variance / 2.0, variance.sqrt()).expect("a deviation");
    (0..count).map(|_| factor * latency.sample(random)).collect()
}

fn gamma(random: &mut ChaCha8Rng, count: usize, cv: f64, factor: f64) -> Vec<f64> {
    let latency = Gamma::new(1.0 / (cv * cv), cv * cv).expect("a positive shape");
    (0..count).map(|_| factor * latency.sample(random)).collect()
}

fn autoregressive(random: &mut ChaCha8Rng, count: usize, carried: f64, factor: f64) -> Vec<f64> {
    let mut state: f64 = StandardNormal.sample(random);
    let mut next = || {
        let fresh: f64 = StandardNormal.sample(random);
        state = carried * state + (1.0 - carried * carried).sqrt() * fresh;
        factor * (10.0 + state)
    };
    (0..count).map(|_| next()).collect()
}

/// Response times of a queue with several servers and Poisson arrivals, long after its start.
fn queue(random: &mut ChaCha8Rng, count: usize, servers: usize, load: f64, cv: f64, factor: f64) -> Vec<f64> {
    const WARMUP: usize = 5000;
    let service = Gamma::new(1.0 / (cv * cv), cv * cv).expect("a positive shape");
    let mut free = vec![0.0f64; servers];
    let mut now = 0.0;
    let mut next = || {
        let gap: f64 = Exp1.sample(random);
        now += gap / load / servers as f64;
        let first = (0..servers).min_by(|&a, &b| free[a].total_cmp(&free[b])).expect("a server");
        free[first] = free[first].max(now) + service.sample(random);
        factor * (free[first] - now)
    };
    (0..WARMUP + count).map(|_| next()).skip(WARMUP).collect()
}

/// Shares of pairs, in percent, by statistic.
#[derive(Clone, Copy)]
struct Shares {
    decided: f64,
    too_little_data: f64,
}

/// Compares pairs of runs, the second of which is `factor` times as slow.
fn compare_pairs(name: &str, run: Run, factor: f64, pairs: usize, seed: u64) -> [Shares; STATISTICS.len()] {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut shares = [Shares { decided: 0.0, too_little_data: 0.0 }; STATISTICS.len()];
    for _ in 0..pairs {
        let (first, second) = (Series::new(run(&mut random, 1.0)), Series::new(run(&mut random, factor)));
        for ((_, statistic), shares) in STATISTICS.iter().zip(&mut shares) {
            let comparison = compare(&first, &second, *statistic, Direction::SmallerIsBetter, 0.95).expect("records");
            match comparison.verdict {
                Verdict::Undecided(Doubt::WithinNoise) => {}
                Verdict::Undecided(Doubt::TooLittleData) => shares.too_little_data += 100.0 / pairs as f64,
                _ => shares.decided += 100.0 / pairs as f64,
            }
        }
    }
    print!("{name:26} x {factor:4} |");
    for ((statistic, _), shares) in STATISTICS.iter().zip(shares) {
        print!(" {statistic} {:5.1}% ({:3.0}%) |", shares.decided, shares.too_little_data);
    }
    println!();
    shares
}

fn run_of(name: &str) -> Run {
    INDEPENDENT.iter().chain(CORRELATED).find(|(known, _)| *known == name).expect("a kind by this name").1
}

fn false_alarms_are_at_most(percent: f64, pairs: usize, kinds: &[(&str, Run)]) {
    for (name, run) in kinds {
        for ((statistic, _), shares) in STATISTICS.iter().zip(compare_pairs(name, *run, 1.0, pairs, 1)) {
            assert!(shares.decided <= percent, "{name}: {statistic}: {}% false alarms", shares.decided);
        }
    }
}

fn differences_are_found(pairs: usize) {
    let small = "500 lognormal, cv 0.2";
    let [mean, ..] = compare_pairs(small, run_of(small), 1.05, pairs, 2);
    assert!(mean.decided >= 90.0, "{}% found", mean.decided);
    for name in ["5,000 lognormal, cv 0.2", "5,000 gamma, cv 0.2"] {
        let [.., p99] = compare_pairs(name, run_of(name), 1.05, pairs, 2);
        assert!(p99.decided >= 80.0, "{name}: {}% found", p99.decided);
    }
}

#[test]
fn few_pairs_that_do_not_differ_get_a_verdict_and_most_that_do() {
    // Of 100 pairs, 12% is three deviations above 5%.
    false_alarms_are_at_most(12.0, 100, &INDEPENDENT[..1]);
    false_alarms_are_at_most(12.0, 100, &CORRELATED[4..6]);
    differences_are_found(60);
}

#[test]
fn a_queue_that_slows_down_by_half_is_noticed() {
    let [mean, p50, ..] = compare_pairs("5,000 M/G/1 0.7, cv 1", run_of("5,000 M/G/1 0.7, cv 1"), 1.5, 40, 3);
    assert!(mean.decided >= 70.0 && p50.decided >= 80.0);
}

#[test]
#[ignore = "takes two minutes; counts how often a verdict is wrong, and prints a table"]
fn at_most_eight_in_a_hundred_pairs_that_do_not_differ_get_a_verdict() {
    false_alarms_are_at_most(8.0, 1000, INDEPENDENT);
    false_alarms_are_at_most(8.0, 1000, CORRELATED);
    differences_are_found(1000);
}
