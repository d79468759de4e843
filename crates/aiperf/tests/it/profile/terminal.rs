//! Output on narrow terminals.

use crate::bench::{Bench, on_a_terminal, quick, serve};
use aiperf_sim::SimConfig;
use std::process::Command;

/// Every content that a line of the terminal had, without escapes.
fn lines(written: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in written.split(['\n', '\r']) {
        let mut text = String::new();
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match c {
                '\x1b' => drop(chars.by_ref().find(char::is_ascii_alphabetic)),
                c => text.push(c),
            }
        }
        out.push(text);
    }
    out
}

fn assert_fits(written: &str, columns: usize) {
    let paths = |line: &&String| !line.contains("/out/");
    for line in lines(written).iter().filter(paths) {
        assert!(line.chars().count() <= columns, "{} columns in {line}", line.chars().count());
    }
}

#[test]
fn nothing_is_wider_than_the_terminal_and_no_word_is_broken() {
    for columns in [80, 60, 40] {
        let sim = serve(SimConfig { faults: vec!["status:503=0.3".parse().unwrap()], ..quick() });
        let args = ["--streaming", "--concurrency", "4", "--request-count", "60", "--ui", "simple"];
        let bench = Bench::bare().with(&["--model", "test-model", "--url", &sim.url(), "--tokenizer", "builtin"]);
        let (code, written) = bench.with(&args).with(&["--isl", "16", "--osl", "8"]).on_a_terminal(columns);
        assert_eq!(code, Some(0), "{written}");
        assert_fits(&written, usize::from(columns));
        let lines = lines(&written);
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(has("(tokens/sec/user)") && has("Left out to fit the screen: ") && has("Failed Requests Warning"));
        let first = lines.iter().find(|line| line.starts_with("Profiling: ")).unwrap().trim_end();
        assert!(first.contains("   0% [00:00<?]"), "{first}");
    }
}

#[test]
fn a_dumb_terminal_gets_no_bar_and_no_colours() {
    let sim = serve(quick());
    let bench = Bench::bare().with(&["--model", "test-model", "--url", &sim.url(), "--tokenizer", "builtin"]);
    let bench = bench.with(&["--request-count", "10", "--ui", "simple", "--isl", "16", "--osl", "8"]);
    let mut command = bench.command();
    command.env("TERM", "dumb").env_remove("NO_COLOR");
    let (code, written) = on_a_terminal(command, 80);
    assert_eq!(code, Some(0), "{written}");
    assert!(!written.contains('\x1b') && !written.contains("Profiling: "), "{written}");
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    for args in [&["--help"][..], &["profile", "--help"], &["profile", "-h"], &["sim", "--help"], &["demo", "--help"]] {
        for columns in [80, 60] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
            command.args(args);
            let (code, written) = on_a_terminal(command, columns);
            assert_eq!(code, Some(0));
            assert!(written.lines().count() > 5);
            assert_fits(&written, usize::from(columns));
        }
    }
}
