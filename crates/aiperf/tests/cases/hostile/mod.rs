//! The real binary against servers that misbehave, over real sockets. Whatever arrives, a run ends by itself, with the
//! right records and exit code.
//!
//! # Layout
//! - `hostile/table.rs`: the parts of a row: the steps of the server, and the expected result
//! - `hostile/server.rs`: a server that follows the script of a row
//! - `hostile/rows`: the rows, one file an area

mod rows;
mod server;
mod table;

use aiperf_golden::cases::{Trial, slug, test, trial};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{ExpectedOutcome, Row, Tls};

/// A run that lasts longer hangs. Beside a build, the longest rows take more than a minute.
const HANGS: Duration = Duration::from_secs(600);

/// Whatever a server does, a run ends with the records it should.
pub(crate) fn trials() -> Vec<Trial> {
    let of_row = |area: &str, row: &'static Row| {
        trial(format!("hostile::{area}::{}", slug(row.name)), move || {
            check(row).unwrap_or_else(|why| panic!("{why}"));
            None
        })
    };
    let rows = rows::GROUPS.iter().flat_map(|(area, rows)| rows.iter().map(move |row| of_row(area, row)));
    rows.chain([test(every_row_has_a_name_of_its_own)]).collect()
}

fn every_row_has_a_name_of_its_own() {
    let rows = rows::GROUPS.iter().flat_map(|(_, rows)| rows.iter());
    let mut names: Vec<String> = rows.map(|row| slug(row.name)).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(all >= 60);
}

/// Runs a row and holds what came of it against what should.
fn check(row: &'static Row) -> Result<(), String> {
    let dir = tempfile::TempDir::new().unwrap();
    let url = server::serve(row.connections, row.tls);
    let code = run(row, &url, dir.path())?;
    let read =
        |name: &str| std::fs::read_to_string(dir.path().join("out").join(name)).map_err(|e| format!("{name}: {e}"));
    let lines = read("profile_export.jsonl")?;
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expect = |what: &str, is: bool| if is { Ok(()) } else { Err(format!("{what}\n{lines}")) };
    expect("records", records.len() == row.requests)?;
    match row.outcome {
        ExpectedOutcome::Answered => {
            expect(&format!("exit code {code:?} where all should be answered"), code == Some(0))?;
            expect("errors", records.iter().all(|record| record["error"].is_null()))?;
            let has_head = |record: &Value| record["metadata"]["request_ack_ns"].is_u64();
            expect("the instant of the head", records.iter().all(has_head))?;
        }
        ExpectedOutcome::Fails(kinds) => {
            expect(&format!("exit code {code:?} where all should fail"), code == Some(1))?;
            let kind = |record: &Value| record["error"]["type"].as_str().unwrap_or("none").to_owned();
            expect(kinds, records.iter().all(|record| kinds.split('|').any(|wanted| kind(record) == wanted)))?;
        }
    }
    if let Some(code) = row.code {
        expect(&format!("code {code}"), records.iter().all(|record| record["error"]["code"] == code))?;
    }
    let has_text = |record: &Value| record["error"]["message"].as_str().is_some_and(|text| text.contains(row.text));
    expect(row.text, row.text.is_empty() || records.iter().all(has_text))?;
    let summary: Value = serde_json::from_str(&read("profile_export_aiperf.json")?).unwrap();
    let warnings = read("logs/aiperf.log")? + &summary["measurement"]["doubts"].to_string();
    expect(row.warning, row.warning.is_empty() || warnings.matches(row.warning).count() == 1)?;
    let untrue = row.untrue.filter(|untrue| warnings.contains(untrue));
    expect(&format!("nothing of: {}", untrue.unwrap_or_default()), untrue.is_none())?;
    for (pointer, value) in row.holds {
        let found = summary.pointer(pointer).and_then(Value::as_f64);
        expect(&format!("{pointer} is {found:?} and should be {value}"), found == Some(*value))?;
    }
    Ok(())
}

/// Runs the binary; its exit code, or that it had to be ended.
fn run(row: &Row, url: &str, dir: &Path) -> Result<Option<i32>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aiperf"));
    command.args(["profile", "--model", "m", "--url", url, "--tokenizer", "builtin", "--isl", "8", "--osl", "4"]);
    command.args(["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry", "--concurrency", "1"]);
    command.args(["--request-count", &row.requests.to_string(), "--artifact-dir", "out"]).args(row.args);
    if row.tls != Tls::None {
        // The machine may have no certificates to trust, which would be another fault.
        command.env("AIPERF_HTTP_SSL_VERIFY", "false");
    }
    command.current_dir(dir).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status.code());
        }
        if started.elapsed() > HANGS {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err("the run did not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
