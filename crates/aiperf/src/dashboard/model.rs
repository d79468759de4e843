//! What is known of a run, and how it is looked at. No clock but what events say and the instants handed in.

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
    ServerSnapshot,
};
use std::sync::Arc;

/// How long a toast stays.
const TOAST: Nanos = Nanos(4_000_000_000);

pub(crate) struct Model {
    pub(crate) run: Option<Arc<RunStarted>>,
    pub(crate) preparing: Option<Arc<Preparing>>,
    pub(crate) phases: Phases,
    /// Rows of the metrics table, made anew every `stats_every`.
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
    /// Something changed since the last frame.
    pub(crate) is_stale: bool,
    stats_every: Nanos,
    /// What the table is of.
    table: Option<Table>,
    /// What is known by now.
    latest: Option<Arc<MetricsSnapshot>>,
}

#[derive(Clone, Copy, Debug)]
struct Table {
    kind: PhaseKind,
    /// Since the first phase of that kind started.
    elapsed: Nanos,
    /// When it is made anew.
    due: MonoNs,
}

/// How the run is looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// The one pane shown; `None` is the overview.
    pub(crate) maximised: Option<PaneId>,
    pub(crate) hides_logs: bool,
    pub(crate) shows_keys: bool,
    pub(crate) toast: Option<Toast>,
    /// Rows of a pane that are above its first shown one.
    pub(crate) offsets: [usize; PaneId::COUNT],
    /// Columns and rows of the terminal.
    pub(crate) size: (u16, u16),
    pub(crate) click: Option<Click>,
    /// Nobody chose what to look at, and there is nothing yet but the log.
    waits: bool,
    /// What is looked at once there is more.
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
    /// A run of which nothing is known, with a table that is made anew so often.
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

    /// The same that opens with one pane alone.
    pub(crate) fn opening_with(mut self, pane: Option<PaneId>) -> Self {
        self.view.first = pane;
        self
    }

    /// What a run tells, but for its log lines.
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
        // What was measured of another kind of phase says nothing about this one, and nothing comes after the last.
        let is_due = |table: Table| table.kind != snapshot.kind || snapshot.at >= table.due;
        if self.table.is_none_or(is_due) || self.is_over() {
            self.refresh();
        }
    }

    /// Every phase that was started is complete.
    fn is_over(&self) -> bool {
        self.phases.current().is_some_and(|phase| phase.state == State::Complete)
    }

    /// Makes the table of what is known by now.
    fn refresh(&mut self) {
        let Some(snapshot) = &self.latest else { return };
        // Snapshots come a little early or late.
        let due = snapshot.at.plus(Nanos(self.stats_every.0 - self.stats_every.0 / 20));
        self.table = Some(Table { kind: snapshot.kind, elapsed: snapshot.elapsed, due });
        self.metrics = live_rows(snapshot);
    }

    /// The instant that the table is of, since the start of what it is of.
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

    /// Time goes by.
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

    /// Shows one pane alone, or everything where that one was.
    pub(crate) fn toggle(&mut self, pane: PaneId) {
        self.view.waits = false;
        self.view.maximised = (self.view.maximised != Some(pane)).then_some(pane);
    }

    pub(crate) fn overview(&mut self) {
        self.view.waits = false;
        self.view.maximised = None;
    }
}
