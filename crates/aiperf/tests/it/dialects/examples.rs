//! The examples of the documentation.

use crate::bench::quick;
use crate::dialects::rows::{ROWS, Server};
use serde_json::Value;
use std::process::Command;
use tempfile::TempDir;

/// Fenced blocks of bash.
fn blocks(text: &str) -> Vec<&str> {
    text.split("```bash\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn every_example_of_an_endpoint_type_runs() {
    let page = include_str!("../../../../../docs/endpoints.md");
    let blocks = blocks(page);
    for row in ROWS {
        let named = blocks.iter().filter(|block| block.contains(&format!("--endpoint-type {} ", row.name)));
        assert!(named.count() > 0, "no example of {}", row.name);
    }
    let programs = TempDir::new().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_aiperf"), programs.path().join("aiperf")).unwrap();
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let server = Server::start(quick());
    let here = server.url();
    for block in blocks {
        let dir = TempDir::new().unwrap();
        let script = block.replace("localhost:8000", here.trim_start_matches("http://"));
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", &script]).current_dir(dir.path()).env("PATH", &path);
        let output = command.env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "0").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{block}\n{stderr}\n{}", String::from_utf8_lossy(&output.stdout));
        let folder = std::fs::read_dir(dir.path().join("artifacts")).unwrap().next().unwrap().unwrap().path();
        let summary = std::fs::read(folder.join("profile_export_aiperf.json")).unwrap();
        let summary: Value = serde_json::from_slice(&summary).unwrap();
        assert_eq!(summary["request_count"]["avg"], 4.0, "{block}\n{stderr}");
    }
}
