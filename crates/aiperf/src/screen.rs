//! What the terminal shows while a run is on: log lines on stdout and, below them, the progress bar on stderr.

use crate::progress::Bar;
use crate::signals::Signals;
use crate::terminal;
use aiperf_campaign::Subscription;
use aiperf_report::{LogLine, LogLines, log_time};
use aiperf_types::LogLevel;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// How long a run that was ended waits for what it says to be read.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// Shows what is told until the campaign is over.
pub(crate) struct Screen {
    /// Says when everything is shown.
    shown: Receiver<()>,
}

impl Screen {
    /// Starts showing, with a progress bar or without.
    pub(crate) fn start(mut lines: LogLines, with_bar: bool, events: Subscription) -> Self {
        let colours = terminal::stdout_has_colours();
        let (all_shown, shown) = mpsc::channel();
        let show = move || {
            let mut bar = with_bar.then(Bar::new);
            for event in events {
                for line in lines.lines(&event) {
                    let text = formatted(&line, colours);
                    let print = || terminal::print(&format!("{text}\n"));
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
            let _ = all_shown.send(());
        };
        // Without a thread nothing is shown, and the run goes on.
        let _ = std::thread::Builder::new().name("aiperf-screen".into()).spawn(show);
        Self { shown }
    }

    /// Waits until everything is shown and the bar is gone. Whoever wanted the run to end does not wait for a pipe that nobody
    /// empties.
    pub(crate) fn finish(self, signals: &Signals) {
        while let Err(RecvTimeoutError::Timeout) = self.shown.recv_timeout(PATIENCE) {
            if signals.number().is_some() {
                return;
            }
        }
    }
}

fn formatted(line: &LogLine, colours: bool) -> String {
    let (name, text, (_, time)) = (line.level.name(), &line.text, log_time(line.at));
    match colour(line.level).filter(|_| colours) {
        Some(colour) => format!("{time} \x1b[{colour}m{name:<8}\x1b[0m {text}"),
        None => format!("{time} {name:<8} {text}"),
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
