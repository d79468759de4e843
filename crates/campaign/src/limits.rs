//! Limits that fail a run: checked against the metric registry before the run, judged after it, reported to CI.

use crate::aggregate::RunOutcome;
use crate::objectives::{FIXES, meant};
use aiperf_metrics::limits::WhyNot;
use aiperf_metrics::metric::Compute;
use aiperf_metrics::{Certainty, Grade, JudgedLimit, RunTraits, Summary, Verdict, check_limit, judge_limit};
use aiperf_plan::Plan;
use aiperf_report::{JunitCase, JunitOutcome, limit_caution, limit_line};
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

pub(crate) fn hint(limit: &Limit, why: WhyNot) -> Option<String> {
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
pub(crate) fn judge(limits: &[Limit], metrics: &Summary, certainty: &Certainty) -> Vec<JudgedLimit> {
    let stats = |tag: &str| metrics.get(tag).map(|metric| metric.stats);
    limits.iter().map(|limit| with_certainty(judge_limit(limit, stats), certainty)).collect()
}

fn with_certainty(judged: JudgedLimit, certainty: &Certainty) -> JudgedLimit {
    let known = certainty.of(&judged.limit.metric, judged.limit.stat());
    let bound = known.bound_ms.filter(|_| judged.unit == "ms");
    JudgedLimit { bound, too_few: known.too_few, ..judged }
}

/// The same for one run of several, possibly of an earlier command. `None` if it failed for another reason.
pub fn judge_outcome(limits: &[Limit], outcome: &RunOutcome) -> Option<Vec<JudgedLimit>> {
    let metrics = outcome.result.as_ref().ok()?;
    let stats = |tag: &str| metrics.iter().find(|metric| metric.tag == tag).map(|metric| metric.stats);
    Some(limits.iter().map(|limit| with_certainty(judge_limit(limit, stats), &outcome.certainty)).collect())
}

/// The JUnit cases of one run: one for the run, one per limit. If limits were not judged, each is an error. `place`: the
/// labels of the run among others. `verdict`: that of the run on its own numbers, which fails no case.
pub fn junit_cases(
    place: &[String],
    failure: Option<&str>,
    limits: &[Limit],
    judged: Option<&[JudgedLimit]>,
    verdict: Option<&Verdict>,
) -> Vec<JunitCase> {
    // A dot would separate classes.
    let parts = place.iter().map(|part| part.replace('.', "_"));
    let class = std::iter::once(CLASS.to_owned()).chain(parts).collect::<Vec<_>>().join(".");
    let case = |name: String, outcome| JunitCase::new(class.clone(), name, outcome);
    let error = || JunitOutcome::Error(failure.unwrap_or("the run was not judged").to_owned());
    let run = if failure.is_some() { error() } else { JunitOutcome::Passed };
    let run = JunitCase {
        properties: junit_properties(verdict),
        output: verdict.and_then(reasons),
        ..case("run".to_owned(), run)
    };
    let mut cases = vec![run];
    match judged {
        Some(judged) => cases.extend(judged.iter().map(|judged| {
            let outcome = match judged.fails() {
                true => JunitOutcome::Failed(limit_line(judged)),
                false => JunitOutcome::Passed,
            };
            // The text of a failure has it already.
            let output = limit_caution(judged).filter(|_| !judged.fails());
            JunitCase { output, ..case(format!("fail-if {}", judged.limit), outcome) }
        })),
        None => cases.extend(limits.iter().map(|limit| case(format!("fail-if {limit}"), error()))),
    }
    cases
}

/// The worst verdict of runs on their own numbers, as a property of a JUnit suite or case.
pub fn junit_properties<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>) -> Vec<(String, String)> {
    let worst = verdicts.into_iter().map(|verdict| verdict.grade).max();
    worst.map(|grade: Grade| ("verdict".to_owned(), grade.name().to_owned())).into_iter().collect()
}

/// The reasons for a verdict, each with a way out.
fn reasons(verdict: &Verdict) -> Option<String> {
    let lines = verdict.reasons.iter().map(|reason| format!("\n- {}\n  try: {}", reason.text, reason.fix));
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!("verdict: {}{lines}", verdict.grade.name()))
}

/// The first part of every class name of `profile`.
const CLASS: &str = "aiperf.profile";

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_metrics::{Reason, StatisticCertainty, Stats};
    use aiperf_types::SlaOp;

    fn limit(threshold: f64) -> Limit {
        Limit { metric: "request_latency".into(), stat: Some("p99".into()), op: SlaOp::Gt, threshold, unit: None }
    }

    #[test]
    fn the_run_and_each_limit_are_one_junit_case() {
        let limits = [limit(5.0), limit(9.0)];
        let stats = |tag: &str| (tag == "request_latency").then(|| Stats { p99: Some(7.0), ..Stats::default() });
        let judged: Vec<JudgedLimit> = limits.iter().map(|limit| judge_limit(limit, stats)).collect();
        let cases = junit_cases(&["rate_0.5".into(), "trial_0001".into()], None, &limits, Some(&judged), None);
        let passed: Vec<(&str, bool)> =
            cases.iter().map(|case| (case.name.as_str(), case.outcome == JunitOutcome::Passed)).collect();
        assert_eq!(
            passed,
            [("run", true), ("fail-if request_latency.p99>5", false), ("fail-if request_latency.p99>9", true)]
        );
        assert_eq!(cases[0].class, "aiperf.profile.rate_0_5.trial_0001");
        let failed = junit_cases(&[], Some("nothing was answered"), &limits, None, None);
        assert!(failed.len() == 3 && failed.iter().all(|case| matches!(case.outcome, JunitOutcome::Error(_))));
    }

    #[test]
    fn a_verdict_is_a_property_of_the_run_and_fails_no_case() {
        let (text, fix) = ("a worker waited for a core".to_owned(), "taskset".into());
        let reason = Reason { code: "core_wait".into(), grade: Grade::Doubtful, value: 0.2, limit: 0.01, text, fix };
        let doubtful = Verdict { grade: Grade::Doubtful, reasons: vec![reason] };
        let cases = junit_cases(&[], None, &[], Some(&[]), Some(&doubtful));
        let [run] = &cases[..] else { panic!("{cases:?}") };
        assert_eq!(run.outcome, JunitOutcome::Passed);
        assert_eq!(run.properties, [("verdict".to_owned(), "doubtful".to_owned())]);
        assert_eq!(run.output.as_deref(), Some("verdict: doubtful\n- a worker waited for a core\n  try: taskset"));
        let clean = junit_cases(&[], None, &[], Some(&[]), Some(&Verdict::default()));
        assert_eq!((clean[0].properties[0].1.as_str(), clean[0].output.as_ref()), ("trustworthy", None));
        let worst = junit_properties([&Verdict::default(), &doubtful, &Verdict::default()]);
        assert_eq!(worst, run.properties);
        assert_eq!(junit_properties(None), []);
    }

    #[test]
    fn a_limit_on_a_statistic_that_is_not_sure_names_it_also_where_it_is_met() {
        let mut certainty = Certainty::default();
        certainty.add("request_latency", "p99", StatisticCertainty { bound_ms: Some(12.0), too_few: Some(60) });
        let stats = |tag: &str| (tag == "request_latency").then(|| Stats { p99: Some(7.0), ..Stats::default() });
        let limits = [limit(5.0), limit(90.0)];
        let judged: Vec<JudgedLimit> =
            limits.iter().map(|limit| with_certainty(judge_limit(limit, stats), &certainty)).collect();
        let cases = junit_cases(&[], None, &limits, Some(&judged), None);
        let caution = "60 requests are not enough for p99; the measurement itself can be off by 12.00 ms";
        let JunitOutcome::Failed(words) = &cases[1].outcome else { panic!("{cases:?}") };
        assert!(words.ends_with(caution), "{words}");
        assert_eq!((&cases[2].outcome, cases[2].output.as_deref()), (&JunitOutcome::Passed, Some(caution)));
    }
}
