//! The manifests match the documentation: which workspace crates depend on which, and which of them use an external
//! crate. The paths in the documentation exist.
//!
//! A row of the table of dependencies names one crate or several. Its second column lists the workspace crates that
//! depend on each of them. `name (build)` is a build dependency, and `tests` stands for the tests and benches of any
//! crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// Our crates, floor by floor: each depends only on crates above it in this table. Tests may use more.
const FLOORS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("template", &["types"]),
    ("statistics", &[]),
    ("figures", &[]),
    ("redact", &["types"]),
    ("plan", &["redact", "types"]),
    ("config", &["plan", "statistics", "template", "types"]),
    ("tokenize", &["template", "types"]),
    ("dataset", &["plan", "tokenize", "types"]),
    ("schedule", &["plan", "types"]),
    ("dialect", &["plan", "template", "types"]),
    ("transport", &["plan", "types"]),
    ("metrics", &["statistics", "types"]),
    ("observe", &["plan", "transport", "types"]),
    ("engine", &["dataset", "dialect", "metrics", "plan", "schedule", "tokenize", "transport", "types"]),
    ("report", &["figures", "metrics", "observe", "plan", "transport", "types"]),
    (
        "campaign",
        &[
            "dataset",
            "dialect",
            "engine",
            "metrics",
            "observe",
            "plan",
            "report",
            "schedule",
            "statistics",
            "tokenize",
            "transport",
            "types",
        ],
    ),
    // The simulated server shares no code with the client: both could misread a specification in the same way.
    ("sim", &[]),
    ("aiperf", &["campaign", "config", "figures", "plan", "report", "sim", "types"]),
    // Only for tests.
    ("golden", &[]),
    ("testkit", &["plan", "types"]),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Section and name of every key of a manifest. This parses enough of TOML for manifests with one key per line.
fn keys(manifest: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = "";
    manifest.lines().filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').trim_start_matches('[');
            return None;
        }
        let (key, _) = line.split_once('=')?;
        (!key.starts_with(['#', ' '])).then_some((section, key.trim()))
    })
}

fn crate_manifests() -> BTreeMap<String, String> {
    let folders = fs::read_dir(root().join("crates")).expect("crates lie in crates/");
    folders
        .map(|entry| {
            let path = entry.expect("a readable folder").path();
            let folder = path.file_name().expect("a named folder").to_string_lossy().into_owned();
            (folder, fs::read_to_string(path.join("Cargo.toml")).expect("a crate has a manifest"))
        })
        .collect()
}

/// The expected second column, for every dependency of the workspace.
fn users_in_manifests() -> BTreeMap<String, BTreeSet<String>> {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("a workspace manifest");
    let mut users: BTreeMap<String, BTreeSet<String>> = keys(&workspace)
        .filter(|(section, key)| *section == "workspace.dependencies" && !key.starts_with("aiperf-"))
        .map(|(_, key)| (key.to_owned(), BTreeSet::new()))
        .collect();
    for (folder, manifest) in crate_manifests() {
        let dependencies: Vec<_> = keys(&manifest).filter(|(section, _)| section.ends_with("dependencies")).collect();
        for (section, key) in dependencies {
            let (name, _) = key.split_once('.').unwrap_or((key, ""));
            if name.starts_with("aiperf-") {
                continue;
            }
            let Some(users) = users.get_mut(name) else {
                panic!("{folder} depends on {name}, which [workspace.dependencies] does not name");
            };
            users.insert(match section.rsplit('.').next() {
                Some("build-dependencies") => format!("{folder} (build)"),
                Some("dev-dependencies") => "tests".to_owned(),
                _ if folder == "testkit" => "tests".to_owned(),
                _ => folder.clone(),
            });
        }
    }
    users
}

/// The actual second column.
fn users_in_table() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(root().join("docs/dependencies.md")).expect("docs/dependencies.md");
    let mut rows = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with('|')).skip(2) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [crates, users, reason] = cells[..] else { panic!("a row has three columns: {row}") };
        assert!(!reason.is_empty(), "a dependency needs a reason: {row}");
        for name in crates.split(", ") {
            let users = users.split(", ").map(str::to_owned).collect();
            assert!(rows.insert(name.to_owned(), users).is_none(), "{name} has two rows");
        }
    }
    rows
}

#[test]
fn the_table_of_dependencies_agrees_with_the_manifests() {
    let (manifests, table) = (users_in_manifests(), users_in_table());
    let mut wrong = Vec::new();
    for (name, users) in &manifests {
        let users_text = users.iter().cloned().collect::<Vec<_>>().join(", ");
        match table.get(name) {
            _ if users.is_empty() => wrong.push(format!("{name} has no user: remove it from Cargo.toml")),
            None => wrong.push(format!("{name} has no row; it is used by: {users_text}")),
            Some(listed) if listed != users => wrong.push(format!("{name} is used by: {users_text}")),
            Some(_) => {}
        }
    }
    wrong.extend(
        table.keys().filter(|name| !manifests.contains_key(*name)).map(|name| format!("{name} is not a dependency")),
    );
    assert!(wrong.is_empty(), "docs/dependencies.md:\n{}", wrong.join("\n"));
}

#[test]
fn our_crates_depend_only_on_lower_floors() {
    let manifests = crate_manifests();
    let listed: BTreeSet<&str> = FLOORS.iter().map(|(name, _)| *name).collect();
    let folders: BTreeSet<&str> = manifests.keys().map(String::as_str).collect();
    assert_eq!(listed, folders, "FLOORS has a row for every crate");
    for (floor, (name, allowed)) in FLOORS.iter().enumerate() {
        let is_below = |other: &&str| FLOORS[..floor].iter().any(|(below, _)| below == other);
        assert!(allowed.iter().all(is_below), "{name} may depend only on crates of lower floors");
        let used: BTreeSet<&str> = keys(&manifests[*name])
            .filter(|(section, _)| *section == "dependencies" || *section == "build-dependencies")
            .filter_map(|(_, key)| key.split('.').next()?.strip_prefix("aiperf-"))
            .collect();
        assert_eq!(used, allowed.iter().copied().collect(), "crates that crates/{name}/Cargo.toml depends on");
    }
}

#[test]
fn every_dependency_is_inherited_from_the_workspace() {
    for (folder, manifest) in crate_manifests() {
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            } else if section.ends_with("dependencies]") && line.contains('=') {
                assert!(
                    line.contains("workspace = true"),
                    "crates/{folder}/Cargo.toml gives a version of its own: {line}"
                );
            }
        }
    }
}

#[test]
fn every_page_of_the_documentation_is_linked_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).expect("there is a README");
    for page in fs::read_dir(root().join("docs")).expect("documentation lies in docs/").flatten() {
        let name = page.file_name();
        // Folders contain images of the pages.
        if page.path().is_dir() {
            continue;
        }
        let link = format!("(docs/{})", name.to_string_lossy());
        assert!(readme.contains(&link), "README.md has no link {link}");
    }
}

/// The texts in code font of a page, and the targets of its links.
fn named_in(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    page.split('`').skip(1).step_by(2).chain(links)
}

#[test]
fn every_path_in_the_architecture_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is a map");
    // Fences of code blocks are no code font.
    let page = page.replace("```", "");
    let is_path = |text: &&str| text.contains('/') || [".rs", ".md", ".toml"].iter().any(|end| text.ends_with(end));
    // A short path starts in the folder named last, or above it.
    let mut last = root().join("crates/types/src");
    let mut missing = Vec::new();
    for path in named_in(&page).filter(is_path) {
        let (full, short) = ([root(), root().join("crates")], last.clone());
        let found = full.iter().map(PathBuf::as_path).chain(short.ancestors()).map(|at| at.join(path));
        match found.into_iter().find(|path| path.exists()) {
            None => missing.push(path),
            Some(found) if path.contains('/') && found.is_dir() => last = found,
            Some(found) if path.contains('/') => last = found.parent().expect("a file lies in a folder").to_owned(),
            Some(_) => {}
        }
    }
    assert!(missing.is_empty(), "ARCHITECTURE.md: {missing:?}");
}

#[test]
fn links_and_pictures_of_every_page_exist() {
    let docs =
        fs::read_dir(root().join("docs")).expect("documentation lies in docs/").flatten().map(|page| page.path());
    let pages = docs.chain(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    let mut missing = Vec::new();
    for page in pages.filter(|page| page.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(&page).expect("a page is readable");
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            if !page.with_file_name(link).exists() {
                missing.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_shipped_build_optimises_what_the_quick_build_does_not() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace has a manifest");
    let of = |profile: &str| {
        let section = format!("profile.{profile}.package");
        let keys = keys(&manifest).filter(|(name, _)| *name == section);
        keys.map(|(_, key)| key.to_owned()).collect::<BTreeSet<_>>()
    };
    let (quick, shipped) = (of("release"), of("dist"));
    assert!(!quick.is_empty());
    assert!(
        !quick.iter().any(|key| key.starts_with("aiperf.")),
        "cargo does not strip a program with its own settings"
    );
    assert_eq!(quick, shipped, "each setting of [profile.release.package] needs one in [profile.dist.package]");
}

#[test]
fn the_build_with_tests_has_all_the_code() {
    // Clippy checks that build alone.
    for (name, manifest) in crate_manifests() {
        assert!(!manifest.lines().any(|line| line == "test = false"), "{name}");
    }
    // This file must not contain it either.
    let without_tests = ["not(", "test)"].concat();
    for path in files_under(&["crates"]).iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs")) {
        let text = fs::read_to_string(path).expect("a readable file");
        assert!(!text.contains(&without_tests), "{}", path.display());
    }
}

/// All files in some folders of the project.
fn files_under(folders: &[&str]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = folders.iter().map(|name| root().join(name)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a readable folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

#[test]
fn no_file_has_merge_conflict_markers() {
    let mut files = files_under(&["crates", "docs", "scripts"]);
    files.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].iter().map(|name| root().join(name)));
    let marks = [format!("{} ", "<".repeat(7)), format!("{} ", ">".repeat(7))];
    for (path, text) in files.iter().filter_map(|path| Some((path, fs::read_to_string(path).ok()?))) {
        assert!(!text.lines().any(|line| marks.iter().any(|mark| line.starts_with(mark))), "{}", path.display());
    }
}
