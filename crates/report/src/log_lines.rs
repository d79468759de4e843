//! Run events as lines of a log.

use crate::console::live::{LiveBlock, live_block};
use aiperf_plan::redact::Redactor;
use aiperf_types::{
    LogLevel, MetricsSnapshot, MonoNs, Nanos, PhaseKind, PhaseStarted, RunEvent, Source, WallAnchor, WallNs,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One line, or a block of lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: WallNs,
    pub level: LogLevel,
    pub text: String,
}

/// Turns what a run tells into lines: messages as they are said, phases as they start, statistics every now and then.
#[derive(Clone, Debug)]
pub struct LogLines {
    level: LogLevel,
    stats_every: Option<Nanos>,
    anchor: WallAnchor,
    stats_due: MonoNs,
    /// Records and seconds of the statistics shown last.
    shown: Option<(u64, f64)>,
    redactor: Arc<Redactor>,
    /// Warnings and errors said so far: the same one is not said twice.
    said: BTreeSet<String>,
}

impl LogLines {
    /// Lines of this level and above, without secrets; statistics as often as asked for, if at all.
    pub fn new(level: LogLevel, stats_every: Option<Nanos>, redactor: Arc<Redactor>) -> Self {
        let (anchor, stats_due, said) = (WallAnchor::default(), MonoNs(0), BTreeSet::new());
        Self { level, stats_every, anchor, stats_due, shown: None, redactor, said }
    }

    /// The lines of one event, most often none or one.
    pub fn lines(&mut self, event: &RunEvent) -> Vec<LogLine> {
        let line = match event {
            RunEvent::RunStarted(run) => {
                self.anchor = run.anchor;
                self.shown = None;
                self.said.clear();
                None
            }
            RunEvent::Message(message) => {
                Some(LogLine { at: message.at, level: message.level, text: message.text.to_string() })
            }
            RunEvent::PhaseStarted(started) => {
                let at = self.anchor.wall(started.at);
                Some(LogLine { at, level: LogLevel::Notice, text: announcement(started) })
            }
            RunEvent::SourceFound { at, source } => Some(self.source(*at, LogLevel::Info, "found", source)),
            RunEvent::SourceLost { at, source } => Some(self.source(*at, LogLevel::Warning, "lost", source)),
            RunEvent::Metrics(snapshot) => return self.statistics(snapshot),
            _ => None,
        };
        line.and_then(|line| self.safe(line)).into_iter().collect()
    }

    /// The line without secrets, unless it is of no interest or a warning that was said already.
    fn safe(&mut self, line: LogLine) -> Option<LogLine> {
        if line.level < self.level {
            return None;
        }
        let line = LogLine { text: self.redactor.hide(&line.text).into_owned(), ..line };
        let is_new = line.level < LogLevel::Warning || self.said.insert(line.text.clone());
        is_new.then_some(line)
    }

    fn source(&self, at: MonoNs, level: LogLevel, what: &str, source: &Source) -> LogLine {
        let Source { kind, address, detail } = source;
        let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        LogLine { at: self.anchor.wall(at), level, text: format!("{kind} {what} at {address}{detail}") }
    }

    /// Nothing while there is nothing new. A more eager listener makes snapshots come more often than this one wants them.
    fn statistics(&mut self, snapshot: &MetricsSnapshot) -> Vec<LogLine> {
        let Some(every) = self.stats_every.filter(|_| snapshot.kind == PhaseKind::Profiling) else { return Vec::new() };
        let known = self.shown.map_or(0, |(records, _)| records);
        if self.level > LogLevel::Info || snapshot.records == known || snapshot.at < self.stats_due {
            return Vec::new();
        }
        // Snapshots come a little early or late.
        self.stats_due = snapshot.at.plus(Nanos(every.0 - every.0 / 20));
        let elapsed = snapshot.elapsed.as_secs_f64();
        let previous = self.shown.replace((snapshot.records, elapsed));
        let (records, failed) = (snapshot.records, snapshot.failed);
        let block = LiveBlock { records, failed, elapsed, previous, ..LiveBlock::default() };
        let at = self.anchor.wall(snapshot.at);
        let line = |text: &str| LogLine { at, level: LogLevel::Info, text: text.to_owned() };
        live_block(&block, |tag, name| snapshot.stat(tag, name)).lines().map(line).collect()
    }
}

fn announcement(started: &PhaseStarted) -> String {
    let targets = started.targets;
    let target = match (targets.requests, targets.length) {
        (Some(requests), None) => format!("{requests} requests"),
        (None, Some(length)) => format!("{} s", length.as_secs_f64()),
        (Some(requests), Some(length)) => format!("{requests} requests or {} s", length.as_secs_f64()),
        (None, None) => "until stopped".to_owned(),
    };
    let concurrency = targets.concurrency.map(|n| format!(" at concurrency {n}")).unwrap_or_default();
    format!("Phase {} ({}) | target: {target}{concurrency}", started.phase.name, started.phase.kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Message, PhaseId, PhaseTargets};

    fn log_lines(level: LogLevel, stats_every: Option<Nanos>) -> LogLines {
        LogLines::new(level, stats_every, Arc::new(Redactor::new(["sk-123456".to_owned()])))
    }

    fn message(level: LogLevel) -> RunEvent {
        RunEvent::Message(Message { at: WallNs(1), level, text: "text with sk-123456".into() })
    }

    #[test]
    fn a_secret_is_in_no_line() {
        let lines = log_lines(LogLevel::Info, None).lines(&message(LogLevel::Info));
        assert_eq!(lines[0].text, "text with <redacted>");
    }

    #[test]
    fn the_same_warning_is_not_said_twice_in_a_run() {
        let mut lines = log_lines(LogLevel::Info, None);
        let mut said = |level| lines.lines(&message(level)).len();
        assert_eq!([said(LogLevel::Warning), said(LogLevel::Warning)], [1, 0]);
        assert_eq!([said(LogLevel::Info), said(LogLevel::Info)], [1, 1]);
    }

    #[test]
    fn messages_below_the_level_are_left_out() {
        let mut lines = log_lines(LogLevel::Warning, None);
        assert!(lines.lines(&message(LogLevel::Info)).is_empty());
        assert_eq!(lines.lines(&message(LogLevel::Error)).len(), 1);
    }

    #[test]
    fn a_phase_is_announced_when_it_starts() {
        let phase =
            Arc::new(PhaseId { index: 0, profiling_index: None, name: "warmup".into(), kind: PhaseKind::Warmup });
        let targets = PhaseTargets { requests: Some(10), length: None, concurrency: Some(4) };
        let started = RunEvent::PhaseStarted(Arc::new(PhaseStarted { phase, at: MonoNs(5), targets }));
        let lines = log_lines(LogLevel::Info, None).lines(&started);
        assert_eq!(lines[0].text, "Phase warmup (warmup) | target: 10 requests at concurrency 4");
    }

    fn snapshot(at: u64, records: u64, kind: PhaseKind) -> RunEvent {
        let (at, elapsed) = (MonoNs(at), Nanos(at));
        RunEvent::Metrics(Arc::new(MetricsSnapshot { kind, at, elapsed, records, failed: 0, metrics: Vec::new() }))
    }

    #[test]
    fn statistics_come_as_often_as_asked_for_however_often_snapshots_do() {
        let mut lines = log_lines(LogLevel::Info, Some(Nanos(1000)));
        let mut shown = Vec::new();
        for tick in 1..=40u64 {
            if !lines.lines(&snapshot(tick * 100, tick, PhaseKind::Profiling)).is_empty() {
                shown.push(tick);
            }
        }
        assert_eq!(shown, [1, 11, 21, 31]);
        assert!(lines.lines(&snapshot(9_000, 40, PhaseKind::Warmup)).is_empty());
    }
}
