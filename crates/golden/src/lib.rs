//! Golden data for tests: cases recorded from AIPerf, and the rules by which they run.
//!
//! An area is a folder: `data/<area>` of this crate, or `$AIPERF_GOLDEN_DIR/<area>`, which may contain other cases of
//! the same kinds under other file names. So a test finds files by the shape of their cases, never by a list of names.
//! It runs every case, and lists all failures of a file at once. It skips what it cannot run by a condition on the
//! case's content, with the reason.
//!
//! # Layout
//! - [`Area`], [`File`], [`own_path`]: where cases are
//! - [`Shape`]: the shape of a kind of cases; [`has`]: whether a case has a member
//! - [`skips_mark`]: a decision that applies to every kind of text
//! - [`Tally`]: the results of cases
//! - `lists`: the lists of cases in files
//! - [`respelled`]: texts with one spelling of numbers

mod lists;
mod numbers;

pub use numbers::respelled;
use serde_json::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A folder of golden data.
#[derive(Clone, Debug)]
pub struct Area {
    folder: PathBuf,
}

/// One JSON file of golden data.
#[derive(Clone, Debug)]
pub struct File {
    pub path: PathBuf,
    pub content: Value,
}

/// A file or folder of the project's own golden data, wherever `AIPERF_GOLDEN_DIR` points.
pub fn own_path(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/data")).join(path)
}

/// Whether a case has the shape of a kind: how a test finds its files.
pub type Shape = fn(&Value) -> bool;

/// Whether a case has a member, by its path: `expected.error`. A null member counts.
pub fn has(case: &Value, path: &str) -> bool {
    path.split('.').try_fold(case, |value, key| value.get(key)).is_some()
}

/// The reason to skip a case with a text that begins with a byte order mark, because AIPerf reads it differently;
/// `None` if there is no such text.
pub fn skips_mark(texts: &Value) -> Option<String> {
    fn is_marked(value: &Value) -> bool {
        match value {
            Value::String(text) => text.starts_with('\u{feff}'),
            Value::Array(items) => items.iter().any(is_marked),
            Value::Object(members) => members.values().any(is_marked),
            _ => false,
        }
    }
    is_marked(texts).then(|| "a byte order mark is skipped".to_owned())
}

impl Area {
    pub fn of(area: &str) -> Self {
        let root = std::env::var_os("AIPERF_GOLDEN_DIR").map_or_else(|| own_path(""), PathBuf::from);
        Self { folder: root.join(area) }
    }

    /// The folder, which may not exist.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every JSON file directly in the folder, by name. A missing folder has none.
    pub fn files(&self) -> Vec<File> {
        self.paths().into_iter().filter(|path| is_json(path)).map(File::read).collect()
    }

    /// The files and folders directly in the folder, by name.
    pub fn paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }

    /// The lists of cases with a case of this shape.
    pub fn files_of(&self, shape: Shape) -> Vec<File> {
        self.lists().into_iter().filter(|file| file.has_case_of(shape)).collect()
    }

    /// Runs every case of this shape, in any list that has one, and prints the results.
    #[track_caller]
    pub fn run_cases(
        &self,
        title: &str,
        shape: Shape,
        skip: impl Fn(&Value) -> Option<String>,
        check: impl Fn(&Value),
    ) {
        let mut tally = Tally::new(title);
        tally.run_files(&self.files_of(shape), shape, skip, check);
        tally.finish();
    }

    /// Prints the lists without a case of these shapes: those that a crate does not read.
    pub fn print_unread(&self, title: &str, shapes: &[Shape]) {
        let is_read = |file: &File| shapes.iter().any(|shape| file.has_case_of(*shape));
        let (read, unread): (Vec<File>, Vec<File>) = self.lists().into_iter().partition(is_read);
        println!("{title}: {} lists read, {} unread", read.len(), unread.len());
        unread.iter().for_each(|file| println!("  unread: {} ({} cases)", file.name(), file.cases().len()));
    }
}

fn is_json(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|ending| ending == "json")
}

impl File {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let content = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, content }
    }

    /// The file's name without its ending.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The list under `cases`, or the whole document if it is a list; empty if there is none.
    pub fn cases(&self) -> &[Value] {
        let list = self.content.as_array().or_else(|| self.content["cases"].as_array());
        list.map_or(&[], Vec::as_slice)
    }

    fn has_case_of(&self, shape: Shape) -> bool {
        self.cases().iter().any(shape)
    }
}

/// The name of a case in its file, for messages only: nothing may depend on it.
pub fn name(case: &Value) -> String {
    let named = ["name", "id", "case"].iter().find_map(|key| case[*key].as_str());
    named.map_or_else(|| case.to_string().chars().take(120).collect(), str::to_owned)
}

/// The results of the cases of a test: how many ran, which failed, how many were skipped and why.
#[derive(Debug)]
pub struct Tally {
    title: String,
    ran: usize,
    failures: Vec<String>,
    skipped: BTreeMap<String, usize>,
    unread: Vec<String>,
    /// Cases were searched by their shape: finding none in the project's own folder is a fault of the test.
    searched: bool,
}

impl Tally {
    pub fn new(title: impl Into<String>) -> Self {
        let (title, failures, skipped, unread) = (title.into(), Vec::new(), BTreeMap::new(), Vec::new());
        Self { title, ran: 0, failures, skipped, unread, searched: false }
    }

    /// The same, but finding no case in the project's own folder is a fault of the test.
    pub fn searching(title: impl Into<String>) -> Self {
        Self { searched: true, ..Self::new(title) }
    }

    /// Runs one case; a failed assertion is recorded, and the next case runs.
    pub fn run(&mut self, case: impl Into<String>, check: impl FnOnce()) {
        self.ran += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(check)) {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            self.failures.push(format!("{}: {}", case.into(), text.unwrap_or_else(|| "failed".to_owned())));
        }
    }

    /// Runs the cases of these files with this shape; `skip` returns the reason if one cannot be run.
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

    /// Records a file that no test here can read.
    pub fn leave_unread(&mut self, file: &File) {
        self.unread.push(format!("{} ({} cases)", file.name(), file.cases().len()));
    }

    /// Prints the counts, and fails with all failures.
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
    fn files_are_found_by_the_shape_of_their_cases() {
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

    #[test]
    fn a_mark_is_found_in_every_text() {
        assert!(skips_mark(&serde_json::json!({"a": ["x", "\u{feff}{}"]})).is_some());
        assert!(skips_mark(&serde_json::json!({"a": ["x\u{feff}", 1]})).is_none());
    }

    #[test]
    fn a_missing_folder_has_no_files() {
        assert!(Area::of("none").files().is_empty());
    }
}
