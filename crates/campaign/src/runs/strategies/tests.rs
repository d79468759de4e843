//! Properties that every strategy of a plan must have.

use super::{Cooldown, Grid, Trials};
use crate::aggregate::{RunMetric, RunOutcome};
use crate::runs::completed_run::CompletedRun;
use crate::runs::convergence::has_shown_enough;
use crate::runs::strategy::{Next, Strategy};
use aiperf_plan::{self as plan, CampaignPlan, Cell, Convergence, ConvergenceMode, Order, RunId};
use aiperf_types::{Nanos, Stats};
use proptest::prelude::*;
use proptest::strategy::Strategy as Generator;
use serde_json::Map;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

const BETWEEN_CELLS: Nanos = Nanos(7);
const BETWEEN_TRIALS: Nanos = Nanos(11);

/// Strategies look only at numbers and results.
static CELL: LazyLock<Cell> = LazyLock::new(|| {
    let mut alone = CampaignPlan::single(aiperf_testkit::plan::plan("http://h:1"));
    Arc::unwrap_or_clone(alone.listed.remove(0))
});

/// Trials that end early when they agree.
fn trials(count: usize) -> plan::Trials {
    let convergence = Convergence {
        metric: "m".to_owned(),
        stat: "avg".to_owned(),
        mode: ConvergenceMode::Cv,
        threshold: 0.05,
        min_runs: 2,
    };
    plan::Trials { count: count as u32, convergence: Some(convergence), ..plan::Trials::once() }
}

fn strategy(order: Order, cells: usize, trials: plan::Trials) -> Cooldown {
    let trials = Trials::new(Box::new(Grid::new(vec![Map::new(); cells])), order, trials);
    Cooldown::new(Box::new(trials), order, BETWEEN_CELLS, BETWEEN_TRIALS)
}

/// A run with this value of the watched metric.
fn ran(run: RunId, value: f64) -> CompletedRun {
    let stats = Stats { avg: Some(value), ..Stats::default() };
    let metric = RunMetric { tag: "m".to_owned(), unit: "ms".to_owned(), stats };
    let outcome = RunOutcome::new("run", Ok(vec![metric]));
    let cell = Cell { index: run.cell, ..CELL.clone() };
    CompletedRun { run, cell: Arc::new(cell), outcome, records: None, is_earlier: false, ends_all: false }
}

/// All steps until the end; every run has a different result.
fn steps(mut strategy: Cooldown, mut done: Vec<CompletedRun>) -> Vec<String> {
    let mut steps = Vec::new();
    loop {
        match strategy.next(&done) {
            Next::End => return steps,
            Next::Wait(rest) => steps.push(format!("rest {}", rest.0)),
            Next::Run(point) => {
                steps.push(format!("{}.{}", point.run.cell, point.run.trial));
                done.push(ran(point.run, 10f64.powi(done.len() as i32)));
            }
        }
    }
}

#[test]
fn repeated_order_runs_all_cells_and_then_all_of_them_again() {
    let expected = ["0.0", "rest 7", "1.0", "rest 11", "0.1", "rest 7", "1.1"];
    assert_eq!(steps(strategy(Order::Repeated, 2, trials(2)), Vec::new()), expected);
}

#[test]
fn independent_order_runs_all_trials_of_a_cell_before_the_next() {
    let expected = ["0.0", "rest 11", "0.1", "rest 7", "1.0", "rest 11", "1.1"];
    assert_eq!(steps(strategy(Order::Independent, 2, trials(2)), Vec::new()), expected);
}

#[test]
fn runs_of_an_earlier_command_are_not_repeated_and_need_no_rest() {
    let earlier = CompletedRun { is_earlier: true, ..ran(RunId { cell: 0, trial: 0 }, 1.0) };
    assert_eq!(steps(strategy(Order::Repeated, 3, trials(1)), vec![earlier]), ["1.0", "rest 7", "2.0"]);
}

#[test]
fn trials_that_agree_skip_the_rest_of_their_cell_only() {
    let mut strategy = strategy(Order::Independent, 2, trials(4));
    let (mut done, mut runs) = (Vec::new(), Vec::new());
    loop {
        match strategy.next(&done) {
            Next::End => break,
            Next::Wait(_) => {}
            Next::Run(point) => {
                runs.push((point.run.cell, point.run.trial));
                let value = if point.run.cell == 0 { 5.0 } else { 10f64.powi(done.len() as i32) };
                done.push(ran(point.run, value));
            }
        }
    }
    assert_eq!(runs, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3)]);
    assert_eq!(strategy.most(), Some(8));
}

/// Results of runs: some agree with one another, most do not.
fn results() -> impl Generator<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![3 => Just(5.0), 4 => 1.0..1e9], 30..60)
}

fn rest_between(order: Order, last: RunId, next: RunId) -> Nanos {
    let is_new_trial = match order {
        Order::Repeated => last.trial != next.trial,
        Order::Independent => last.cell == next.cell,
    };
    if is_new_trial { BETWEEN_TRIALS } else { BETWEEN_CELLS }
}

proptest! {
    #[test]
    fn every_run_happens_once_unless_it_is_skipped(
        independent: bool, cells in 1usize..6, count in 1usize..5, before in prop::collection::vec((0usize..6, 0usize..5), 0..4),
        results in results(),
    ) {
        let order = if independent { Order::Independent } else { Order::Repeated };
        let trials = trials(count);
        let mut strategy = strategy(order, cells, trials.clone());
        prop_assert_eq!(strategy.most(), Some(cells * count));
        let mut results = results.into_iter().cycle();
        let mut over: BTreeSet<RunId> = BTreeSet::new();
        let mut done: Vec<CompletedRun> = Vec::new();
        for (cell, trial) in before {
            let run = RunId { cell: cell % cells, trial: trial % count };
            if over.insert(run) {
                done.push(CompletedRun { is_earlier: true, ..ran(run, results.next().unwrap()) });
            }
        }
        let (mut last, mut rested) = (None::<RunId>, Nanos(0));
        for _ in 0..200 {
            match strategy.next(&done) {
                Next::Wait(rest) => {
                    prop_assert!(last.is_some() && rested == Nanos(0));
                    rested = rest;
                }
                Next::Run(point) => {
                    let run = point.run;
                    prop_assert!(!has_shown_enough(&trials, &done, run.cell));
                    prop_assert!(run.cell < cells && run.trial < count && over.insert(run));
                    prop_assert_eq!(rested, last.map_or(Nanos(0), |last| rest_between(order, last, run)));
                    done.push(ran(run, results.next().unwrap()));
                    (last, rested) = (Some(run), Nanos(0));
                }
                Next::End => {
                    let is_open = |cell: &usize| !has_shown_enough(&trials, &done, *cell);
                    let open = (0..cells).filter(is_open).flat_map(|cell| (0..count).map(move |trial| RunId { cell, trial }));
                    prop_assert!(open.into_iter().all(|run| over.contains(&run)));
                    prop_assert_eq!(strategy.next(&done), Next::End, "it stays at its end");
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "it ends");
    }
}
