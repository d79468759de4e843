//! `aiperf schedule`: its output, its files, and its errors. There is no server: nothing may be sent.

use crate::bench::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

fn schedule(dir: &Path, more: &str) -> Output {
    let usual = "-m m -u http://127.0.0.1:9 --concurrency 3 --random-seed 5";
    let args = ["schedule"].into_iter().chain(usual.split(' ')).chain(more.split_whitespace());
    Command::new(env!("CARGO_BIN_EXE_aiperf")).args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_schedule_is_printed_and_nothing_is_written() {
    let dir = TempDir::new().unwrap();
    let output = schedule(dir.path(), "--request-count 30 --assume-latency 500");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("Nothing was sent."), "{text}");
    assert!(text.contains("requests      30 in 30 sessions\n"), "{text}");
    assert!(text.contains("ends          at 5.000 s"), "{text}");
    assert!(files(dir.path()).is_empty());
}

#[test]
fn lines_on_stdout_leave_the_summary_to_stderr() {
    let dir = TempDir::new().unwrap();
    let output = schedule(dir.path(), "--request-count 30 --jsonl");
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 30);
    assert!(lines.iter().enumerate().all(|(number, line)| line["number"] == number && line["phase"] == "profiling"));
    assert!(stderr(&output).contains("Nothing was sent."), "{}", stderr(&output));
}

#[test]
fn the_same_seed_gives_the_same_files_byte_for_byte() {
    let dir = TempDir::new().unwrap();
    let more = "--benchmark-duration 20 --assume-latency lognormal:300,150 --assume-ttft normal:50,10";
    for name in ["a", "b"] {
        let output = schedule(dir.path(), &format!("{more} --jsonl {name}.jsonl --svg {name}.svg"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(files(dir.path()), ["a.jsonl", "a.svg", "b.jsonl", "b.svg"]);
    for ending in ["jsonl", "svg"] {
        let read = |name: &str| std::fs::read(dir.path().join(format!("{name}.{ending}"))).unwrap();
        assert!(read("a") == read("b") && !read("a").is_empty(), "{ending}");
    }
}

#[test]
fn an_existing_file_is_overwritten_only_with_force() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("a.svg"), "mine").unwrap();
    let output = schedule(dir.path(), "--request-count 3 --svg a.svg");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a.svg is there already, and is left as it is"), "{}", stderr(&output));
    assert_eq!(std::fs::read(dir.path().join("a.svg")).unwrap(), b"mine");
    let output = schedule(dir.path(), "--request-count 3 --svg a.svg --force");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(std::fs::read(dir.path().join("a.svg")).unwrap().starts_with(b"<svg"));
}

#[test]
fn a_file_that_cannot_be_written_is_a_failure() {
    let dir = TempDir::new().unwrap();
    for more in ["--svg no/where.svg", "--jsonl no/where.jsonl", "--jsonl /dev/full", "--svg /dev/full"] {
        let output = schedule(dir.path(), &format!("--request-count 3 {more}"));
        assert_eq!(output.status.code(), Some(1), "{more}: {}", stderr(&output));
        assert!(stderr(&output).contains("error: cannot write "), "{more}: {}", stderr(&output));
    }
}

#[test]
fn a_reader_that_closes_the_pipe_ends_it_quietly() {
    let dir = TempDir::new().unwrap();
    let line = format!(
        "set -o pipefail; '{}' schedule -m m --concurrency 3 --request-count 20000 --jsonl | head -1",
        env!("CARGO_BIN_EXE_aiperf")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
}

#[test]
fn errors_are_those_of_profile() {
    let dir = TempDir::new().unwrap();
    for (more, message) in [
        ("--assume-latency soon", "--assume-latency soon is no length of time"),
        ("--assume-latency 1e308", "--assume-latency 1e308 is longer than a day"),
        ("--assume-ttft 25h", "--assume-ttft 25h is no length of time"),
        ("--svg", "--svg needs a file"),
        ("--request-count 0", "--request-count"),
        ("--no-such-flag 3", "--no-such-flag"),
        ("--input-file missing.jsonl", "missing.jsonl"),
    ] {
        let output = schedule(dir.path(), more);
        assert_eq!(output.status.code(), Some(2), "{more}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{more}: {}", stderr(&output));
        assert!(files(dir.path()).is_empty(), "{more}");
    }
}

#[test]
fn a_file_at_its_size_limit_is_a_failure_and_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let line = format!(
        "ulimit -f 8; '{}' schedule -m m --concurrency 3 --request-count 20000 --jsonl big.jsonl",
        env!("CARGO_BIN_EXE_aiperf")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("error: cannot write big.jsonl: "), "{}", stderr(&output));
    assert_eq!(files(dir.path()), Vec::<String>::new());
}

/// A schedule that takes long and has begun to write.
fn long_one(dir: &Path) -> Child {
    let line =
        "schedule -m m --concurrency 3 --request-count 1000000000 --random-seed 5 --jsonl a.jsonl --svg a.svg --force";
    // A shell that runs the tests in the background ignores interrupts, and the command would inherit that.
    let mut command = Command::new("env");
    let command = command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_aiperf")]);
    let command = command.args(line.split(' ')).current_dir(dir).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let is_begun = || files(dir).iter().filter(|name| name.ends_with(".tmp")).count() == 2;
    wait_until("it does not start", is_begun);
    child
}

#[test]
fn a_signal_ends_it_immediately_and_keeps_existing_files() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("a.svg"), "mine").unwrap();
        let child = long_one(dir.path());
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(files(dir.path()), ["a.svg"]);
        assert_eq!(std::fs::read(dir.path().join("a.svg")).unwrap(), b"mine");
    }
}
