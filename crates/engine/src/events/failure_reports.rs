//! Records of phases that end when too many of them fail, as the schedule hears of them: in order of completion, so many
//! without an error, then so many with one. Nothing is told of other phases.

use crate::events::phases::PhaseTrack;
use aiperf_schedule::Event;
use aiperf_types::PhaseIndex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Who tells the conductor.
pub(crate) struct FailureReports {
    /// By phase: what is not told yet.
    runs: Vec<Option<Run>>,
    conductor: UnboundedSender<Event>,
}

#[derive(Clone, Copy, Default)]
struct Run {
    answered: u64,
    failed: u64,
}

impl FailureReports {
    /// Both ends; `None` where no phase ends so.
    pub(crate) fn of(phases: &[PhaseTrack]) -> Option<(Self, UnboundedReceiver<Event>)> {
        let run = |phase: &PhaseTrack| phase.failure_threshold.map(|_| Run::default());
        let runs: Vec<Option<Run>> = phases.iter().map(run).collect();
        runs.iter().any(Option::is_some).then(|| {
            let (conductor, told) = unbounded_channel();
            (Self { runs, conductor }, told)
        })
    }

    pub(crate) fn add(&mut self, phase: usize, has_failed: bool) {
        let Some(run) = &mut self.runs[phase] else { return };
        if has_failed {
            run.failed += 1;
            return;
        }
        if run.failed > 0 {
            tell(&self.conductor, phase, run);
        }
        run.answered += 1;
    }

    /// Tells what is not told yet.
    pub(crate) fn flush(&mut self) {
        for (phase, run) in self.runs.iter_mut().enumerate() {
            if let Some(run) = run.as_mut().filter(|run| run.answered + run.failed > 0) {
                tell(&self.conductor, phase, run);
            }
        }
    }
}

fn tell(conductor: &UnboundedSender<Event>, phase: usize, run: &mut Run) {
    let Run { answered, failed } = std::mem::take(run);
    // Nobody listens any more once the run could not be carried on.
    let _ = conductor.send(Event::Recorded { phase: PhaseIndex(phase as u16), answered, failed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::phases;
    use crate::testing::plan;

    fn reports(thresholds: [Option<f64>; 2]) -> Option<(FailureReports, UnboundedReceiver<Event>)> {
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases = vec![plan.phases[0].clone(); 2];
        for (phase, threshold) in plan.phases.iter_mut().zip(thresholds) {
            phase.failed_request_threshold = threshold;
        }
        FailureReports::of(&phases::of(&plan))
    }

    #[test]
    fn records_are_told_in_runs_and_in_order() {
        let (mut reports, mut told) = reports([None, Some(0.5)]).unwrap();
        for (phase, has_failed) in [(1, true), (1, false), (1, false), (0, true), (1, true), (1, true), (1, false)] {
            reports.add(phase, has_failed);
        }
        reports.flush();
        reports.flush();
        let told: Vec<Event> = std::iter::from_fn(|| told.try_recv().ok()).collect();
        let run = |answered, failed| Event::Recorded { phase: PhaseIndex(1), answered, failed };
        assert_eq!(told, [run(0, 1), run(2, 2), run(1, 0)]);
    }

    #[test]
    fn nothing_is_told_where_no_phase_ends_so() {
        assert!(reports([None, None]).is_none());
    }
}
