//! Checks against the metric registry that runs will measure the metrics that limits and convergence need.

use crate::objectives::meant;
use crate::run_traits::traits;
use aiperf_metrics::check_limit;
use aiperf_metrics::limits::WhyNot;
use aiperf_plan::{CampaignPlan, ConvergenceMode};
use aiperf_types::{Limit, SlaOp};
use thiserror::Error;

/// A metric that no run would have.
#[derive(Debug, Error)]
#[error("{flag} {metric}{stat}: {why}\n  try: {way_out}")]
pub struct WatchedError {
    flag: &'static str,
    metric: String,
    stat: String,
    why: String,
    way_out: String,
}

/// Rejects metrics that cannot be watched. A misspelt metric would never converge, and would fail every cell.
pub fn check(plan: &CampaignPlan) -> Result<(), WatchedError> {
    if let Some(rule) = &plan.trials.convergence {
        // A whole distribution has no statistic.
        let stat = (rule.mode != ConvergenceMode::Distribution).then_some(rule.stat.as_str());
        watched(plan, "--convergence-metric", &rule.metric, stat)?;
    }
    let mut filters = plan.sweep.iter().flat_map(|sweep| &sweep.sla_filters);
    filters.try_for_each(|filter| watched(plan, "--search-sla", &filter.metric_tag, Some(&filter.stat)))
}

fn watched(plan: &CampaignPlan, flag: &'static str, metric: &str, stat: Option<&str>) -> Result<(), WatchedError> {
    let limit =
        Limit { metric: metric.to_owned(), stat: stat.map(str::to_owned), op: SlaOp::Lt, threshold: 0.0, unit: None };
    let why = match check_limit(&limit, &traits(&plan.base)) {
        Ok(_) | Err(WhyNot::WhichStatistic) => return Ok(()),
        Err(why) => why,
    };
    let way_out = match meant(metric).filter(|_| matches!(why, WhyNot::Unknown)) {
        Some(meant) => format!("{meant}; aiperf metrics lists every metric"),
        None => "aiperf metrics lists every metric and its statistics".to_owned(),
    };
    Err(WatchedError {
        flag,
        metric: metric.to_owned(),
        stat: stat.map(|stat| format!(" ({stat})")).unwrap_or_default(),
        why: why.to_string(),
        way_out,
    })
}
