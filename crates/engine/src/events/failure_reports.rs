//! Reports records to the schedule for phases that end when too many requests fail. Each report is a run in order of
//! completion: so many records without an error, then so many with one. Other phases have no reports.

use crate::events::phases::PhaseTrack;
use aiperf_schedule::Event;
use aiperf_types::PhaseIndex;
use tokio::sync::mpsc::UnboundedSender;

/// Sends the reports to the conductor.
pub(crate) struct FailureReports {
    /// Records that are not reported yet, by phase.
    runs: Vec<Option<Run>>,
    conductor: UnboundedSender<Event>,
}

#[derive(Clone, Copy, Default)]
struct Run {
    answered: u64,
    failed: u64,
}

impl FailureReports {
    /// The reports to a conductor; `None` if no phase has a threshold.
    pub(crate) fn of(phases: &[PhaseTrack], conductor: &UnboundedSender<Event>) -> Option<Self> {
        let run = |phase: &PhaseTrack| phase.failure_threshold.map(|_| Run::default());
        let runs: Vec<Option<Run>> = phases.iter().map(run).collect();
        runs.iter().any(Option::is_some).then(|| Self { runs, conductor: conductor.clone() })
    }

    pub(crate) fn add(&mut self, phase: usize, has_failed: bool) {
        let Some(run) = &mut self.runs[phase] else { return };
        if has_failed {
            run.failed += 1;
            return;
        }
        if run.failed > 0 {
            send_run(&self.conductor, phase, run);
        }
        run.answered += 1;
    }

    /// Reports what is not reported yet.
    pub(crate) fn flush(&mut self) {
        for (phase, run) in self.runs.iter_mut().enumerate() {
            if let Some(run) = run.as_mut().filter(|run| run.answered + run.failed > 0) {
                send_run(&self.conductor, phase, run);
            }
        }
    }
}

fn send_run(conductor: &UnboundedSender<Event>, phase: usize, run: &mut Run) {
    let Run { answered, failed } = std::mem::take(run);
    // If the run could not continue, there is no receiver any more.
    let _ = conductor.send(Event::Recorded { phase: PhaseIndex(phase as u16), answered, failed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::phases;
    use crate::testing::plan;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn reports(thresholds: [Option<f64>; 2]) -> Option<(FailureReports, UnboundedReceiver<Event>)> {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases = vec![plan.phases[0].clone(); 2];
        for (phase, threshold) in plan.phases.iter_mut().zip(thresholds) {
            phase.failed_request_threshold = threshold;
        }
        let (conductor, sent) = unbounded_channel();
        FailureReports::of(&phases::of(&plan), &conductor).map(|reports| (reports, sent))
    }

    #[test]
    fn records_are_reported_in_runs_and_in_order() {
        let (mut reports, mut sent) = reports([None, Some(0.5)]).unwrap();
        for (phase, has_failed) in [(1, true), (1, false), (1, false), (0, true), (1, true), (1, true), (1, false)] {
            reports.add(phase, has_failed);
        }
        reports.flush();
        reports.flush();
        let sent: Vec<Event> = std::iter::from_fn(|| sent.try_recv().ok()).collect();
        let run = |answered, failed| Event::Recorded { phase: PhaseIndex(1), answered, failed };
        assert_eq!(sent, [run(0, 1), run(2, 2), run(1, 0)]);
    }

    #[test]
    fn nothing_is_reported_without_a_failure_threshold() {
        assert!(reports([None, None]).is_none());
    }
}
