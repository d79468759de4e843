//! A server that does what the recorded one did: as fast, and with the same failures.

use crate::golden_commands::command::GoldenRun;
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
    let url = match &outcomes[..] {
        good if good.iter().all(Option::is_none) => sim.url(),
        [Some(error), ..] if Fault::of(error) == Fault::Refused => nowhere(),
        _ => front(sim.url(), outcomes),
    };
    Server { url, _sim: sim }
}

/// An address at which nothing listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// How a server makes a request fail.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing listens.
    Refused,
    /// It answers with the status and the text of the error.
    Status(u64),
    /// It cuts its response within a chunked body.
    CutChunks,
    /// It cuts its response within a body of known length.
    CutLength,
    /// It reports an error inside a stream.
    Event,
    /// It answers with nothing in it.
    Empty,
    /// It never answers.
    Silence,
    /// It ends the connection without a response.
    Disconnect,
}

/// The kinds of errors that servers cause, by what the record of one contains.
const FAULTS: &[(&str, Fault)] = &[
    ("ClientConnectorError", Fault::Refused),
    ("TransferEncodingError", Fault::CutChunks),
    ("ContentLengthError", Fault::CutLength),
    ("SSEResponseError", Fault::Event),
    ("InvalidInferenceResultError", Fault::Empty),
    ("TimeoutError", Fault::Silence),
    ("ServerDisconnectedError", Fault::Disconnect),
];

impl Fault {
    fn of(error: &Value) -> Self {
        let chain = error["cause_chain"].as_array().into_iter().flatten();
        let names: Vec<&str> = chain.rev().chain([&error["type"]]).filter_map(Value::as_str).collect();
        let by_name = names.iter().find_map(|name| FAULTS.iter().find(|(known, _)| known == name));
        let status = || error["code"].as_u64().filter(|code| (400..600).contains(code)).map(Self::Status);
        // Without a code it was the connection that ended.
        by_name.map(|(_, fault)| *fault).or_else(status).unwrap_or(Self::Disconnect)
    }
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
                    reply(stream, || outcomes[next.fetch_add(1, Ordering::Relaxed) % outcomes.len()].as_ref(), behind);
            });
        }
    });
    url
}

/// One request a connection.
fn reply<'a>(mut stream: TcpStream, outcome: impl FnOnce() -> Option<&'a Value>, behind: &str) -> std::io::Result<()> {
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
    let asked = format!("{head}Connection: close\r\n\r\n").into_bytes().into_iter().chain(body).collect::<Vec<u8>>();
    match outcome() {
        None => {
            let mut server = TcpStream::connect(behind)?;
            server.write_all(&asked)?;
            std::io::copy(&mut server, &mut stream)?;
        }
        Some(error) => fail(&mut stream, error, behind, &asked)?,
    }
    stream.shutdown(Shutdown::Both)
}

/// How long a server that never answers keeps the connection.
const SILENCE: Duration = Duration::from_secs(60);

fn fail(stream: &mut TcpStream, error: &Value, behind: &str, asked: &[u8]) -> std::io::Result<()> {
    let text = error["message"].as_str().unwrap_or_default();
    match Fault::of(error) {
        Fault::Refused | Fault::Disconnect => Ok(()),
        Fault::Status(code) => {
            let (reason, length) = (error["type"].as_str().unwrap_or_default(), text.len());
            write!(stream, "HTTP/1.1 {code} {reason}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}")
        }
        Fault::CutChunks | Fault::CutLength => {
            let mut server = TcpStream::connect(behind)?;
            server.write_all(asked)?;
            let mut reply = Vec::new();
            server.read_to_end(&mut reply)?;
            stream.write_all(&cut(&reply, Fault::of(error)))
        }
        Fault::Event => {
            let text = text.rsplit(": ").next().unwrap_or_default();
            let event = format!("event: error\ndata: {text}\n\n");
            let length = event.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n\r\n{event}"
            )
        }
        Fault::Empty => write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        ),
        Fault::Silence => {
            std::thread::sleep(SILENCE);
            Ok(())
        }
    }
}

/// The first half of a response, framed as its record has it.
fn cut(reply: &[u8], fault: Fault) -> Vec<u8> {
    let head = reply.windows(4).position(|window| window == b"\r\n\r\n").map_or(reply.len(), |at| at + 4);
    let (head, body) = reply.split_at(head);
    let text = String::from_utf8_lossy(head).to_lowercase();
    let half = &body[..body.len() / 2];
    if text.contains("transfer-encoding: chunked") == (fault == Fault::CutChunks) {
        return [head, half].concat();
    }
    let fields = text.lines().skip(1).find(|line| line.starts_with("content-type:")).unwrap_or("x-none: -");
    let framing = match fault {
        Fault::CutChunks => format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", body.len()),
        _ => format!("content-length: {}\r\n\r\n", body.len()),
    };
    [format!("HTTP/1.1 200 OK\r\n{fields}\r\n{framing}").as_bytes(), half].concat()
}

pub(crate) fn a_server_fails_as_the_record_of_the_error_has_it() {
    use serde_json::json;
    let of = |error: Value| Fault::of(&error);
    let payload = |cause: &str| json!({"type": "ClientPayloadError", "cause_chain": ["ClientPayloadError", cause]});
    assert_eq!(of(payload("TransferEncodingError")), Fault::CutChunks);
    assert_eq!(of(payload("ContentLengthError")), Fault::CutLength);
    assert_eq!(of(json!({"code": 502, "type": "SSEResponseError"})), Fault::Event);
    assert_eq!(of(json!({"code": 503, "type": "Service Unavailable"})), Fault::Status(503));
    assert_eq!(of(json!({"type": "ServerDisconnectedError"})), Fault::Disconnect);
    let chain = json!(["ClientConnectorError", "ConnectionRefusedError"]);
    assert_eq!(of(json!({"type": "ClientConnectorError", "cause_chain": chain})), Fault::Refused);
}

pub(crate) fn half_of_a_response_keeps_its_framing_or_gets_the_recorded_one() {
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n";
    let written = String::from_utf8(cut(chunked, Fault::CutChunks)).unwrap();
    assert_eq!(written, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd");
    let whole = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 4\r\n\r\nabcd";
    let written = String::from_utf8(cut(whole, Fault::CutChunks)).unwrap();
    assert!(written.ends_with("content-type: a/b\r\ntransfer-encoding: chunked\r\n\r\n4\r\nab"), "{written}");
    assert!(cut(whole, Fault::CutLength).ends_with(b"Content-Length: 4\r\n\r\nab"));
}
