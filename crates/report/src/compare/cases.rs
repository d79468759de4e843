//! Limits as cases of a test suite.

use super::table::judgement_words;
use super::{CompareReport, LimitOutcome, Side};
use crate::junit::{JunitCase, JunitOutcome};

/// The verdict of each side on its own numbers, as properties of the suite: `verdict.A`.
pub fn compare_properties(report: &CompareReport) -> Vec<(String, String)> {
    let property = |side: &Side| Some((format!("verdict.{}", side.label), side.verdicts.grade()?.name().to_owned()));
    report.sides.iter().filter_map(property).collect()
}

/// The runs of a side that are not trustworthy, each with its main reason and a way out.
fn doubts(side: &Side) -> Option<String> {
    let grade = side.verdicts.grade().filter(|_| side.verdicts.has_doubts())?;
    let reasons = side.verdicts.runs.iter().filter_map(|(label, verdict)| {
        let reason = verdict.main_reason()?;
        Some(format!("\n- {label}: {}\n  try: {}", reason.text, reason.fix))
    });
    Some(format!("{}: the measurement is {}{}", side.label, grade.name(), reasons.collect::<String>()))
}

/// One case for each limit of each pair: failed where it is broken, skipped where the comparison is inconclusive.
pub fn compare_cases(report: &CompareReport) -> Vec<JunitCase> {
    let case = |(pair, judgement): (&super::Pair, &super::Judgement)| {
        let (first, second) = (&report.sides[pair.first].path, &report.sides[pair.second].path);
        let words = format!("{}\nA: {first}\nB: {second}", judgement_words(judgement, "A", "B", report.level));
        let outcome = match judgement.outcome {
            LimitOutcome::Within => JunitOutcome::Passed,
            LimitOutcome::Beyond => JunitOutcome::Failed(words),
            LimitOutcome::Undecided(_) => JunitOutcome::Skipped(words),
        };
        let name = format!("{} ({second} against {first})", judgement.rule);
        let sides = [&report.sides[pair.first], &report.sides[pair.second]];
        let doubts: Vec<String> = sides.into_iter().filter_map(doubts).collect();
        let output = (!doubts.is_empty()).then(|| doubts.join("\n"));
        JunitCase { output, ..JunitCase::new("aiperf.compare", name, outcome) }
    };
    report.judgements().map(case).collect()
}
