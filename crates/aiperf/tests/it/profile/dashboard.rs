//! The dashboard on its own terminal, which it always restores.

use crate::bench::{Bench, HANGS, Process, answering, quick, response, serve, wait_until};
use crate::profile::local_gpus::library;
use aiperf_sim::{Latency, SimConfig, SimHandle};
use aiperf_testkit::tokenizer_json::FRAGILE;
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A run on its own terminal.
struct Session {
    child: Process,
    keyboard: File,
    screen: OwnedFd,
    modes: LocalFlags,
    written: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    dir: TempDir,
    /// How often the dashboard takes the terminal and restores it.
    takes: usize,
}

/// A finished session.
struct Left {
    code: Option<i32>,
    written: String,
    dir: TempDir,
}

impl Session {
    fn start(bench: Bench) -> Self {
        Self::start_by(&[], bench)
    }

    /// As the job of a shell that can be stopped, and continues when a line is typed.
    fn start_as_job(bench: Bench) -> Self {
        let script = "\"$0\" \"$@\"; echo \"stopped: $?.\"; read line; fg; exit $?";
        Self { takes: 2, ..Self::start_by(&["sh", "-m", "-c", script], bench) }
    }

    fn start_by(shell: &[&str], bench: Bench) -> Self {
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).unwrap();
        let plain = bench.command();
        // A new session whose controlling terminal this is: keys become signals only there.
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(shell).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(bench.dir.path()).env("TERM", "xterm").env("NO_COLOR", "1");
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let end = || terminal.slave.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        let modes = tcgetattr(&terminal.slave).unwrap().local_flags;
        let child = Process::start(&mut command);
        let keyboard = File::from(terminal.master);
        let (mut out, written) = (keyboard.try_clone().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let seen = written.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Self { child, keyboard, screen: terminal.slave, modes, written, reader, dir: bench.dir, takes: 1 }
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) {
        self.wait_for_some(text, 1);
    }

    fn wait_for_some(&self, text: &str, times: usize) {
        let started = Instant::now();
        while self.written().matches(text).count() < times {
            assert!(started.elapsed() < HANGS, "it never showed {text:?} {times} times: {}", self.written());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Waits for the end, after which the terminal is restored.
    fn finish(mut self) -> Left {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(started.elapsed() <= HANGS, "it does not end: {}", self.written());
            std::thread::sleep(Duration::from_millis(5));
        };
        self.is_given_back(self.takes);
        drop(self.screen);
        self.reader.join().unwrap();
        let written = String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned();
        is_undone(&written, self.takes);
        Left { code, written, dir: self.dir }
    }

    /// The terminal is restored, after it was taken so often.
    fn is_given_back(&self, takes: usize) {
        assert_eq!(tcgetattr(&self.screen).unwrap().local_flags, self.modes, "the terminal's modes");
        self.wait_for_some(LEAVE, takes);
    }
}

/// Every mode that was set so often is reset.
fn is_undone(written: &str, takes: usize) {
    let on = |what: &str| written.matches(&format!("\x1b[?{what}h")).count();
    let off = |what: &str| written.matches(&format!("\x1b[?{what}l")).count();
    assert_eq!((on("1049"), off("1049")), (takes, takes), "the alternate screen: {written:?}");
    assert!(on("1000") == off("1000") && on("1006") == off("1006"), "the mouse");
    assert!(written.rfind("\x1b[?25h") > written.rfind("\x1b[?25l"), "the cursor");
}

impl Left {
    /// The content of the normal screen after the dashboard.
    fn after(&self) -> &str {
        self.written.split(LEAVE).nth(1).unwrap()
    }
}

fn dashboard(sim: &SimHandle, args: &[&str]) -> Bench {
    Bench::bare()
        .with(&["--model", "test-model", "--url", &sim.url(), "--tokenizer", "builtin", "--streaming"])
        .with(&["--isl", "16", "--osl", "8", "--concurrency", "4", "--ui", "dashboard"])
        .with(args)
}

#[test]
fn a_run_is_shown_on_an_alternate_screen_and_the_report_follows() {
    let sim = serve(quick());
    let session = Session::start(dashboard(&sim, &["--request-count", "400"]));
    session.wait_for(ENTER);
    session.wait_for("Real-Time");
    let left = session.finish();
    assert_eq!(left.code, Some(0), "{}", left.written);
    assert!(left.after().contains("NVIDIA AIPerf | LLM Metrics") && left.after().contains("CLI Command: "));
    assert!(!left.after().contains("Phase profiling"), "lines of the dashboard: {}", left.after());
    let log = std::fs::read_to_string(left.dir.path().join("out/logs/aiperf.log")).unwrap();
    assert!(log.contains("Phase profiling (profiling) started"), "{log}");
}

#[test]
fn the_screen_stays_when_a_tokenizer_panics() {
    let url = answering(|_, _, _| {
        std::thread::sleep(Duration::from_millis(10));
        response("200 OK", "application/json", r#"{"choices": [{"index": 0, "message": {"content": "Zed"}}]}"#)
    });
    let bench = Bench::bare();
    std::fs::write(bench.dir.path().join("tokenizer.json"), FRAGILE).unwrap();
    std::fs::write(bench.dir.path().join("rows.jsonl"), r#"{"text": "a a a"}"#).unwrap();
    let records = bench.dir.path().join("out/profile_export.jsonl");
    let session = Session::start(
        bench.with(&["--model", "m", "--url", &url, "--tokenizer", "./", "--input-file", "rows.jsonl"]).with(&[
            "--request-count",
            "1000000",
            "--concurrency",
            "1",
            "--ui",
            "dashboard",
        ]),
    );
    session.wait_for(ENTER);
    wait_until("no records came", || std::fs::read_to_string(&records).is_ok_and(|text| text.lines().count() >= 20));
    assert!(!session.written().contains(LEAVE), "{}", session.written());
    session.signal("TERM");
    let left = session.finish();
    assert_eq!(left.code, Some(143), "{}", left.written);
    assert!(!left.written.contains("panicked"), "{}", left.written);
}

#[test]
fn gpus_are_shown_while_the_run_is_on() {
    let (sim, library) = (serve(quick()), library(&[]));
    let reading = |items: &[&str]| {
        let bench = dashboard(&sim, &[&["--benchmark-duration", "60", "--gpu-telemetry", "pynvml"], items].concat());
        let mut session = Session::start(bench.env("LD_LIBRARY_PATH", library.path().to_str().unwrap()));
        if items.is_empty() {
            session.wait_for("Real-Time");
            session.type_in("5");
        }
        // Only the pane shows this.
        session.wait_for("(MJ)");
        session.type_in("\x03");
        assert_eq!(session.finish().code, Some(130));
    };
    reading(&["dashboard"]);
    reading(&[]);
}

#[test]
fn sigterm_closes_the_screen_and_writes_results() {
    let sim = serve(quick());
    let session = Session::start(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    session.signal("TERM");
    let left = session.finish();
    assert_eq!(left.code, Some(143), "{}", left.written);
    assert!(left.after().contains("Cancellation in Progress"), "{}", left.after());
    assert!(left.dir.path().join("out/profile_export_aiperf.json").exists());
}

#[test]
fn ctrl_c_is_the_first_signal() {
    let sim = serve(quick());
    let mut session = Session::start(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    session.type_in("\x03");
    let left = session.finish();
    assert_eq!(left.code, Some(130), "{}", left.written);
    assert!(left.after().contains("Cancellation in Progress"), "{}", left.after());
    assert!(!left.after().contains("FORCE QUIT"), "{}", left.after());
    assert!(left.dir.path().join("out/profile_export_aiperf.json").exists());
}

#[test]
fn ctrl_c_works_after_pasted_text() {
    let sim = serve(quick());
    let mut session = Session::start(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    // More than one read of a terminal returns.
    session.type_in(&format!("{}\x03", "x".repeat(3500)));
    let left = session.finish();
    assert_eq!(left.code, Some(130), "{}", left.written);
    assert!(left.dir.path().join("out/profile_export_aiperf.json").exists());
}

#[test]
fn the_second_signal_exits_immediately() {
    // No response comes, so there is a request to cancel.
    let sim = serve(SimConfig { ttft: Latency::constant(Duration::from_secs(30)), ..quick() });
    let session = Session::start(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    // Both signals are pending before the run can end; the lower number is delivered first.
    session.signal("STOP");
    session.signal("INT");
    session.signal("TERM");
    session.signal("CONT");
    let left = session.finish();
    assert_eq!(left.code, Some(143), "{}", left.written);
    let (first, second) = (left.after().find("Cancellation in Progress"), left.after().find("FORCE QUIT"));
    assert!(first.is_some() && first < second, "{}", left.after());
}

#[test]
fn ctrl_z_restores_the_terminal_until_the_run_continues() {
    let sim = serve(quick());
    let mut session = Session::start_as_job(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    session.type_in("\x1a");
    session.wait_for("stopped: 148.");
    session.is_given_back(1);
    let written = session.written();
    is_undone(&written, 1);
    assert!(written.find(LEAVE) < written.find("stopped: "), "the shell continues on its own screen: {written:?}");
    session.type_in("\n");
    session.wait_for_some(ENTER, 2);
    session.wait_for_some("Real-Time", 2);
    session.type_in("4");
    session.wait_for("worker_");
    session.type_in("\x03");
    let left = session.finish();
    assert_eq!(left.code, Some(130), "{}", left.written);
    assert!(left.dir.path().join("out/profile_export_aiperf.json").exists());
}

#[test]
fn keys_copy_the_log_and_write_a_picture() {
    let sim = serve(quick());
    let mut session = Session::start(dashboard(&sim, &["--benchmark-duration", "60"]));
    session.wait_for("Real-Time");
    session.type_in("c");
    session.wait_for("\x1b]52;c;");
    session.type_in("4");
    session.wait_for("worker_");
    session.type_in("\x13");
    session.wait_for("Screenshot");
    session.type_in("\x03");
    let left = session.finish();
    assert_eq!(left.code, Some(130), "{}", left.written);
    let files = std::fs::read_dir(left.dir.path().join("out")).unwrap().flatten();
    let pictures: Vec<_> =
        files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|e| e == "svg")).collect();
    let [picture] = &pictures[..] else { panic!("{pictures:?}") };
    assert!(std::fs::read_to_string(picture).unwrap().contains("Worker Status"));
}
