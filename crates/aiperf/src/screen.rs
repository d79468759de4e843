//! The terminal during a run: log lines on stdout and, below them, the progress bar on stderr.

use crate::progress::{Bar, ProgressLines};
use crate::signals::Signals;
use crate::terminal;
use aiperf_campaign::Subscription;
use aiperf_report::{LogLine, LogLines, log_time, wrap_hanging};
use aiperf_types::LogLevel;
use std::borrow::Cow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

/// Shows the events of a campaign until it is over.
pub(crate) struct Screen {
    /// Receives a message when everything is shown.
    shown: Receiver<()>,
}

impl Screen {
    /// Starts to show events, with a progress bar, with progress lines, or with neither.
    pub(crate) fn start(
        mut lines: LogLines,
        mut bar: Option<Bar>,
        mut progress: Option<ProgressLines>,
        events: Subscription,
    ) -> Self {
        let printer = Printer::new();
        Self::showing(move || {
            for event in events {
                let about_progress = progress.as_mut().and_then(|progress| progress.line(&event));
                for line in lines.lines(&event).into_iter().chain(about_progress) {
                    let print = || printer.print(&line);
                    match &bar {
                        Some(bar) => bar.suspend(print),
                        None => print(),
                    }
                }
                if let Some(bar) = &mut bar {
                    bar.update(&event);
                }
            }
            if let Some(bar) = bar {
                bar.clear();
            }
        })
    }

    /// Runs `show` on a thread. It returns when everything is shown.
    pub(crate) fn showing(show: impl FnOnce() + Send + 'static) -> Self {
        let (all_shown, shown) = mpsc::channel();
        let show = move || {
            show();
            let _ = all_shown.send(());
        };
        // Without a thread nothing is shown, but the run goes on.
        let _ = std::thread::Builder::new().name("aiperf-screen".into()).spawn(show);
        Self { shown }
    }

    /// Waits until everything is shown and the bar is removed. After a signal, it does not wait for a pipe without a
    /// reader.
    pub(crate) fn finish(self, signals: &Signals) {
        while let Err(RecvTimeoutError::Timeout) = self.shown.recv_timeout(terminal::PATIENCE) {
            if signals.number().is_some() {
                return;
            }
        }
    }
}

/// Prints log lines on stdout.
pub(crate) struct Printer {
    has_colours: bool,
}

impl Printer {
    pub(crate) fn new() -> Self {
        Self { has_colours: terminal::stdout_has_colours() }
    }

    pub(crate) fn print(&self, line: &LogLine) {
        let text = formatted(line, terminal::stdout_columns(), self.has_colours);
        terminal::print(&format!("{text}\n"));
    }
}

/// Characters of a message that a terminal shows.
const LONGEST_MESSAGE: usize = 2000;
/// How many of them may be dropped to end with a whole word.
const LONGEST_LAST_WORD: usize = 100;
/// On narrower terminals, wrapped lines start below the time, not below the message.
const ROOM_FOR_HEAD: usize = 90;
/// Empty columns at the right of a terminal.
const MARGIN: usize = 2;

/// A line for a terminal with so many columns, wrapped at words; unchanged without a terminal.
fn formatted(line: &LogLine, columns: Option<usize>, colours: bool) -> String {
    let (name, (_, time)) = (line.level.name(), log_time(line.at));
    let head = format!("{time} {name:<8} ");
    let text = match columns {
        Some(columns) => {
            let indent = if columns >= ROOM_FOR_HEAD { head.len() } else { 2 };
            wrap_hanging(&format!("{head}{}", cut(&line.text)), columns.saturating_sub(MARGIN), indent).join("\n")
        }
        None => head + &line.text,
    };
    match colour(line.level).filter(|_| colours) {
        Some(colour) => text.replacen(name, &format!("\x1b[{colour}m{name}\x1b[0m"), 1),
        None => text,
    }
}

/// As much of a message as a terminal shows; the log file contains all of it.
fn cut(message: &str) -> Cow<'_, str> {
    let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) else { return message.into() };
    let shown = &message[..end];
    let at_word = shown.rfind(char::is_whitespace).filter(|at| shown.len() - at <= LONGEST_LAST_WORD);
    format!("{}…", shown[..at_word.unwrap_or(shown.len())].trim_end()).into()
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

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::WallNs;

    fn line(text: &str) -> LogLine {
        LogLine { at: WallNs(0), level: LogLevel::Notice, text: text.into() }
    }

    #[test]
    fn a_line_wraps_at_words_and_in_a_wide_terminal_below_its_message() {
        let text = "Phase profiling (profiling) started | phase_index=0 | profiling_index=0 | target: 100 requests | \
                    concurrency 32, seamless";
        let statistics = "  ttft    p50=   30ms  p75=   48ms  p95=   106ms  p99=   156ms";
        let url = format!("server metrics lost at http://localhost:8000/{}", "metrics/".repeat(12));
        let lines = [text, statistics, &url].map(line);
        let at = |columns: usize| {
            let shown = lines.iter().map(|line| formatted(line, Some(columns), false)).collect::<Vec<_>>().join("\n");
            assert!(shown.lines().all(|line| line.chars().count() <= columns - 2), "{shown}");
            format!("{}\n{shown}\n", "-".repeat(columns))
        };
        insta::assert_snapshot!([120, 90, 80, 60, 40].map(at).concat());
        assert_eq!(formatted(&line(text), None, false), format!("00:00:00.000 NOTICE   {text}"));
    }

    #[test]
    fn a_level_has_its_colour_and_a_long_message_is_cut() {
        let shown = formatted(&line(&"NOTICE ".repeat(1000)), Some(80), true);
        assert!(shown.starts_with("00:00:00.000 \x1b[34mNOTICE\x1b[0m   NOTICE NOTICE "));
        assert!(shown.ends_with(" NOTICE…"), "cut in the middle of a word: {shown}");
        assert!(shown.len() < 4000);
        let unbroken = formatted(&line(&"x".repeat(3000)), Some(80), false);
        assert_eq!(unbroken.matches('x').count(), LONGEST_MESSAGE);
    }
}
