//! The artifact directory: files of earlier runs, two runs in one directory, and failed writes.

use crate::bench::{Bench, Gate, Run, avg, quick, serve};
use aiperf_sim::{Latency, SimConfig};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

fn few(url: &str) -> Bench {
    Bench::of(url).with(&["--streaming", "--concurrency", "2", "--request-count", "4"])
}

/// Every file of a run, with its content.
pub(crate) fn files(run: &Run) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![run.path("")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_refused_run_keeps_the_results_of_the_last_one() {
    let sim = serve(quick());
    let mut run = few(&sim.url()).run();
    let before = files(&run);
    for refused in [&["--tokenizer", "no/such-tokenizer"][..], &["--goodput", "no_such_metric:1"], &["--isl", "0.1"]] {
        let given = ["--model", "m", "--url", &sim.url(), "--ui", "none"];
        let tokenizer: &[&str] = if refused[0] == "--tokenizer" { &[] } else { &["--tokenizer", "builtin"] };
        run = Bench::bare().in_place_of(run).with(&given).with(tokenizer).with(refused).run();
        assert_eq!(run.code(), Some(2), "{refused:?}: {}", run.stderr());
        assert_eq!(files(&run), before, "{refused:?}");
    }
}

#[test]
fn after_a_kill_no_earlier_summary_is_next_to_new_records() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let earlier = few(&sim.url()).with(&["--warmup-request-count", "1"]).run();
    assert!(earlier.path("phases/warmup").exists());
    let bench = Bench::of(&sim.url()).in_place_of(earlier);
    let running = bench
        .with(&["--streaming", "--concurrency", "4", "--request-count", "5000", "--num-dataset-entries", "2"])
        .start();
    running.wait_for_records(8);
    running.signal("KILL");
    let run = running.finish_soon();
    assert!(run.records().len() >= 8);
    for gone in ["profile_export_aiperf.json", "profile_export_aiperf.csv", "phases", "phase_manifest.json"] {
        assert!(!run.path(gone).exists(), "{gone} is of an earlier run");
    }
}

#[test]
fn a_directory_of_a_running_run_is_refused() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let args = ["--streaming", "--concurrency", "4", "--request-count", "5000", "--num-dataset-entries", "2"];
    let first = Bench::of(&sim.url()).with(&args).start();
    first.wait_for_records(4);
    let second = few(&sim.url());
    std::os::unix::fs::symlink(first.dir.path().join("out"), second.dir.path().join("out")).unwrap();
    let second = second.run();
    assert_eq!(second.code(), Some(2), "{}", second.stderr());
    assert!(second.stderr().contains("another run is writing to the artifact directory"), "{}", second.stderr());
    first.signal("INT");
    let first = first.finish_soon();
    assert_eq!(first.code(), Some(130));
    assert!(first.records().len() >= 4);
}

#[test]
fn a_full_disk_is_reported_immediately_and_leaves_whole_lines() {
    let sim = serve(quick());
    let run = Bench::of(&sim.url())
        .with(&["--streaming", "--concurrency", "8", "--request-count", "600", "--num-dataset-entries", "2"])
        // In blocks of 512 bytes, or of 1024.
        .after("ulimit -f 160")
        .run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let stdout = run.stdout();
    assert!(stdout.contains("profile_export.jsonl: File too large"), "{stdout}");
    let reported = stdout.find("File too large").unwrap();
    let over = stdout.find("Processed 600 valid requests").unwrap_or_else(|| panic!("{stdout}"));
    assert!(reported < over, "reported when it happens");
    let records = run.records();
    assert!(!records.is_empty() && records.len() < 600, "{}", records.len());
    let kept = format!("lines written before that and kept: {}", records.len());
    assert!(words(&stdout).matches(&kept).count() == 2, "when it happens and at the end, {kept}: {stdout}");
    assert_eq!(avg(&run.summary(), "request_count"), 600.0, "the summary has them all");
}

#[test]
fn records_that_another_process_truncated_are_reported_and_later_ones_are_whole() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(20)), ..quick() });
    let args = ["--streaming", "--concurrency", "4", "--request-count", "100", "--num-dataset-entries", "2"];
    let running = Bench::of(&sim.url()).with(&args).start();
    running.wait_for_records(8);
    std::fs::write(running.dir.path().join("out/profile_export.jsonl"), "").unwrap();
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let kept = run.records().len();
    assert!(kept > 0 && kept <= 92, "{kept}");
    let message = format!("another process cut it while the run was on; lines lost: {}", 100 - kept);
    assert!(words(&run.stdout()).contains(&message), "{message}: {}", run.stdout());
}

#[test]
fn a_log_is_not_written_through_a_link() {
    let sim = serve(quick());
    let earlier = few(&sim.url()).run();
    let outside = earlier.dir.path().join("precious");
    std::fs::write(&outside, "as it was").unwrap();
    std::fs::remove_file(earlier.path("logs/aiperf.log")).unwrap();
    std::os::unix::fs::symlink(&outside, earlier.path("logs/aiperf.log")).unwrap();
    let run = few(&sim.url()).in_place_of(earlier).run();
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert_eq!(std::fs::read_to_string(run.dir.path().join("precious")).unwrap(), "as it was");
    assert!(run.path("logs/aiperf.log").symlink_metadata().unwrap().is_file());
}

#[test]
fn nothing_is_sent_when_nothing_can_be_written() {
    let sim = serve(quick());
    let run = few(&sim.url()).after("ulimit -f 8").run();
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("cannot write to the artifact directory"), "{}", run.stderr());
    assert!(!run.path("profile_export.jsonl").exists(), "the run never started");
}

#[test]
fn a_deleted_directory_is_noticed_and_the_summary_is_still_written() {
    let sim = serve(SimConfig { itl: Latency::constant(Duration::from_millis(5)), ..quick() });
    let args = ["--streaming", "--concurrency", "4", "--benchmark-duration", "2", "--num-dataset-entries", "2"];
    let running = Bench::of(&sim.url()).with(&args).start();
    running.wait_for_records(8);
    std::fs::remove_dir_all(running.dir.path().join("out")).unwrap();
    let run = running.finish_soon();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    let (stdout, stderr) = (run.stdout(), run.stderr());
    assert!(stdout.contains("profile_export.jsonl: the file was deleted while the run was on; lines lost"), "{stdout}");
    assert!(stderr.contains("logs/aiperf.log: the file was deleted while the run was on"), "{stderr}");
    assert!(!stdout.contains("Log File"), "a deleted log is not listed: {stdout}");
    let summary = run.summary();
    assert!(avg(&summary, "request_count") >= 8.0);
    let footer = &stdout[stdout.rfind("CSV").unwrap_or_else(|| panic!("{stdout}"))..];
    assert!(words(footer).contains("profile_export_aiperf.json"), "saved files are listed: {footer}");
    assert!(!run.path("profile_export.jsonl").exists() && !footer.contains("Records JSONL"), "{footer}");
}

/// A text with its line breaks removed, with or without a frame.
fn words(text: &str) -> String {
    text.replace(['│', '┃'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_that_cannot_be_written_at_the_end_is_named_and_all_others_are_written() {
    let all = ["profile_export_aiperf.json", "profile_export_aiperf.csv", "profile_export_console.txt"];
    for failing in all {
        let server = Gate::after(8);
        let args = ["--concurrency", "4", "--request-count", "120", "--num-dataset-entries", "2"];
        let running = Bench::of(&server.url).with(&args).start();
        running.wait_for_records(4);
        // A folder at its path: no user can replace it by a rename, not even root.
        std::fs::create_dir_all(running.dir.path().join("out").join(failing).join("in the way")).unwrap();
        server.open();
        let run = running.finish_soon();
        let stdout = run.stdout();
        assert_eq!(run.code(), Some(1), "{failing}: {stdout}{}", run.stderr());
        assert!(stdout.contains(&format!("{failing}: Is a directory")), "{failing}: {stdout}");
        for other in all.into_iter().filter(|other| *other != failing) {
            assert!(run.path(other).is_file(), "{other} beside {failing}");
        }
        assert_eq!(run.records().len(), 120, "{failing}");
    }
}

#[test]
fn a_report_that_cannot_be_printed_is_a_failure_and_the_files_are_written() {
    let sim = serve(quick());
    let run = few(&sim.url()).after("exec >/dev/full").run();
    assert_eq!(run.code(), Some(1), "{}", run.stderr());
    assert!(run.stderr().contains("cannot write the report to stdout: No space left on device"), "{}", run.stderr());
    assert!(run.stderr().contains("the files of the run are in "), "{}", run.stderr());
    assert_eq!((avg(&run.summary(), "request_count"), run.records().len()), (4.0, 4));
}
