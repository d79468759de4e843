//! The progress of phases, as counters that only grow and gauges.

use aiperf_types::{MonoNs, PhaseId, PhaseProgress, PhaseTargets, RunEvent};
use std::sync::Arc;

/// One phase.
#[derive(Clone, Debug)]
pub(super) struct PhaseTiming {
    pub(super) phase: Arc<PhaseId>,
    pub(super) targets: PhaseTargets,
    started: MonoNs,
    /// When its requests were done.
    done: Option<MonoNs>,
    counts: PhaseProgress,
    /// By gauge: whether it ever had a value other than zero.
    seen: [bool; GAUGES.len()],
}

/// A counter: the suffix of its name, its field, and its value.
pub(super) type Counter = (&'static str, &'static str, fn(&PhaseProgress) -> u64);

pub(super) const COUNTERS: [Counter; 8] = [
    ("requests.sent", "requests_sent", |counts| counts.sent),
    ("requests.completed", "requests_completed", |counts| counts.completed),
    ("requests.cancelled", "requests_cancelled", |counts| counts.cancelled),
    ("requests.errors", "request_errors", |counts| counts.errors),
    ("sessions.sent", "sent_sessions", |counts| counts.sessions_sent),
    ("sessions.completed", "completed_sessions", |counts| counts.sessions_completed),
    ("sessions.cancelled", "cancelled_sessions", |counts| counts.sessions_cancelled),
    ("sessions.turns_total", "total_session_turns", |counts| counts.session_turns),
];

/// The same for a gauge, with its unit.
pub(super) type Gauge = (&'static str, &'static str, &'static str, fn(&PhaseTiming, MonoNs) -> f64);

pub(super) const GAUGES: [Gauge; 6] = [
    ("requests.in_flight", "in_flight_requests", "1", |phase, _| phase.counts.in_flight() as f64),
    ("sessions.in_flight", "in_flight_sessions", "1", |phase, _| phase.counts.sessions_in_flight() as f64),
    ("phase.timeout_triggered", "timeout_triggered", "1", |phase, _| f64::from(phase.counts.ending.timed_out)),
    ("phase.grace_timeout_triggered", "grace_period_timeout_triggered", "1", |phase, _| {
        f64::from(phase.counts.ending.grace_expired)
    }),
    ("phase.was_cancelled", "was_cancelled", "1", |phase, _| f64::from(phase.counts.ending.was_stopped)),
    ("phase.elapsed_sec", "requests_elapsed_time", "s", |phase, now| phase.elapsed_seconds(now)),
];

/// Smaller values count as zero.
const NOTHING: f64 = 1e-9;

impl PhaseTiming {
    fn elapsed_seconds(&self, now: MonoNs) -> f64 {
        self.done.unwrap_or(now).since(self.started).as_secs_f64()
    }

    /// Counters never fall, in any order of events.
    fn update(&mut self, counts: &PhaseProgress, at: MonoNs) {
        let before = self.counts;
        let counters = |counts: &PhaseProgress| COUNTERS.map(|(.., value)| value(counts));
        if counters(counts).iter().zip(counters(&before)).all(|(new, old)| *new >= old) {
            self.counts = *counts;
        }
        let values = GAUGES.map(|(.., value)| value(self, at));
        self.seen.iter_mut().zip(values).for_each(|(seen, value)| *seen |= value.abs() >= NOTHING);
    }

    /// A counter's value, once it is not zero.
    pub(super) fn counter(&self, (_, _, value): Counter) -> Option<f64> {
        Some(value(&self.counts)).filter(|value| *value > 0).map(|value| value as f64)
    }

    /// The value of a gauge by its index, once it was not zero.
    pub(super) fn gauge(&self, place: usize, now: MonoNs) -> Option<f64> {
        let value = GAUGES[place].3(self, now);
        (self.seen[place] || value.abs() >= NOTHING).then_some(value)
    }
}

/// The state of all phases.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    pub(super) phases: Vec<PhaseTiming>,
}

impl Timing {
    /// Updates the phase of an event.
    pub fn hear(&mut self, event: &RunEvent) {
        let (phase, counts, at, is_done) = match event {
            RunEvent::PhaseStarted(started) => {
                self.phases.push(PhaseTiming {
                    phase: started.phase.clone(),
                    targets: started.targets,
                    started: started.at,
                    done: None,
                    counts: PhaseProgress::default(),
                    seen: [false; GAUGES.len()],
                });
                return;
            }
            RunEvent::Progress(progress) => {
                let Some(known) = self.phases.iter().find(|known| known.phase.index == progress.phase.index) else {
                    return;
                };
                // Its record counts are older than the end of its requests.
                let counts = PhaseProgress { ending: known.counts.ending, ..progress.counts };
                (&progress.phase, counts, known.started.plus(progress.elapsed), false)
            }
            RunEvent::SendingComplete(moment) => (&moment.phase, moment.counts, moment.at, false),
            RunEvent::RequestsDone(moment) => (&moment.phase, moment.counts, moment.at, true),
            RunEvent::PhaseComplete(moment) => (&moment.phase, moment.counts, moment.at, false),
            _ => return,
        };
        if let Some(known) = self.phases.iter_mut().find(|known| known.phase.index == phase.index) {
            if is_done {
                known.done = Some(at);
            }
            known.update(&counts, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::{Nanos, PhaseEnding, PhaseKind, PhaseMoment, PhaseStage, PhaseStarted, Progress};

    fn phase() -> Arc<PhaseId> {
        Arc::new(PhaseId { index: 0, profiling_index: Some(0), name: "load".into(), kind: PhaseKind::Profiling })
    }

    fn started() -> RunEvent {
        let (targets, load, target) = (PhaseTargets::default(), "".into(), "".into());
        RunEvent::PhaseStarted(Arc::new(PhaseStarted {
            phase: phase(),
            at: MonoNs(1_000_000_000),
            targets,
            load,
            target,
        }))
    }

    fn progress(millis: u64, counts: PhaseProgress) -> RunEvent {
        let (targets, workers) = (PhaseTargets::default(), Arc::default());
        let (elapsed, stage) = (Nanos::from_millis(millis), PhaseStage::Sending);
        RunEvent::Progress(Arc::new(Progress { phase: phase(), targets, elapsed, counts, stage, records: 0, workers }))
    }

    fn counts(sent: u64, completed: u64) -> PhaseProgress {
        PhaseProgress { sent, completed, ..PhaseProgress::default() }
    }

    #[test]
    fn counters_of_a_phase_grow_and_requests_in_flight_rise_and_fall() {
        let mut timing = Timing::default();
        [started(), progress(100, counts(5, 2))].iter().for_each(|event| timing.hear(event));
        let now = MonoNs(1_100_000_000);
        assert_eq!(timing.phases[0].counter(COUNTERS[0]), Some(5.0));
        assert_eq!(timing.phases[0].counter(COUNTERS[2]), None, "nothing was cancelled so far");
        assert_eq!(timing.phases[0].gauge(0, now), Some(3.0));
        let ending = PhaseEnding { timed_out: true, ..PhaseEnding::default() };
        let over = PhaseProgress { ending, ..counts(5, 5) };
        let done = PhaseMoment { phase: phase(), at: MonoNs(1_250_000_000), counts: over };
        timing.hear(&RunEvent::RequestsDone(done.clone()));
        timing.hear(&RunEvent::PhaseComplete(PhaseMoment { at: MonoNs(9_000_000_000), ..done }));
        let later = MonoNs(60_000_000_000);
        let gauges: Vec<Option<f64>> = (0..GAUGES.len()).map(|place| timing.phases[0].gauge(place, later)).collect();
        assert_eq!(gauges, [Some(0.0), None, Some(1.0), None, None, Some(0.25)]);
    }

    #[test]
    fn late_events_do_not_lower_counters() {
        let mut timing = Timing::default();
        for event in [started(), progress(200, counts(9, 7)), progress(100, counts(5, 2))] {
            timing.hear(&event);
        }
        assert_eq!(timing.phases[0].counter(COUNTERS[0]), Some(9.0));
        assert_eq!(timing.phases[0].counter(COUNTERS[1]), Some(7.0));
    }
}
