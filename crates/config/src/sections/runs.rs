//! Several runs of the same.

use crate::range::{at_least, between};
use crate::setting::{names, section};

names! {
    /// Statistic that must settle.
    ConvergenceStat = ["avg", "p50", "p90", "p95", "p99", "min", "max"]
    /// What settling means.
    ConvergenceMode = ["ci_width", "cv", "distribution"]
}

section! {
    /// Several runs of the same.
    MultiRun {
        /// How many
        num_runs: i64 [between(1.0, true, 10.0, true)] = "1";
        /// Seconds between two
        cooldown_seconds: f64 [between(0.0, true, 86400.0, true)] = "0";
        /// Level of confidence intervals
        confidence_level: f64 [between(0.0, false, 1.0, false)] = "0.95";
        /// Use seed 42 when none is given
        set_consistent_seed: bool = "true";
        /// Give each run a seed of its own
        vary_seed_per_trial: bool = "false";
        /// Warm up before the first run only
        disable_warmup_after_first: bool = "true";
        /// Stop early when a metric has settled
        convergence: Convergence;
    }
    /// Stopping early.
    Convergence {
        /// Metric that must settle
        metric: String;
        /// Its statistic
        stat: ConvergenceStat = "avg";
        /// What settling means
        mode: ConvergenceMode = "ci_width";
        /// Below which it has settled; ci_width: 0.10, others: 0.05
        threshold: f64 [between(0.0, false, 1.0, false)];
        /// Runs before it may stop
        min_runs: i64 [at_least(1.0)] = "2";
    }
}
