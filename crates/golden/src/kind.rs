//! A kind of golden data: how it is known, and which crates' tests read it.

use crate::{Area, CaseList, GoldenFile, Shape};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A row of the table in `kinds`.
#[derive(Debug)]
pub struct GoldenKind {
    /// Its name in the table.
    pub name: &'static str,
    /// The folders it lies in; the files or folders themselves where tests open them by name.
    pub areas: &'static [&'static str],
    /// The crates whose tests read it.
    pub readers: &'static [&'static str],
    pub found: Found,
}

/// How data of a kind is found in its areas. Under `AIPERF_GOLDEN_DIR` files have other names, so that content decides.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A case in a list of cases.
    Case(Shape),
    /// A list of cases, by all of them.
    List(fn(&[Value]) -> bool),
    /// A whole file, at any depth.
    Whole(fn(&GoldenFile) -> bool),
    /// Files that tests open by their names, wherever `AIPERF_GOLDEN_DIR` points.
    Named,
}

impl GoldenKind {
    /// Whether a case looks so.
    pub fn is(&self, case: &Value) -> bool {
        matches!(self.found, Found::Case(shape) if shape(case))
    }

    /// The lists of cases that hold some of this kind.
    pub fn lists(&self) -> Vec<CaseList> {
        self.areas.iter().flat_map(|area| Area::of(area).lists()).filter(|list| self.is_in(list.cases())).collect()
    }

    /// The cases of lists, each with its list and the reason to skip it, if there is one.
    pub(crate) fn cases<'a>(
        &'a self,
        lists: &'a [CaseList],
        skip: impl Fn(&Value) -> Option<String> + 'a,
    ) -> impl Iterator<Item = (&'a CaseList, &'a Value, Option<String>)> {
        let cases = lists.iter().flat_map(|list| list.cases().iter().map(move |case| (list, case)));
        cases.map(move |(list, case)| {
            let reason = if self.is(case) { skip(case) } else { Some("a case of another kind".to_owned()) };
            (list, case, reason)
        })
    }

    /// The whole files of this kind, by path.
    pub fn whole_files(&self) -> Vec<GoldenFile> {
        let paths = self.areas.iter().flat_map(|area| files_below(Area::of(area).folder()));
        paths.map(GoldenFile::read).filter(|file| self.is_whole(file)).collect()
    }

    /// The file of this kind in the same folder as another.
    pub fn beside(&self, file: &GoldenFile) -> Option<GoldenFile> {
        let folder = file.path.parent()?;
        let siblings = files_below(folder).into_iter().filter(|path| path.parent() == Some(folder));
        siblings.map(GoldenFile::read).find(|sibling| self.is_whole(sibling))
    }

    fn is_whole(&self, file: &GoldenFile) -> bool {
        matches!(self.found, Found::Whole(is_one) if is_one(file))
    }

    fn is_in(&self, cases: &[Value]) -> bool {
        match self.found {
            Found::Case(shape) => cases.iter().any(shape),
            Found::List(is_one) => !cases.is_empty() && is_one(cases),
            Found::Whole(_) | Found::Named => false,
        }
    }

    /// Whether a file below a root is one that tests of this kind read.
    #[cfg(test)]
    pub(crate) fn reads(&self, root: &Path, file: &GoldenFile) -> bool {
        let is_below = |area: &&str| file.path.starts_with(root.join(area));
        let is_directly_in = |area: &&str| file.path.parent() == Some(&root.join(area));
        match self.found {
            Found::Named => self.areas.iter().any(is_below),
            Found::Whole(is_one) => self.areas.iter().any(is_below) && is_one(file),
            Found::Case(_) | Found::List(_) => {
                let lists = || CaseList { path: file.path.clone(), content: file.json.clone() }.lists();
                self.areas.iter().any(is_directly_in) && lists().iter().any(|list| self.is_in(list.cases()))
            }
        }
    }
}

/// Every file below a folder, by path.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
