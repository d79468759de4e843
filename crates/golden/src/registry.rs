//! The table of kinds against the data, and against the crates whose tests read it.

use crate::kind::files_below;
use crate::{Found, GoldenFile, GoldenKind, is_own_root, kinds, root};
use std::collections::BTreeMap;
use std::path::Path;

/// Files below a root that no kind reads, and kinds that have no file there.
fn faults(root: &Path, kinds: &[&GoldenKind]) -> Vec<String> {
    let files: Vec<GoldenFile> = files_below(root).into_iter().map(GoldenFile::read).collect();
    let unread = files.iter().filter(|file| !kinds.iter().any(|kind| kind.reads(root, file)));
    let empty = kinds.iter().filter(|kind| !files.iter().any(|file| kind.reads(root, file)));
    let shown = |file: &GoldenFile| file.path.strip_prefix(root).unwrap_or(&file.path).display().to_string();
    let unread = unread.map(|file| format!("{}: no kind reads it", shown(file)));
    unread.chain(empty.map(|kind| format!("{}: has no file", kind.name))).collect()
}

/// Kinds that a crate is listed to read and does not name.
fn unnamed(kinds: &[&GoldenKind], sources: impl Fn(&str) -> String) -> Vec<String> {
    let mut of_crate: BTreeMap<&str, String> = BTreeMap::new();
    let mut found = Vec::new();
    for kind in kinds {
        for reader in kind.readers {
            let text = of_crate.entry(reader).or_insert_with(|| sources(reader));
            let mut names = match kind.found {
                Found::Named => kind.areas.to_vec(),
                _ => vec![kind.name],
            };
            names.retain(|name| !has_word(text, name));
            found.extend(names.iter().map(|name| format!("{reader} does not read {name}")));
        }
    }
    found
}

/// Whether a name stands in a text, and is no part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    let is_longer = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_longer) && !text[at + name.len()..].starts_with(is_longer))
}

/// The sources of a crate that use this one, or its data.
fn sources(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(name);
    let files = files_below(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    texts.filter(|text| text.contains("aiperf_golden") || text.contains("golden/data")).collect()
}

#[test]
fn golden_data_has_a_kind_and_each_kind_has_data() {
    let found = faults(&root(), &kinds::all().collect::<Vec<_>>());
    found.iter().for_each(|fault| println!("{fault}"));
    assert!(found.is_empty() || !is_own_root(), "{}", found.join("\n"));
}

#[test]
fn every_kind_is_read_by_the_crates_listed_for_it() {
    let found = unnamed(&kinds::all().collect::<Vec<_>>(), sources);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    let mut names: Vec<&str> = kinds::all().map(|kind| kind.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

mod can_fail {
    use super::*;
    use crate::has;

    const CASES: GoldenKind = GoldenKind {
        name: "CASES",
        areas: &["area"],
        readers: &["reader"],
        found: Found::Case(|case| has(case, "input")),
    };
    const LISTS: GoldenKind = GoldenKind { name: "LISTS", found: Found::List(|cases| cases.len() == 2), ..CASES };
    const PAGES: GoldenKind =
        GoldenKind { name: "PAGES", found: Found::Whole(|file| file.text.starts_with("HTTP")), ..CASES };
    const NAMED: GoldenKind = GoldenKind { name: "NAMED", areas: &["area/one.bin"], found: Found::Named, ..CASES };

    /// The faults of a root with these files in its area.
    fn faults_of(files: &[(&str, &str)], kinds: &[&GoldenKind]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join("area").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        faults(root.path(), kinds)
    }

    #[test]
    fn a_file_of_no_kind_is_a_fault() {
        let cases = ("cases.json", r#"[{"input": 1}]"#);
        assert!(faults_of(&[cases], &[&CASES]).is_empty());
        let found = faults_of(&[cases, ("other.json", "[{}]"), ("page.http", "")], &[&CASES]);
        assert_eq!(found, ["area/other.json: no kind reads it", "area/page.http: no kind reads it"]);
        // Cases lie directly in their area, whole files at any depth.
        let found = faults_of(&[cases, ("below/more.json", cases.1), ("below/page", "HTTP")], &[&CASES, &PAGES]);
        assert_eq!(found, ["area/below/more.json: no kind reads it"]);
    }

    #[test]
    fn a_kind_without_a_file_is_a_fault() {
        let all = [&CASES, &LISTS, &PAGES, &NAMED];
        let found = faults_of(&[], &all);
        assert_eq!(found, ["CASES", "LISTS", "PAGES", "NAMED"].map(|name| format!("{name}: has no file")));
        let files =
            [("a.json", r#"{"cases": [{"input": 1}]}"#), ("b.json", "[{}, {}]"), ("c", "HTTP"), ("one.bin", "")];
        assert!(faults_of(&files, &all).is_empty());
    }

    #[test]
    fn a_kind_that_its_crate_does_not_name_is_a_fault() {
        let sources = |_: &str| "kinds::{MORE_CASES, LISTS}; \"area/one.bin\"".to_owned();
        assert_eq!(unnamed(&[&CASES, &LISTS, &NAMED], sources), ["reader does not read CASES"]);
    }
}
