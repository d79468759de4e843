//! When requests came to a server, by its own account.

use crate::bench::{Bench, Run, quick};
pub(crate) use crate::logged::Server;
use aiperf_sim::{Latency, SimConfig};
use serde_json::Value;
use std::time::Duration;

/// Answers that take so many milliseconds to their first token and as many from each to the next.
pub(crate) fn paced(ttft_ms: u64, itl_ms: u64) -> SimConfig {
    let constant = |ms| Latency::constant(Duration::from_millis(ms));
    SimConfig { ttft: constant(ttft_ms), itl: constant(itl_ms), ..quick() }
}

impl Server {
    /// A streaming chat benchmark of it.
    pub(crate) fn bench(&self) -> Bench {
        Bench::of(&self.url()).with(&["--streaming", "--random-seed", "7"])
    }

    /// The same of a file, whose texts are as long as they are.
    pub(crate) fn bench_of_file(&self, text: &str) -> Bench {
        let file = self.write("input.jsonl", text);
        Bench::bare()
            .with(&["--model", "m", "--url", &self.url(), "--tokenizer", "builtin", "--streaming", "--ui", "none"])
            .with(&["--no-server-metrics", "--no-gpu-telemetry", "--input-file", &file])
    }

    /// What it says of every request, in the order in which they came.
    pub(crate) fn arrivals(self) -> Vec<Arrival> {
        let mut arrivals: Vec<Arrival> = self.stop().iter().map(Arrival::read).collect();
        arrivals.sort_by_key(|arrival| arrival.at);
        arrivals
    }
}

/// One request as the server saw it; instants in nanoseconds of the wall clock.
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

/// The most requests that were there at once, from their arrival to an instant of each.
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
/// Being late is no fault: the machine may be busy. The start is the plan's, because the first arrival may be late too.
pub(crate) fn never_early(run: &Run, arrivals: &[Arrival], due: impl Fn(usize) -> f64) {
    const DAY: u64 = 86_400_000_000;
    let start_time = run.summary()["start_time"].as_str().unwrap().to_owned();
    let (_, time) = start_time.split_once('T').unwrap();
    let parts: Vec<f64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    let start = ((parts[0] * 60.0 + parts[1]) * 60.0 + parts[2]) * 1e6;
    for (number, arrival) in arrivals.iter().enumerate() {
        // Microseconds of the day. A wall clock that is corrected during the run has a millisecond to do so.
        let after = (arrival.at / 1000 + 1000 + DAY - start as u64) % DAY;
        let (after, due) = (after as f64 / 1e6, due(number));
        assert!(after >= due, "request {number} is due after {due} s and arrived after {after} s");
    }
}

/// Runs to a good end, which comes soon or never.
pub(crate) fn run(bench: Bench) -> Run {
    let run = bench.start().finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    run
}

/// Runs what is refused; gives what was said.
pub(crate) fn refused(bench: Bench) -> String {
    let run = bench.start().finish_soon();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(!run.path("profile_export.jsonl").exists(), "something was sent");
    run.stderr()
}
