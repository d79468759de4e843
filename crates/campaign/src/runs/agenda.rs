//! Which run comes next: a function of the plan and of what has happened so far.

use aiperf_plan::{CampaignPlan, Order, RunId};
use aiperf_types::Nanos;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The server rests before the next run.
    Wait(Nanos),
    Run(RunId),
    End,
}

/// How one run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Open,
    /// Run, now or by an earlier command.
    Done,
    /// Not needed: the trials before it have shown enough.
    Spared,
}

/// All runs of a campaign, and which of them are over.
#[derive(Clone, Debug)]
pub struct Agenda {
    order: Order,
    /// By cell and trial.
    slots: Vec<Vec<Slot>>,
    between_cells: Nanos,
    between_trials: Nanos,
    /// The run before, of this command.
    last: Option<RunId>,
    has_waited: bool,
    is_stopped: bool,
}

impl Agenda {
    pub fn of(plan: &CampaignPlan) -> Self {
        let trials = vec![Slot::Open; plan.trials.count as usize];
        Self {
            order: plan.order(),
            slots: vec![trials; plan.cells.len()],
            between_cells: plan.sweep.as_ref().map_or(Nanos(0), |sweep| sweep.cooldown),
            between_trials: plan.trials.cooldown,
            last: None,
            has_waited: false,
            is_stopped: false,
        }
    }

    /// What comes next. Asked again without anything having happened, it says the same.
    pub fn next(&self) -> Step {
        let Some(run) = self.open().filter(|_| !self.is_stopped) else { return Step::End };
        match self.last.map(|last| self.rest_between(last, run)) {
            Some(rest) if rest > Nanos(0) && !self.has_waited => Step::Wait(rest),
            _ => Step::Run(run),
        }
    }

    /// The rest is over.
    pub fn waited(&mut self) {
        self.has_waited = true;
    }

    /// A run is over, whether or not it succeeded.
    pub fn done(&mut self, run: RunId) {
        self.slots[run.cell][run.trial] = Slot::Done;
        (self.last, self.has_waited) = (Some(run), false);
    }

    /// A run was over before this command began.
    pub fn was_done(&mut self, run: RunId) {
        self.slots[run.cell][run.trial] = Slot::Done;
    }

    /// Trials of a cell have shown enough.
    pub fn spare_rest(&mut self, cell: usize) {
        let open = self.slots[cell].iter_mut().filter(|slot| **slot == Slot::Open);
        open.for_each(|slot| *slot = Slot::Spared);
    }

    /// Nothing more is run.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Runs that are still to be done, at most.
    pub fn left(&self) -> usize {
        self.slots.iter().flatten().filter(|slot| **slot == Slot::Open).count()
    }

    fn open(&self) -> Option<RunId> {
        let (cells, trials) = (self.slots.len(), self.slots.first().map_or(0, Vec::len));
        let at = |index: usize| match self.order {
            Order::Repeated => RunId { cell: index % cells, trial: index / cells },
            Order::Independent => RunId { cell: index / trials, trial: index % trials },
        };
        (0..cells * trials).map(at).find(|run| self.slots[run.cell][run.trial] == Slot::Open)
    }

    /// How long the server rests between two runs that follow one another.
    fn rest_between(&self, last: RunId, next: RunId) -> Nanos {
        let is_new_trial = match self.order {
            Order::Repeated => last.trial != next.trial,
            Order::Independent => last.cell == next.cell,
        };
        if is_new_trial { self.between_trials } else { self.between_cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn agenda(order: Order, cells: usize, trials: usize) -> Agenda {
        Agenda {
            order,
            slots: vec![vec![Slot::Open; trials]; cells],
            between_cells: Nanos(7),
            between_trials: Nanos(11),
            last: None,
            has_waited: false,
            is_stopped: false,
        }
    }

    fn all(mut agenda: Agenda) -> Vec<String> {
        let mut steps = Vec::new();
        loop {
            match agenda.next() {
                Step::End => return steps,
                Step::Wait(rest) => {
                    steps.push(format!("rest {}", rest.0));
                    agenda.waited();
                }
                Step::Run(run) => {
                    steps.push(format!("{}.{}", run.cell, run.trial));
                    agenda.done(run);
                }
            }
        }
    }

    #[test]
    fn repeated_runs_all_cells_and_then_all_of_them_again() {
        let steps = ["0.0", "rest 7", "1.0", "rest 11", "0.1", "rest 7", "1.1"];
        assert_eq!(all(agenda(Order::Repeated, 2, 2)), steps);
    }

    #[test]
    fn independent_runs_all_trials_of_a_cell_before_the_next() {
        let steps = ["0.0", "rest 11", "0.1", "rest 7", "1.0", "rest 11", "1.1"];
        assert_eq!(all(agenda(Order::Independent, 2, 2)), steps);
    }

    #[test]
    fn what_was_done_before_is_neither_run_nor_rested_after() {
        let mut agenda = agenda(Order::Repeated, 3, 1);
        agenda.was_done(RunId { cell: 0, trial: 0 });
        assert_eq!(all(agenda), ["1.0", "rest 7", "2.0"]);
    }

    #[derive(Clone, Copy, Debug)]
    enum Happens {
        Done,
        Enough,
        Stopped,
    }

    fn happenings() -> impl Strategy<Value = Vec<Happens>> {
        let one = prop_oneof![20 => Just(Happens::Done), 3 => Just(Happens::Enough), 1 => Just(Happens::Stopped)];
        prop::collection::vec(one, 0..60)
    }

    proptest! {
        #[test]
        fn no_run_twice_and_none_after_the_end(
            independent: bool, cells in 1usize..6, trials in 1usize..5, before in prop::collection::vec((0usize..6, 0usize..5), 0..4),
            happens in happenings(),
        ) {
            let order = if independent { Order::Independent } else { Order::Repeated };
            let mut agenda = agenda(order, cells, trials);
            let mut over: BTreeSet<RunId> = BTreeSet::new();
            for (cell, trial) in before {
                let run = RunId { cell: cell % cells, trial: trial % trials };
                agenda.was_done(run);
                over.insert(run);
            }
            let (mut spared, mut stopped, mut last, mut rested) = (BTreeSet::new(), false, None::<RunId>, Nanos(0));
            let mut happens = happens.into_iter();
            for _ in 0..200 {
                prop_assert_eq!(agenda.next(), agenda.next());
                match agenda.next() {
                    Step::Wait(rest) => {
                        prop_assert!(last.is_some() && !stopped && rested == Nanos(0));
                        rested = rest;
                        agenda.waited();
                    }
                    Step::Run(run) => {
                        prop_assert!(!stopped && over.insert(run) && !spared.contains(&run.cell));
                        let wanted = last.map_or(Nanos(0), |last| agenda.rest_between(last, run));
                        prop_assert_eq!(rested, wanted);
                        agenda.done(run);
                        (last, rested) = (Some(run), Nanos(0));
                        match happens.next().unwrap_or(Happens::Done) {
                            Happens::Done => {}
                            Happens::Enough => {
                                agenda.spare_rest(run.cell);
                                spared.insert(run.cell);
                            }
                            Happens::Stopped => {
                                agenda.stop();
                                stopped = true;
                            }
                        }
                    }
                    Step::End => {
                        prop_assert!(stopped || agenda.left() == 0);
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "it ends");
        }
    }
}
