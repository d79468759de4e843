//! Log lines: on stdout above the progress bar, and in `logs/aiperf.log`.

use aiperf_campaign::Teller;
use aiperf_plan::LogLevel;
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
        let (date, time) = utc_now();
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

/// The date and the time of day with milliseconds, UTC.
fn utc_now() -> (String, String) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil_date(days as i64);
    let date = format!("{year:04}-{month:02}-{day:02}");
    let (hour, minute) = (second / 3600, second / 60 % 60);
    (date, format!("{hour:02}:{minute:02}:{:02}.{:03}", second % 60, since.subsec_millis()))
}

/// The Gregorian date of a number of days since 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
fn civil_date(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(20_772), (2026, 11, 15));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
    }
}
