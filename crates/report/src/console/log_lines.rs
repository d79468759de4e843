//! Run events as lines of a log.

use super::live::{LiveBlock, ServerLine, live_block};
use super::text::literal;
use aiperf_plan::redact::Redactor;
use aiperf_types::{
    LogLevel, MetricsSnapshot, MonoNs, Nanos, PhaseId, PhaseKind, PhaseMoment, PhaseProgress, PhaseStarted, RunEvent,
    Source, WallAnchor, WallNs,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One line, or a block of lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub at: WallNs,
    pub level: LogLevel,
    pub text: String,
}

/// Turns run events into lines: messages as they arrive, phases as they start, statistics at intervals.
#[derive(Clone, Debug)]
pub struct LogLines {
    level: LogLevel,
    stats_every: Option<Nanos>,
    anchor: WallAnchor,
    /// By phase index: when the phase started and when its requests were done.
    lasted: BTreeMap<u16, (MonoNs, Option<MonoNs>)>,
    /// The phase that started last.
    latest: Option<(Arc<PhaseId>, MonoNs)>,
    stats_due: MonoNs,
    /// Records and seconds of the last statistics shown.
    shown: Option<(u64, f64)>,
    /// The last report of the servers.
    server: Option<ServerLine>,
    redactor: Arc<Redactor>,
    /// Warnings and errors logged so far: the same one is not logged twice.
    logged: BTreeSet<String>,
}

impl LogLines {
    /// Lines of this level and above, without secrets; statistics at this interval, if there is one.
    pub fn new(level: LogLevel, stats_every: Option<Nanos>, redactor: Arc<Redactor>) -> Self {
        let (anchor, stats_due, logged) = (WallAnchor::default(), MonoNs(0), BTreeSet::new());
        let (lasted, latest, shown, server) = (BTreeMap::new(), None, None, None);
        Self { level, stats_every, anchor, lasted, latest, stats_due, shown, server, redactor, logged }
    }

    /// The lines of one event, most often none or one.
    pub fn lines(&mut self, event: &RunEvent) -> Vec<LogLine> {
        let line = match event {
            RunEvent::RunStarted(run) => {
                self.anchor = run.anchor;
                self.shown = None;
                self.server = None;
                self.logged.clear();
                None
            }
            RunEvent::Message(message) => {
                Some(LogLine { at: message.at, level: message.level, text: message.text.to_string() })
            }
            RunEvent::PhaseStarted(started) => {
                self.lasted.insert(started.phase.index, (started.at, None));
                self.latest = Some((started.phase.clone(), started.at));
                Some(self.notice(started.at, announcement(started)))
            }
            RunEvent::SendingComplete(moment) => Some(self.notice(moment.at, sending_complete(moment))),
            RunEvent::RequestsDone(moment) => {
                self.lasted.entry(moment.phase.index).and_modify(|(_, done)| *done = Some(moment.at));
                None
            }
            // Which requests failed is known only now: a response that began well may contain an error.
            RunEvent::PhaseComplete(moment) => {
                let (started, done) = self.lasted.get(&moment.phase.index).copied().unwrap_or((moment.at, None));
                let elapsed = done.unwrap_or(moment.at).since(started);
                Some(self.notice(moment.at, complete(moment, elapsed) + &self.before_the_latest(moment, done)))
            }
            RunEvent::SourceFound { at, source } => Some(self.source(*at, LogLevel::Debug, "found", source)),
            RunEvent::SourceLost { at, source } => Some(self.source(*at, LogLevel::Warning, "lost", source)),
            RunEvent::Metrics(snapshot) => return self.statistics(snapshot),
            RunEvent::ServerMetrics(snapshot) => {
                self.server = Some(ServerLine::of(snapshot));
                None
            }
            _ => None,
        };
        line.and_then(|line| self.safe(line)).into_iter().collect()
    }

    /// The line without secrets and without terminal control characters. `None` if it is below the level, or a warning
    /// that was logged already.
    fn safe(&mut self, line: LogLine) -> Option<LogLine> {
        if line.level < self.level {
            return None;
        }
        let line = LogLine { text: literal(&self.redactor.hide(&line.text)), ..line };
        let is_new = line.level < LogLevel::Warning || self.logged.insert(line.text.clone());
        is_new.then_some(line)
    }

    fn notice(&self, at: MonoNs, text: String) -> LogLine {
        LogLine { at: self.anchor.wall(at), level: LogLevel::Notice, text }
    }

    /// Records take time: a phase that is reported complete after the next one started overlapped with it only if its
    /// requests did.
    fn before_the_latest(&self, moment: &PhaseMoment, done: Option<MonoNs>) -> String {
        match (&self.latest, done) {
            (Some((latest, started)), Some(done)) if latest.index > moment.phase.index && done <= *started => {
                format!(" | ended before phase {} started", latest.name)
            }
            _ => String::new(),
        }
    }

    fn source(&self, at: MonoNs, level: LogLevel, what: &str, source: &Source) -> LogLine {
        let Source { kind, address, detail } = source;
        let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        LogLine { at: self.anchor.wall(at), level, text: format!("{kind} {what} at {address}{detail}") }
    }

    /// Empty if there is nothing new. Another consumer may cause snapshots more often than this one needs them.
    fn statistics(&mut self, snapshot: &MetricsSnapshot) -> Vec<LogLine> {
        let Some(every) = self.stats_every.filter(|_| snapshot.kind == PhaseKind::Profiling) else { return Vec::new() };
        let known = self.shown.map_or(0, |(records, _)| records);
        if self.level > LogLevel::Info || snapshot.records == known || snapshot.at < self.stats_due {
            return Vec::new();
        }
        // Snapshots arrive a little early or late.
        self.stats_due = snapshot.at.plus(Nanos(every.0 - every.0 / 20));
        let elapsed = snapshot.elapsed.as_secs_f64();
        let previous = self.shown.replace((snapshot.records, elapsed));
        let (records, failed) = (snapshot.records, snapshot.failed);
        let block =
            LiveBlock { records, failed, elapsed, previous, server: self.server.as_ref(), ..LiveBlock::default() };
        let at = self.anchor.wall(snapshot.at);
        let line = |text: &str| LogLine { at, level: LogLevel::Info, text: text.to_owned() };
        live_block(&block, |tag, name| snapshot.stat(tag, name)).lines().map(line).collect()
    }
}

fn announcement(started: &PhaseStarted) -> String {
    let PhaseStarted { load, target, .. } = started;
    let PhaseId { index, profiling_index, .. } = &*started.phase;
    let profiling = profiling_index.map(|index| format!(" | profiling_index={index}")).unwrap_or_default();
    format!("{} started | phase_index={index}{profiling} | target: {target} | {load}", name(&started.phase))
}

fn name(phase: &PhaseId) -> String {
    format!("Phase {} ({})", phase.name, phase.kind.name())
}

fn sending_complete(moment: &PhaseMoment) -> String {
    let PhaseProgress { sent, completed, cancelled, sessions_sent, sessions_completed, .. } = moment.counts;
    format!(
        "{} sending complete | sent={sent}, completed={completed}, in_flight={} | sessions: sent={sessions_sent}, \
         completed={sessions_completed}",
        name(&moment.phase),
        sent.saturating_sub(completed + cancelled)
    )
}

fn complete(moment: &PhaseMoment, elapsed: Nanos) -> String {
    let PhaseProgress { completed, cancelled, errors, sessions_completed, sessions_cancelled, .. } = moment.counts;
    format!(
        "{} complete | completed={completed}, cancelled={cancelled}, errors={errors} | sessions: \
         completed={sessions_completed}, cancelled={sessions_cancelled} | elapsed={:.2}s",
        name(&moment.phase),
        elapsed.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Message, PhaseTargets};

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
    fn text_from_a_server_does_not_control_the_terminal() {
        let text = "a\x1b[2Jb".into();
        let event = RunEvent::Message(Message { at: WallNs(1), level: LogLevel::Warning, text });
        assert_eq!(log_lines(LogLevel::Info, None).lines(&event)[0].text, "a\\u{1b}[2Jb");
    }

    #[test]
    fn the_same_warning_is_not_logged_twice_in_a_run() {
        let mut lines = log_lines(LogLevel::Info, None);
        let mut logged = |level| lines.lines(&message(level)).len();
        assert_eq!([logged(LogLevel::Warning), logged(LogLevel::Warning)], [1, 0]);
        assert_eq!([logged(LogLevel::Info), logged(LogLevel::Info)], [1, 1]);
    }

    #[test]
    fn messages_below_the_level_are_left_out() {
        let mut lines = log_lines(LogLevel::Warning, None);
        assert!(lines.lines(&message(LogLevel::Info)).is_empty());
        assert_eq!(lines.lines(&message(LogLevel::Error)).len(), 1);
    }

    #[test]
    fn a_phase_is_announced_when_it_starts_stops_sending_and_is_complete() {
        let phase =
            Arc::new(PhaseId { index: 1, profiling_index: Some(0), name: "load".into(), kind: PhaseKind::Profiling });
        let moment = |at: u64, completed: u64| {
            let counts = PhaseProgress { sent: 6, completed, sessions_sent: 6, ..PhaseProgress::default() };
            PhaseMoment {
                phase: phase.clone(),
                at: MonoNs(at),
                counts: PhaseProgress { sessions_completed: completed, ..counts },
            }
        };
        let started = PhaseStarted {
            phase: phase.clone(),
            at: MonoNs(0),
            targets: PhaseTargets::default(),
            load: "Poisson arrivals at 20 req/s, at most 4 sessions".into(),
            target: "10 requests".into(),
        };
        let events = [
            RunEvent::PhaseStarted(Arc::new(started)),
            RunEvent::SendingComplete(moment(200_000_000, 4)),
            RunEvent::RequestsDone(moment(210_000_000, 6)),
            RunEvent::PhaseComplete(moment(290_000_000, 6)),
        ];
        let mut lines = log_lines(LogLevel::Info, None);
        let texts: Vec<String> = events.iter().flat_map(|event| lines.lines(event)).map(|line| line.text).collect();
        assert_eq!(
            texts,
            [
                "Phase load (profiling) started | phase_index=1 | profiling_index=0 | target: 10 requests | Poisson arrivals \
                 at 20 req/s, at most 4 sessions",
                "Phase load (profiling) sending complete | sent=6, completed=4, in_flight=2 | sessions: sent=6, completed=4",
                "Phase load (profiling) complete | completed=6, cancelled=0, errors=0 | sessions: completed=6, cancelled=0 | \
                 elapsed=0.21s",
            ]
        );
    }

    #[test]
    fn a_phase_whose_records_arrive_late_does_not_seem_to_overlap_the_next() {
        let phase = |index: u16, name: &str| {
            Arc::new(PhaseId { index, profiling_index: None, name: name.into(), kind: PhaseKind::Profiling })
        };
        let (first, second) = (phase(0, "first"), phase(1, "second"));
        let started = |phase: &Arc<PhaseId>, at: u64| {
            let (phase, at, targets) = (phase.clone(), MonoNs(at), PhaseTargets::default());
            RunEvent::PhaseStarted(Arc::new(PhaseStarted { phase, at, targets, load: "".into(), target: "".into() }))
        };
        let moment = |at: u64| PhaseMoment { phase: first.clone(), at: MonoNs(at), counts: PhaseProgress::default() };
        let last_line = |done: u64| {
            let mut lines = log_lines(LogLevel::Info, None);
            let mut events = vec![started(&first, 0)];
            events.extend([RunEvent::RequestsDone(moment(done)), started(&second, 100)]);
            events.push(RunEvent::PhaseComplete(moment(200)));
            events.iter().flat_map(|event| lines.lines(event)).last().unwrap().text
        };
        assert!(last_line(100).ends_with("| elapsed=0.00s | ended before phase second started"), "{}", last_line(100));
        assert!(last_line(150).ends_with("| elapsed=0.00s"), "it is seamless: {}", last_line(150));
    }

    fn snapshot(at: u64, records: u64, kind: PhaseKind) -> RunEvent {
        let (at, elapsed) = (MonoNs(at), Nanos(at));
        RunEvent::Metrics(Arc::new(MetricsSnapshot {
            kind,
            at,
            elapsed,
            records,
            failed: 0,
            metrics: Vec::new(),
            verdict: Default::default(),
            latencies: Vec::new(),
        }))
    }

    #[test]
    fn statistics_have_their_own_interval_however_often_snapshots_arrive() {
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
