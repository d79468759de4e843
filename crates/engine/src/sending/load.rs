//! The sending side of a run: workers and their conductor.

use crate::core_watch::{CoreWatch, Found};
use crate::error::EngineError;
use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::progress::PhaseReports;
use crate::events::worker_counters::AllCounters;
use crate::queue::Queue;
use crate::requests::Requests;
use crate::sending::alarm::Alarm;
use crate::sending::conductor::{Conductor, Report, Resources, Sources};
use crate::sending::crew::{Crew, Growth};
use crate::sending::secrets::Secrets;
use crate::sending::unsent::Unsent;
use crate::sending::worker::{self, Clocks, Command, Ids, Patience, Worker};
use crate::sending::workers::Workers;
use crate::sizing::Sizing;
use crate::stop::Stop;
use aiperf_dialect::sse;
use aiperf_plan::redact::Redactor;
use aiperf_plan::{Plan, ReuseStrategy, Timestamps, Transport};
use aiperf_schedule::Event;
use aiperf_transport::{
    BufferReturn, Client, ClientSettings, ConnectPace, ConnectSettings, DeadlineTimer, Origin, Protocol,
    ResponseBudget, Reuse, StampMode, StreamEnd, turn,
};
use aiperf_types::Nanos;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;

/// The settings and limits that all workers share.
pub(crate) struct Shared {
    pub(crate) connect: ConnectSettings,
    /// A place for each connection in use, if they can run out.
    pub(crate) places: Option<Arc<Semaphore>>,
    /// The memory limit of all responses in flight.
    pub(crate) budget: Arc<ResponseBudget>,
}

/// The inputs of a worker's thread. The client itself is created there: it belongs to that thread.
pub(crate) struct WorkerSetup {
    number: u16,
    settings: ClientSettings,
    pub(crate) buffers: BufferReturn,
}

impl WorkerSetup {
    pub(crate) fn new(plan: &Plan, number: usize, sizing: Sizing, shared: &Shared) -> Self {
        let endpoint = &plan.endpoint;
        let http = &endpoint.http;
        let settings = ClientSettings {
            stamps: match plan.runtime.timestamps {
                Timestamps::User => StampMode::User,
                Timestamps::Auto | Timestamps::Kernel => StampMode::Kernel,
            },
            connect: ConnectSettings {
                outstanding: shared.connect.outstanding.div_ceil(sizing.workers.max(number + 1)),
                ..shared.connect.clone()
            },
            places: shared.places.clone(),
            keepalive: if http.keepalive_timeout_seconds > 0.0 {
                Nanos::from_secs_f64(http.keepalive_timeout_seconds)
            } else {
                Nanos::MAX
            },
            kept_limit: http.kept_body_limit,
            budget: Some(shared.budget.clone()),
            reuse: match endpoint.reuse {
                ReuseStrategy::Pooled => Reuse::Always,
                ReuseStrategy::Never => Reuse::Never,
                ReuseStrategy::StickyUserSessions => Reuse::WithinSession,
            },
            protocol: match endpoint.transport {
                Transport::Http => Protocol::Http1,
                Transport::Http2 => Protocol::Http2,
            },
            detailed: plan.artifacts.records_hold_traces() || plan.artifacts.raw,
            connect_timeout: None,
            stream_end: StreamEnd {
                ends_in_last: sse::ends_in_done,
                longest_last: sse::LONGEST_LAST,
                search: sse::search_end,
            },
        };
        Self { number: number as u16, settings, buffers: BufferReturn::default() }
    }

    pub(crate) fn thread_name(&self) -> String {
        format!("aiperf-worker-{}", self.number)
    }
}

/// The sending side of a run.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) plan: Arc<Plan>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) unsent: Arc<Unsent>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) phases: Arc<[PhaseTrack]>,
    pub(crate) counters: AllCounters,
    pub(crate) stop: Stop,
    pub(crate) events: Events,
    /// Watches the threads of the workers and of the conductor.
    pub(crate) watch: Arc<CoreWatch>,
    /// When workers are added.
    pub(crate) growth: Growth,
    /// Shared by all workers: an unreachable server is not tried more often because there are more workers.
    pub(crate) pace: Arc<ConnectPace>,
}

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
}

impl Load {
    /// Sends until every phase is over. Begins with some of the workers; the others may follow. A single worker shares
    /// the conductor's thread.
    pub(crate) fn drive(
        &self,
        setups: Vec<WorkerSetup>,
        workers: usize,
        sources: Sources,
    ) -> Result<Driven, EngineError> {
        let _looking = self.watch.start()?;
        let mut setups = setups.into_iter();
        let own = if workers == 1 { setups.next() } else { None };
        let (alarm, mut panicked) = Alarm::new();
        let (mut crew, mut reports) = Crew::new(self, setups, alarm.clone());
        let links = crew.start(workers - usize::from(own.is_some()))?;
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
                let mut heard = Vec::new();
                while reports.recv_many(&mut heard, MOST_REPORTS).await > 0 {
                    listener.handle_from_others(heard.drain(..));
                }
            });
            let watching = async {
                crew.follow_load(&conductor, &entered).await;
                std::future::pending().await
            };
            let result = tokio::select! {
                biased;
                driven = conductor.drive() => driven.map_err(EngineError::from),
                Some(()) = panicked.recv() => Err(EngineError::Panicked("worker")),
                // The runtime catches a panic of the listener. No event would reach the schedule any more.
                Err(_) = &mut listen => Err(EngineError::Panicked("conductor")),
                () = watching => Ok(()),
            };
            listen.abort();
            conductor.dismiss();
            result.map(|()| (conductor, local))
        });
        let (mut found, mut clocks) = crew.join()?;
        let (conductor, local) = driven?;
        let found_of_conductor = match local {
            Some(worker) => {
                found.insert(0, entered.found());
                clocks = clocks.and(worker.clocks());
                None
            }
            None => Some(entered.found()),
        };
        Ok(Driven { holds: conductor.holds(), conductor, clocks, found, found_of_conductor })
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

    /// The thread of a worker, until its commands end.
    pub(crate) fn work(
        &self,
        setup: WorkerSetup,
        mut commands: UnboundedReceiver<Vec<Command>>,
        report: UnboundedSender<Report>,
        alarm: Alarm,
    ) -> io::Result<(Found, Clocks)> {
        let runtime = local_runtime()?;
        sharpen_timers();
        let entered = self.watch.enter();
        runtime.block_on(async {
            let number = usize::from(setup.number);
            let outbox = Rc::new(Outbox::default());
            let collected = outbox.clone();
            let worker = self.worker(setup, Box::new(move |event| collected.add(event)), alarm);
            let mut tasks = spawn_tasks(&worker)?;
            tasks.push(tokio::task::spawn_local(outbox.send_to(number, report)));
            while let Some(commands) = commands.recv().await {
                commands.into_iter().for_each(|command| worker.perform(command));
            }
            tasks.iter().for_each(JoinHandle::abort);
            Ok((entered.found(), worker.clocks()))
        })
    }

    fn worker(&self, setup: WorkerSetup, send_event: Box<dyn Fn(Event)>, alarm: Alarm) -> Rc<Worker> {
        let origins = self.plan.endpoint.urls.iter().map(Origin::from).collect();
        let client = Client::new(setup.settings, origins, setup.buffers).keeping_pace(self.pace.clone());
        let key = self.plan.run.benchmark_id.bytes().fold(0, |key: u64, byte| key.rotate_left(7) ^ u64::from(byte));
        let resources = worker::Resources {
            number: setup.number,
            client,
            requests: self.requests.clone(),
            queue: self.queue.clone(),
            unsent: self.unsent.clone(),
            ids: Ids::new(key ^ self.started()),
            patience: Patience::of(&self.plan),
            counters: self.counters.clone(),
            secrets: Secrets(self.redactor.clone()),
            alarm,
        };
        Worker::new(resources, send_event)
    }

    /// The part of the ids' key that is the same for every worker and different in the next process.
    fn started(&self) -> u64 {
        u64::from(std::process::id()) << 32
    }
}

/// The tasks of a worker that last as long as it does.
fn spawn_tasks(worker: &Rc<Worker>) -> io::Result<Vec<JoinHandle<()>>> {
    let keep_time = worker.clone().keep_time(DeadlineTimer::new()?);
    Ok(vec![
        tokio::task::spawn_local(async move { drop(keep_time.await) }),
        tokio::task::spawn_local(worker.clone().nudge()),
        tokio::task::spawn_local(worker.clone().keep_waking()),
        tokio::task::spawn_local(worker.clone().launch()),
    ])
}

/// Events of a worker for a conductor on another thread. Those of one turn of the loop leave together: waking the other
/// thread is a system call.
#[derive(Default)]
struct Outbox {
    events: RefCell<Vec<Event>>,
    filled: Notify,
}

impl Outbox {
    fn add(&self, event: Event) {
        self.events.borrow_mut().push(event);
        self.filled.notify_one();
    }

    /// Sends what is added, for ever. Tasks that are ready at the same time run first, and add to it.
    async fn send_to(self: Rc<Self>, worker: usize, report: UnboundedSender<Report>) {
        loop {
            self.filled.notified().await;
            let events = self.events.take();
            // If the conductor is gone, the run has ended.
            let _ = report.send(Report { worker, events });
        }
    }
}

/// A runtime for the tasks of one thread. It looks for arrivals after every few tasks. With tokio's default of 61
/// tasks, a burst of new requests delays arrivals. It takes every arrival at once: a turn that leaves some to the next
/// one would not know which sockets are empty.
fn local_runtime() -> io::Result<LocalRuntime> {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().event_interval(16).max_io_events_per_tick(MOST_SOCKETS);
    turn::note_turns(&mut runtime).build_local(LocalOptions::default())
}

/// Reports of workers that the conductor takes at a time.
const MOST_REPORTS: usize = 64;

/// More sockets than a worker has.
const MOST_SOCKETS: usize = 1 << 16;

/// The kernel may delay the wake-up of a sleeping thread by 50 us to save power; a worker asks for 1 ns.
fn sharpen_timers() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
