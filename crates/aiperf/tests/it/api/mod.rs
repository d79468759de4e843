//! The live API of the real binary, over real sockets.
//!
//! # Layout
//! - [`client`]: requests and WebSockets byte by byte; [`bench`] is that of the tests of whole runs
//! - [`responses`]: responses during a run and after it
//! - [`stream`]: messages to WebSocket clients
//! - [`hostile`]: requests that must get nothing
//! - [`listening`]: ports, and when the API ends

mod client;
mod hostile;
mod listening;
mod responses;
mod stream;

use crate::bench::{Bench, Running, quick, serve};
use client::{Client, Socket};
use serde_json::Value;

/// A run whose API is tested, with its server.
struct Watched {
    client: Client,
    running: Running,
    sim: aiperf_sim::SimHandle,
}

/// A run of this length, whose API stays up after it until a stop request.
fn watched(length: [&str; 2], args: &[&str], env: &[(&str, &str)]) -> Watched {
    Watched::start(Bench::of, length, args, env)
}

/// A run that does not end by itself.
const ENDLESS: [&str; 2] = ["--benchmark-duration", "600"];

impl Watched {
    fn start(bench: fn(&str) -> Bench, length: [&str; 2], args: &[&str], env: &[(&str, &str)]) -> Self {
        let sim = serve(quick());
        let client = Client::of_free_port();
        let bench = bench(&sim.url())
            .with(&["--streaming", "--concurrency", "4"])
            .with(&length)
            .with(&["--api-port", &client.port().to_string()])
            .with(args)
            .env("AIPERF_API_SERVER_POST_COMPLETE_GRACE", "300")
            .env("AIPERF_API_SERVER_SHUTDOWN_RESPONSE_DELAY_SECONDS", "0");
        let bench = env.iter().fold(bench, |bench, (name, value)| bench.env(name, value));
        let mut running = bench.start();
        running.wait_for_words("Live API at http://");
        Self { client, running, sim }
    }

    /// Waits for a message of this kind that meets a condition. Polling would take CPU time from the run.
    fn waits_for(&self, kind: &str, is_met: impl Fn(&Value) -> bool) {
        let mut socket = Socket::open(&self.client);
        socket.subscribe(&[kind]);
        while !is_met(&socket.text()) {}
    }

    /// Waits until requests came back.
    fn is_on(&self) -> Value {
        self.waits_for("credit_phase_progress", |message| message["stats"]["requests_completed"].as_u64() > Some(0));
        self.client.get("/api/progress").json()
    }

    /// Waits until there are metrics.
    fn is_measured(&self) {
        self.waits_for("realtime_metrics", |message| {
            message["metrics"].as_array().is_some_and(|metrics| !metrics.is_empty())
        });
    }

    /// Waits for the results.
    fn is_over(&self) -> Value {
        let mut socket = Socket::open(&self.client);
        socket.subscribe(&["benchmark_complete"]);
        // The run may be over already.
        if self.client.get("/api/results").json()["status"] == "running" {
            socket.until("benchmark_complete");
        }
        self.client.get("/api/results").json()
    }

    /// Stops a run that does not end by itself.
    fn stop(self) {
        self.running.signal("INT");
        assert_eq!(self.running.finish_soon().code(), Some(130));
    }
}
