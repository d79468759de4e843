//! Generated directories of runs, request by request.

use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A run to be written.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) requests: usize,
    /// Factor of all latencies.
    pub(crate) slower: f64,
    /// Another seed gives other requests.
    pub(crate) seed: u64,
    pub(crate) concurrency: u64,
    pub(crate) with_records: bool,
    pub(crate) unit: &'static str,
    /// Failed requests, in addition to the others.
    pub(crate) failed: usize,
}

impl Default for Run {
    fn default() -> Self {
        Self { requests: 2000, slower: 1.0, seed: 1, concurrency: 10, with_records: true, unit: "ms", failed: 0 }
    }
}

/// A request: when it started, how long it and its first token took, in milliseconds.
struct Request {
    start_ns: i64,
    latency: f64,
    first: f64,
}

impl Run {
    /// A closed loop: each user sends its next request right after a response.
    fn requests(&self) -> Vec<Request> {
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        let mut free = vec![1_700_000_000_000_000_000_i64; self.concurrency as usize];
        let next = |_| {
            let user = (0..free.len()).min_by_key(|user| free[*user]).unwrap();
            let latency = self.slower * (80.0 + 40.0 * random());
            let first = latency * (0.2 + 0.1 * random());
            let start_ns = free[user];
            free[user] += (latency * 1e6) as i64;
            Request { start_ns, latency, first }
        };
        (0..self.requests).map(next).collect()
    }

    /// Writes the files of a run into a directory.
    pub(crate) fn write(&self, dir: &Path) -> PathBuf {
        fs::create_dir_all(dir).unwrap();
        let requests = self.requests();
        let end = |request: &Request| request.start_ns + (request.latency * 1e6) as i64;
        let begin = requests.iter().map(|request| request.start_ns).min().unwrap();
        let seconds = (requests.iter().map(end).max().unwrap() - begin) as f64 / 1e9;
        let mut summary = Map::new();
        summary.insert("schema_version".into(), json!("1.4"));
        summary.insert("aiperf_version".into(), json!("0.1.0"));
        summary.insert(
            "request_throughput".into(),
            json!({"unit": "requests/sec", "avg": requests.len() as f64 / seconds}),
        );
        summary.insert("request_count".into(), json!({"unit": "requests", "avg": requests.len() as f64}));
        let latencies = requests.iter().map(|request| request.latency).collect();
        summary.insert("request_latency".into(), stats(latencies, self.unit));
        let firsts = requests.iter().map(|request| request.first).collect();
        summary.insert("time_to_first_token".into(), stats(firsts, "ms"));
        summary.insert("input_sequence_length".into(), stats(vec![128.0; requests.len()], "tokens"));
        let rate = 100.0 * self.failed as f64 / (self.failed + self.requests) as f64;
        summary.insert("request_error_rate".into(), json!({"unit": "%", "avg": rate}));
        if self.failed > 0 {
            summary.insert("error_request_count".into(), json!({"unit": "requests", "avg": self.failed as f64}));
        }
        let phase = json!({"name": "profiling", "type": "concurrency", "concurrency": self.concurrency});
        let config = json!({"models": {"items": [{"name": "m"}]}, "phases": [phase], "artifacts": {"dir": dir}});
        summary.insert("input_config".into(), config);
        summary.insert("is_complete".into(), json!(true));
        fs::write(dir.join("profile_export_aiperf.json"), Value::Object(summary).to_string()).unwrap();
        if self.with_records {
            let mut file = std::io::BufWriter::new(fs::File::create(dir.join("profile_export.jsonl")).unwrap());
            let mut by_end: Vec<&Request> = requests.iter().collect();
            by_end.sort_by_key(|request| end(request));
            for request in by_end {
                writeln!(file, "{}", line(request, end(request), self.unit)).unwrap();
            }
            file.flush().unwrap();
        }
        dir.to_owned()
    }
}

fn line(request: &Request, end: i64, unit: &str) -> String {
    let (start, latency, first) = (request.start_ns, request.latency, request.first);
    format!(
        "{{\"metadata\":{{\"request_start_ns\":{start},\"request_end_ns\":{end},\"benchmark_phase\":\"profiling\",\
         \"was_cancelled\":false}},\"metrics\":{{\"request_latency\":{{\"value\":{latency},\"unit\":\"{unit}\"}},\
         \"time_to_first_token\":{{\"value\":{first},\"unit\":\"ms\"}},\
         \"input_sequence_length\":{{\"value\":128,\"unit\":\"tokens\"}}}},\"error\":null}}"
    )
}

fn stats(mut values: Vec<f64>, unit: &str) -> Value {
    values.sort_by(f64::total_cmp);
    let at = |percent: f64| {
        let place = percent / 100.0 * (values.len() - 1) as f64;
        let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    json!({"unit": unit, "avg": mean, "p50": at(50.0), "p90": at(90.0), "p99": at(99.0), "count": values.len()})
}
