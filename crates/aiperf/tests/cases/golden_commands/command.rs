//! A golden run, and its command run again.

use crate::golden_commands::server;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A run that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
/// How often a command is run, if the machine disturbs it: the last of two signals may come when the run has ended, or
/// the client may read several chunks together.
pub(crate) const TRIES: usize = 5;

/// Signals that a run may get, by their names.
const SIGNALS: [&str; 3] = ["INT", "TERM", "KILL"];

/// A run of the reference.
pub(crate) struct GoldenRun {
    folder: PathBuf,
    /// Its words, without the quotes between which some were.
    typed: String,
    /// How many signals came while it ran, and which: Ctrl-C is `INT`.
    pub(crate) interrupts: usize,
    pub(crate) signal: &'static str,
    /// What it ended with: an exit code, or a signal with its sign turned.
    pub(crate) code: i32,
    /// Every file that it left, by its path.
    pub(crate) files: Vec<String>,
}

impl GoldenRun {
    /// The run in a folder, where there is one.
    pub(crate) fn read(folder: PathBuf) -> Option<Self> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let (recorded, files) = (read("command.txt")?, read("files.txt")?);
        let (notes, command): (Vec<&str>, Vec<&str>) = recorded.lines().partition(|line| line.starts_with('#'));
        let signal_in = |note: &&str| SIGNALS.iter().find(|signal| note.contains(&format!("SIG{signal}")));
        let signalled = notes.iter().find_map(|note| Some((signal_in(note)?, count(note))));
        let (signal, interrupts) = signalled.unwrap_or((&SIGNALS[0], 0));
        Some(Self {
            typed: command.concat(),
            interrupts,
            signal,
            code: read("rc.txt")?.trim().trim_start_matches("rc ").parse().ok()?,
            files: files.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
            folder,
        })
    }

    pub(crate) fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The command line, for a shell: a summary has it with its quotes.
    fn command(&self) -> String {
        let summary = self.summary();
        summary["run_info"]["cli_command"].as_str().unwrap_or(&self.typed).to_owned()
    }

    /// What was in a file, where it was kept.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Every file of JSON lines that was kept: its name, and what the lines say.
    fn line_files(&self) -> impl Iterator<Item = (&String, Vec<Value>)> {
        let parse = |text: String| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let files = self.files.iter().filter(|name| name.ends_with(".jsonl"));
        files.filter_map(move |name| Some((name, parse(self.text(name)?))))
    }

    /// The file of records, which has metrics in its lines; nothing where there was none.
    fn record_file(&self) -> Option<(&String, Vec<Value>)> {
        self.line_files()
            .find(|(_, lines)| lines.iter().any(|line| line["metadata"].is_object() && line.get("metrics").is_some()))
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.record_file().map(|(_, records)| records).unwrap_or_default()
    }

    /// The summary; nothing where there was none.
    pub(crate) fn summary(&self) -> Value {
        let is_summary =
            |document: &Value| document.get("run_info").is_some() && document.get("input_config").is_some();
        let jsons = self.files.iter().filter(|name| name.ends_with(".json"));
        let mut documents = jsons.filter_map(|name| serde_json::from_str(&self.text(name)?).ok());
        documents.find(is_summary).unwrap_or_default()
    }

    /// The same command, against a server that does what the recorded one did.
    pub(crate) fn again(&self) -> Rerun {
        let mut rerun = self.run();
        for _ in 1..TRIES {
            if self.interrupts < 2 || !rerun.files.iter().any(|name| name.ends_with("_ready.json")) {
                break;
            }
            rerun = self.run();
        }
        rerun
    }

    fn run(&self) -> Rerun {
        let (dir, server) = (TempDir::new().unwrap(), server::like(self));
        let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/data/tiny-model");
        std::os::unix::fs::symlink(tokenizer, dir.path().join("tok")).unwrap();
        let words = addressed(&self.command(), &server.url);
        // A test that runs in the background ignores interrupts, and so would the run.
        let mut child = Command::new("env")
            .args(["--default-signal=INT,TERM", "sh", "-c", &format!("exec {} {words}", env!("CARGO_BIN_EXE_aiperf"))])
            .current_dir(dir.path())
            .env("AIPERF_SERVER_METRICS_COLLECTION_FLUSH_PERIOD", "0.05")
            .env_remove("AIPERF_GOLDEN_DIR")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        if self.interrupts > 0 {
            self.interrupt(&child, dir.path());
        }
        let code = end(&mut child);
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).collect::<Vec<_>>();
        let mut files = Vec::new();
        list(dir.path(), dir.path(), &mut files);
        Rerun { dir, code, stderr: stderr.join("\n"), files }
    }

    /// A signal when as many records are there as the recorded run had, and again as soon as it was heard.
    fn interrupt(&self, child: &Child, dir: &Path) {
        let (name, records) = self.record_file().unwrap();
        let lines = || std::fs::read_to_string(dir.join(name)).unwrap_or_default().lines().count();
        let wanted = records.len();
        wait_until(|| lines() >= wanted || has_ended(child));
        for _ in 0..self.interrupts {
            let _ = Command::new("kill").args([format!("-{}", self.signal), child.id().to_string()]).status();
            wait_until(|| !is_pending(child));
        }
    }
}

/// The words after the program's name, with this server in the place of every one on this machine; what was redacted
/// would be a redirection to a shell.
fn addressed(command: &str, url: &str) -> String {
    let words = command.strip_prefix("aiperf ").unwrap_or(command).replace("<redacted>", "redacted");
    let mut addresses: Vec<&str> = words.split([' ', '\'', '"', ',', '=']).filter(|word| is_local(word)).collect();
    // The longest first: one may be the beginning of another.
    addresses.sort_by_key(|address| std::cmp::Reverse(address.len()));
    addresses.dedup();
    let put_in = |words: String, (at, address): (usize, &&str)| words.replace(*address, &format!("\u{0}{at}\u{0}"));
    let marked = addresses.iter().enumerate().fold(words.clone(), put_in);
    let with_path = |address: &str| {
        let (_, rest) = address.split_once("://").unwrap_or(("", address));
        format!("{url}{}", rest.find('/').map_or("", |at| &rest[at..]))
    };
    let replaced =
        |words: String, (at, address): (usize, &&str)| words.replace(&format!("\u{0}{at}\u{0}"), &with_path(address));
    addresses.iter().enumerate().fold(marked, replaced)
}

/// Whether a word is the URL of a server on this machine, with or without its scheme.
fn is_local(word: &str) -> bool {
    let address = word.strip_prefix("http://").unwrap_or(word);
    let port = ["127.0.0.1:", "localhost:"].iter().find_map(|host| address.strip_prefix(host));
    port.is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
}

pub(crate) fn every_address_of_a_command_becomes_that_of_the_server() {
    let given =
        "aiperf profile --url 127.0.0.1:1 --url 'http://localhost:12/v1' --header 'A: <redacted>' -m http://x:1";
    let wanted = "profile --url http://h:9 --url 'http://h:9/v1' --header 'A: redacted' -m http://x:1";
    assert_eq!(addressed(given, "http://h:9"), wanted);
}

/// The number of signals in a note.
fn count(note: &str) -> usize {
    let numbers = ["one", "two", "three"];
    let spelt = |word: &str| numbers.iter().position(|number| *number == word).map(|at| at + 1);
    note.split_whitespace().find_map(|word| spelt(word).or_else(|| word.parse().ok())).unwrap_or(1)
}

fn status(child: &Child) -> String {
    std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default()
}

fn has_ended(child: &Child) -> bool {
    status(child).lines().any(|line| line.starts_with("State:") && line.contains('Z'))
}

/// Whether a signal was sent to a process that it has not taken yet.
fn is_pending(child: &Child) -> bool {
    let mask = |line: &str| line.strip_prefix("ShdPnd:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    status(child).lines().find_map(mask).is_some_and(|mask| mask != 0)
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < HANGS, "it never came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn end(child: &mut Child) -> Option<i32> {
    let mut ended = None;
    wait_until(|| {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    ended.and_then(|status| status.code())
}

/// The paths of all files below a folder, the tokenizer's left out.
fn list(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            list(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}

/// What the command left when it ran again.
pub(crate) struct Rerun {
    dir: TempDir,
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    pub(crate) files: Vec<String>,
}

impl Rerun {
    /// Which flag of the command was refused because its feature does not exist.
    pub(crate) fn not_there_yet(&self) -> Option<String> {
        let line = self.stderr.lines().find(|line| line.ends_with("not there yet"))?;
        (self.code == Some(2)).then(|| line.to_owned())
    }

    /// Whether the client read some chunks of responses together, by its own account.
    pub(crate) fn has_merged_chunks(&self) -> bool {
        let merged = |name: &String| {
            let summary: Value = serde_json::from_str(&self.text(name)).ok()?;
            summary["measurement"]["merged_events"].as_u64()
        };
        self.files.iter().filter(|name| name.ends_with(".json")).filter_map(merged).any(|merged| merged > 0)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }
}
