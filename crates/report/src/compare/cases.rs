//! Limits as cases of a test suite.

use super::table::judgement_words;
use super::{CompareReport, Outcome};
use crate::junit::{JunitCase, JunitOutcome};

/// One case for each limit of each pair: failed where it is broken, skipped where the comparison is inconclusive.
pub fn compare_cases(report: &CompareReport) -> Vec<JunitCase> {
    let case = |(pair, judgement): (&super::Pair, &super::Judgement)| {
        let (first, second) = (&report.sides[pair.first].path, &report.sides[pair.second].path);
        let words = format!("{}\nA: {first}\nB: {second}", judgement_words(judgement, "A", "B", report.level));
        JunitCase {
            class: "aiperf.compare".to_owned(),
            name: format!("{} ({second} against {first})", judgement.rule),
            outcome: match judgement.outcome {
                Outcome::Within => JunitOutcome::Passed,
                Outcome::Beyond => JunitOutcome::Failed(words),
                Outcome::Undecided(_) => JunitOutcome::Skipped(words),
            },
        }
    };
    report.judgements().map(case).collect()
}
