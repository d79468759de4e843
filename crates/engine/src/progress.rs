//! What is told of phases while they run: progress for those who watch, and a line now and then of a warm-up, of which
//! nobody sees a result.

use crate::events::Events;
use crate::phases::PhaseTrack;
use crate::queue::Queue;
use aiperf_schedule::PhaseState;
use aiperf_types::{LogLevel, MonoNs, Nanos, PhaseIndex, PhaseKind, PhaseProgress, Progress, RunEvent};
use std::sync::Arc;

/// How often progress is told.
const PROGRESS_EVERY: Nanos = Nanos(100_000_000);

/// When to tell what.
pub(crate) struct ProgressReports {
    /// When progress is told next; never where nobody wants it.
    next_progress: Option<MonoNs>,
    /// Between two lines of a warm-up; `None` is none.
    line_every: Option<Nanos>,
    /// When the next line is due; there while a warm-up is on.
    next_line: Option<MonoNs>,
    tracks: Arc<[PhaseTrack]>,
    queue: Arc<Queue>,
    events: Events,
}

impl ProgressReports {
    pub(crate) fn new(
        line_every: Option<Nanos>,
        tracks: &Arc<[PhaseTrack]>,
        queue: &Arc<Queue>,
        events: &Events,
    ) -> Self {
        Self {
            next_progress: events.wants_progress().then_some(MonoNs(0)),
            line_every: line_every.filter(|every| *every > Nanos::ZERO),
            next_line: None,
            tracks: tracks.clone(),
            queue: queue.clone(),
            events: events.clone(),
        }
    }

    pub(crate) fn note_start(&mut self, kind: PhaseKind, now: MonoNs) {
        if kind == PhaseKind::Warmup && self.next_line.is_none() {
            self.next_line = self.line_every.map(|every| now.plus(every));
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoNs> {
        [self.next_progress, self.next_line].into_iter().flatten().min()
    }

    /// Tells what is due of the phases that are running, first of the one that started first.
    pub(crate) fn tell<'a>(
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
            let track = &self.tracks[at];
            let counts = self.queue.with_failures(at, *counts);
            let elapsed = now.since(started);
            if line && track.id.kind == PhaseKind::Warmup {
                warms_up = true;
                self.events.say(LogLevel::Info, line_of(&track.id.name, &counts, elapsed));
            }
            if progress {
                self.events.emit(RunEvent::Progress(Arc::new(Progress {
                    phase: track.id.clone(),
                    targets: track.targets,
                    elapsed,
                    counts,
                    draining: state != PhaseState::Sending,
                    records: self.queue.recorded(),
                    backlog: self.queue.waiting(),
                    workers: Arc::default(),
                })));
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
    use crate::events::{Interest, Subscription};
    use crate::phases;
    use crate::testing::plan;
    use aiperf_types::WallAnchor;

    const SECOND: Nanos = Nanos(1_000_000_000);

    /// Reports of a warm-up and two profiling phases, and what is heard of them.
    fn reports(line_every: Option<Nanos>, interest: Interest) -> (ProgressReports, Subscription) {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases = vec![plan.phases[0].clone(); 3];
        (plan.phases[0].kind, plan.phases[0].name) = (PhaseKind::Warmup, "heat".to_owned());
        let mut events = Events::new(WallAnchor::default());
        let heard = events.subscribe(interest);
        let (queue, _) = Queue::new(1, 3);
        (ProgressReports::new(line_every, &phases::of(&plan), &Arc::new(queue), &events), heard)
    }

    fn at(seconds: u64) -> MonoNs {
        MonoNs(seconds * SECOND.0)
    }

    #[test]
    fn a_warm_up_says_how_far_it_is_as_long_as_it_lasts() {
        let (mut reports, heard) = reports(Some(Nanos(30 * SECOND.0)), Interest::default());
        let counts = PhaseProgress { sent: 7, completed: 5, errors: 1, ..PhaseProgress::default() };
        let warm_up = || [(PhaseIndex(0), &counts, PhaseState::Sending, at(1))].into_iter();
        assert_eq!(reports.next_deadline(), None);
        reports.note_start(PhaseKind::Warmup, at(1));
        for seconds in [1, 30, 31, 40, 61] {
            reports.tell(at(seconds), warm_up());
        }
        assert_eq!(reports.next_deadline(), Some(at(91)));
        let profiling = [(PhaseIndex(1), &counts, PhaseState::Sending, at(62))];
        reports.tell(at(91), profiling.into_iter());
        assert_eq!(reports.next_deadline(), None, "nobody warms up any more");
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
    fn a_warm_up_says_nothing_where_nobody_wants_lines() {
        for every in [None, Some(Nanos::ZERO)] {
            let (mut reports, _heard) = reports(every, Interest::default());
            reports.note_start(PhaseKind::Warmup, at(1));
            assert_eq!(reports.next_deadline(), None);
        }
    }

    #[test]
    fn progress_is_told_of_every_phase_that_is_on_in_the_order_of_their_starts() {
        let (mut reports, heard) = reports(None, Interest { progress: true, metrics_every: None });
        let (one, two) = (PhaseProgress { sent: 9, ..PhaseProgress::default() }, PhaseProgress::default());
        let running =
            [(PhaseIndex(1), &one, PhaseState::Draining, at(1)), (PhaseIndex(2), &two, PhaseState::Sending, at(3))];
        reports.tell(at(4), running.into_iter());
        reports.tell(at(4), running.into_iter());
        drop(reports);
        let told: Vec<(u16, u64, bool)> = heard
            .filter_map(|event| match event {
                RunEvent::Progress(told) => Some((told.phase.index, told.elapsed.0 / SECOND.0, told.draining)),
                _ => None,
            })
            .collect();
        assert_eq!(told, [(1, 3, true), (2, 1, false)]);
    }
}
