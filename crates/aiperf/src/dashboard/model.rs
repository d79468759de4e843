//! The state of a run, and of the view. It has no clock: times come from events and from callers.

use super::logs::Logs;
use super::pane_id::PaneId;
use super::phases::Phases;
use super::threads::ThreadUse;
use super::trends::Trends;
use super::workers::Workers;
use crate::phase_progress::State;
use aiperf_report::{LiveRow, LogLine, live_rows};
use aiperf_types::{
    GpuSnapshot, LatencyBucket, MetricsSnapshot, MonoNs, Nanos, PhaseKind, PhaseStage, Preparing, RunEvent, RunStarted,
    ServerSnapshot, Verdict,
};
use std::sync::Arc;

/// How long a toast is shown.
const TOAST: Nanos = Nanos(4_000_000_000);

pub(crate) struct Model {
    pub(crate) run: Option<Arc<RunStarted>>,
    pub(crate) preparing: Option<Arc<Preparing>>,
    pub(crate) phases: Phases,
    /// Rows of the metrics table, refreshed every `stats_every`.
    pub(crate) metrics: Vec<LiveRow>,
    pub(crate) latencies: Vec<LatencyBucket>,
    pub(crate) trends: Trends,
    pub(crate) server: Option<Arc<ServerSnapshot>>,
    pub(crate) gpus: Option<Arc<GpuSnapshot>>,
    pub(crate) workers: Workers,
    pub(crate) logs: Logs,
    pub(crate) view: View,
    /// Since the dashboard opened.
    pub(crate) now: Nanos,
    /// Whether something changed since the last frame.
    pub(crate) is_stale: bool,
    stats_every: Nanos,
    /// The snapshot that the table shows.
    table: Option<Table>,
    /// The latest snapshot.
    latest: Option<Arc<MetricsSnapshot>>,
}

#[derive(Clone, Copy, Debug)]
struct Table {
    kind: PhaseKind,
    /// Since the first phase of that kind started.
    elapsed: Nanos,
    /// When it is refreshed.
    due: MonoNs,
}

/// The state of the view.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The maximised pane; `None` is the overview.
    pub(crate) maximised: Option<PaneId>,
    pub(crate) hides_logs: bool,
    pub(crate) shows_keys: bool,
    pub(crate) toast: Option<Toast>,
    /// Rows of each pane above its first visible one.
    pub(crate) offsets: [usize; PaneId::COUNT],
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    pub(crate) click: Option<Click>,
    /// The user has not chosen a view, and only the log has content yet.
    waits: bool,
    /// The pane to show once there is more.
    first: Option<PaneId>,
}

/// Where and when the button was pressed last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Click {
    pub(crate) pane: PaneId,
    pub(crate) at: Nanos,
}

#[derive(Clone, Debug)]
pub(crate) struct Toast {
    pub(crate) text: String,
    until: Nanos,
}

impl Model {
    /// A run without any event yet, with a table that is refreshed at this interval.
    pub(crate) fn new(stats_every: Nanos, size: (u16, u16)) -> Self {
        let view = View { maximised: Some(PaneId::Logs), waits: true, size, ..View::default() };
        Self {
            run: None,
            preparing: None,
            phases: Phases::default(),
            metrics: Vec::new(),
            latencies: Vec::new(),
            trends: Trends::default(),
            server: None,
            gpus: None,
            workers: Workers::default(),
            logs: Logs::default(),
            view,
            now: Nanos::ZERO,
            is_stale: true,
            stats_every,
            table: None,
            latest: None,
        }
    }

    /// The same, opened with one pane maximised.
    pub(crate) fn opening_with(mut self, pane: Option<PaneId>) -> Self {
        self.view.first = pane;
        self
    }

    /// Takes an event, except its log lines.
    pub(crate) fn take(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted(run) => self.run = Some(run.clone()),
            RunEvent::Preparing(preparing) => self.preparing = Some(preparing.clone()),
            RunEvent::PhaseStarted(started) => {
                self.phases.start(started);
                self.trends.start(started);
            }
            RunEvent::SendingComplete(moment) => self.phases.turn(moment, Some(PhaseStage::Draining)),
            RunEvent::RequestsDone(moment) => self.phases.turn(moment, Some(PhaseStage::Processing)),
            RunEvent::PhaseComplete(moment) => {
                self.phases.turn(moment, None);
                self.refresh();
            }
            RunEvent::Progress(progress) => {
                self.phases.progress(progress);
                self.trends.progress(progress);
                self.workers.progress(&progress.workers, self.now);
                if std::mem::take(&mut self.view.waits) {
                    self.view.maximised = self.view.first;
                }
            }
            RunEvent::Metrics(snapshot) => self.metrics(snapshot),
            RunEvent::ServerMetrics(snapshot) => self.server = Some(snapshot.clone()),
            RunEvent::GpuMetrics(snapshot) => self.gpus = Some(snapshot.clone()),
            RunEvent::Message(_)
            | RunEvent::Histograms(_)
            | RunEvent::RecordsComplete(_)
            | RunEvent::SourceFound { .. }
            | RunEvent::SourceLost { .. }
            | RunEvent::RunFinished { .. } => return,
        }
        self.is_stale = true;
    }

    fn metrics(&mut self, snapshot: &Arc<MetricsSnapshot>) {
        self.trends.metrics(snapshot);
        self.latencies.clone_from(&snapshot.latencies);
        self.latest = Some(snapshot.clone());
        // The table changes immediately with the kind of phase, and for the last time when all phases are complete.
        let is_due = |table: Table| table.kind != snapshot.kind || snapshot.at >= table.due;
        if self.table.is_none_or(is_due) || self.is_over() {
            self.refresh();
        }
    }

    /// The verdict on the numbers so far.
    pub(crate) fn verdict(&self) -> Option<&Verdict> {
        self.latest.as_ref().map(|snapshot| &snapshot.verdict)
    }

    /// Whether every started phase is complete.
    fn is_over(&self) -> bool {
        self.phases.current().is_some_and(|phase| phase.state == State::Complete)
    }

    /// Refreshes the table from the latest snapshot.
    fn refresh(&mut self) {
        let Some(snapshot) = &self.latest else { return };
        // 5% early, because snapshots come a little early or late.
        let due = snapshot.at.plus(Nanos(self.stats_every.0 - self.stats_every.0 / 20));
        self.table = Some(Table { kind: snapshot.kind, elapsed: snapshot.elapsed, due });
        self.metrics = live_rows(snapshot);
    }

    /// The time of the table, since the start of the first phase of its kind.
    pub(crate) fn table_at(&self) -> Option<Nanos> {
        self.table.map(|table| table.elapsed)
    }

    pub(crate) fn log(&mut self, line: &LogLine) {
        self.logs.push(line);
        self.is_stale = true;
    }

    pub(crate) fn threads(&mut self, threads: Vec<ThreadUse>, memory: Option<u64>) {
        (self.workers.threads, self.workers.memory) = (threads, memory);
        self.is_stale |= self.view.maximised == Some(PaneId::Workers);
    }

    /// Advances the time.
    pub(crate) fn at(&mut self, now: Nanos) {
        self.now = now;
        if self.view.toast.as_ref().is_some_and(|toast| toast.until <= now) {
            self.view.toast = None;
            self.is_stale = true;
        }
    }

    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.view.size = size;
        self.is_stale = true;
    }

    pub(crate) fn toast(&mut self, text: impl Into<String>) {
        self.view.toast = Some(Toast { text: text.into(), until: Nanos(self.now.0 + TOAST.0) });
        self.is_stale = true;
    }

    /// Maximises a pane, or shows the overview if it is maximised already.
    pub(crate) fn toggle(&mut self, pane: PaneId) {
        self.view.waits = false;
        self.view.maximised = (self.view.maximised != Some(pane)).then_some(pane);
    }

    pub(crate) fn overview(&mut self) {
        self.view.waits = false;
        self.view.maximised = None;
    }
}
