//! The Layout section of a crate lists its modules: all of them, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The modules in the Layout section of a crate root, in order. A clause of its list begins with the names of the
/// modules that it describes.
pub(crate) fn listed(root: &str) -> Vec<String> {
    let Some((_, layout)) = root.split_once("//! # Layout\n") else { return Vec::new() };
    let lines = layout.lines().map_while(|line| line.strip_prefix("//!")).take_while(|line| !line.starts_with(" # "));
    let text: String = lines.flat_map(|line| [line.trim(), " "]).collect();
    let items = text.split("- ").skip(1);
    items.flat_map(|item| item.split("; ")).flat_map(leading_names).collect()
}

/// The names in code font at the start of a clause, separated by commas.
fn leading_names(clause: &str) -> Vec<String> {
    let (mut names, mut rest) = (Vec::new(), clause);
    while let Some((name, after)) = rest.trim_start_matches('[').strip_prefix('`').and_then(|rest| rest.split_once('`'))
    {
        names.push(name.trim_start_matches("mod@").to_owned());
        match after.trim_start_matches(']').strip_prefix(", ") {
            Some(more) => rest = more,
            None => break,
        }
    }
    names
}

/// The modules that a crate root declares, without those of tests.
fn declared(root: &str) -> BTreeSet<String> {
    let mut before = "";
    let module = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    let modules = root.lines().filter_map(|line| {
        let is_test = std::mem::replace(&mut before, line) == "#[cfg(test)]";
        module(line).filter(|_| !is_test)
    });
    modules.collect()
}

#[test]
fn the_layout_of_every_crate_lists_its_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut faults = Vec::new();
    for folder in fs::read_dir(crates).expect("crates lie in crates/").flatten() {
        let source = folder.path().join("src");
        let root = ["lib.rs", "main.rs"].iter().find_map(|name| fs::read_to_string(source.join(name)).ok());
        let root = root.expect("a crate has a root");
        let (listed, declared) = (listed(&root), declared(&root));
        let mut seen = BTreeSet::new();
        let name = folder.file_name().display().to_string();
        let twice = listed.iter().filter(|module| !seen.insert(module.as_str()));
        faults.extend(twice.map(|module| format!("{name}: {module} is listed twice")));
        let missing = declared.iter().filter(|module| !listed.contains(module));
        faults.extend(missing.map(|module| format!("{name}: {module} is not listed")));
        let is_module =
            |module: &&String| source.join(module).is_dir() || source.join(format!("{module}.rs")).is_file();
        let unknown = listed.iter().filter(|module| !is_module(module));
        faults.extend(unknown.map(|module| format!("{name}: {module} is listed and is no module")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
