//! What the terminal shows while a run is on: log lines on stdout and, below them, the progress bar on stderr.

use crate::progress::Bar;
use aiperf_campaign::Subscription;
use aiperf_report::{LogLine, LogLines, log_time};
use aiperf_types::LogLevel;
use std::io::{IsTerminal, Write};
use std::thread::JoinHandle;

/// Shows what is told until the campaign is over.
pub(crate) struct Screen {
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Starts showing, with a progress bar or without.
    pub(crate) fn start(mut lines: LogLines, with_bar: bool, events: Subscription) -> Self {
        let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let show = move || {
            let mut bar = with_bar.then(Bar::new);
            for event in events {
                for line in lines.lines(&event) {
                    let text = shown(&line, colours);
                    // A reader that went away must not end a run.
                    let print = || drop(writeln!(std::io::stdout(), "{text}"));
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
        };
        let thread = std::thread::Builder::new().name("aiperf-screen".into()).spawn(show).ok();
        Self { thread }
    }

    /// Waits until everything is shown and takes the bar away.
    pub(crate) fn finish(self) {
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

fn shown(line: &LogLine, colours: bool) -> String {
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
