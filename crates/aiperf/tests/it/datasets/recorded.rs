//! A run, and the requests that the server received.

use crate::bench::{Bench, Run, answering, response};
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// A response that every endpoint type with chat completion responses can parse.
const RESPONSE: &str = r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"yes"}}]}"#;

/// A finished run, and the requests that the server received, in order.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) requests: Vec<Request>,
}

/// One request as the server received it.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Runs `profile` against a server of chat completions, one request at a time, without any dataset options.
pub(crate) fn chat(args: &[&str]) -> Recorded {
    chat_as(|bench| bench.with(args))
}

/// The same, with more settings.
pub(crate) fn chat_as(configure: impl FnOnce(Bench) -> Bench) -> Recorded {
    chat_counted(|bench| configure(bench.with(&["--model", "m", "--tokenizer", "builtin"])))
}

/// The same, without a model and a tokenizer.
pub(crate) fn chat_counted(configure: impl FnOnce(Bench) -> Bench) -> Recorded {
    answered(RESPONSE, configure)
}

/// The same, with a server that always returns this response.
pub(crate) fn answered(reply: &'static str, configure: impl FnOnce(Bench) -> Bench) -> Recorded {
    serving(reply, |address| {
        let bench = Bench::bare().with(&["--url", address, "--concurrency", "1"]).with(&[
            "--ui",
            "none",
            "--no-server-metrics",
            "--no-gpu-telemetry",
        ]);
        configure(bench)
    })
}

/// The same, with all settings by the caller, including the address of the server.
pub(crate) fn recording(configure: impl FnOnce(&str) -> Bench) -> Recorded {
    serving(RESPONSE, configure)
}

fn serving(reply: &'static str, configure: impl FnOnce(&str) -> Bench) -> Recorded {
    let received = Arc::new(Mutex::new(Vec::new()));
    let kept = received.clone();
    let address = answering(move |_, head, body| {
        let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        kept.lock().unwrap().push(Request { head: head.to_owned(), body });
        response("200 OK", "application/json", reply)
    });
    let run = configure(&address).run();
    let requests = std::mem::take(&mut *received.lock().unwrap());
    Recorded { run, requests }
}

impl Recorded {
    /// Checks that the run succeeded.
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.run.code(), Some(0), "{}", self.run.stderr());
        self
    }

    /// Checks that the run was refused before anything was sent, and returns its message.
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
