//! The stages of a run that have a bar, and the progress of each.

use crate::phase_progress::{Goal, Phase, State, What, share};
use aiperf_report::thousands;
use aiperf_types::{PhaseKind, Preparing, Progress, RunEvent};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A stage of a run: its name, and the number of its colour in an ANSI escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    pub(super) name: &'static str,
    pub(super) colour: &'static str,
}

const WARMUP: Stage = Stage { name: "Warmup", colour: "33" };
const WARMUP_GRACE: Stage = Stage { name: "Warmup Grace Period", colour: "36" };
const PROFILING: Stage = Stage { name: "Profiling", colour: "32" };
const PROFILING_GRACE: Stage = Stage { name: "Profiling Grace Period", colour: "35" };
const RECORDS: Stage = Stage { name: "Processing Records", colour: "34" };

impl Stage {
    fn of(phase: &Phase) -> Self {
        match (phase.state, phase.id.kind) {
            (State::Sending, PhaseKind::Warmup) => WARMUP,
            (State::Sending, PhaseKind::Profiling) => PROFILING,
            (State::Grace, PhaseKind::Warmup) => WARMUP_GRACE,
            (State::Grace, PhaseKind::Profiling) => PROFILING_GRACE,
            (State::Processing | State::Complete, _) => RECORDS,
        }
    }
}

/// The progress of a stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Standing {
    pub(super) stage: Stage,
    pub(super) amount: Amount,
    pub(super) clock: Option<Clock>,
    /// Other useful texts, the most important first.
    pub(super) more: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    Of {
        done: u64,
        total: u64,
    },
    /// Between 0 and 1, of a target other than requests.
    Share(f64),
    /// Requests without a target.
    Requests(u64),
}

/// Seconds since the stage began, and seconds until it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    pub(super) elapsed: f64,
    pub(super) left: Option<f64>,
}

impl Standing {
    /// Between 0 and 1; `None` if no end is known.
    pub(super) fn share(&self) -> Option<f64> {
        match self.amount {
            Amount::Of { done, total } => Some(share(done as f64, total as f64)),
            Amount::Share(share) => Some(share),
            Amount::Requests(_) => None,
        }
    }
}

/// The known state of all stages of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Stages {
    preparing: Option<Arc<Preparing>>,
    phases: BTreeMap<u16, Phase>,
}

impl Stages {
    /// Takes an event; returns whether it changed a stage.
    pub(super) fn take(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::Preparing(preparing) => self.preparing = Some(preparing.clone()),
            RunEvent::RunStarted(_) => self.preparing = None,
            RunEvent::Progress(progress) => {
                self.preparing = None;
                self.update(progress);
            }
            RunEvent::PhaseComplete(moment) => drop(self.phases.remove(&moment.phase.index)),
            _ => return false,
        }
        true
    }

    fn update(&mut self, progress: &Progress) {
        let phase = self.phases.entry(progress.phase.index);
        phase.or_insert_with(|| Phase::new(progress.phase.clone(), progress.targets)).update(progress);
    }

    /// The stage to show, with the index of its phase. The order of preference: the latest phase that sends, the latest
    /// that waits for requests, the latest that waits for records.
    pub(super) fn shown(&self) -> Option<(u16, Standing)> {
        let with_bar = self.phases.values().rev().filter(|phase| has_something_to_come(phase));
        match (with_bar.min_by_key(|phase| phase.state), &self.preparing) {
            (Some(phase), _) => Some((phase.id.index, standing(phase))),
            (None, Some(preparing)) => Some((0, before_the_run(preparing))),
            (None, None) => None,
        }
    }
}

/// The stage of a preparation.
fn before_the_run(preparing: &Preparing) -> Standing {
    let Preparing { stage: name, done, total } = *preparing;
    let amount = match total {
        Some(total) => Amount::Of { done, total },
        None => Amount::Requests(done),
    };
    Standing { stage: Stage { name, colour: "" }, amount, clock: None, more: Vec::new() }
}

/// Whether its stage goes on. Processed records are shown until the phase is complete.
fn has_something_to_come(phase: &Phase) -> bool {
    let (done, total) = phase.waited_for();
    phase.state < State::Processing || done < total
}

fn standing(phase: &Phase) -> Standing {
    let clock = Some(Clock { elapsed: phase.seconds(), left: phase.seconds_left() });
    let (amount, more) = if phase.state == State::Sending { sending(phase) } else { waiting(phase) };
    Standing { stage: Stage::of(phase), amount, clock, more }
}

fn sending(phase: &Phase) -> (Amount, Vec<String>) {
    let Phase { targets, counts, .. } = phase;
    let amount = match (phase.goal(), targets.requests) {
        (Some(Goal { what: What::Requests, .. }), Some(total)) => Amount::Of { done: counts.completed, total },
        (Some(goal), _) => Amount::Share(goal.share()),
        (None, _) => Amount::Requests(counts.completed),
    };
    let mut more = Vec::new();
    if matches!(amount, Amount::Share(_)) {
        more.push(match (targets.requests, targets.sessions) {
            (Some(target), _) => format!("{}/{} requests", thousands(counts.completed), thousands(target)),
            (None, Some(target)) => format!("{}/{} sessions", thousands(phase.sessions()), thousands(target)),
            (None, None) => counted(counts.completed, "request"),
        });
    }
    more.push(counted(counts.errors, "error"));
    more.push(format!("{:.1} req/s", phase.request_rate().unwrap_or(0.0)));
    if counts.missed > 0 {
        more.push(format!("{} missed", thousands(counts.missed)));
    }
    // Without slots, only this shows how much the server has to do at once.
    if targets.concurrency.is_none() {
        more.push(format!("{} in flight", thousands(counts.in_flight())));
    }
    (amount, more)
}

/// Nothing is sent any more: the requests in flight count.
fn waiting(phase: &Phase) -> (Amount, Vec<String>) {
    let (done, total) = phase.waited_for();
    let more = if phase.state == State::Grace { vec![counted(phase.counts.errors, "error")] } else { Vec::new() };
    (Amount::Of { done, total }, more)
}

fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use aiperf_types::{MonoNs, Nanos, PhaseId, PhaseMoment, PhaseProgress, PhaseStage, PhaseTargets};

    pub(crate) fn progress(targets: PhaseTargets, millis: u64, counts: PhaseProgress) -> Progress {
        let (name, kind) = ("profiling".into(), PhaseKind::Profiling);
        Progress {
            phase: Arc::new(PhaseId { index: 0, profiling_index: Some(0), name, kind }),
            targets,
            elapsed: Nanos::from_millis(millis),
            counts,
            stage: PhaseStage::Sending,
            records: 0,
            workers: Arc::default(),
        }
    }

    pub(crate) fn of_forty(millis: u64, completed: u64) -> Progress {
        let targets = PhaseTargets { requests: Some(40), concurrency: Some(1), ..PhaseTargets::default() };
        progress(targets, millis, PhaseProgress { completed, errors: 1, ..PhaseProgress::default() })
    }

    pub(crate) fn progress_event(progress: Progress) -> RunEvent {
        RunEvent::Progress(Arc::new(progress))
    }

    /// The same phase after its requests, with so many records.
    pub(crate) fn with_records(records: u64, of: Progress) -> RunEvent {
        progress_event(Progress { stage: PhaseStage::Processing, records, ..of })
    }

    pub(crate) fn in_warmup(of: Progress) -> Progress {
        let phase = PhaseId { kind: PhaseKind::Warmup, profiling_index: None, ..(*of.phase).clone() };
        Progress { phase: Arc::new(phase), ..of }
    }

    /// A phase of ten seconds, `millis` after its start.
    pub(crate) fn of_ten_seconds(millis: u64, counts: PhaseProgress) -> Progress {
        let length = Some(Nanos::from_millis(10_000));
        progress(PhaseTargets { length, concurrency: Some(8), ..PhaseTargets::default() }, millis, counts)
    }

    /// The stage shown after these events.
    pub(crate) fn after(events: &[RunEvent]) -> Option<Standing> {
        let mut stages = Stages::default();
        events.iter().for_each(|event| assert!(stages.take(event)));
        stages.shown().map(|(_, standing)| standing)
    }

    fn alone(progress: Progress) -> Standing {
        after(&[progress_event(progress)]).expect("a stage")
    }

    #[test]
    fn the_nearest_target_gives_the_share() {
        let targets = PhaseTargets {
            requests: Some(1000),
            length: Some(Nanos::from_millis(10_000)),
            concurrency: Some(1),
            ..PhaseTargets::default()
        };
        let at =
            |completed: u64| alone(progress(targets, 5000, PhaseProgress { completed, ..PhaseProgress::default() }));
        let by_time = at(100);
        assert_eq!((by_time.amount, by_time.more[0].as_str()), (Amount::Share(0.5), "100/1,000 requests"));
        assert_eq!(by_time.clock, Some(Clock { elapsed: 5.0, left: Some(5.0) }));
        assert_eq!(at(500).amount, Amount::Of { done: 500, total: 1000 });
    }

    #[test]
    fn sessions_are_counted_where_they_end_the_phase() {
        let targets = PhaseTargets { sessions: Some(8), concurrency: Some(4), ..PhaseTargets::default() };
        let counts = PhaseProgress { completed: 30, sessions_completed: 2, ..PhaseProgress::default() };
        let standing = alone(progress(targets, 5000, counts));
        assert_eq!((standing.amount, standing.more[0].as_str()), (Amount::Share(0.25), "2/8 sessions"));
        assert_eq!(standing.clock.and_then(|clock| clock.left), Some(15.0));
    }

    #[test]
    fn a_grace_period_has_a_clock_of_its_own() {
        let of = |millis: u64, completed: u64, stage: PhaseStage| {
            let counts = PhaseProgress { sent: 40, completed, cancelled: 1, ..PhaseProgress::default() };
            progress_event(Progress { stage, ..of_ten_seconds(millis, counts) })
        };
        let draining = PhaseStage::Draining;
        let events = [of(9900, 19, PhaseStage::Sending), of(10_000, 19, draining), of(11_000, 29, draining)];
        let standing = after(&events).expect("a stage");
        assert_eq!((standing.stage, standing.amount), (PROFILING_GRACE, Amount::Of { done: 30, total: 40 }));
        // Ten came back in one second, and ten are left.
        assert_eq!(standing.clock, Some(Clock { elapsed: 1.0, left: Some(1.0) }));
    }

    #[test]
    fn records_are_counted_up_to_the_requests_that_came_back() {
        let sent = of_forty(4000, 40);
        let complete = PhaseMoment { phase: sent.phase.clone(), at: MonoNs(0), counts: sent.counts };
        let records = [with_records(10, sent.clone()), with_records(25, of_forty(5000, 40))];
        let mut events = vec![progress_event(sent)];
        events.extend(records);
        let standing = after(&events).expect("a stage");
        assert_eq!((standing.stage, standing.amount), (RECORDS, Amount::Of { done: 25, total: 40 }));
        assert_eq!(standing.clock, Some(Clock { elapsed: 1.0, left: Some(1.0) }));
        events.push(RunEvent::PhaseComplete(complete));
        assert_eq!(after(&events), None);
    }

    #[test]
    fn a_phase_that_sends_is_shown_before_one_whose_records_are_processed() {
        let warmup = in_warmup(of_forty(4000, 40));
        let phase = PhaseId { index: 1, ..(*of_forty(0, 0).phase).clone() };
        let next = Progress { phase: Arc::new(phase), ..of_forty(100, 1) };
        let events = [progress_event(warmup.clone()), with_records(1, warmup), progress_event(next)];
        assert_eq!(after(&events[..1]).map(|standing| standing.stage), Some(WARMUP));
        assert_eq!(after(&events[..2]).map(|standing| standing.stage), Some(RECORDS));
        assert_eq!(after(&events).map(|standing| standing.stage), Some(PROFILING));
    }

    #[test]
    fn of_phases_that_overlap_the_latest_that_sends_is_shown() {
        use PhaseStage::{Draining, Processing, Sending};
        let of = |index: u16, stage: PhaseStage| {
            let phase = PhaseId { index, profiling_index: Some(index), name: "x".into(), kind: PhaseKind::Profiling };
            progress_event(Progress { phase: Arc::new(phase), stage, ..of_forty(1000, 1) })
        };
        let mut stages = Stages::default();
        let mut shown = |event: RunEvent| {
            stages.take(&event);
            stages.shown().map(|(phase, _)| phase)
        };
        assert_eq!(shown(of(0, Draining)), Some(0));
        assert_eq!(shown(of(1, Sending)), Some(1));
        assert_eq!(shown(of(0, Draining)), Some(1));
        assert_eq!(shown(of(1, Draining)), Some(1));
        assert_eq!(shown(of(1, Processing)), Some(0));
        assert_eq!(shown(of(0, Processing)), Some(1));
    }
}
