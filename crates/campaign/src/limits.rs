//! Limits that fail a run: checked against the metric registry before the run, judged after it, reported to CI.

use crate::aggregate::RunOutcome;
use crate::objectives::{FIXES, meant};
use aiperf_metrics::limits::WhyNot;
use aiperf_metrics::metric::Compute;
use aiperf_metrics::{JudgedLimit, RunTraits, Summary, check_limit, judge_limit};
use aiperf_plan::Plan;
use aiperf_report::{JunitCase, JunitOutcome, limit_line};
use aiperf_types::Limit;
use thiserror::Error;

/// Limits that cannot be judged for this run, and the fix.
#[derive(Debug, Error)]
#[error("these limits (--fail-if, limits) cannot be checked in this run{faults}\n  try: {way_out}")]
pub struct LimitsError {
    faults: String,
    way_out: String,
}

/// Rejects limits on metrics that the run will not measure.
pub(crate) fn check(plan: &Plan, traits: &RunTraits) -> Result<(), LimitsError> {
    let (mut faults, mut hints) = (String::new(), Vec::new());
    for limit in &plan.metrics.limits {
        let (why, hint) = match check_limit(limit, traits) {
            Err(why) => (why.to_string(), hint(limit, why)),
            Ok(metric) => match metric.compute {
                Compute::NetworkAdjusted(_) | Compute::NetworkRtt if plan.network_latency.is_none() => {
                    let hint = format!("--network-latency-automatic for {}", limit.metric);
                    ("needs the round trip of the network".to_owned(), Some(hint))
                }
                Compute::Gpu if plan.gpu_telemetry.is_none() => {
                    let hint = format!("no --no-gpu-telemetry for {}", limit.metric);
                    ("needs what GPUs report".to_owned(), Some(hint))
                }
                _ => continue,
            },
        };
        faults.push_str(&format!("\n  {limit}: {why}"));
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    if faults.is_empty() {
        return Ok(());
    }
    hints.push("aiperf metrics lists every metric".to_owned());
    Err(LimitsError { faults, way_out: hints.join("; ") })
}

fn hint(limit: &Limit, why: WhyNot) -> Option<String> {
    let metric = &limit.metric;
    match why {
        WhyNot::Unknown => meant(metric).map(|meant| format!("{meant} for {metric}")),
        WhyNot::NotInThisRun(lacking) => {
            let (_, fix) = FIXES.iter().find(|(flag, _)| *flag == lacking)?;
            Some(format!("{fix} for {metric}"))
        }
        WhyNot::WhichStatistic => Some(format!("{metric}.p99 or {metric}.avg for {metric}")),
        WhyNot::NoSuchStatistic(["avg"]) => Some(format!("{metric} for {}", limit.subject())),
        WhyNot::NoSuchStatistic(_) => None,
        WhyNot::OtherUnit(unit) => Some(format!("a number of {unit} for {metric}")),
    }
}

/// Compares the results of a run with its limits.
pub(crate) fn judge(limits: &[Limit], metrics: &Summary) -> Vec<JudgedLimit> {
    let stats = |tag: &str| metrics.get(tag).map(|metric| metric.stats);
    limits.iter().map(|limit| judge_limit(limit, stats)).collect()
}

/// The same for one run of several, possibly of an earlier command. `None` if it failed for another reason.
pub fn judge_outcome(limits: &[Limit], outcome: &RunOutcome) -> Option<Vec<JudgedLimit>> {
    let metrics = outcome.result.as_ref().ok()?;
    let stats = |tag: &str| metrics.iter().find(|metric| metric.tag == tag).map(|metric| metric.stats);
    Some(limits.iter().map(|limit| judge_limit(limit, stats)).collect())
}

/// The JUnit cases of one run: one for the run, one per limit. Without a verdict, each limit is an error. `place`: the
/// labels of the run among others.
pub fn junit_cases(
    place: &[String],
    failure: Option<&str>,
    limits: &[Limit],
    judged: Option<&[JudgedLimit]>,
) -> Vec<JunitCase> {
    // A dot would separate classes.
    let parts = place.iter().map(|part| part.replace('.', "_"));
    let class = std::iter::once(CLASS.to_owned()).chain(parts).collect::<Vec<_>>().join(".");
    let case = |name: String, outcome| JunitCase { class: class.clone(), name, outcome };
    let error = || JunitOutcome::Error(failure.unwrap_or("the run was not judged").to_owned());
    let run = if failure.is_some() { error() } else { JunitOutcome::Passed };
    let mut cases = vec![case("run".to_owned(), run)];
    match judged {
        Some(judged) => cases.extend(judged.iter().map(|judged| {
            let outcome = match judged.fails() {
                true => JunitOutcome::Failed(limit_line(judged)),
                false => JunitOutcome::Passed,
            };
            case(format!("fail-if {}", judged.limit), outcome)
        })),
        None => cases.extend(limits.iter().map(|limit| case(format!("fail-if {limit}"), error()))),
    }
    cases
}

/// The first part of every class name of `profile`.
const CLASS: &str = "aiperf.profile";

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::Stats;
    use aiperf_types::SlaOp;

    fn limit(threshold: f64) -> Limit {
        Limit { metric: "request_latency".into(), stat: Some("p99".into()), op: SlaOp::Gt, threshold, unit: None }
    }

    #[test]
    fn the_run_and_each_limit_are_one_junit_case() {
        let limits = [limit(5.0), limit(9.0)];
        let stats = |tag: &str| (tag == "request_latency").then(|| Stats { p99: Some(7.0), ..Stats::default() });
        let judged: Vec<JudgedLimit> = limits.iter().map(|limit| judge_limit(limit, stats)).collect();
        let cases = junit_cases(&["rate_0.5".into(), "trial_0001".into()], None, &limits, Some(&judged));
        let passed: Vec<(&str, bool)> =
            cases.iter().map(|case| (case.name.as_str(), case.outcome == JunitOutcome::Passed)).collect();
        assert_eq!(
            passed,
            [("run", true), ("fail-if request_latency.p99>5", false), ("fail-if request_latency.p99>9", true)]
        );
        assert_eq!(cases[0].class, "aiperf.profile.rate_0_5.trial_0001");
        let failed = junit_cases(&[], Some("nothing was answered"), &limits, None);
        assert!(failed.len() == 3 && failed.iter().all(|case| matches!(case.outcome, JunitOutcome::Error(_))));
    }
}
