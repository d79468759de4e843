//! The dispatch plan without a server, and the pictures of the documentation.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn schedule(args: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aiperf")).arg("schedule").args(args).current_dir(folder).output().unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn a_plan_is_the_same_each_time_and_writes_nothing_else() {
    let folder = tempfile::TempDir::new().unwrap();
    let args = [
        "--model",
        "m",
        "--tokenizer",
        "builtin",
        "--random-seed",
        "3",
        "--request-rate",
        "50",
        "--request-count",
        "30",
        "--jsonl",
    ];
    let [one, two] = [0, 1].map(|_| schedule(&args, folder.path()));
    assert!(one.status.success(), "{}", String::from_utf8_lossy(&one.stderr));
    assert_eq!(one.stdout, two.stdout);
    let lines: Vec<Value> =
        String::from_utf8(one.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 30);
    assert!(lines.windows(2).all(|pair| pair[0]["t_s"].as_f64() <= pair[1]["t_s"].as_f64()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is written");
}

/// Files that commands of the documentation read; it shows their content.
const SHOWN_FILES: [&str; 3] = ["day.json", "recording.jsonl", "steps.yaml"];

/// The commands next to the pictures generate them, in any folder with these files. `UPDATE_DOCS=1` writes them again.
#[test]
fn the_pictures_of_the_documentation_are_those_of_their_commands() {
    let text = std::fs::read_to_string(root().join("docs/load.md")).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    for name in SHOWN_FILES {
        let content = std::fs::read_to_string(root().join("docs/load").join(name)).unwrap();
        assert!(text.contains(&content), "docs/load.md does not show {name}");
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut pictures = 0;
    for line in text.lines().filter(|line| line.starts_with("    aiperf schedule") && line.ends_with(".svg")) {
        let words: Vec<&str> = line.split_whitespace().skip(2).collect();
        let name = words[words.len() - 1];
        let args: Vec<&str> = words.iter().copied().chain(["--tokenizer", "builtin"]).collect();
        let output = schedule(&args, folder.path());
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let drawn = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let kept = root().join("docs/load").join(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&kept, &drawn).unwrap();
        }
        assert!(text.contains(&format!("(load/{name})")), "{name} is not shown");
        assert_eq!(std::fs::read_to_string(&kept).unwrap_or_default(), drawn, "{name}: UPDATE_DOCS=1 makes it anew");
        pictures += 1;
    }
    assert!(pictures >= 13, "{pictures}");
}
