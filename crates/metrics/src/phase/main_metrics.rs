//! The main metrics: those whose statistics have an error bound and a confidence interval.

use crate::facts::{Fact, Facts};
use crate::numbers::stats::Stats;
use crate::registry::families::token_divisor;
use aiperf_statistics::Statistic;

/// A main metric, and how far one of its values can be from the truth, in the unit of the widths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MainMetric {
    pub(crate) tag: &'static str,
    /// How much smaller the true value can be than this one.
    pub(crate) earlier: fn(&Widths, f64) -> f64,
    /// How much larger.
    pub(crate) later: fn(&Widths) -> f64,
}

pub(crate) const MAIN_METRICS: [MainMetric; 3] = [
    MainMetric { tag: "time_to_first_token", earlier: |widths, _| widths.first, later: |_| 0.0 },
    MainMetric {
        tag: "inter_token_latency",
        // The last content is never before the first.
        earlier: |widths, value| (widths.last / widths.token_divisor).min(value),
        later: |widths| widths.first / widths.token_divisor,
    },
    MainMetric { tag: "request_latency", earlier: |widths, _| widths.last, later: |_| 0.0 },
];

/// A statistic of the main metrics, by the name that exports use.
pub(crate) struct MainStatistic {
    pub(crate) name: &'static str,
    pub(crate) statistic: Statistic,
    pub(crate) of: fn(&Stats) -> Option<f64>,
}

pub(crate) const MAIN_STATISTICS: [MainStatistic; 5] = [
    MainStatistic { name: "avg", statistic: Statistic::Mean, of: |stats| stats.avg },
    MainStatistic { name: "p50", statistic: Statistic::Percentile(50.0), of: |stats| stats.p50 },
    MainStatistic { name: "p90", statistic: Statistic::Percentile(90.0), of: |stats| stats.p90 },
    MainStatistic { name: "p95", statistic: Statistic::Percentile(95.0), of: |stats| stats.p95 },
    MainStatistic { name: "p99", statistic: Statistic::Percentile(99.0), of: |stats| stats.p99 },
];

/// Why an instant is uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Any,
    /// This client read late, or without a stamp.
    Ours,
    Merged,
    Unstamped,
}

/// How much earlier the first and the last content of a record may have arrived than reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Widths {
    first: f64,
    last: f64,
    token_divisor: f64,
}

impl Widths {
    pub(crate) const FACTS: [Fact; 6] =
        [Fact::FirstWidth, Fact::LastWidth, Fact::WidthCauses, Fact::Output, Fact::Reasoning, Fact::FirstChunkTokens];

    /// Whether an instant of a record is uncertain.
    #[inline]
    pub(crate) fn is_uncertain(facts: &Facts) -> bool {
        facts.get(Fact::FirstWidth).or(facts.get(Fact::LastWidth)).is_some()
    }

    /// Those of a record by a cause, if it has any. `scale`: from nanoseconds to another unit.
    #[inline]
    pub(crate) fn of(facts: &Facts, cause: Cause, scale: f64) -> Option<Self> {
        let causes = facts.get(Fact::WidthCauses).unwrap_or(0);
        let width = |fact: Fact, late: u64, unstamped: u64| {
            let counts = match cause {
                Cause::Any => true,
                Cause::Ours => causes & (late | unstamped) != 0,
                Cause::Merged => causes & unstamped == 0,
                Cause::Unstamped => causes & unstamped != 0,
            };
            facts.get(fact).filter(|_| counts).map_or(0.0, |width| width as f64 * scale)
        };
        let first = width(Fact::FirstWidth, Facts::FIRST_LATE, Facts::FIRST_UNSTAMPED);
        let last = width(Fact::LastWidth, Facts::LAST_LATE, Facts::LAST_UNSTAMPED);
        // Records without a divisor have no inter-token latency.
        let token_divisor = || token_divisor(facts).unwrap_or(1) as f64;
        (first > 0.0 || last > 0.0).then(|| Self { first, last, token_divisor: token_divisor() })
    }
}
