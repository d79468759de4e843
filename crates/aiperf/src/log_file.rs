//! `logs/aiperf.log`: what a run said, line by line.

use aiperf_campaign::Subscription;
use aiperf_report::{LogLines, is_still_there, log_time};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::thread::JoinHandle;

/// Writes log lines until the campaign is over.
pub(crate) struct LogFile {
    thread: JoinHandle<io::Result<()>>,
}

impl LogFile {
    /// Makes the file. What was told before it was there is written first.
    pub(crate) fn start(path: &Path, mut lines: LogLines, events: Subscription) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        // What lies there goes, and is not written through: a link may lead anywhere.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // At the end, wherever that is: somebody may cut a log while it is written.
        let mut file = OpenOptions::new().append(true).create_new(true).open(path)?;
        let write = move || {
            let mut failed = None;
            for line in events.flat_map(|event| lines.lines(&event)) {
                let (date, time) = log_time(line.at);
                let text = format!("{date} {time} - aiperf - {} - {}\n", line.level.name(), line.text);
                // A log that cannot be written does not end a run.
                if failed.is_none() {
                    failed = file.write_all(text.as_bytes()).err();
                }
            }
            failed.map_or_else(|| is_still_there(&file), Err)
        };
        let thread = std::thread::Builder::new().name("aiperf-log".into()).spawn(write)?;
        Ok(Self { thread })
    }

    /// Waits for the last line; says why, where not all of them were written.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it failed")))
    }
}
