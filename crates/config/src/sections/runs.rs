//! Several runs of the same.

use crate::choice::choices;
use crate::range::{at_least, between};
use crate::setting::section;

choices! {
    /// Statistic that must settle.
    ConvergenceStat {
        Avg = "avg",
        P50 = "p50",
        P90 = "p90",
        P95 = "p95",
        P99 = "p99",
        Min = "min",
        Max = "max",
    }
    /// What settling means.
    ConvergenceMode {
        CiWidth = "ci_width",
        Cv = "cv",
        Distribution = "distribution",
    }
}

section! {
    /// Several runs of the same.
    MultiRun {
        /// How many
        num_runs: i64 [between(1.0, true, 10.0, true)] = 1;
        /// Seconds between two
        cooldown_seconds: f64 [between(0.0, true, 86400.0, true)] = 0.0;
        /// Level of confidence intervals
        confidence_level: f64 [between(0.0, false, 1.0, false)] = 0.95;
        /// Use seed 42 when none is given
        set_consistent_seed: bool = true;
        /// Give each run a seed of its own
        vary_seed_per_trial: bool = false;
        /// Warm up before the first run only
        disable_warmup_after_first: bool = true;
        /// Stop early when a metric has settled
        convergence: Convergence;
    }
    /// Stopping early.
    Convergence {
        /// Metric that must settle
        metric: String;
        /// Its statistic
        stat: ConvergenceStat = ConvergenceStat::Avg;
        /// What settling means
        mode: ConvergenceMode = ConvergenceMode::CiWidth;
        /// Below which it has settled; ci_width: 0.10, others: 0.05
        threshold: f64 [between(0.0, false, 1.0, false)];
        /// Runs before it may stop
        min_runs: i64 [at_least(1.0)] = 2;
    }
}
