//! How long the comparison of two runs of a million records takes, of ten metrics by mean and four percentiles, and how much
//! memory: `cargo run --release -p aiperf-statistics --example time_to_compare`.

use aiperf_statistics::{Direction, Series, Statistic, compare};
use std::time::Instant;

const RECORDS: u64 = 1_000_000;
const METRICS: u64 = 10;

/// Values that neighbours share a part of.
fn values(seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut level = 0.0;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        level = 0.99 * level + (state >> 11) as f64 / (1u64 << 53) as f64;
        level
    };
    (0..RECORDS).map(|_| next()).collect()
}

fn main() {
    let start = Instant::now();
    for metric in 0..METRICS {
        let (first, second) = (Series::new(values(2 * metric)), Series::new(values(2 * metric + 1)));
        let percentiles = [50.0, 90.0, 95.0, 99.0].map(Statistic::Percentile);
        for statistic in [Statistic::Mean].into_iter().chain(percentiles) {
            let comparison = compare(&first, &second, statistic, Direction::SmallerIsBetter, 0.95);
            if metric == 0 {
                println!("{statistic:?}: {comparison:?}");
            }
        }
    }
    println!("{METRICS} metrics of {RECORDS} records a side: {:.2} s", start.elapsed().as_secs_f64());
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
}
