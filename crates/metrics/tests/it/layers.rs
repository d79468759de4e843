//! Folders are layers: each uses only those before it.

use std::path::{Path, PathBuf};

const LAYERS: [&str; 7] = ["numbers", "facts", "curves", "registry", "run", "phase", "measurement"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The modules of this crate that a file uses: the first part of every path from the root.
fn named(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| line.split("crate::").skip(1)).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

#[test]
fn every_folder_uses_only_those_before_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut faults = Vec::new();
    for file in files {
        let place = file.strip_prefix(&root).unwrap();
        let folder = place.iter().next().unwrap().to_str().unwrap();
        if place.components().count() == 1 {
            assert_eq!(folder, "lib.rs", "a file belongs in one of the folders {LAYERS:?}");
            continue;
        }
        let own = LAYERS.iter().position(|layer| *layer == folder);
        let own = own.unwrap_or_else(|| panic!("{folder} is a folder whose place among {LAYERS:?} is not known"));
        for name in named(&std::fs::read_to_string(&file).unwrap()) {
            if LAYERS.iter().position(|layer| *layer == name).is_none_or(|layer| layer > own) {
                faults.push(format!("{} uses {name}", place.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a file uses another one of its own folder.
fn names_neighbour(file: &Path, other: &Path) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = other.strip_prefix(&root).unwrap().with_extension("");
    let path = place.iter().map(|part| part.to_str().unwrap()).collect::<Vec<_>>().join("::");
    let code = std::fs::read_to_string(file).unwrap();
    code.lines().any(|line| line.contains(&format!("crate::{path}::")))
}

#[test]
fn no_two_files_of_a_folder_use_each_other() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut faults = Vec::new();
    for (at, one) in files.iter().enumerate() {
        for two in files[..at].iter().filter(|two| two.parent() == one.parent()) {
            if names_neighbour(one, two) && names_neighbour(two, one) {
                faults.push(format!("{} and {}", one.display(), two.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
