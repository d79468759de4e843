//! The arrival times in the server's log.

use crate::bench::{Bench, Run, quick};
pub(crate) use crate::logged::Server;
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

/// Responses with so many milliseconds to the first token and between tokens.
pub(crate) fn paced(ttft_ms: u64, itl_ms: u64) -> SimConfig {
    let constant = |ms| Latency::constant(Duration::from_millis(ms));
    SimConfig { ttft: constant(ttft_ms), itl: constant(itl_ms), ..quick() }
}

impl Server {
    /// A streaming chat benchmark of it.
    pub(crate) fn bench(&self) -> Bench {
        Bench::of(&self.url()).with(&["--streaming", "--random-seed", "7"])
    }

    /// The same with a file, whose texts keep their length.
    pub(crate) fn bench_of_file(&self, text: &str) -> Bench {
        let file = self.write("input.jsonl", text);
        Bench::bare()
            .with(&["--model", "m", "--url", &self.url(), "--tokenizer", "builtin", "--streaming", "--ui", "none"])
            .with(&["--no-server-metrics", "--no-gpu-telemetry", "--input-file", &file])
    }

    /// Its log of every request, in the order of arrival.
    pub(crate) fn arrivals(self) -> Vec<Arrival> {
        let mut arrivals: Vec<Arrival> = self.stop().iter().map(Arrival::read).collect();
        arrivals.sort_by_key(|arrival| arrival.at);
        arrivals
    }
}

/// One request in the server's log; instants in nanoseconds of the wall clock.
pub(crate) struct Arrival {
    pub(crate) at: u64,
    /// Just before the first content was written.
    pub(crate) first_token: u64,
    /// Just before the last byte was written.
    pub(crate) end: u64,
    pub(crate) session: String,
    pub(crate) prompt_tokens: u64,
}

impl Arrival {
    fn read(line: &Value) -> Self {
        let at = line["received_read_ns"].as_u64().unwrap();
        let chunks = line["chunks"].as_array().unwrap();
        let end = chunks.last().map_or(at, |chunk| chunk[0].as_u64().unwrap());
        let first = chunks.iter().find(|chunk| chunk[2] != 0).map_or(end, |chunk| chunk[0].as_u64().unwrap());
        Self {
            at,
            first_token: first,
            end,
            session: line["correlation_id"].as_str().unwrap_or_default().to_owned(),
            prompt_tokens: line["prompt_tokens"].as_u64().unwrap_or(0),
        }
    }
}

/// The maximum number of requests at once, each from its arrival to an instant of its own.
pub(crate) fn peak(arrivals: &[Arrival], until: impl Fn(&Arrival) -> u64) -> i64 {
    let mut moments: Vec<(u64, i64)> =
        arrivals.iter().flat_map(|arrival| [(arrival.at, 1), (until(arrival), -1)]).collect();
    moments.sort_unstable();
    let mut now = 0;
    moments
        .into_iter()
        .map(|(_, step)| {
            now += step;
            now
        })
        .max()
        .unwrap_or(0)
}

/// Whether no request was sent before its time: the n-th one is due so many seconds after the start of the run's phase.
///
/// A late request is no error, because the machine may be busy. The start is that of the summary, because the first
/// arrival may be late too.
pub(crate) fn never_early(run: &Run, arrivals: &[Arrival], due: impl Fn(usize) -> f64) {
    const DAY: u64 = 86_400_000_000;
    let start_time = run.summary()["start_time"].as_str().unwrap().to_owned();
    let (_, time) = start_time.split_once('T').unwrap();
    let parts: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    let start = ((parts[0] * 60.0 + parts[1]) * 60.0 + parts[2]) * 1e6;
    for (number, arrival) in arrivals.iter().enumerate() {
        // Microseconds of the day, with a tolerance of one millisecond for corrections of the wall clock during the
        // run.
        let after = (arrival.at / 1000 + 1000 + DAY - start as u64) % DAY;
        let (after, due) = (after as f64 / 1e6, due(number));
        assert!(after >= due, "request {number} is due after {due} s and arrived after {after} s");
    }
}

/// Runs to a successful end, with a time limit.
pub(crate) fn run(bench: Bench) -> Run {
    let run = bench.start().finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

/// Runs a benchmark that must be refused; returns its message.
pub(crate) fn refused(bench: Bench) -> String {
    let run = bench.start().finish_soon();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(!run.path("profile_export.jsonl").exists(), "something was sent");
    run.stderr()
}
