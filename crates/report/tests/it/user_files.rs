//! Files with a text of the user.
#![cfg(unix)]

use crate::support;

use aiperf_plan::redact::Redactor;
use aiperf_plan::{ArtifactPlan, FileNames, UserFile};
use aiperf_report::{Artifacts, RunResult};
use std::fs;
use std::path::Path;
use support::*;

fn plan(dir: &Path, files: &[(&str, &str)]) -> ArtifactPlan {
    let file = |&(path, text): &(&str, &str)| UserFile { path: path.into(), text: text.into() };
    let plan = ArtifactPlan::new(dir, FileNames::new(None)).without_records();
    ArtifactPlan { user_files: files.iter().map(file).collect(), ..plan }
}

fn refusal(dir: &Path, files: &[(&str, &str)]) -> String {
    Artifacts::prepare(&plan(dir, files)).unwrap_err().to_string()
}

#[test]
fn user_files_are_written_with_their_folders_and_without_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &[("notes.txt", "key sk-live-1234567\n"), ("./a/b/c.json", "{}")]);
    let artifacts = Artifacts::prepare(&plan).unwrap();
    fs::write(dir.path().join("notes.txt"), "of an earlier run").unwrap();
    fs::write(dir.path().join(".notes.txt.99.tmp"), "of one that was killed").unwrap();
    artifacts.remove_stale().unwrap();
    artifacts.write_user_files(&Redactor::new(["sk-live-1234567".to_owned()])).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("notes.txt")).unwrap(), "key <redacted>\n");
    assert_eq!(fs::read_to_string(dir.path().join("a/b/c.json")).unwrap(), "{}");
    assert!(!dir.path().join(".notes.txt.99.tmp").exists());
    let written = write_all(&artifacts, &RunResult { artifacts: plan, ..empty_run() }, Vec::new());
    let own = written.files.iter().filter(|file| file.label == "User File");
    let own: Vec<&Path> = own.map(|file| file.path.strip_prefix(dir.path()).unwrap()).collect();
    assert_eq!(own, [Path::new("notes.txt"), Path::new("a/b/c.json")]);
}

#[test]
fn names_that_are_too_long_are_refused_before_anything_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(256);
    for path in [long.clone(), format!("not/there/{long}"), format!("{long}/x")] {
        let error = refusal(dir.path(), &[(&path, "")]);
        assert!(error.contains("cannot write the user file") && error.contains("no name as long as that"), "{error}");
    }
    let plan = ArtifactPlan::new(dir.path(), FileNames::new(Some(&"x".repeat(250))));
    let error = Artifacts::prepare(&plan).unwrap_err().to_string();
    assert!(error.contains("no name as long as that of") && error.contains("--profile-export-prefix"), "{error}");
}

#[test]
fn a_user_file_with_the_longest_name_is_written_and_what_a_killed_run_began_of_it_goes() {
    let dir = tempfile::tempdir().unwrap();
    let name = "x".repeat(255);
    let plan = plan(dir.path(), &[(&name, "all")]);
    let artifacts = Artifacts::prepare(&plan).unwrap();
    artifacts.write_user_files(&Redactor::default()).unwrap();
    assert_eq!(fs::read_to_string(dir.path().join(&name)).unwrap(), "all");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_user_file_stays_in_the_directory() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), dir.path().join("away")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", dir.path().join("lost")).unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    fs::create_dir(dir.path().join("inside")).unwrap();
    std::os::unix::fs::symlink("inside", dir.path().join("link")).unwrap();
    for (path, why) in [
        ("../x", "does not lie in the artifact directory"),
        ("/x", "does not lie in the artifact directory"),
        ("a/../../x", "does not lie in the artifact directory"),
        ("away/x", "does not lie in the artifact directory"),
        ("away/deep/er/x", "does not lie in the artifact directory"),
        ("lost/x", "leads nowhere"),
        ("file/x", "a folder of its path is a file"),
        ("inside", "is a folder"),
        ("", "no name"),
    ] {
        let error = refusal(dir.path(), &[(path, "")]);
        assert!(error.contains(why), "{path}: {error}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    Artifacts::prepare(&plan(dir.path(), &[("link/x", ""), ("new/folder/x", "")])).unwrap();
}

#[test]
fn a_user_file_that_is_a_link_is_replaced_and_what_it_leads_to_stays() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = outside.path().join("other");
    fs::write(&other, "theirs").unwrap();
    std::os::unix::fs::symlink(&other, dir.path().join("x")).unwrap();
    let artifacts = Artifacts::prepare(&plan(dir.path(), &[("x", "ours")])).unwrap();
    artifacts.write_user_files(&Redactor::default()).unwrap();
    assert_eq!(fs::read_to_string(other).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(dir.path().join("x")).unwrap(), "ours");
}

#[test]
fn a_user_file_is_no_other_file() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        "profile_export_raw.jsonl",
        "./inputs.json",
        "logs",
        "logs/aiperf.log/x",
        "phases/x",
        ".aiperf_results_ready.json",
    ] {
        let error = refusal(dir.path(), &[(path, "")]);
        assert!(error.contains("a file of the run has that path"), "{path}: {error}");
        assert!(error.contains("try: another path in artifacts.user_files"), "{error}");
    }
    assert!(refusal(dir.path(), &[("a/b", ""), ("a", "")]).contains("another user file"));
    Artifacts::prepare(&plan(dir.path(), &[("logs/notes", ""), ("a/b", ""), ("a/c", "")])).unwrap();
}
