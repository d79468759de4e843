//! How far estimated percentiles are from true ones, beside linear interpolation: `cargo bench -p aiperf-observe
//! --bench estimator` prints the tables.
//!
//! Synthetic requests arrive at random instants. Their values go into the buckets of a real server, which is scraped
//! three times a second. For each percentile the table shows the relative error over many seeds: median and worst.

use aiperf_observe::estimator::{estimate, learn};

const SEEDS: u64 = 40;
const SECONDS: f64 = 120.0;
const SCRAPES_PER_SECOND: f64 = 3.0;
const REQUESTS_PER_SECOND: [f64; 2] = [2.0, 20.0];

/// Of vLLM 0.32, `vllm:time_to_first_token_seconds`.
const FIRST_TOKEN: &[f64] = &[
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1.0,
    2.5,
    5.0,
    7.5,
    10.0,
    20.0,
    40.0,
    80.0,
    160.0,
    640.0,
    2560.0,
    f64::INFINITY,
];
/// Of vLLM 0.32, `vllm:e2e_request_latency_seconds`.
const WHOLE_REQUEST: &[f64] = &[
    0.3,
    0.5,
    0.8,
    1.0,
    1.5,
    2.0,
    2.5,
    5.0,
    10.0,
    15.0,
    20.0,
    30.0,
    40.0,
    50.0,
    60.0,
    120.0,
    240.0,
    480.0,
    960.0,
    1920.0,
    7680.0,
    f64::INFINITY,
];

/// A value drawn, in units of the distribution's typical value.
type Draw = fn(&mut Random) -> f64;

const DISTRIBUTIONS: [(&str, Draw); 3] = [
    ("lognormal, sigma 0.5", |random| random.lognormal(1.0, 0.5)),
    ("bimodal, 70% at 0.3 and 30% at 3", |random| {
        if random.uniform() < 0.7 { random.lognormal(0.3, 0.15) } else { random.lognormal(3.0, 0.15) }
    }),
    ("Pareto, alpha 1.5", |random| 0.5 * random.uniform().powf(-1.0 / 1.5)),
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Above zero, up to one.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        median * (sigma * radius * (std::f64::consts::TAU * self.uniform()).cos()).exp()
    }
}

fn main() {
    println!(
        "Relative error in percent, median / worst of {SEEDS} seeds, {SECONDS} s scraped at {SCRAPES_PER_SECOND} Hz\n"
    );
    println!("| buckets | values | requests/s | percentile | estimator | linear interpolation |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (buckets, bounds, typical) in [("time to first token", FIRST_TOKEN, 0.2), ("whole request", WHOLE_REQUEST, 8.0)]
    {
        for (values, draw) in DISTRIBUTIONS {
            for rate in REQUESTS_PER_SECOND {
                let runs: Vec<[(f64, f64); 3]> =
                    (0..SEEDS).map(|seed| errors(seed, bounds, typical, draw, rate)).collect();
                for (at, percentile) in PERCENTILES.iter().enumerate() {
                    let ours = median_and_worst(runs.iter().map(|run| run[at].0).collect());
                    let linear = median_and_worst(runs.iter().map(|run| run[at].1).collect());
                    println!("| {buckets} | {values} | {rate} | p{percentile} | {ours} | {linear} |");
                }
            }
        }
    }
}

const PERCENTILES: [u8; 3] = [50, 90, 99];

/// Relative errors of one run, for each percentile: of the estimator, and of linear interpolation.
fn errors(seed: u64, bounds: &[f64], typical: f64, draw: Draw, rate: f64) -> [(f64, f64); 3] {
    let mut random = Random(seed.wrapping_mul(0x5851_F42D_4C95_7F2D) ^ rate.to_bits());
    let mut rows = vec![(0.0, 0.0, vec![0.0; bounds.len()])];
    let mut values = Vec::new();
    let (mut now, mut scrape) = (0.0, 1.0 / SCRAPES_PER_SECOND);
    let mut up_to = vec![0.0; bounds.len()];
    while now < SECONDS {
        now -= random.uniform().ln() / rate;
        while scrape <= now.min(SECONDS) {
            rows.push((values.iter().sum(), values.len() as f64, up_to.clone()));
            scrape += 1.0 / SCRAPES_PER_SECOND;
        }
        if now < SECONDS {
            let value = typical * draw(&mut random);
            values.push(value);
            up_to.iter_mut().zip(bounds).filter(|(_, bound)| value <= **bound).for_each(|(count, _)| *count += 1.0);
        }
    }
    rows.push((values.iter().sum(), values.len() as f64, up_to.clone()));

    let learned = learn(bounds.len(), rows.iter().map(|(sum, count, up_to)| (*sum, *count, up_to.as_slice())));
    let counts: Vec<i64> = up_to.iter().map(|count| *count as i64).collect();
    let estimates = estimate(bounds, &counts, values.iter().sum(), values.len() as i64, &learned);
    values.sort_by(f64::total_cmp);
    PERCENTILES.map(|percentile| {
        let share = f64::from(percentile) / 100.0;
        let at = aiperf_types::stats::PERCENTILES.iter().position(|known| *known == percentile);
        let estimate = at.zip(estimates).map_or(f64::NAN, |(at, estimates)| estimates[at]);
        let truth = quantile(&values, share);
        let error = |value: f64| (value - truth).abs() / truth * 100.0;
        (error(estimate), error(linear(bounds, &up_to, share)))
    })
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() - 1) as f64 * share;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// `histogram_quantile` of Prometheus.
fn linear(bounds: &[f64], up_to: &[f64], share: f64) -> f64 {
    let rank = share * up_to.last().copied().unwrap_or_default();
    let bucket = up_to.iter().position(|count| *count >= rank).unwrap_or_default();
    if bounds[bucket].is_infinite() {
        return bounds[bucket - 1];
    }
    let (lower, below) = if bucket == 0 { (0.0, 0.0) } else { (bounds[bucket - 1], up_to[bucket - 1]) };
    lower + (bounds[bucket] - lower) * (rank - below) / (up_to[bucket] - below)
}

fn median_and_worst(mut errors: Vec<f64>) -> String {
    errors.sort_by(f64::total_cmp);
    format!("{:.1} / {:.1}", quantile(&errors, 0.5), quantile(&errors, 1.0))
}
