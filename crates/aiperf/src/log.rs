//! Log lines: on stdout above the progress bar, and in `logs/aiperf.log`.

use aiperf_campaign::Teller;
use aiperf_plan::LogLevel;
use aiperf_report::log_time;
use aiperf_types::WallNs;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Takes messages to the screen and, once there is one, to the log file.
pub(crate) struct Log {
    level: LogLevel,
    colours: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// Lines said before the file was there.
    early: Vec<String>,
    bar: Option<ProgressBar>,
}

impl Log {
    /// A log without a file.
    pub(crate) fn new(level: LogLevel) -> Self {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Self { level, colours, state: Mutex::default() }
    }

    /// Writes to a file from now on, beginning with what was said before.
    pub(crate) fn open(&self, path: &Path) -> std::io::Result<()> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut file = File::create(path)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for line in state.early.drain(..) {
            file.write_all(line.as_bytes())?;
        }
        state.file = Some(file);
        Ok(())
    }

    /// Draws lines above this bar, or above none.
    pub(crate) fn set_bar(&self, bar: Option<ProgressBar>) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).bar = bar;
    }
}

impl Teller for Log {
    fn tell(&self, level: LogLevel, message: &str) {
        if level < self.level {
            return;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (date, time) = log_time(WallNs(since.as_nanos() as u64));
        let name = level.name();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let filed = format!("{date} {time} - aiperf - {name} - {message}\n");
        match &mut state.file {
            // A log that cannot be written must not end a run.
            Some(file) => drop(file.write_all(filed.as_bytes())),
            None => state.early.push(filed),
        }
        let shown = match colour(level).filter(|_| self.colours) {
            Some(colour) => format!("{time} \x1b[{colour}m{name:<8}\x1b[0m {message}"),
            None => format!("{time} {name:<8} {message}"),
        };
        let print = || drop(writeln!(std::io::stdout(), "{shown}"));
        match &state.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

fn colour(level: LogLevel) -> Option<&'static str> {
    Some(match level {
        LogLevel::Trace | LogLevel::Debug => "2",
        LogLevel::Info => "36",
        LogLevel::Notice => "34",
        LogLevel::Warning => "33",
        LogLevel::Success => "32",
        LogLevel::Error => "31",
        LogLevel::Critical => "1;31",
    })
}
