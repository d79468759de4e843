//! Workers on their own threads: started with the run, or while it is on if those that send cannot carry the load.

use crate::core_watch::{Entered, Found};
use crate::error::EngineError;
use crate::sending::alarm::Alarm;
use crate::sending::conductor::{Conductor, Report};
use crate::sending::load::{Load, WorkerSetup};
use crate::sending::worker::{Clocks, Command};
use crate::sending::workers::Link;
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, Nanos};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::vec::IntoIter;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When workers are added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Between two looks at the workers.
    look_every: Duration,
    /// A worker that uses more of a core than this for a second is saturated: its requests wait for it, not for the
    /// server.
    saturated: f64,
    /// After this, the figures of the last second are all from the time since workers were added.
    settles_in: Nanos,
}

impl Default for Growth {
    fn default() -> Self {
        Self { look_every: Duration::from_millis(250), saturated: 0.8, settles_in: Nanos::from_millis(1500) }
    }
}

impl Growth {
    /// The number of workers to add: two to one on the conductor's thread, which then only conducts; later as many as
    /// there are.
    fn more(&self, on_own_threads: usize, busiest: f64, since_added: Nanos) -> usize {
        let is_due = busiest > self.saturated && since_added >= self.settles_in;
        if is_due { on_own_threads.max(2) } else { 0 }
    }
}

/// What the thread of a worker returns.
type Ended = thread::Result<io::Result<(Found, Clocks)>>;

/// The threads of workers, and the setups of those that may follow.
pub(crate) struct Crew {
    load: Load,
    setups: IntoIter<WorkerSetup>,
    report: UnboundedSender<Report>,
    alarm: Alarm,
    threads: Vec<JoinHandle<Ended>>,
}

impl Crew {
    /// No thread yet, and the receiver of what happens on them.
    pub(crate) fn new(load: &Load, setups: IntoIter<WorkerSetup>, alarm: Alarm) -> (Self, UnboundedReceiver<Report>) {
        let (report, reports) = unbounded_channel();
        (Self { load: load.clone(), setups, report, alarm, threads: Vec::new() }, reports)
    }

    /// Starts workers, as many as there are setups for.
    pub(crate) fn start(&mut self, workers: usize) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        for setup in self.setups.by_ref().take(workers) {
            let (link, commands) = unbounded_channel::<Vec<Command>>();
            let (load, report, alarm) = (self.load.clone(), self.report.clone(), self.alarm.clone());
            let name = setup.thread_name();
            let work = move || {
                let ended = catch_unwind(AssertUnwindSafe(|| load.work(setup, commands, report, alarm.clone())));
                if !matches!(ended, Ok(Ok(_))) {
                    alarm.raise();
                }
                ended
            };
            self.threads.push(thread::Builder::new().name(name).spawn(work)?);
            links.push(link);
        }
        Ok(links)
    }

    /// Adds workers when those that send are saturated, for as long as there are setups. `conducting` is the
    /// conductor's thread.
    pub(crate) async fn follow_load(&mut self, conductor: &Conductor, conducting: &Entered) {
        let (growth, events) = (self.load.growth, self.load.events.clone());
        let mut added = mono_now();
        while self.setups.len() > 0 {
            tokio::time::sleep(growth.look_every).await;
            let workers = conductor.workers_on_own_threads();
            let busiest = if workers == 0 { conducting.share() } else { conducting.largest_of_others() };
            let more = growth.more(workers, busiest, mono_now().since(added));
            if more == 0 {
                continue;
            }
            match self.start(more) {
                Ok(links) => {
                    let (percent, number) = (busiest * 100.0, links.len());
                    let text = format!("A worker uses {percent:.0}% of a core: {number} workers are added");
                    events.say(LogLevel::Info, text);
                    conductor.add_workers(links);
                    added = mono_now();
                }
                Err(error) => {
                    events.say(LogLevel::Warning, format!("cannot start more workers: {error}"));
                    return;
                }
            }
        }
    }

    /// Waits for the threads. Each ends when its link is gone.
    pub(crate) fn join(self) -> Result<(Vec<Found>, Clocks), EngineError> {
        let (mut found, mut clocks) = (Vec::new(), Clocks::default());
        for thread in self.threads {
            let (of_worker, of_clocks) = thread.join().flatten().map_err(|_| EngineError::Panicked("worker"))??;
            found.push(of_worker);
            clocks = clocks.and(of_clocks);
        }
        Ok((found, clocks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_watch::CoreWatch;
    use crate::events::worker_counters::AllCounters;
    use crate::events::{Events, phases};
    use crate::queue::Queue;
    use crate::requests::Requests;
    use crate::sending::conductor::Sources;
    use crate::sending::load::Shared;
    use crate::sending::unsent::Unsent;
    use crate::sizing::Sizing;
    use crate::stop::Stop;
    use crate::testing::{plan, serve, stream};
    use aiperf_dataset::{Dataset, Making};
    use aiperf_plan::redact::Redactor;
    use aiperf_plan::{StopWhen, WorkerPriority};
    use aiperf_tokenize::Tokenizer;
    use aiperf_transport::{ConnectPace, ResponseBudget, from_plan};
    use aiperf_types::WallAnchor;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    #[test]
    fn workers_are_added_when_one_has_been_saturated_since_the_last_were() {
        let growth = Growth::default();
        let more = |workers, busiest, ms| growth.more(workers, busiest, Nanos::from_millis(ms));
        assert_eq!((more(0, 0.8, 5000), more(0, 0.81, 1499)), (0, 0));
        assert_eq!([0, 1, 2, 4].map(|workers| more(workers, 0.81, 1500)), [2, 2, 2, 4]);
    }

    #[test]
    fn requests_go_on_while_workers_are_added() {
        const SLOTS: u32 = 4;
        let stop = Stop::default();
        let stopping = stop.clone();
        let port = serve(move |connection, _| {
            // The first worker has a connection for each slot. The next connection is of a worker that was added.
            if connection as u32 >= SLOTS {
                stopping.stop();
            }
            stream(&["a"])
        });
        let mut plan = plan(&format!("http://127.0.0.1:{port}"));
        plan.phases[0].concurrency = Some(SLOTS);
        plan.phases[0].stop = vec![StopWhen::Requests(10_000_000)];
        let plan = Arc::new(plan);
        let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &Tokenizer::builtin())).unwrap());
        let (events, phases) = (Events::new(WallAnchor::default()), phases::of(&plan));
        let (queue, mut queued) = Queue::new(1 << 30, 1, 3);
        let load = Load {
            requests: Arc::new(Requests::new(plan.clone(), dataset, "1").unwrap()),
            queue: Arc::new(queue),
            unsent: Arc::new(Unsent::of(&plan, 1)),
            redactor: Arc::new(Redactor::default()),
            phases,
            counters: AllCounters::of(1, 2),
            stop,
            events,
            watch: CoreWatch::new(WorkerPriority::Normal),
            pace: Arc::new(ConnectPace::reporting(|_| ())),
            growth: Growth { look_every: Duration::from_millis(1), saturated: -1.0, settles_in: Nanos::ZERO },
            plan,
        };
        let shared = Shared {
            connect: from_plan::connect_settings(&load.plan).unwrap(),
            places: None,
            budget: Arc::new(ResponseBudget::new(1 << 30)),
        };
        let sizing = Sizing { workers: 1, more_workers: 2, record_threads: 1, connections: 100 };
        let setups = (0..3).map(|number| WorkerSetup::new(&load.plan, number, sizing, &shared)).collect();
        let driven = load.drive(setups, 1, Sources::default()).unwrap();
        assert_eq!((driven.found.len(), driven.found_of_conductor.is_none()), (3, true));
        let mut numbers = BTreeSet::new();
        let mut by_worker = [0; 3];
        while let Some(queued) = queued.try_next() {
            assert!(numbers.insert(queued.finished.tag.number), "{} twice", queued.finished.tag.number);
            by_worker[usize::from(queued.finished.tag.worker)] += 1;
        }
        let counts = driven.conductor.phase_runs()[0].as_ref().unwrap().counts;
        assert_eq!(numbers.len() as u64, counts.sent, "each request has an exchange");
        assert!(by_worker[0] > 0 && by_worker[1] + by_worker[2] > 0, "{by_worker:?}");
    }
}
