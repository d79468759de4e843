//! Reports of running phases: progress for listeners, and a log line at intervals during a warm-up, which has no
//! visible result.
//!
//! The conductor reports a phase until its requests are done. From then until its records are done, the coordinator
//! does: it still runs when no request does.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::worker_counters::AllCounters;
use crate::queue::Queue;
use aiperf_schedule::PhaseState;
use aiperf_types::{LogLevel, MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress, PhaseStage, Progress, RunEvent};
use std::sync::Arc;

/// The interval of progress reports.
const PROGRESS_EVERY: Nanos = Nanos(100_000_000);

/// The state of every phase, and the listeners.
#[derive(Clone)]
pub(crate) struct PhaseReports {
    tracks: Arc<[PhaseTrack]>,
    queue: Arc<Queue>,
    counters: AllCounters,
    events: Events,
}

impl PhaseReports {
    pub(crate) fn new(tracks: &Arc<[PhaseTrack]>, queue: &Arc<Queue>, counters: &AllCounters, events: &Events) -> Self {
        Self { tracks: tracks.clone(), queue: queue.clone(), counters: counters.clone(), events: events.clone() }
    }

    /// The time of the first progress report; `None` if no listener wants it.
    fn first(&self) -> Option<MonoNs> {
        self.events.wants_progress().then_some(MonoNs(0))
    }

    fn emit(&self, at: usize, counts: PhaseProgress, stage: PhaseStage, elapsed: Nanos) {
        let track = &self.tracks[at];
        self.events.emit(RunEvent::Progress(Arc::new(Progress {
            phase: track.id.clone(),
            targets: track.targets,
            elapsed,
            counts,
            stage,
            records: self.queue.recorded(at),
            workers: self.counters.so_far(),
        })));
    }
}

/// Reports the progress of records in phases whose requests are done.
pub(crate) struct RecordReports {
    reports: PhaseReports,
    /// The time of the next report; `None` if no listener wants it.
    next: Option<MonoNs>,
}

impl RecordReports {
    pub(crate) fn new(reports: PhaseReports) -> Self {
        Self { next: reports.first(), reports }
    }

    /// Sends the reports that are due for incomplete phases.
    pub(crate) fn report(&mut self, now: MonoNs, incomplete: impl Iterator<Item = usize>) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        let mut has_reported = false;
        for at in incomplete {
            let PhaseTrack { started, requests_done, .. } = &self.reports.tracks[at];
            if let (Some(started), Some(done)) = (started.get(), requests_done.get()) {
                let counts = self.reports.queue.with_failures(at, done.counts);
                self.reports.emit(at, counts, PhaseStage::Processing, now.since(*started));
                has_reported = true;
            }
        }
        if has_reported {
            self.next = Some(now.plus(PROGRESS_EVERY));
        }
    }
}

/// Decides when to report phases that send or wait for their requests.
pub(crate) struct ProgressReports {
    /// The time of the next progress report; `None` if no listener wants it.
    next_progress: Option<MonoNs>,
    /// The interval of warm-up lines; `None` for no lines.
    line_every: Option<Nanos>,
    /// When the next line is due; set while a warm-up is on.
    next_line: Option<MonoNs>,
    reports: PhaseReports,
}

impl ProgressReports {
    pub(crate) fn new(line_every: Option<Nanos>, reports: PhaseReports) -> Self {
        let line_every = line_every.filter(|every| *every > Nanos::ZERO);
        Self { next_progress: reports.first(), line_every, next_line: None, reports }
    }

    pub(crate) fn note_start(&mut self, kind: PhaseKind, now: MonoNs) {
        if kind == PhaseKind::Warmup && self.next_line.is_none() {
            self.next_line = self.line_every.map(|every| now.plus(every));
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoNs> {
        [self.next_progress, self.next_line].into_iter().flatten().min()
    }

    /// Sends the reports that are due for the running phases, in the order of their starts.
    pub(crate) fn report<'a>(
        &mut self,
        now: MonoNs,
        running: impl Iterator<Item = (PhaseIndex, &'a PhaseProgress, PhaseState, MonoNs)>,
    ) {
        let is_due = |at: Option<MonoNs>| at.is_some_and(|at| now >= at);
        let (progress, line) = (is_due(self.next_progress), is_due(self.next_line));
        if !progress && !line {
            return;
        }
        let mut warms_up = false;
        for (index, counts, state, started) in running {
            let at = usize::from(index.0);
            let PhaseReports { tracks, queue, events, .. } = &self.reports;
            let (id, counts, elapsed) = (&tracks[at].id, queue.with_failures(at, *counts), now.since(started));
            if line && id.kind == PhaseKind::Warmup {
                warms_up = true;
                events.say(LogLevel::Info, line_of(&id.name, &counts, elapsed));
            }
            if progress {
                let is_sending = state == PhaseState::Sending;
                let stage = if is_sending { PhaseStage::Sending } else { PhaseStage::Draining };
                self.reports.emit(at, counts, stage, elapsed);
            }
        }
        if progress {
            self.next_progress = Some(now.plus(PROGRESS_EVERY));
        }
        if line {
            self.next_line = self.line_every.filter(|_| warms_up).map(|every| now.plus(every));
        }
    }
}

fn line_of(name: &str, counts: &PhaseProgress, elapsed: Nanos) -> String {
    let PhaseProgress { sent, completed, errors, .. } = counts;
    format!(
        "Phase {name} (warmup) is running | sent={sent}, completed={completed}, errors={errors}, in_flight={} | \
         elapsed={:.2}s",
        counts.in_flight(),
        elapsed.as_secs_f64()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::phases;
    use crate::events::{Interest, Subscription};
    use crate::testing::plan;
    use aiperf_types::{PhaseMoment, WallAnchor};

    const SECOND: Nanos = Nanos(1_000_000_000);

    /// Reports of a warm-up and two profiling phases, and a listener.
    fn reports(line_every: Option<Nanos>, interest: Interest) -> (ProgressReports, Subscription) {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases = vec![plan.phases[0].clone(); 3];
        (plan.phases[0].kind, plan.phases[0].name) = (PhaseKind::Warmup, "heat".to_owned());
        let mut events = Events::new(WallAnchor::default());
        let heard = events.subscribe(interest);
        let queue = Arc::new(Queue::new(1, 3, 1).0);
        let reports = PhaseReports::new(&phases::of(&plan), &queue, &AllCounters::of(2, 0), &events);
        (ProgressReports::new(line_every, reports), heard)
    }

    fn reported(heard: Subscription) -> Vec<Arc<Progress>> {
        let progress = |event| if let RunEvent::Progress(progress) = event { Some(progress) } else { None };
        heard.filter_map(progress).collect()
    }

    fn at(seconds: u64) -> MonoNs {
        MonoNs(seconds * SECOND.0)
    }

    #[test]
    fn a_warm_up_logs_its_progress_while_it_lasts() {
        let (mut reports, heard) = reports(Some(Nanos(30 * SECOND.0)), Interest::default());
        let counts = PhaseProgress { sent: 7, completed: 5, errors: 1, ..PhaseProgress::default() };
        let warm_up = || [(PhaseIndex(0), &counts, PhaseState::Sending, at(1))].into_iter();
        assert_eq!(reports.next_deadline(), None);
        reports.note_start(PhaseKind::Warmup, at(1));
        for seconds in [1, 30, 31, 40, 61] {
            reports.report(at(seconds), warm_up());
        }
        assert_eq!(reports.next_deadline(), Some(at(91)));
        let profiling = [(PhaseIndex(1), &counts, PhaseState::Sending, at(62))];
        reports.report(at(91), profiling.into_iter());
        assert_eq!(reports.next_deadline(), None, "the warm-up is over");
        drop(reports);
        let lines: Vec<String> = heard
            .map(|event| match event {
                RunEvent::Message(message) => message.text.to_string(),
                other => format!("{other:?}"),
            })
            .collect();
        let line = "Phase heat (warmup) is running | sent=7, completed=5, errors=1, in_flight=2 | elapsed=";
        assert_eq!(lines, [format!("{line}30.00s"), format!("{line}60.00s")]);
    }

    #[test]
    fn a_warm_up_logs_nothing_without_an_interval() {
        for every in [None, Some(Nanos::ZERO)] {
            let (mut reports, _heard) = reports(every, Interest::default());
            reports.note_start(PhaseKind::Warmup, at(1));
            assert_eq!(reports.next_deadline(), None);
        }
    }

    #[test]
    fn progress_of_every_running_phase_is_reported_in_the_order_of_their_starts() {
        let (mut reports, heard) = reports(None, Interest { progress: true, ..Interest::default() });
        let (one, two) = (PhaseProgress { sent: 9, ..PhaseProgress::default() }, PhaseProgress::default());
        let running =
            [(PhaseIndex(1), &one, PhaseState::Draining, at(1)), (PhaseIndex(2), &two, PhaseState::Sending, at(3))];
        reports.report(at(4), running.into_iter());
        reports.report(at(4), running.into_iter());
        drop(reports);
        let reported = reported(heard);
        let reported: Vec<_> = reported
            .iter()
            .map(|progress| (progress.phase.index, progress.elapsed.0 / SECOND.0, progress.stage))
            .collect();
        assert_eq!(reported, [(1, 3, PhaseStage::Draining), (2, 1, PhaseStage::Sending)]);
    }

    #[test]
    fn a_phase_whose_requests_are_done_reports_the_progress_of_its_own_records() {
        let (ProgressReports { reports, .. }, mut heard) =
            reports(None, Interest { progress: true, ..Interest::default() });
        let (tracks, queue) = (reports.tracks.clone(), reports.queue.clone());
        let mut reports = RecordReports::new(reports);
        let mut heard_at = |seconds: u64, reports: &mut RecordReports| {
            reports.report(at(seconds), 0..3);
            reports.reports.events.say(LogLevel::Info, "that is all");
            let until = |event: &RunEvent| !matches!(event, RunEvent::Message(_));
            let reported = heard.by_ref().take_while(until).filter_map(|event| match event {
                RunEvent::Progress(progress) => {
                    Some((progress.phase.index, progress.stage, progress.counts.sent, progress.records))
                }
                _ => None,
            });
            reported.collect::<Vec<_>>()
        };
        for (phase, sent) in [(0, 5), (1, 7)] {
            tracks[phase].started.set(at(1)).unwrap();
            assert!(heard_at(2, &mut reports).is_empty(), "requests are not done");
            let (phase_id, counts) = (tracks[phase].id.clone(), PhaseProgress { sent, ..PhaseProgress::default() });
            if phase == 1 {
                tracks[1].requests_done.set(PhaseMoment { phase: phase_id, at: at(3), counts }).unwrap();
            }
        }
        queue.finish([0, 1, 0, 1, 1], 0);
        assert_eq!(heard_at(4, &mut reports), [(1, PhaseStage::Processing, 7, 3)]);
        assert!(heard_at(4, &mut reports).is_empty(), "ten times a second");
        queue.finish([1], 0);
        assert_eq!(heard_at(5, &mut reports), [(1, PhaseStage::Processing, 7, 4)]);
    }
}
