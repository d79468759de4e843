//! Commands for traces: `analyze-trace`, `validate mooncake-trace` and `synthesize agentic-code`.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PAGE: &str = include_str!("../../../../../docs/trace-tools.md");

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
    command.args(args).current_dir(dir);
    command
}

fn aiperf(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

/// Exit code, stdout and stderr.
fn results(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Blocks of indented lines, without the indent.
fn blocks() -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in PAGE.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks.last_mut().unwrap().push_str(&format!("{code}\n")),
            None if line.is_empty() => blocks.last_mut().unwrap().push('\n'),
            None => blocks.push(String::new()),
        }
    }
    blocks.into_iter().map(|block| block.trim().to_owned()).filter(|block| !block.is_empty()).collect()
}

/// A folder with the traces of the page.
fn traces() -> TempDir {
    let dir = TempDir::new().unwrap();
    for block in blocks().iter().filter(|block| block.starts_with("{\"")) {
        let name = if block.contains("timestamp") { "trace.jsonl" } else { "wrong.jsonl" };
        fs::write(dir.path().join(name), format!("{block}\n")).unwrap();
    }
    dir
}

fn trimmed(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn every_example_of_the_page_prints_what_it_shows() {
    let dir = traces();
    let examples: Vec<String> = blocks().into_iter().filter(|block| block.starts_with("$ aiperf ")).collect();
    assert_eq!(examples.len(), 4);
    for example in examples {
        let (line, shown) = example.split_once('\n').unwrap_or((&example, ""));
        let args: Vec<&str> = line.split(' ').skip(2).collect();
        let (code, stdout, stderr) = results(&aiperf(dir.path(), &args));
        assert_eq!(code, if shown.contains("failed") { 2 } else { 0 }, "{line}: {stderr}");
        if !shown.is_empty() {
            assert_eq!(trimmed(&stdout), trimmed(shown), "{line}");
        }
    }
    assert_eq!(json(&dir.path().join("reports/trace.json"))["total_requests"], 3);
    // The defaults on the page are the actual defaults.
    let defaults = blocks().into_iter().find(|block| block.starts_with("{\n")).unwrap();
    fs::write(dir.path().join("shown.json"), defaults).unwrap();
    let synthesize =
        ["synthesize", "agentic-code", "--num-sessions", "1", "--output", "shown", "--config", "shown.json"];
    assert_eq!(results(&aiperf(dir.path(), &synthesize)).0, 0);
    let of = |folder: &str| {
        let made = entries(&dir.path().join(folder)).remove(0);
        json(&made.join("manifest.json"))["generation_params"].clone()
    };
    assert_eq!(of("shown"), of("traces"));
}

#[test]
fn a_dataset_is_a_trace_with_all_its_files_and_a_manifest_makes_it_again() {
    let dir = TempDir::new().unwrap();
    let make = |more: &[&str]| {
        let args = [&["synthesize", "agentic-code", "--num-sessions", "12", "--output"], more].concat();
        let (code, stdout, stderr) = results(&aiperf(dir.path(), &args));
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.contains("Run directory: ") && stdout.contains("Session Endings"), "{stdout}");
        let mut made = entries(&dir.path().join(more[0]));
        assert_eq!(made.len(), 1, "{made:?}");
        made.remove(0)
    };
    let first = make(&["a", "--max-isl", "90000", "--max-osl", "50"]);
    let name = first.file_name().unwrap().to_string_lossy().into_owned();
    let stamp = name.strip_prefix("default_12s_seed42_").unwrap();
    assert!(stamp.len() == 15 && stamp.as_bytes()[8] == b'-', "{name}");
    let names: Vec<_> = entries(&first).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    let wanted = [
        "cache_explorer.html",
        "cache_structure.json",
        "comparison.txt",
        "dataset.jsonl",
        "manifest.json",
        "quality.json",
        "report.html",
        "simulation.html",
    ];
    assert_eq!(names, wanted);
    let trace = first.join("dataset.jsonl");
    for args in
        [&["validate", "mooncake-trace", trace.to_str().unwrap()][..], &["analyze-trace", trace.to_str().unwrap()]]
    {
        assert_eq!(results(&aiperf(dir.path(), args)).0, 0, "{args:?}");
    }
    let mut context = BTreeMap::<String, u64>::new();
    for line in fs::read_to_string(&trace).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let (input, output) = (row["input_length"].as_u64().unwrap(), row["output_length"].as_u64().unwrap());
        let so_far = context.entry(row["session_id"].as_str().unwrap().to_owned()).or_default();
        *so_far += input;
        assert!(*so_far < 90_000 && (30..=50).contains(&output), "{line}");
        *so_far += output;
    }
    assert_eq!(context.len(), 12);
    let again = make(&["b", "--config", first.join("manifest.json").to_str().unwrap()]);
    assert_eq!(fs::read(trace).unwrap(), fs::read(again.join("dataset.jsonl")).unwrap());
    for page in ["report.html", "cache_explorer.html", "simulation.html"] {
        let text = fs::read_to_string(first.join(page)).unwrap();
        assert!(!text.contains("src=") && !text.contains("href="), "{page} loads something");
    }
}

#[test]
fn bad_input_names_file_line_and_field_and_writes_nothing() {
    let dir = TempDir::new().unwrap();
    for (name, text) in [
        ("empty.jsonl", "\n"),
        ("text.jsonl", "{\"input_length\": 1}\nhello\n"),
        ("field.jsonl", "{\"input_length\": 1}\n\n{\"output_length\": -4}\n"),
        ("c.json", "{\"block_sice\": 5}"),
        (
            "full.json",
            "{\"max_prompt_tokens\": 10000000, \"reset\": null, \"block_size\": 16, \"cache\": {\"layer1_5_tokens\": 0}}",
        ),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let before = entries(dir.path());
    let synthesize = |more: &[&'static str]| [&["synthesize", "agentic-code", "--num-sessions", "3"], more].concat();
    for (args, message) in [
        (vec!["analyze-trace", "none.jsonl", "--output-file", "o/r.json"], "none.jsonl: no such file"),
        (vec!["analyze-trace", "."], ".: is not a file"),
        (vec!["analyze-trace", "empty.jsonl", "--output-file", "o/r.json"], "empty.jsonl: is empty"),
        (vec!["analyze-trace", "text.jsonl", "--output-file", "o/r.json"], "text.jsonl:2: is not JSON"),
        (vec!["analyze-trace", "--input-file", "field.jsonl"], "field.jsonl:3: output_length must be"),
        (vec!["analyze-trace", "text.jsonl", "--output-file", "text.jsonl"], "is the trace itself"),
        (vec!["analyze-trace", "text.jsonl", "--block-size", "0"], "--block-size"),
        (vec!["analyze-trace"], "INPUT_FILE"),
        (vec!["validate", "mooncake-trace", "none.jsonl"], "none.jsonl: no such file"),
        (vec!["validate", "mooncake-trace", "empty.jsonl"], "empty.jsonl: is empty"),
        (vec!["validate", "mooncake-trace"], "needs a trace"),
        (vec!["validate", "text.jsonl"], "try: aiperf validate mooncake-trace text.jsonl"),
        (
            vec!["validate", "mooncake-trace", "text.jsonl", "--isl-block-size", "0"],
            "--isl-block-size '0' is no number",
        ),
        (synthesize(&["--config", "none"]), "--config none: no such file"),
        (synthesize(&["--config", "c.json"]), "--config c.json: block_sice is no setting"),
        (synthesize(&["--config", "full.json"]), "there are ids for 4000"),
        (synthesize(&["--max-isl", "1"]), "--max-isl 1: "),
        (synthesize(&["--max-osl", "0"]), "--max-osl 0: "),
        (vec!["synthesize", "agentic-code", "--num-sessions", "0"], "--num-sessions"),
        (vec!["synthesize", "poems"], "poems"),
    ] {
        let (code, _, stderr) = results(&aiperf(dir.path(), &args));
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(message), "{args:?}: {stderr}");
    }
    assert_eq!(entries(dir.path()), before);
}

#[test]
fn rows_are_checked_with_the_block_size_of_the_run() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("small.jsonl"), "{\"input_length\": 40, \"hash_ids\": [1, 2, 3]}\n").unwrap();
    let args = ["validate", "mooncake-trace", "small.jsonl", "--isl-block-size", "16"];
    let (code, stdout, _) = results(&aiperf(dir.path(), &args[..3]));
    assert!(code == 2 && stdout.contains("Line 1: 3 hash_ids of 512 tokens are more than"), "{stdout}");
    assert_eq!(results(&aiperf(dir.path(), &args)).0, 0);
}

#[test]
fn a_failed_write_keeps_the_existing_file() {
    let dir = traces();
    fs::write(dir.path().join("report.json"), "mine").unwrap();
    let limited = |args: &str| {
        // No file may grow past 512 bytes: as on a full disk, a write fails in the middle.
        let script = format!("ulimit -f 1; exec \"$0\" {args}");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_aiperf")]).current_dir(dir.path());
        results(&command.output().unwrap())
    };
    let before = entries(dir.path());
    for args in ["analyze-trace trace.jsonl --output-file report.json", "synthesize agentic-code --num-sessions 9"] {
        let (code, _, stderr) = limited(args);
        assert_eq!(code, 1, "{args}: {stderr}");
        assert!(stderr.contains("cannot write ") && stderr.contains("try: another --output"), "{args}: {stderr}");
    }
    assert_eq!(entries(dir.path()), before);
    assert_eq!(fs::read(dir.path().join("report.json")).unwrap(), b"mine");
    for args in [&["analyze-trace", "trace.jsonl"][..], &["validate", "mooncake-trace", "wrong.jsonl"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(dir.path(), args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        // A reader that closes the pipe early changes nothing.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command(dir.path(), args).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(if args[0] == "validate" { 2 } else { 0 }), "{args:?}");
    }
}

#[test]
fn any_number_of_sessions_takes_no_memory_and_leaves_nothing_when_stopped() {
    let dir = TempDir::new().unwrap();
    let script = "ulimit -v 4000000; exec \"$0\" synthesize agentic-code --num-sessions 99999999999999";
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_aiperf")])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let written = |folder: &PathBuf| fs::metadata(folder.join("dataset.jsonl")).map_or(0, |file| file.len());
    while entries(dir.path()).first().map_or(0, written) < 8 << 20 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(entries(dir.path()), [""; 0].map(PathBuf::from));
}

#[test]
fn traces_may_be_compressed_and_paths_may_be_invalid_utf8() {
    let dir = traces();
    let name = std::ffi::OsStr::from_bytes(b"\xff.jsonl.gz");
    let packed = Command::new("gzip").args(["-c", "trace.jsonl"]).current_dir(dir.path()).output().unwrap();
    fs::File::create(dir.path().join(name)).unwrap().write_all(&packed.stdout).unwrap();
    for args in [&["validate", "mooncake-trace"][..], &["analyze-trace"]] {
        let output = command(dir.path(), args).arg(name).output().unwrap();
        assert_eq!(results(&output).0, 0, "{args:?}: {}", results(&output).2);
    }
}
