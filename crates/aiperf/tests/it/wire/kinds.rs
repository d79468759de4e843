//! The kinds of connections, and a server for each.

use crate::bench::{Bench, Run, serve};
use aiperf_sim::{SimConfig, SimHandle, TlsOptions};
use serde_json::Value;
use tempfile::TempDir;

/// A kind of connection.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) unix: bool,
    pub(crate) tls: bool,
    pub(crate) http2: bool,
}

pub(crate) const HTTP1: &Kind = &Kind { name: "HTTP/1.1", unix: false, tls: false, http2: false };
pub(crate) const HTTP1_TLS: &Kind = &Kind { name: "HTTP/1.1 over TLS", unix: false, tls: true, http2: false };
pub(crate) const HTTP2: &Kind = &Kind { name: "HTTP/2", unix: false, tls: false, http2: true };

pub(crate) const KINDS: [&Kind; 5] = [
    HTTP1,
    &Kind { name: "HTTP/1.1 over a Unix socket", unix: true, tls: false, http2: false },
    HTTP1_TLS,
    HTTP2,
    &Kind { name: "HTTP/2 over TLS", unix: false, tls: true, http2: true },
];

/// Runs a check over every kind, all at once. A thread that panics has the name of its kind.
pub(crate) fn over_every_kind(check: impl Fn(&'static Kind) + Sync) {
    std::thread::scope(|scope| {
        for kind in KINDS {
            let check = &check;
            std::thread::Builder::new().name(kind.name.to_owned()).spawn_scoped(scope, move || check(kind)).unwrap();
        }
    });
}

/// A server for one kind of connection, which logs its requests.
pub(crate) struct Server {
    kind: &'static Kind,
    sim: SimHandle,
    dir: TempDir,
}

impl Server {
    pub(crate) fn start(kind: &'static Kind, config: SimConfig) -> Self {
        let dir = TempDir::new().unwrap();
        let tls = TlsOptions { ca_file: Some(dir.path().join("ca.pem")), ..config.tls.clone().unwrap_or_default() };
        let sim = serve(SimConfig {
            unix_socket: kind.unix.then(|| dir.path().join("socket")),
            tls: kind.tls.then_some(tls),
            truth_log: Some(dir.path().join("truth.jsonl")),
            ..config
        });
        Self { kind, sim, dir }
    }

    pub(crate) fn url(&self) -> String {
        match self.kind.unix {
            true => format!("unix://{}", self.path("socket")),
            false => self.sim.url(),
        }
    }

    /// A benchmark of it that trusts its certificate.
    pub(crate) fn bench(&self) -> Bench {
        self.bench_of(&self.url())
    }

    /// A benchmark of it by another URL.
    pub(crate) fn bench_of(&self, url: &str) -> Bench {
        let bench = Bench::of(url).with(&["--transport", if self.kind.http2 { "http2" } else { "http" }]);
        if self.kind.tls { bench.env("SSL_CERT_FILE", &self.path("ca.pem")) } else { bench }
    }

    /// Writes a file next to the log, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// Its log of every request, in the order in which responses ended.
    pub(crate) fn stop(self) -> Vec<Value> {
        let path = self.path("truth.jsonl");
        self.sim.stop().unwrap();
        std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The number of connections that requests used.
pub(crate) fn connections(truth: &[Value]) -> usize {
    truth.iter().map(|request| request["connection"].as_u64().unwrap()).collect::<std::collections::BTreeSet<_>>().len()
}

/// Runs to the end, with a time limit.
pub(crate) fn run(bench: Bench) -> Run {
    bench.start().finish_soon()
}

/// A metric of a record.
pub(crate) fn value(record: &Value, tag: &str) -> f64 {
    record["metrics"][tag]["value"].as_f64().unwrap_or_else(|| panic!("{tag} in {record}"))
}

/// The error types of a run, each as often as it occurred.
pub(crate) fn error_types(run: &Run) -> Vec<String> {
    let records = run.records();
    let errors = records.iter().filter(|record| !record["error"].is_null());
    errors.map(|record| record["error"]["type"].as_str().unwrap_or_default().to_owned()).collect()
}
