//! Limits that fail a run: whether they apply to it, and whether it kept them.

use crate::numbers::stats::Stats;
use crate::registry;
use crate::registry::flags::Flags;
use crate::registry::metric::{Compute, Fold, Metric, Population};
use crate::run::RunTraits;
use aiperf_types::Limit;

/// Why a limit does not apply to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    Unknown,
    /// The endpoint or configuration does not meet this condition of the metric.
    NotInThisRun(Flags),
    /// It has several statistics, and the limit names none.
    WhichStatistic,
    /// It has only these.
    NoSuchStatistic(&'static [&'static str]),
    /// It is shown in another unit: this one.
    OtherUnit(&'static str),
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => write!(f, "no such metric"),
            Self::NotInThisRun(lacking) => write!(f, "{}", lacking.meaning()),
            Self::WhichStatistic => write!(f, "has several statistics, and none is named"),
            Self::NoSuchStatistic(["avg"]) => write!(f, "has one value, which is its avg"),
            Self::NoSuchStatistic(known) => write!(f, "has no such statistic, only {}", known.join(", ")),
            Self::OtherUnit(unit) => write!(f, "is shown in {unit}, and limits are given in that unit"),
        }
    }
}

/// The metric of a limit, if the limit applies to such a run.
pub fn check_limit(limit: &Limit, traits: &RunTraits) -> Result<&'static Metric, WhyNot> {
    let metric = registry::find(&limit.metric).ok_or(WhyNot::Unknown)?;
    if let Some(lacking) = traits.lacks(metric) {
        return Err(WhyNot::NotInThisRun(lacking));
    }
    if !traits.exports(metric) {
        return Err(WhyNot::NotInThisRun(Flags::INTERNAL));
    }
    let known = metric.statistics();
    match limit.stat.as_deref() {
        None if known.len() > 1 => return Err(WhyNot::WhichStatistic),
        Some(stat) if !known.contains(&stat) => return Err(WhyNot::NoSuchStatistic(known)),
        _ => {}
    }
    let unit = metric.display.name();
    match limit.unit.as_deref() {
        Some(given) if given != unit => Err(WhyNot::OtherUnit(unit)),
        _ => Ok(metric),
    }
}

/// A limit with the measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedLimit {
    pub limit: Limit,
    /// The unit of its numbers.
    pub unit: &'static str,
    /// `None` if nothing was measured.
    pub observed: Option<f64>,
    /// How far the truth can be from the observed value, if that is known.
    pub bound: Option<f64>,
    /// The requests of the run, if they are too few for this statistic.
    pub too_few: Option<u64>,
}

/// Whether a run kept a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitVerdict {
    Met,
    Crossed,
    /// There is no value to judge.
    NotMeasured,
}

impl LimitVerdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Crossed => "crossed",
            Self::NotMeasured => "not measured",
        }
    }
}

impl JudgedLimit {
    pub fn verdict(&self) -> LimitVerdict {
        match self.observed {
            None => LimitVerdict::NotMeasured,
            Some(value) if self.limit.op.holds(value, self.limit.threshold) => LimitVerdict::Crossed,
            Some(_) => LimitVerdict::Met,
        }
    }

    /// Whether the run fails because of it. A limit without a value does not pass.
    pub fn fails(&self) -> bool {
        self.verdict() != LimitVerdict::Met
    }
}

/// Compares a limit with the statistics of a run, by the tag of their metric.
pub fn judge_limit(limit: &Limit, stats: impl Fn(&str) -> Option<Stats>) -> JudgedLimit {
    let metric = registry::find(&limit.metric);
    let observed = match (stats(&limit.metric), metric) {
        (Some(found), _) => found.get(limit.stat()),
        (None, Some(metric)) => where_absent(metric, limit.stat(), stats),
        (None, None) => None,
    };
    let unit = metric.map_or("", |metric| metric.display.name());
    JudgedLimit { limit: limit.clone(), unit, observed, bound: None, too_few: None }
}

/// The value of a metric that summaries omit if there is nothing to count: no failures means zero failures, not an
/// unknown number.
fn where_absent(metric: &Metric, stat: &str, stats: impl Fn(&str) -> Option<Stats>) -> Option<f64> {
    let has_any = |tag| stats(tag).and_then(|stats| stats.avg).is_some_and(|count| count > 0.0);
    if !has_any("completed_request_count") {
        return None;
    }
    let none_failed = !has_any("error_request_count");
    match metric.compute {
        Compute::Fold(Fold::Sum, _) if metric.population == Population::Failed => Some(0.0),
        Compute::Total(_) if metric.population == Population::Failed && none_failed => Some(0.0),
        Compute::Fold(Fold::Sum, _) if metric.tag == "request_count" => Some(0.0),
        Compute::ErrorAdjusted(base) if none_failed => stats(base)?.get(stat),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{EndpointKind, SlaOp};

    fn limit(metric: &str, stat: Option<&str>, unit: Option<&str>) -> Limit {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Limit { metric: metric.into(), stat: owned(stat), op: SlaOp::Gt, threshold: 5.0, unit: owned(unit) }
    }

    #[test]
    fn a_limit_applies_only_to_metrics_that_the_run_will_measure() {
        let plain = RunTraits::new(EndpointKind::Chat, false);
        let why = |metric, stat, unit| check_limit(&limit(metric, stat, unit), &plain).err();
        assert_eq!(why("request_latency", Some("p99"), None), None);
        assert_eq!(why("request_latency", Some("p99"), Some("ms")), None);
        assert_eq!(why("request_latency", Some("p99"), Some("s")), Some(WhyNot::OtherUnit("ms")));
        assert_eq!(why("request_throughput", None, Some("requests/sec")), None);
        assert_eq!(why("request_throughput", Some("p99"), None), Some(WhyNot::NoSuchStatistic(&["avg"])));
        assert_eq!(why("request_latency", None, None), Some(WhyNot::WhichStatistic));
        assert_eq!(why("nonsense", Some("p99"), None), Some(WhyNot::Unknown));
        assert_eq!(why("time_to_first_token", Some("p99"), None), Some(WhyNot::NotInThisRun(Flags::STREAMING_ONLY)));
        assert_eq!(why("goodput", None, None), Some(WhyNot::NotInThisRun(Flags::GOODPUT)));
    }

    #[test]
    fn a_value_beyond_a_limit_crosses_it_and_a_missing_value_does_not_pass() {
        let latency = |tag: &str| (tag == "request_latency").then(|| Stats { p99: Some(5.5), ..Stats::default() });
        let verdict = |metric, stat| judge_limit(&limit(metric, stat, None), latency).verdict();
        assert_eq!(verdict("request_latency", Some("p99")), LimitVerdict::Crossed);
        assert_eq!(verdict("request_latency", Some("p50")), LimitVerdict::NotMeasured);
        assert_eq!(verdict("error_request_count", None), LimitVerdict::NotMeasured);
        let exactly = Limit { threshold: 5.5, ..limit("request_latency", Some("p99"), None) };
        assert_eq!(judge_limit(&exactly, latency).verdict(), LimitVerdict::Met);
        assert_eq!(judge_limit(&Limit { op: SlaOp::Ge, ..exactly }, latency).verdict(), LimitVerdict::Crossed);
    }

    #[test]
    fn no_failures_means_zero_failures() {
        let all_well = |tag: &str| match tag {
            "completed_request_count" | "request_count" => Some(Stats::of(8.0)),
            "request_latency" => Some(Stats { p99: Some(7.0), ..Stats::default() }),
            _ => None,
        };
        let observed = |metric, stat| judge_limit(&limit(metric, stat, None), all_well).observed;
        assert_eq!(observed("error_request_count", None), Some(0.0));
        assert_eq!(observed("context_overflow_count", None), Some(0.0));
        assert_eq!(observed("total_error_isl", None), Some(0.0));
        assert_eq!(observed("adj_request_latency", Some("p99")), Some(7.0));
        assert_eq!(observed("usage_discrepancy_count", None), None);
        let failed = |tag: &str| match tag {
            "completed_request_count" | "error_request_count" => Some(Stats::of(8.0)),
            _ => None,
        };
        let observed = |metric, stat| judge_limit(&limit(metric, stat, None), failed).observed;
        assert_eq!(observed("request_count", None), Some(0.0));
        assert_eq!((observed("total_error_isl", None), observed("request_latency", Some("p99"))), (None, None));
    }
}
