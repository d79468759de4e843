//! Drives a run: starts the workers and the conductor, and waits for the end of every phase.

use crate::core_watch::Found;
use crate::error::EngineError;
use crate::events::progress::PhaseReports;
use crate::sending::alarm::Alarm;
use crate::sending::conductor::{Conductor, Resources, Sources};
use crate::sending::load::{Load, WorkerSetup, local_runtime, sharpen_timers, spawn_tasks};
use crate::sending::worker::{Clocks, Worker};
use crate::sending::worker_threads::{Growth, Joined, WorkerThreads};
use crate::sending::workers::Workers;
use aiperf_types::Nanos;
use std::convert::Infallible;
use std::rc::Rc;

/// Batches of worker events that the conductor takes at a time.
const MOST_BATCHES: usize = 64;

/// The results of the sending side when every phase is over.
pub(crate) struct Driven {
    pub(crate) conductor: Rc<Conductor>,
    /// How often dispatch was held, and for how long in total.
    pub(crate) holds: (u64, Nanos),
    pub(crate) clocks: Clocks,
    /// The findings about each worker's thread.
    pub(crate) found: Vec<Found>,
    /// The findings about the conductor's thread, if it has its own.
    pub(crate) found_of_conductor: Option<Found>,
    pub(crate) added_after: Vec<Nanos>,
}

impl Load {
    /// Sends until every phase is over. Begins with some of the workers; the others may follow. A single worker shares
    /// the conductor's thread.
    pub(crate) fn drive(
        &self,
        setups: Vec<WorkerSetup>,
        workers: usize,
        growth: Growth,
        sources: Sources,
    ) -> Result<Driven, EngineError> {
        let _looking = self.watch.start()?;
        let mut setups = setups.into_iter();
        let own = if workers == 1 { setups.next() } else { None };
        let (alarm, mut panicked) = Alarm::new();
        let (mut threads, mut batches) = WorkerThreads::new(self, setups, growth, alarm.clone());
        let links = threads.start(workers - usize::from(own.is_some()))?;
        let runtime = local_runtime()?;
        sharpen_timers();
        let entered = self.watch.enter();
        let driven = runtime.block_on(async {
            let conductor = self.conductor(sources);
            let local = own.map(|setup| self.local_worker(setup, &conductor, alarm)).transpose()?;
            conductor.set_workers(match &local {
                Some(worker) => Workers::local(worker.clone(), self.unsent.clone()),
                None => Workers::remote(links, self.unsent.clone()),
            });
            let listener = conductor.clone();
            let mut listen = tokio::task::spawn_local(async move {
                let mut received = Vec::new();
                while batches.recv_many(&mut received, MOST_BATCHES).await > 0 {
                    listener.handle_remote(received.drain(..));
                }
            });
            let watching = async {
                threads.follow_load(&conductor, &entered).await;
                std::future::pending::<Infallible>().await
            };
            let result = tokio::select! {
                biased;
                driven = conductor.drive() => driven.map_err(EngineError::from),
                Some(()) = panicked.recv() => Err(EngineError::Panicked("worker")),
                // The runtime catches a panic of the listener. No event would reach the schedule any more.
                Err(_) = &mut listen => Err(EngineError::Panicked("conductor")),
                never = watching => match never {},
            };
            listen.abort();
            conductor.dismiss();
            result.map(|()| (conductor, local))
        });
        let Joined { mut found, mut clocks, added_after } = threads.join()?;
        let (conductor, local) = driven?;
        let found_of_conductor = match local {
            Some(worker) => {
                found.insert(0, entered.found());
                clocks = clocks.and(worker.clocks());
                None
            }
            None => Some(entered.found()),
        };
        Ok(Driven { holds: conductor.holds(), conductor, clocks, found, found_of_conductor, added_after })
    }

    /// A worker in the conductor's loop.
    fn local_worker(
        &self,
        setup: WorkerSetup,
        conductor: &Rc<Conductor>,
        alarm: Alarm,
    ) -> Result<Rc<Worker>, EngineError> {
        let weak = Rc::downgrade(conductor);
        let send_event = move |event| {
            if let Some(conductor) = weak.upgrade() {
                conductor.handle(event);
            }
        };
        let worker = self.worker(setup, Box::new(send_event), alarm);
        spawn_tasks(&worker)?;
        Ok(worker)
    }

    fn conductor(&self, sources: Sources) -> Rc<Conductor> {
        let resources = Resources {
            shapes: self.requests.shapes().clone(),
            queue: self.queue.clone(),
            unsent: self.unsent.clone(),
            progress: PhaseReports::new(&self.phases, &self.queue, &self.counters, &self.events),
            tracks: self.phases.clone(),
            events: self.events.clone(),
            stop: self.stop.clone(),
            sources,
            pace: self.pace.clone(),
        };
        Conductor::new(&self.plan, resources)
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
    use crate::sending::load::Shared;
    use crate::sending::unsent::Unsent;
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
    use std::time::Duration;

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
            plan,
        };
        let shared = Shared {
            workers: 3,
            connect: from_plan::connect_settings(&load.plan).unwrap(),
            places: None,
            budget: Arc::new(ResponseBudget::new(1 << 30)),
        };
        let setups = (0..3).map(|number| WorkerSetup::new(&load.plan, number, &shared)).collect();
        let growth = Growth { look_every: Duration::from_millis(1), saturated: -1.0, settles_in: Nanos::ZERO };
        let driven = load.drive(setups, 1, growth, Sources::default()).unwrap();
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
