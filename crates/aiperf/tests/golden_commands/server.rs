//! A server that does what the recorded one did: as fast, and with the same failures.

use crate::command::GoldenRun;
use aiperf_sim::{Latency, Sim, SimConfig, SimHandle};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) struct Server {
    pub(crate) url: String,
    _sim: SimHandle,
}

/// The simulated server in the place of a run's; where requests failed, behind one that fails them.
pub(crate) fn like(run: &GoldenRun) -> Server {
    let (summary, records) = (run.summary(), run.records());
    let mean = |tag: &str| -> Option<f64> {
        let values: Vec<f64> = records.iter().filter_map(|record| record["metrics"][tag]["value"].as_f64()).collect();
        let of_records = values.iter().sum::<f64>() / values.len() as f64;
        summary[tag]["avg"].as_f64().or_else(|| Some(of_records).filter(|mean| mean.is_finite()))
    };
    let whole = mean("request_latency").unwrap_or(1.0);
    let first = mean("time_to_first_token").unwrap_or(whole);
    let chunks = mean("usage_completion_tokens").unwrap_or(1.0).max(2.0);
    let time = |ms: f64| Latency::constant(Duration::from_secs_f64(ms.max(0.1) / 1000.0));
    let sim = Sim::spawn(SimConfig {
        port: 0,
        ttft: time(first),
        itl: time((whole - first) / (chunks - 1.0)),
        reasoning_tokens: mean("reasoning_token_count").unwrap_or(0.0).round() as u32,
        ..SimConfig::default()
    })
    .unwrap();
    let outcomes = outcomes(&summary, &records);
    let url = if outcomes.iter().all(Option::is_none) { sim.url() } else { front(sim.url(), outcomes) };
    Server { url, _sim: sim }
}

/// What became of each request: its error, those spread evenly among the good ones. Requests that the client gave up
/// are good ones to the server.
fn outcomes(summary: &Value, records: &[Value]) -> Vec<Option<Value>> {
    let of_server = |error: &Value| error["code"] != 499;
    let (failed, good): (Vec<Value>, usize) = match summary["error_summary"].as_array() {
        Some(errors) => {
            let errors = errors.iter().filter(|entry| of_server(&entry["error_details"])).flat_map(|entry| {
                let count = entry["count"].as_u64().unwrap() as usize;
                std::iter::repeat_n(entry["error_details"].clone(), count)
            });
            (errors.collect(), summary["request_count"]["avg"].as_f64().unwrap_or(0.0) as usize)
        }
        None => {
            let errors = records.iter().filter_map(|record| record.get("error")).filter(|error| of_server(error));
            let failed: Vec<Value> = errors.cloned().collect();
            let good = records.len() - failed.len();
            (failed, good)
        }
    };
    let all = failed.len() + good;
    let mut failed = failed.into_iter().enumerate().peekable();
    let count = failed.len();
    let is_due = |nth: usize, at: usize| nth * all <= at * count;
    (0..all).map(|at| failed.next_if(|(nth, _)| is_due(*nth, at)).map(|(_, error)| error)).collect()
}

/// A server that gives each request its outcome in turn: the error, or what the one behind it answers.
fn front(behind: String, outcomes: Vec<Option<Value>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::new((behind.strip_prefix("http://").unwrap().to_owned(), outcomes, AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = shared.clone();
            std::thread::spawn(move || {
                let (behind, outcomes, next) = &*shared;
                let _ =
                    answer(stream, || outcomes[next.fetch_add(1, Ordering::Relaxed) % outcomes.len()].as_ref(), behind);
            });
        }
    });
    url
}

/// One request a connection.
fn answer<'a>(mut stream: TcpStream, outcome: impl FnOnce() -> Option<&'a Value>, behind: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line)? > 2 {
        head.push_str(&std::mem::take(&mut line));
    }
    if head.is_empty() {
        return Ok(());
    }
    let length = |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok();
    let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    match outcome() {
        None => {
            let mut server = TcpStream::connect(behind)?;
            write!(server, "{head}Connection: close\r\n\r\n")?;
            server.write_all(&body)?;
            std::io::copy(&mut server, &mut stream)?;
        }
        Some(error) => {
            // Without a code it was the connection that ended.
            if let Some(code) = error["code"].as_u64().filter(|code| (400..600).contains(code)) {
                let (reason, text) = (error["type"].as_str().unwrap(), error["message"].as_str().unwrap());
                let length = text.len();
                write!(
                    stream,
                    "HTTP/1.1 {code} {reason}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
                )?;
            }
        }
    }
    stream.shutdown(Shutdown::Both)
}
