//! The verdicts of several runs on their own numbers.

use crate::format::json::Pretty;
use aiperf_metrics::{Grade, Verdict};

/// The verdicts of several runs. Runs that gave none are missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunVerdicts {
    /// By the label of the run.
    pub runs: Vec<(String, Verdict)>,
}

impl RunVerdicts {
    /// The first run with the worst verdict.
    pub fn worst(&self) -> Option<(&str, &Verdict)> {
        let grade = self.grade()?;
        let worst = self.runs.iter().find(|(_, verdict)| verdict.grade == grade);
        worst.map(|(label, verdict)| (label.as_str(), verdict))
    }

    /// The worst verdict.
    pub fn grade(&self) -> Option<Grade> {
        self.runs.iter().map(|(_, verdict)| verdict.grade).max()
    }

    /// Whether a run warns about its numbers.
    pub fn has_doubts(&self) -> bool {
        self.runs.iter().any(|(_, verdict)| !verdict.is_trustworthy())
    }

    /// How many runs have each verdict: `2 trustworthy, 1 doubtful`.
    pub fn counts(&self) -> String {
        let counts = GRADES.iter().map(|grade| (self.count(*grade), grade.name()));
        let counts = counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
        counts.collect::<Vec<_>>().join(", ")
    }

    fn count(&self, grade: Grade) -> usize {
        self.runs.iter().filter(|(_, verdict)| verdict.grade == grade).count()
    }

    /// Adds the member `measurement`: the worst verdict, the number of runs with each, and the main reason of each run
    /// that has one. Nothing if no run gave a verdict.
    pub(crate) fn push(&self, json: &mut Pretty) {
        let Some(worst) = self.grade() else { return };
        json.key("measurement");
        json.begin_object();
        json.key("verdict");
        json.begin_object();
        json.text("is", worst.name());
        json.key("runs");
        json.begin_object();
        for grade in GRADES {
            json.key(grade.name());
            json.int(self.count(grade));
        }
        json.end_object();
        json.key("reasons");
        json.begin_list();
        for (label, verdict) in &self.runs {
            let Some(reason) = verdict.main_reason() else { continue };
            json.begin_object();
            json.text("run", label);
            json.text("is", verdict.grade.name());
            json.text("code", &reason.code);
            json.number("value", Some(reason.value));
            json.number("limit", Some(reason.limit));
            json.text("text", &reason.text);
            json.text("fix", &reason.fix);
            json.end_object();
        }
        json.end_list();
        json.end_object();
        json.end_object();
    }
}

const GRADES: [Grade; 3] = [Grade::Trustworthy, Grade::Doubtful, Grade::ClientBound];

/// What follows the name of a configuration whose runs are not trustworthy: ` (doubtful)`.
pub fn verdict_mark(grade: Option<Grade>) -> String {
    let grade = grade.filter(|grade| *grade != Grade::Trustworthy);
    grade.map(|grade| format!(" ({})", grade.name())).unwrap_or_default()
}
