//! A run of the binary, and its files.

use aiperf_sim::{Latency, Sim, SimConfig, SimHandle};
use nix::pty::{Winsize, openpty};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A fast server: 2 ms to the first token, 1 ms between tokens.
pub(crate) fn quick() -> SimConfig {
    SimConfig {
        port: 0,
        ttft: Latency::constant(Duration::from_millis(2)),
        itl: Latency::constant(Duration::from_millis(1)),
        ..SimConfig::default()
    }
}

pub(crate) fn serve(config: SimConfig) -> SimHandle {
    Sim::spawn(config).unwrap()
}

/// A port that is free now, and that no other test takes before a run listens on it: it is below the ports that the
/// kernel gives to listeners and connections.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Another process of tests begins elsewhere.
    let first = 10_000 + std::process::id() % 200 * 100;
    let ports = std::iter::repeat_with(|| first as u16 + NEXT.fetch_add(1, Relaxed) % 100);
    ports.take(100).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// A minimal server. `respond` gets the number, the head and the body of each request, and returns the bytes of the
/// response. Each connection has one request. Returns the URL.
pub(crate) fn answering(respond: impl Fn(usize, &str, &str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                head.push_str(&std::mem::take(&mut line));
            }
            let length = |line: &str| line.strip_prefix("Content-Length: ")?.trim().parse::<usize>().ok();
            let mut body = vec![0; head.lines().find_map(length).unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            let _ = stream.write_all(respond(number, &head, &String::from_utf8_lossy(&body)).as_bytes());
        }
    });
    address
}

/// An HTTP response after which the connection closes.
pub(crate) fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// A server of chat completions that answers the first requests at once, and the others when it is opened. So a test
/// can act in the middle of a run, however slow the machine is.
pub(crate) struct Gate {
    pub(crate) url: String,
    /// Requests that came.
    arrived: Arc<AtomicUsize>,
    /// So many are answered.
    answered: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn after(first: usize) -> Self {
        let (arrived, answered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(first)));
        let (counted, limit) = (arrived.clone(), answered.clone());
        let url = answering(move |number, _, _| {
            counted.fetch_add(1, Relaxed);
            while number >= limit.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let body = r#"{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"a b"},"finish_reason":"stop"}]}"#;
            response("200 OK", "application/json", body)
        });
        Self { url, arrived, answered }
    }

    pub(crate) fn open(&self) {
        self.open_for(usize::MAX);
    }

    /// Answers this many requests, those before included.
    pub(crate) fn open_for(&self, requests: usize) {
        self.answered.store(requests, Relaxed);
    }

    /// Waits until a request waits for the gate to open.
    pub(crate) fn wait_until_it_holds(&self) {
        wait_until("no request waits", || self.arrived.load(Relaxed) > self.answered.load(Relaxed));
    }
}

/// The binary, with a directory for its files.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    args: Vec<String>,
    env: Vec<(String, String)>,
    /// A shell command that runs first; the shell then becomes the binary.
    shell: Option<&'static str>,
}

impl Bench {
    /// A streaming chat benchmark of a URL; `with` adds arguments.
    pub(crate) fn of(url: &str) -> Self {
        Self::bare()
            .with(&["--model", "test-model", "--url", url, "--tokenizer", "builtin", "--isl", "16", "--osl", "8"])
            .with(&["--ui", "none", "--no-server-metrics", "--no-gpu-telemetry"])
    }

    /// The same, with frequent scrapes of the servers' metrics and nearly no wait at the end.
    pub(crate) fn watching(url: &str) -> Self {
        Self::of(url)
            .without("--no-server-metrics")
            .env("AIPERF_SERVER_METRICS_COLLECTION_INTERVAL", "0.02")
            .env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "0.05")
            .env("AIPERF_HTTP_METRICS_SCRAPE_READ_TIMEOUT", "2")
    }

    /// A benchmark without arguments.
    pub(crate) fn bare() -> Self {
        Self { dir: TempDir::new().unwrap(), args: Vec::new(), env: Vec::new(), shell: None }
    }

    pub(crate) fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// Removes an argument.
    pub(crate) fn without(mut self, arg: &str) -> Self {
        self.args.retain(|other| other != arg);
        self
    }

    /// With an environment variable set.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Started by a shell that first runs a command, such as `ulimit -f 100`.
    pub(crate) fn after(mut self, shell: &'static str) -> Self {
        self.shell = Some(shell);
        self
    }

    /// In the directory of a finished run.
    pub(crate) fn in_place_of(mut self, earlier: Run) -> Self {
        self.dir = earlier.dir;
        self
    }

    pub(crate) fn command(&self) -> Command {
        let binary = env!("CARGO_BIN_EXE_aiperf");
        // The process that runs the tests may ignore signals, and the run would inherit that.
        let mut command = Command::new("/usr/bin/env");
        command.arg("--default-signal=INT,TERM,HUP");
        match self.shell {
            None => command.arg(binary),
            Some(first) => command.args(["sh", "-c", &format!("{first}; exec \"$0\" \"$@\""), binary]),
        };
        command.arg("profile").args(&self.args).args(["--artifact-dir", "out"]).current_dir(self.dir.path());
        // No test uses the network, unless it sets this itself.
        command.env("HF_HUB_OFFLINE", "1").envs(self.env.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(self) -> Run {
        let output = self.command().output().unwrap();
        Run { dir: self.dir, output }
    }

    /// Runs on a terminal with so many columns, and returns its output.
    pub(crate) fn on_a_terminal(self, columns: u16) -> (Option<i32>, String) {
        let mut command = self.command();
        command.env("NO_COLOR", "1").env("TERM", "xterm");
        on_a_terminal(command, columns)
    }

    pub(crate) fn start(self) -> Running {
        let command = self.command();
        self.start_as(command)
    }

    /// Starts a given command in place of the binary.
    pub(crate) fn start_as(self, mut command: Command) -> Running {
        Running { child: Process::start(&mut command), dir: self.dir }
    }
}

/// How long a test waits for an immediate event before it fails.
pub(crate) const HANGS: Duration = Duration::from_secs(60);

/// Waits for something that happens soon.
pub(crate) fn wait_until(otherwise: &str, mut has_happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !has_happened() {
        assert!(started.elapsed() <= HANGS, "{otherwise}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command on a terminal with so many columns; returns its exit code and its output.
pub(crate) fn on_a_terminal(mut command: Command, columns: u16) -> (Option<i32>, String) {
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    command.stdout(terminal.slave.try_clone().unwrap()).stderr(terminal.slave);
    let mut child = command.spawn().unwrap();
    // The terminal ends when no process can write to it any more.
    drop(command);
    let (mut master, mut written) = (std::fs::File::from(terminal.master), Vec::new());
    // At its end, the read returns an error after all output.
    let _ = master.read_to_end(&mut written);
    (child.wait().unwrap().code(), String::from_utf8_lossy(&written).into_owned())
}

/// A process that ends with its test, even if the test fails.
pub(crate) struct Process(Option<Child>);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    fn finish(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().unwrap()
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may be over.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A run in progress. Its process ends before its directory is removed.
pub(crate) struct Running {
    pub(crate) child: Process,
    pub(crate) dir: TempDir,
}

impl Running {
    /// Waits until a number of record lines is on disk, so that a signal meets a run in progress.
    pub(crate) fn wait_for_records(&self, wanted: usize) {
        let path = self.dir.path().join("out/profile_export.jsonl");
        let lines = || std::fs::read_to_string(&path).unwrap_or_default().lines().count();
        wait_until("no records came", || lines() >= wanted);
    }

    /// Waits until a text was printed.
    pub(crate) fn wait_for_words(&mut self, words: &str) {
        let mut out = BufReader::new(self.child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended without printing: {words}");
        }
        self.child.stdout = Some(out.into_inner());
    }

    /// Waits for the end of a run that should end soon.
    pub(crate) fn finish_soon(mut self) -> Run {
        wait_until("it does not end", || self.child.try_wait().unwrap().is_some());
        self.finish()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    pub(crate) fn finish(self) -> Run {
        let output = self.child.finish();
        Run { dir: self.dir, output }
    }
}

/// Repeats a run in which the client read all chunks of a response together, as it may on a busy machine: such a
/// response has fewer metrics.
pub(crate) fn with_chunks_apart(mut run: impl FnMut() -> Run) -> Run {
    let came_at_once = |record: &Value| record["metrics"]["inter_token_latency"]["value"] == 0.0;
    let mut last = run();
    for _ in 1..10 {
        if !last.records().iter().any(came_at_once) {
            break;
        }
        last = run();
    }
    last
}

/// A finished run.
pub(crate) struct Run {
    pub(crate) dir: TempDir,
    output: Output,
}

impl Run {
    pub(crate) fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("out").join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}\n{}", self.stderr()))
    }

    pub(crate) fn summary(&self) -> Value {
        serde_json::from_str(&self.text("profile_export_aiperf.json")).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.text("profile_export.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A metric's mean or single value.
pub(crate) fn avg(summary: &Value, tag: &str) -> f64 {
    summary[tag]["avg"].as_f64().unwrap_or_else(|| panic!("{tag} in {summary}"))
}
