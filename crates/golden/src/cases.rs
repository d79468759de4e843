//! Cases as tests of their own: each has a name in the output, can be filtered by it, and runs beside the others.
//!
//! A crate with many cases has a test binary `cases` without the usual harness. Its `main` hands a list of trials to
//! [`main`].

use crate::{GoldenKind, is_own_root, name};
use libtest_mimic::{Arguments, Completion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

pub use libtest_mimic::Trial;

/// Runs the trials that the command line asks for: this many at once, unless it gives a number.
pub fn main(at_once: usize, trials: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(at_once);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A trial that passes unless it panics. A reason that it returns makes it ignored.
pub fn trial(name: impl Into<String>, check: impl FnOnce() -> Option<String> + Send + 'static) -> Trial {
    let completion = |reason: Option<String>| reason.map_or(Completion::Completed, Completion::ignored_with);
    Trial::ignorable_test(name, move || Ok(completion(check())))
}

/// A trial of a function that is no case, named by its path: a test of what the cases need.
pub fn test(check: impl FnOnce() + Send + 'static) -> Trial {
    let path = std::any::type_name_of_val(&check);
    let (_, name) = path.split_once("::").unwrap_or(("", path));
    trial(name, move || {
        check();
        None
    })
}

/// The name of a case as a path has it: letters, digits and underscores.
pub fn slug(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(80).collect();
    plain.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// The cases of a kind, each named `golden::<kind>::<case>`.
pub struct Cases {
    kind: &'static str,
    /// How often a name occurred.
    names: BTreeMap<String, usize>,
    trials: Vec<Trial>,
    has_run: bool,
}

impl Cases {
    pub fn of(kind: &GoldenKind) -> Self {
        Self { kind: kind.name, names: BTreeMap::new(), trials: Vec::new(), has_run: false }
    }

    /// A name of its own for a case.
    fn named(&mut self, case: &str) -> String {
        let name = format!("golden::{}::{}", self.kind.to_lowercase(), slug(case));
        let count = self.names.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        if *count == 1 { name } else { format!("{name}_{count}") }
    }

    /// Adds a case that is skipped for this reason, or else run.
    pub fn add(&mut self, case: &str, skip: Option<String>, check: impl FnOnce() -> Option<String> + Send + 'static) {
        self.has_run |= skip.is_none();
        let name = self.named(case);
        self.trials.push(trial(name, move || skip.or_else(check)));
    }

    /// The trials. In the project's own root, a kind of which no case runs is one that fails.
    pub fn trials(self) -> Vec<Trial> {
        self.trials_in(is_own_root())
    }

    fn trials_in(mut self, is_own_root: bool) -> Vec<Trial> {
        if is_own_root && !self.has_run {
            let name = format!("golden::{}", self.kind.to_lowercase());
            self.trials.push(trial(name, || panic!("no case ran")));
        }
        self.trials
    }
}

impl GoldenKind {
    /// Every case of this kind as a trial.
    pub fn trials(
        &self,
        skip: impl Fn(&Value) -> Option<String>,
        check: impl Fn(&Value) + Send + Sync + 'static,
    ) -> Vec<Trial> {
        let (check, mut cases) = (Arc::new(check), Cases::of(self));
        for (list, case, reason) in self.cases(&self.lists(), skip) {
            let (check, owned) = (check.clone(), case.clone());
            cases.add(&format!("{}_{}", list.name(), name(case)), reason, move || {
                check(&owned);
                None
            });
        }
        cases.trials()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Found;

    const KIND: GoldenKind = GoldenKind { name: "PAGE", areas: &[], readers: &[], found: Found::Named };

    /// The names of trials, and how a run of them ends: passed, failed, ignored.
    fn outcome(trials: Vec<Trial>) -> (Vec<String>, [u64; 3]) {
        let names = trials.iter().map(|trial| trial.name().to_owned()).collect();
        let found = libtest_mimic::run(&Arguments::from_iter(["cases", "--logfile", "/dev/null"]), trials);
        (names, [found.num_passed, found.num_failed, found.num_ignored])
    }

    #[test]
    fn each_case_is_a_trial_with_a_name_of_its_own() {
        let mut cases = Cases::of(&KIND);
        cases.add("a page, cut", None, || None);
        cases.add("a page (cut)", None, || panic!("wrong"));
        cases.add("late", None, || Some("found while it ran".to_owned()));
        cases.add("skipped", Some("a reason".to_owned()), || panic!("it is not run"));
        let names = ["a_page_cut", "a_page_cut_2", "late", "skipped"].map(|name| format!("golden::page::{name}"));
        assert_eq!(outcome(cases.trials_in(true)), (names.to_vec(), [1, 1, 2]));
    }

    #[test]
    fn a_test_that_is_no_case_has_the_name_of_its_function() {
        let trial = test(each_case_is_a_trial_with_a_name_of_its_own);
        assert_eq!(trial.name(), "cases::tests::each_case_is_a_trial_with_a_name_of_its_own");
    }

    #[test]
    fn a_kind_of_which_no_case_runs_fails_in_the_own_root_alone() {
        let cases = || {
            let mut cases = Cases::of(&KIND);
            cases.add("skipped", Some("a reason".to_owned()), || None);
            cases
        };
        assert_eq!(outcome(cases().trials_in(true)).1, [0, 1, 1]);
        assert_eq!(outcome(cases().trials_in(false)).1, [0, 0, 1]);
    }
}
