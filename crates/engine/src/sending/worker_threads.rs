//! Workers on their own threads: started with the run, or while it is on if those that send cannot carry the load.

use crate::core_watch::{Entered, Found};
use crate::error::EngineError;
use crate::sending::alarm::Alarm;
use crate::sending::conductor::{Conductor, WorkerEvents};
use crate::sending::load::{Load, Started, WorkerSetup};
use crate::sending::worker::{Clocks, Command};
use crate::sending::workers::Link;
use aiperf_transport::clock::mono_now;
use aiperf_types::{LogLevel, MonoNs, Nanos};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::vec::IntoIter;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// When workers are added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Between two looks at the workers.
    pub(super) look_every: Duration,
    /// A worker that uses more of a core than this for a second is saturated: its requests wait for it, not for the
    /// server.
    pub(super) saturated: f64,
    /// After this, the figures of the last second are all from the time since workers were added.
    pub(super) settles_in: Nanos,
}

impl Default for Growth {
    fn default() -> Self {
        Self { look_every: Duration::from_millis(250), saturated: 0.8, settles_in: Nanos::from_millis(1500) }
    }
}

impl Growth {
    /// The number of workers to add: two to one on the conductor's thread, which then only conducts; later as many as
    /// there are.
    fn workers_to_add(&self, remote: usize, busiest: f64, since_added: Nanos) -> usize {
        let is_due = busiest > self.saturated && since_added >= self.settles_in;
        if is_due { remote.max(2) } else { 0 }
    }
}

/// What the thread of a worker returns; `None` if the worker was to be added and could not start.
type Ended = thread::Result<io::Result<Option<(Found, Clocks)>>>;

/// After workers were added, the load moves to them for this long. Meanwhile the conductor's worker closes the
/// connections that no request has used for a while: it gets no new sessions.
const MOVES_FOR: Nanos = Nanos::from_millis(10_000);
const UNUSED: Nanos = Nanos::from_millis(2_000);

/// The results of all threads.
pub(crate) struct Joined {
    pub(crate) found: Vec<Found>,
    pub(crate) clocks: Clocks,
    pub(crate) added_after: Vec<Nanos>,
}

/// The threads of workers, and the setups of those that may follow.
pub(crate) struct WorkerThreads {
    load: Load,
    setups: IntoIter<WorkerSetup>,
    growth: Growth,
    events: UnboundedSender<WorkerEvents>,
    alarm: Alarm,
    threads: Vec<JoinHandle<Ended>>,
    /// One entry for each worker added during the run: the time since the start.
    added_after: Vec<Nanos>,
}

impl WorkerThreads {
    /// No thread yet, and the receiver of what happens on them.
    pub(crate) fn new(
        load: &Load,
        setups: IntoIter<WorkerSetup>,
        growth: Growth,
        alarm: Alarm,
    ) -> (Self, UnboundedReceiver<WorkerEvents>) {
        let (events, batches) = unbounded_channel();
        (
            Self { load: load.clone(), setups, growth, events, alarm, threads: Vec::new(), added_after: Vec::new() },
            batches,
        )
    }

    /// Starts the workers of the run's start.
    pub(crate) fn start(&mut self, workers: usize) -> io::Result<Vec<Link>> {
        let setups: Vec<WorkerSetup> = self.setups.by_ref().take(workers).collect();
        setups.into_iter().map(|setup| self.start_one(setup, None)).collect()
    }

    /// Adds the next worker during the run. The run goes on without it if it cannot start.
    async fn add_one(&mut self) -> io::Result<Option<Link>> {
        let Some(setup) = self.setups.next() else { return Ok(None) };
        let (started, has_started) = oneshot::channel();
        let link = self.start_one(setup, Some(started))?;
        // A thread that ends without an answer has panicked, and has raised the alarm.
        has_started.await.unwrap_or(Ok(()))?;
        Ok(Some(link))
    }

    fn start_one(&mut self, setup: WorkerSetup, mut started: Option<Started>) -> io::Result<Link> {
        let (link, commands) = unbounded_channel::<Vec<Command>>();
        let (load, events, alarm) = (self.load.clone(), self.events.clone(), self.alarm.clone());
        let name = setup.thread_name();
        let work = move || {
            let work = || load.work(setup, commands, events, alarm.clone(), &mut started);
            match (catch_unwind(AssertUnwindSafe(work)), started) {
                (Ok(Err(error)), Some(started)) => {
                    let _ = started.send(Err(error));
                    Ok(Ok(None))
                }
                (Ok(Ok(found)), _) => Ok(Ok(Some(found))),
                (failed, _) => {
                    alarm.raise();
                    failed.map(|ended| ended.map(Some))
                }
            }
        };
        self.threads.push(thread::Builder::new().name(name).spawn(work)?);
        Ok(link)
    }

    /// Adds workers when those that send are saturated, for as long as there are setups. `conducting` is the
    /// conductor's thread.
    pub(crate) async fn follow_load(&mut self, conductor: &Conductor, conducting: &Entered) {
        let (growth, events) = (self.growth, self.load.events.clone());
        if self.setups.len() == 0 {
            return;
        }
        if !conducting.has_cpu_time() {
            let text = "No workers can be added: this kernel does not count the CPU time of threads";
            return events.say(LogLevel::Debug, text);
        }
        let start = mono_now();
        let (mut added, mut begun) = (start, conductor.sessions_begun());
        while self.setups.len() > 0 || mono_now().since(added) < MOVES_FOR {
            tokio::time::sleep(growth.look_every).await;
            let now = mono_now();
            if !self.added_after.is_empty() && now.since(added) < MOVES_FOR {
                conductor.close_unused(MonoNs(now.0.saturating_sub(UNUSED.0)));
            }
            // Only new sessions go to workers that are added.
            let before = std::mem::replace(&mut begun, conductor.sessions_begun());
            let remote = conductor.remote_workers();
            let busiest = if remote == 0 { conducting.share() } else { conducting.largest_of_others() };
            let more = growth.workers_to_add(remote, busiest, now.since(added)).min(self.setups.len());
            if more == 0 || begun == before {
                continue;
            }
            let mut links = Vec::new();
            while links.len() < more {
                match self.add_one().await {
                    Ok(link) => links.extend(link),
                    Err(error) => {
                        events.say(LogLevel::Warning, format!("cannot start more workers: {error}"));
                        self.setups = Vec::new().into_iter();
                        break;
                    }
                }
            }
            if !links.is_empty() {
                added = mono_now();
                self.added_after.extend(links.iter().map(|_| added.since(start)));
                let (percent, number) = (busiest * 100.0, links.len());
                let workers = if number == 1 { "worker" } else { "workers" };
                events.say(LogLevel::Info, format!("A worker uses {percent:.0}% of a core: adding {number} {workers}"));
                conductor.add_workers(links);
            }
        }
    }

    /// Waits for the threads. Each ends when its link is gone.
    pub(crate) fn join(self) -> Result<Joined, EngineError> {
        let (mut found, mut clocks) = (Vec::new(), Clocks::default());
        for thread in self.threads {
            let ended = thread.join().flatten().map_err(|_| EngineError::Panicked("worker"))??;
            if let Some((of_worker, of_clocks)) = ended {
                found.push(of_worker);
                clocks = clocks.and(of_clocks);
            }
        }
        Ok(Joined { found, clocks, added_after: self.added_after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_when_one_has_been_saturated_since_the_last_were() {
        let growth = Growth::default();
        let more = |remote, busiest, ms| growth.workers_to_add(remote, busiest, Nanos::from_millis(ms));
        assert_eq!((more(0, 0.8, 5000), more(0, 0.81, 1499)), (0, 0));
        assert_eq!([0, 1, 2, 4].map(|workers| more(workers, 0.81, 1500)), [2, 2, 2, 4]);
    }
}
