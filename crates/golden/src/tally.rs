//! What became of the cases of a test.

use crate::{CaseList, GoldenKind, is_own_root, name};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of the cases of a test: how many of each kind ran, which failed, how many were skipped and why.
#[derive(Debug)]
pub struct Tally {
    /// The kinds of the test, and how many cases of each ran. The last one is the current one.
    kinds: Vec<(&'static str, usize)>,
    failures: Vec<String>,
    skipped: BTreeMap<String, usize>,
    /// Why a kind may have no case that runs.
    why_none: Option<&'static str>,
}

impl Tally {
    pub fn of(kind: &GoldenKind) -> Self {
        let (kinds, failures, skipped) = (vec![(kind.name, 0)], Vec::new(), BTreeMap::new());
        Self { kinds, failures, skipped, why_none: None }
    }

    /// Declares why no case may run. Without it, a kind of which none ran fails in the project's own root.
    pub fn with_none(self, why: &'static str) -> Self {
        Self { why_none: Some(why), ..self }
    }

    /// Counts the cases that follow as cases of this kind.
    pub fn begin(&mut self, kind: &GoldenKind) {
        let known = self.kinds.iter().position(|(name, _)| *name == kind.name);
        let current = known.map_or((kind.name, 0), |at| self.kinds.remove(at));
        self.kinds.push(current);
    }

    /// Runs one case; a failed assertion in it is kept, and the next case runs.
    pub fn run(&mut self, case: impl Into<String>, check: impl FnOnce()) {
        if let Some((_, ran)) = self.kinds.last_mut() {
            *ran += 1;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(check)) {
            self.failures.push(format!("{}: {}", case.into(), panic_text(&*panic)));
        }
    }

    /// Runs the cases of these lists that are of a kind; `skip` gives the reason where one cannot be run.
    pub fn run_lists(
        &mut self,
        kind: &GoldenKind,
        lists: &[CaseList],
        skip: impl Fn(&Value) -> Option<String>,
        check: impl Fn(&Value),
    ) {
        for (list, case, reason) in kind.cases(lists, skip) {
            match reason {
                Some(reason) => self.skip(reason),
                None => self.run(format!("{}: {}", list.name(), name(case)), || check(case)),
            }
        }
    }

    /// Counts a case that cannot be run, by the reason.
    pub fn skip(&mut self, reason: impl Into<String>) {
        *self.skipped.entry(reason.into()).or_default() += 1;
    }

    /// Prints the counts, and fails with every failure there was, or with the kinds of which no case ran.
    #[track_caller]
    pub fn finish(self) {
        println!("{}", self.counts());
        if let Err(fault) = self.verdict(is_own_root()) {
            panic!("{fault}");
        }
    }

    fn title(&self) -> String {
        let mut names: Vec<&str> = self.kinds.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.join(", ")
    }

    fn ran(&self) -> usize {
        self.kinds.iter().map(|(_, ran)| ran).sum()
    }

    fn counts(&self) -> String {
        let (failed, skipped) = (self.failures.len(), self.skipped.values().sum::<usize>());
        let counts = format!("{}: {} cases run, {failed} failed, {skipped} skipped", self.title(), self.ran());
        let reasons = self.skipped.iter().map(|(reason, count)| format!("\n  skipped {count}: {reason}"));
        let none = self.why_none.filter(|_| self.ran() == 0).map(|why| format!("\n  none ran: {why}"));
        reasons.chain(none).fold(counts, |text, line| text + &line)
    }

    /// What is wrong. Another root may lack a kind, or hold only cases of it that are skipped.
    fn verdict(&self, is_own_root: bool) -> Result<(), String> {
        let (title, failed) = (self.title(), self.failures.len());
        if failed > 0 {
            return Err(format!("{title}: {failed} of {} cases failed\n{}", self.ran(), self.failures.join("\n")));
        }
        match self.kinds.iter().find(|(_, ran)| *ran == 0) {
            Some((kind, _)) if is_own_root && self.why_none.is_none() => Err(format!("{kind}: no case ran")),
            _ => Ok(()),
        }
    }
}

impl GoldenKind {
    /// Runs every case of this kind, and reports the result.
    #[track_caller]
    pub fn run(&self, skip: impl Fn(&Value) -> Option<String>, check: impl Fn(&Value)) {
        let mut tally = Tally::of(self);
        tally.run_lists(self, &self.lists(), skip, check);
        tally.finish();
    }
}

/// The message of a failed assertion.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    text.unwrap_or_else(|| "failed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Found, has};
    use serde_json::json;
    use std::path::PathBuf;

    const NUMBER: GoldenKind =
        GoldenKind { name: "NUMBER", areas: &[], readers: &[], found: Found::Case(|case| has(case, "number")) };
    const TEXT: GoldenKind = GoldenKind { name: "TEXT", ..NUMBER };

    fn list(content: Value) -> CaseList {
        CaseList { path: PathBuf::from("any.json"), content }
    }

    #[test]
    fn every_case_runs_and_all_failures_are_listed() {
        let mut tally = Tally::of(&NUMBER);
        for number in 0..4 {
            tally.run(format!("case {number}"), || assert!(number % 2 == 0, "{number} is odd"));
        }
        for is_own_root in [true, false] {
            let fault = tally.verdict(is_own_root).unwrap_err();
            assert!(fault.contains("2 of 4") && fault.contains("1 is odd") && fault.contains("3 is odd"), "{fault}");
        }
    }

    #[test]
    fn cases_of_another_kind_are_skipped() {
        let mut tally = Tally::of(&NUMBER);
        let lists = [list(json!([{"number": 1}, {"text": ""}]))];
        tally.run_lists(&NUMBER, &lists, |_| None, |case| assert_eq!(case["number"], 1));
        assert_eq!(tally.counts(), "NUMBER: 1 cases run, 0 failed, 1 skipped\n  skipped 1: a case of another kind");
        assert_eq!(tally.verdict(true), Ok(()));
    }

    #[test]
    fn a_kind_of_which_no_case_ran_fails_in_the_own_root_alone() {
        let mut tally = Tally::of(&NUMBER);
        tally.run_lists(&NUMBER, &[list(json!([{"number": 1}]))], |_| Some("a reason".to_owned()), |_| {});
        assert_eq!(tally.verdict(true), Err("NUMBER: no case ran".to_owned()));
        assert_eq!(tally.verdict(false), Ok(()));
    }

    #[test]
    fn each_kind_of_a_test_must_run() {
        let mut tally = Tally::of(&NUMBER);
        tally.begin(&TEXT);
        tally.run("a text", || {});
        assert_eq!(tally.verdict(true), Err("NUMBER: no case ran".to_owned()));
        tally.begin(&NUMBER);
        tally.run("a number", || {});
        assert_eq!(tally.verdict(true), Ok(()));
    }

    #[test]
    fn a_test_may_declare_why_no_case_runs() {
        let tally = Tally::of(&NUMBER).with_none("numbers come later");
        assert_eq!(tally.verdict(true), Ok(()));
        assert!(tally.counts().ends_with("none ran: numbers come later"));
    }
}
