//! A run, and the requests that the server received.

use crate::bench::{Bench, Run, answering, response};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// An answer that every endpoint type whose answers are chat completions can read.
const ANSWER: &str = r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"yes"}}]}"#;

/// A run that is over, and what the server received, in the order in which it came.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) requests: Vec<Request>,
}

/// One request as the server received it.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Runs `profile` against a server of chat completions, one request at a time. Nothing is said of the dataset.
pub(crate) fn chat(args: &[&str]) -> Recorded {
    chat_as(|bench| bench.with(args))
}

/// The same, of a benchmark that is told more.
pub(crate) fn chat_as(told: impl FnOnce(Bench) -> Bench) -> Recorded {
    chat_counted(|bench| told(bench.with(&["--model", "m", "--tokenizer", "builtin"])))
}

/// The same, where neither a model nor a tokenizer is named.
pub(crate) fn chat_counted(told: impl FnOnce(Bench) -> Bench) -> Recorded {
    answered(ANSWER, told)
}

/// The same, of a server that always answers this.
pub(crate) fn answered(answer: &'static str, told: impl FnOnce(Bench) -> Bench) -> Recorded {
    serving(answer, |address| {
        let bench = Bench::bare().with(&["--url", address, "--concurrency", "1"]).with(&[
            "--ui",
            "none",
            "--no-server-metrics",
            "--no-gpu-telemetry",
        ]);
        told(bench)
    })
}

/// The same, of a benchmark that is told everything, the address of the server included.
pub(crate) fn recording(told: impl FnOnce(&str) -> Bench) -> Recorded {
    serving(ANSWER, told)
}

fn serving(answer: &'static str, told: impl FnOnce(&str) -> Bench) -> Recorded {
    let received = Arc::new(Mutex::new(Vec::new()));
    let kept = received.clone();
    let address = answering(move |_, head, body| {
        let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        kept.lock().unwrap().push(Request { head: head.to_owned(), body });
        response("200 OK", "application/json", answer)
    });
    let run = told(&address).run();
    let requests = std::mem::take(&mut *received.lock().unwrap());
    Recorded { run, requests }
}

impl Recorded {
    /// The same, of a run that went well.
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.run.code(), Some(0), "{}", self.run.stderr());
        self
    }

    /// What a run that was refused said, before anything was sent.
    pub(crate) fn refused(self) -> String {
        assert_eq!(self.run.code(), Some(2), "{}", self.run.stderr());
        assert!(self.requests.is_empty(), "{} requests were sent", self.requests.len());
        self.run.stderr()
    }

    pub(crate) fn bodies(&self) -> Vec<&Value> {
        self.requests.iter().map(|request| &request.body).collect()
    }

    /// The heads of the requests.
    pub(crate) fn heads(&self) -> Vec<&str> {
        self.requests.iter().map(|request| request.head.as_str()).collect()
    }

    /// The text of the last message of each request.
    pub(crate) fn texts(&self) -> Vec<String> {
        let text = |body: &&Value| {
            let content = &body["messages"].as_array().unwrap().last().unwrap()["content"];
            content.as_str().map_or_else(|| content.to_string(), str::to_owned)
        };
        self.bodies().iter().map(text).collect()
    }
}
