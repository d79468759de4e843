//! Repeated runs.

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
    /// Repeated runs.
    MultiRun {
        /// Trials per configuration
        num_runs: i64 [between(1.0, true, 10.0, true)] = 1;
        /// Pause between trials; needs several trials
        cooldown_seconds: f64 [between(0.0, true, 86400.0, true)] = 0.0;
        /// Level of confidence intervals over trials
        confidence_level: f64 [between(0.0, false, 1.0, false)] = 0.95;
        /// Use seed 42 when none is given
        set_consistent_seed: bool = true;
        /// Derive a different seed for each trial
        vary_seed_per_trial: bool = false;
        /// Skip warmup from the second trial on
        disable_warmup_after_first: bool = true;
        /// Stop early when a metric has settled
        convergence: Convergence;
    }
    /// Stopping early.
    Convergence {
        /// Stop trials early once this metric settles
        metric: String;
        /// Statistic watched for convergence
        stat: ConvergenceStat = ConvergenceStat::Avg;
        /// Convergence test
        mode: ConvergenceMode = ConvergenceMode::CiWidth;
        /// Convergence bound; ci_width: 0.10, others: 0.05
        threshold: f64 [between(0.0, false, 1.0, false)];
        /// Minimum number of runs
        min_runs: i64 [at_least(1.0)] = 3;
    }
}
