//! Runs that are not listed beforehand: a search that chooses each point from the results so far.

use super::{CompletedRun, Next, Resumed, RunIn, Strategy, drive, resume};
use crate::aggregate::{RunMetric, RunOutcome};
use crate::gather;
use crate::runs::resume::ChangedError;
use crate::runs::strategies::Trials;
use aiperf_plan::redact::Redactor;
use aiperf_plan::run_config::run_config;
use aiperf_plan::{
    self as plan, CampaignPlan, Cell, FileNames, MakeCell, Order, Plan, Point, PointError, RunId, SweepPlan,
};
use aiperf_testkit::plan::plan as small_plan;
use aiperf_types::{Nanos, Stats};
use serde_json::{Map, json};
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "phases.profiling.concurrency";
/// The latency limit of the search.
const MOST_MS: f64 = 50.0;

/// Finds the highest concurrency within the latency limit, by bisection.
struct Halving {
    low: u64,
    high: u64,
    chosen: Vec<u64>,
}

impl Strategy for Halving {
    fn next(&mut self, done: &[CompletedRun]) -> Next {
        if let Some(tried) = self.chosen.last() {
            let last = done.iter().rfind(|ran| ran.run.cell + 1 == self.chosen.len()).expect("the run it chose");
            let metrics = last.outcome.result.as_ref().ok();
            let latency = metrics.and_then(|all| all.iter().find(|metric| metric.tag == "request_latency")?.stats.avg);
            match latency.is_some_and(|latency| latency <= MOST_MS) {
                true => self.low = *tried,
                false => self.high = *tried,
            }
        }
        if self.high - self.low < 2 {
            return Next::End;
        }
        let concurrency = self.low.midpoint(self.high);
        let run = RunId { cell: self.chosen.len(), trial: 0 };
        self.chosen.push(concurrency);
        Next::Run(Point { run, values: Map::from_iter([(PATH.to_owned(), json!(concurrency))]) })
    }

    fn most(&self) -> Option<usize> {
        None
    }
}

fn halving(trials: plan::Trials) -> Trials {
    Trials::new(Box::new(Halving { low: 0, high: 16, chosen: Vec::new() }), Order::Independent, trials)
}

/// A search in a folder; no cells are listed.
fn search(dir: &Path, trials: u32) -> CampaignPlan {
    let mut base = small_plan("http://h:1");
    base.artifacts.dir = dir.to_owned();
    base.input_config = json!({});
    let of_cells = base.clone();
    let make_cell = MakeCell::new(move |point| {
        let concurrency = point.values[PATH].as_u64().ok_or_else(|| PointError("no concurrency".to_owned()))?;
        Ok(Cell {
            index: point.run.cell,
            label: format!("{PATH}={concurrency}"),
            name: format!("concurrency_{concurrency}"),
            values: point.values.clone(),
            plan: of_cells.clone(),
            seeds: vec![None; trials as usize],
            ids: vec!["0123456789ab".to_owned(); trials as usize],
            user_files: Vec::new(),
        })
    });
    let sweep = SweepPlan {
        order: Order::Independent,
        cooldown: Nanos(0),
        sla_filters: Vec::new(),
        post_process: None,
        pareto_axes: None,
        design: None,
        shows_table: true,
    };
    CampaignPlan {
        listed: Vec::new(),
        make_cell,
        trials: plan::Trials { count: trials, ..plan::Trials::once() },
        sweep: Some(sweep),
        id: Some("sweep-id".to_owned()),
        resumes: true,
        ..CampaignPlan::single(base)
    }
}

/// A server whose latency is ten times the concurrency.
struct Server<'a> {
    plan: &'a CampaignPlan,
    ran: Vec<String>,
    redactor: Redactor,
}

impl RunIn for Server<'_> {
    fn run(&mut self, run: RunId, cell: &Arc<Cell>, plan: Plan) -> CompletedRun {
        self.ran.push(self.plan.name(cell, run.trial));
        let concurrency = cell.values[PATH].as_f64().unwrap();
        let stats = Stats { avg: Some(10.0 * concurrency), ..Stats::default() };
        let metric = RunMetric { tag: "request_latency".to_owned(), unit: "ms".to_owned(), stats };
        let dir = &plan.artifacts.dir;
        std::fs::create_dir_all(dir).unwrap();
        let write =
            |name: &str, document: serde_json::Value| std::fs::write(dir.join(name), document.to_string()).unwrap();
        write(FileNames::RUN_CONFIG, run_config(&plan, &self.redactor));
        write(FileNames::READY_MARKER, json!({"ready": true, "was_cancelled": false, "partial": false}));
        write(
            &plan.artifacts.names.summary_json,
            json!({"request_latency": {"unit": "ms", "avg": stats.avg}, "request_count": {"unit": "requests", "avg": 4}}),
        );
        let outcome = RunOutcome::new(self.plan.label(run.trial), Ok(vec![metric]));
        CompletedRun { run, cell: cell.clone(), outcome, records: None, is_earlier: false, ends_all: false }
    }

    fn rest(&mut self, _: Nanos) -> bool {
        true
    }

    fn earlier(&mut self, run: RunId, cell: &Arc<Cell>) -> Result<Option<CompletedRun>, ChangedError> {
        let mut resumed = Resumed::default();
        resumed.look_at(self.plan, cell, run.trial, &self.redactor)?;
        Ok(resumed.done.pop())
    }
}

fn server(plan: &CampaignPlan) -> Server<'_> {
    Server { plan, ran: Vec::new(), redactor: plan.redactor() }
}

#[test]
fn a_search_chooses_points_that_no_list_contains() {
    let dir = tempfile::tempdir().unwrap();
    let plan = search(dir.path(), 1);
    let mut server = server(&plan);
    let driven = drive(&plan, &mut halving(plan.trials.clone()), Vec::new(), &mut server);
    assert!(driven.is_complete && driven.error.is_none());
    assert_eq!(server.ran, [8, 4, 6, 5].map(|concurrency| format!("{PATH}={concurrency}")));
    let gathered = gather::gather(&plan, "0", &driven.runs, None, false);
    assert!(gathered.has_enough && gathered.failures.is_empty());
    for folder in ["concurrency_8", "concurrency_5", "concurrency_5/aggregate", "sweep_aggregate"] {
        assert!(dir.path().join(folder).is_dir(), "{folder}");
    }
    let opening = gather::opening(&plan, None).join("\n");
    assert!(opening.contains("Trials per config: 1") && !opening.contains("Total runs"), "{opening}");
}

#[test]
fn a_search_repeats_each_point_before_it_chooses_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let plan = search(dir.path(), 2);
    let mut server = server(&plan);
    drive(&plan, &mut halving(plan.trials.clone()), Vec::new(), &mut server);
    let names = [8, 4, 6, 5].map(|concurrency| [1, 2].map(|trial| format!("{PATH}={concurrency}, trial_000{trial}")));
    assert_eq!(server.ran, names.concat());
}

#[test]
fn a_search_continues_where_an_earlier_command_ended() {
    let dir = tempfile::tempdir().unwrap();
    let plan = search(dir.path(), 1);
    drive(&plan, &mut halving(plan.trials.clone()), Vec::new(), &mut server(&plan));
    std::fs::remove_dir_all(dir.path().join("concurrency_6")).unwrap();
    let again = search(dir.path(), 1);
    let mut server = server(&again);
    let earlier = resume(&again, &server.redactor).unwrap();
    assert!(earlier.done.is_empty());
    let driven = drive(&again, &mut halving(again.trials.clone()), earlier.done, &mut server);
    assert_eq!(server.ran, [format!("{PATH}=6")]);
    assert_eq!(driven.runs.iter().filter(|ran| ran.is_earlier).count(), 3);
}

#[test]
fn a_point_that_cannot_be_planned_ends_the_runs_and_keeps_what_is_done() {
    struct Wrong(usize);
    impl Strategy for Wrong {
        fn next(&mut self, _: &[CompletedRun]) -> Next {
            self.0 += 1;
            let value = if self.0 == 1 { json!(3) } else { json!("three") };
            let values = Map::from_iter([(PATH.to_owned(), value)]);
            Next::Run(Point { run: RunId { cell: self.0 - 1, trial: 0 }, values })
        }
        fn most(&self) -> Option<usize> {
            None
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let plan = search(dir.path(), 1);
    let driven = drive(&plan, &mut Wrong(0), Vec::new(), &mut server(&plan));
    assert_eq!(driven.runs.len(), 1);
    assert!(!driven.is_complete);
    assert_eq!(driven.error.map(|error| error.to_string()).as_deref(), Some("no concurrency"));
}
