//! What became of the cases of a test.

use crate::{File, Shape, name};
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What became of the cases of a test: how many ran, which failed, how many were skipped and why.
#[derive(Debug)]
pub struct Tally {
    title: String,
    ran: usize,
    failures: Vec<String>,
    skipped: BTreeMap<String, usize>,
    unread: Vec<String>,
    /// Cases were looked for by their shape: finding none in a crate's own folder is a fault of the test.
    searched: bool,
}

impl Tally {
    pub fn new(title: impl Into<String>) -> Self {
        let (title, failures, skipped, unread) = (title.into(), Vec::new(), BTreeMap::new(), Vec::new());
        Self { title, ran: 0, failures, skipped, unread, searched: false }
    }

    /// The same, where finding no case in a crate's own folder is a fault of the test.
    pub fn searching(title: impl Into<String>) -> Self {
        Self { searched: true, ..Self::new(title) }
    }

    /// Runs one case; a failed assertion in it is kept, and the next case runs.
    pub fn run(&mut self, case: impl Into<String>, check: impl FnOnce()) {
        self.ran += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(check)) {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            self.failures.push(format!("{}: {}", case.into(), text.unwrap_or_else(|| "failed".to_owned())));
        }
    }

    /// Runs the cases of these files that look so; `skip` gives the reason where one cannot be run.
    pub fn run_files(
        &mut self,
        files: &[File],
        shape: Shape,
        skip: impl Fn(&Value) -> Option<String>,
        check: impl Fn(&Value),
    ) {
        self.searched = true;
        for file in files {
            for case in file.cases() {
                let reason = if shape(case) { skip(case) } else { Some("a case of another shape".to_owned()) };
                match reason {
                    Some(reason) => self.skip(reason),
                    None => self.run(format!("{}: {}", file.name(), name(case)), || check(case)),
                }
            }
        }
    }

    /// Counts a case that cannot be run, by the reason.
    pub fn skip(&mut self, reason: impl Into<String>) {
        *self.skipped.entry(reason.into()).or_default() += 1;
    }

    /// Notes a file that nothing here can read.
    pub fn leave_unread(&mut self, file: &File) {
        self.unread.push(format!("{} ({} cases)", file.name(), file.cases().len()));
    }

    /// Prints the counts, and fails with every failure there was.
    #[track_caller]
    pub fn finish(self) {
        let skipped: usize = self.skipped.values().sum();
        let failed = self.failures.len();
        println!(
            "{}: {} cases run, {failed} failed, {skipped} skipped, {} files unread",
            self.title,
            self.ran,
            self.unread.len()
        );
        self.skipped.iter().for_each(|(reason, count)| println!("  skipped {count}: {reason}"));
        self.unread.iter().for_each(|file| println!("  unread: {file}"));
        let (title, list) = (&self.title, self.failures.join("\n"));
        assert!(failed == 0, "{title}: {failed} of {} cases failed\n{list}", self.ran);
        let is_from_outside = std::env::var_os("AIPERF_GOLDEN_DIR").is_some();
        assert!(self.ran > 0 || !self.searched || is_from_outside, "{title}: no case ran");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::has;
    use std::path::PathBuf;

    #[test]
    fn every_case_runs_and_all_failures_are_listed() {
        let mut tally = Tally::new("numbers");
        for number in 0..4 {
            tally.run(format!("case {number}"), || assert!(number % 2 == 0, "{number} is odd"));
        }
        tally.skip("a reason");
        assert_eq!((tally.ran, tally.failures.len()), (4, 2));
        let panic = catch_unwind(AssertUnwindSafe(|| tally.finish())).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("2 of 4") && text.contains("1 is odd") && text.contains("3 is odd"), "{text}");
    }

    #[test]
    fn files_are_found_by_what_their_cases_look_like() {
        let file = |content| File { path: PathBuf::from("any.json"), content };
        let listed = file(serde_json::json!([{"input": 1}, {"expected": {"error": null}}]));
        let named = file(serde_json::json!({"cases": [{"input": 1}]}));
        let shape: Shape = |case| has(case, "expected.error");
        assert!(listed.has_case_of(shape) && !named.has_case_of(shape));
        let mut tally = Tally::new("shapes");
        tally.run_files(&[listed], shape, |_| None, |case| assert!(case["expected"]["error"].is_null()));
        assert_eq!((tally.ran, tally.skipped.values().sum::<usize>(), tally.failures.len()), (1, 1, 0));
    }

    #[test]
    fn a_search_that_runs_nothing_in_the_own_folder_fails() {
        let mut tally = Tally::new("nothing");
        let file = File { path: PathBuf::from("any.json"), content: serde_json::json!([{"input": 1}]) };
        tally.run_files(&[file], |_| true, |_| Some("a reason".to_owned()), |_| {});
        let failed = catch_unwind(AssertUnwindSafe(|| tally.finish())).is_err();
        assert_eq!(failed, std::env::var_os("AIPERF_GOLDEN_DIR").is_none());
    }
}
