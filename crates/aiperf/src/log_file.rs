//! `logs/aiperf.log`: the log lines of a run.

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
    /// Creates the file. Events from before that are written first.
    pub(crate) fn start(path: &Path, mut lines: LogLines, events: Subscription) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        // An existing file is removed, not written to: it may be a link to any other file.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Opened for appending, because another process may truncate the log during the run.
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

    /// Waits for the last line; returns an error if a line could not be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes it failed")))
    }
}
