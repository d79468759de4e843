//! The printed configurations, unchanged.

use crate::bench::Bench;
use crate::load::server::{Server, paced, run};
use std::process::Command;

/// The same, shortened from minutes to seconds.
fn shortened(printed: String) -> String {
    let shorter = [
        ("duration: 5m", "duration: 1"),
        ("duration: 2m", "duration: 0.5"),
        ("duration: 30}", "duration: 0.5}"),
        ("rate: 1,", "rate: 20,"),
        ("rate: 2,", "rate: 80,"),
        ("rate_ramp: 30s", "rate_ramp: 0.5s"),
        ("sessions: 100", "sessions: 25"),
        ("sessions: 50", "sessions: 10"),
        ("{mean: 1000, stddev: 200}", "{mean: 20, stddev: 4}"),
        ("osl: 128", "osl: 8"),
    ];
    shorter.iter().fold(printed, |text, (from, to)| text.replace(from, to))
}

#[test]
fn the_templates_of_load_run_as_printed_except_for_their_lengths() {
    for name in ["request-rate", "user-centric", "rate-steps", "multi-turn"] {
        let server = Server::start(paced(2, 1));
        let printed =
            Command::new(env!("CARGO_BIN_EXE_aiperf")).args(["config", "init", "--template", name]).output().unwrap();
        assert!(printed.status.success(), "{name}: {}", String::from_utf8_lossy(&printed.stderr));
        let path = server.write("run.yaml", &shortened(String::from_utf8(printed.stdout).unwrap()));
        let quietly = ["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--tokenizer", "builtin"];
        let run = run(Bench::bare().with(&["--config", &path, "--url", &server.url()]).with(&quietly));
        assert!(!run.records().is_empty(), "{name}");
        drop(server);
    }
}
