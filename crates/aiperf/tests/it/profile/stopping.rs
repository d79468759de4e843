//! Signals and time limits: all measured data is written.

use crate::bench::{Bench, avg, quick, serve};
use crate::profile::disk::files;
use aiperf_sim::{Latency, SimConfig};
use std::io::Write;
use std::time::Duration;

fn slow() -> SimConfig {
    SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() }
}

#[test]
fn the_first_signal_writes_everything_and_sets_the_exit_code() {
    let codes = [("INT", 130), ("TERM", 143), ("HUP", 129), ("USR1", 138), ("USR2", 140), ("ALRM", 142), ("XCPU", 152)];
    let mut panels = 0;
    for (signal, code) in codes {
        let sim = serve(slow());
        let args = ["--streaming", "--concurrency", "4", "--request-count", "100000", "--num-dataset-entries", "10"];
        let running = Bench::of(&sim.url()).with(&args).start();
        running.wait_for_records(8);
        running.signal(signal);
        let run = running.finish();
        assert_eq!(run.code(), Some(code), "{}", run.stderr());
        let summary = run.summary();
        assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&true.into(), &false.into()));
        let records = run.records();
        let (cancelled, done): (Vec<_>, Vec<_>) = records.iter().partition(|r| r["metadata"]["was_cancelled"] == true);
        assert_eq!(avg(&summary, "request_count"), done.len() as f64);
        let in_flight = &summary["measurement"]["cut_off_requests"];
        assert!(cancelled.len() <= 4 && *in_flight == cancelled.len(), "requests in flight leave a line");
        assert!(run.text("profile_export_console.txt").contains("INCOMPLETE RESULTS"));
        panels += usize::from(run.stderr().contains("BENCHMARK CANCELLED"));
        assert!(!run.stderr().contains('\x1b'), "no colours where there is no terminal");
    }
    // On a busy machine, some runs end before the panel about their end is printed.
    assert!(panels > 0, "no panel");
}

#[test]
fn a_repeated_signal_is_one_stop_request() {
    let sim = serve(quick());
    // As `timeout` does, a terminal that closes, and a limit of CPU time, which the kernel repeats every second.
    for (signals, code) in
        [(["TERM", "TERM"], 143), (["HUP", "HUP"], 129), (["XCPU", "XCPU"], 152), (["TERM", "XCPU"], 143)]
    {
        let running = endless(&sim.url()).start();
        running.wait_for_records(4);
        signals.iter().for_each(|signal| running.signal(signal));
        let run = running.finish();
        assert_eq!(run.code(), Some(code), "{}", run.stderr());
        assert_eq!(run.summary()["was_cancelled"], true);
        assert!(!run.stderr().contains("Force Quit"), "{}", run.stderr());
    }
}

#[test]
fn a_signal_after_the_last_request_keeps_the_exit_code_of_the_files() {
    let sim = serve(quick());
    for _ in 0..3 {
        let running = Bench::of(&sim.url()).with(&["--request-count", "8", "--concurrency", "4"]).start();
        // The last requests are over: only files and the report are left.
        running.wait_for_records(8);
        running.signal("INT");
        let run = running.finish();
        let marker: serde_json::Value = serde_json::from_str(&run.text(".aiperf_results_ready.json")).unwrap();
        let expected = if marker["was_cancelled"] == true { 130 } else { 0 };
        assert_eq!(run.code(), Some(expected), "{marker}: {}", run.stderr());
        assert_eq!(run.summary()["was_cancelled"], marker["was_cancelled"]);
    }
}

#[test]
fn a_signal_while_files_are_written_keeps_the_run_complete() {
    let sim = serve(quick());
    let bench = Bench::watching(&sim.url()).env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "30");
    let mut running = bench.with(&["--request-count", "8", "--log-level", "info"]).start();
    // Every request is over, and the run waits for the last pages of the server's metrics.
    running.wait_for_words("Processed 8 valid requests");
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert_eq!((&summary["was_cancelled"], &summary["is_complete"]), (&false.into(), &true.into()));
    let log = run.text("logs/aiperf.log");
    assert!(log.contains("The stop request came after the last request: the run is complete"), "{log}");
}

#[test]
fn a_time_limit_ends_sending_and_grace_lets_requests_finish() {
    let sim = serve(quick());
    let args = ["--streaming", "--concurrency", "2", "--benchmark-duration", "0.3", "--benchmark-grace-period", "5"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    let summary = run.summary();
    assert!(avg(&summary, "request_count") >= 2.0);
    assert_eq!(summary["was_cancelled"], false);
    assert!(summary.get("error_request_count").is_none());
}

#[test]
fn requests_cut_off_by_the_end_of_grace_leave_a_line_and_are_named() {
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_secs(30)), ..quick() });
    let args = ["--streaming", "--concurrency", "2", "--benchmark-duration", "0.1", "--benchmark-grace-period", "0.1"];
    let run = Bench::of(&sim.url()).with(&args).run();
    assert_eq!(run.code(), Some(1), "no request got a response");
    let summary = run.summary();
    assert_eq!((&summary["was_cancelled"], &summary["measurement"]["cut_off_requests"]), (&false.into(), &2.into()));
    assert_eq!(summary["is_complete"], false);
    let records = run.records();
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record["metadata"]["was_cancelled"], true);
        assert_eq!(record["error"]["type"], "RequestCancellationError");
    }
    assert!(run.stdout().contains("2 requests were cut off by the end of the grace period"), "{}", run.stdout());
    assert!(run.stdout().contains("No request got a response"), "{}", run.stdout());
}

/// A run that goes on until a signal.
fn endless(url: &str) -> Bench {
    Bench::of(url).with(&[
        "--streaming",
        "--concurrency",
        "4",
        "--request-count",
        "100000",
        "--num-dataset-entries",
        "10",
    ])
}

#[test]
fn a_reader_that_closes_the_pipe_changes_nothing() {
    let sim = serve(slow());
    let mut running = endless(&sim.url()).start();
    drop((running.child.stdout.take(), running.child.stderr.take()));
    running.wait_for_records(8);
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(130));
    assert_eq!(run.summary()["was_cancelled"], true);
}

#[test]
fn a_pipe_without_a_reader_delays_nothing() {
    let sim = serve(slow());
    let (_unread, mut full) = std::io::pipe().unwrap();
    full.write_all(&[b'.'; 1 << 16]).unwrap();
    let bench = endless(&sim.url());
    let mut command = bench.command();
    command.stdout(full.try_clone().unwrap()).stderr(full);
    let running = bench.start_as(command);
    running.wait_for_records(8);
    running.signal("TERM");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(143));
    assert_eq!(run.summary()["was_cancelled"], true);
}

#[test]
fn bad_input_has_its_exit_code_even_if_stderr_is_closed() {
    let bench = Bench::bare().with(&["--no-such-flag"]);
    let mut command = bench.command();
    command.stderr(std::fs::File::options().write(true).open("/dev/full").unwrap());
    assert_eq!(bench.start_as(command).finish_soon().code(), Some(2));
}

#[test]
fn a_signal_that_the_parent_ignores_stays_ignored() {
    let sim = serve(slow());
    let running = endless(&sim.url()).after("trap '' INT").start();
    running.wait_for_records(8);
    running.signal("INT");
    running.wait_for_records(16);
    running.signal("TERM");
    assert_eq!(running.finish_soon().code(), Some(143));
}

#[test]
fn a_run_that_is_being_prepared_can_be_stopped_and_leaves_nothing() {
    let args =
        ["--isl", "20000", "--num-dataset-entries", "100000", "--request-count", "100000", "--log-level", "info"];
    let given = ["--model", "m", "--url", "http://127.0.0.1:1", "--tokenizer", "builtin", "--ui", "none"];
    let mut running = Bench::bare().with(&given).with(&args).start();
    running.wait_for_words("Encoding requests ...");
    running.signal("INT");
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(130), "{}", run.stderr());
    assert!(run.stderr().contains("nothing was sent"), "{}", run.stderr());
    assert_eq!(std::fs::read_dir(run.path("")).unwrap().count(), 0);
}

#[test]
fn a_second_signal_leaves_no_unfinished_file() {
    let sim = serve(slow());
    let running = endless(&sim.url()).start();
    running.wait_for_records(4);
    // Both are pending while the process is stopped, so the second one arrives before the run has ended.
    for signal in ["STOP", "INT", "TERM", "CONT"] {
        running.signal(signal);
    }
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(143), "{}", run.stderr());
    let names: Vec<String> = files(&run).into_keys().map(|path| path.display().to_string()).collect();
    assert!(names.iter().any(|name| name.ends_with("profile_export.jsonl")), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with(".tmp")), "{names:?}");
}

#[test]
fn a_junit_pipe_without_a_reader_is_refused_before_anything_is_sent() {
    let sim = serve(quick());
    let bench = Bench::of(&sim.url()).with(&["--request-count", "4", "--junit", "pipe"]);
    nix::unistd::mkfifo(&bench.dir.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let run = bench.start().finish_soon();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("pipe: it is a pipe that no process reads"), "{}", run.stderr());
    assert!(!run.path("profile_export.jsonl").exists());
}
