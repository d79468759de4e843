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
use crate::sending::conductor::{Conductor, Resources, Sources};
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
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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
                outstanding: shared.connect.outstanding.div_ceil(sizing.workers),
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

impl Driven {
    fn new(conductor: Rc<Conductor>, clocks: Clocks, found: Vec<Found>, found_of_conductor: Option<Found>) -> Self {
        Self { holds: conductor.holds(), conductor, clocks, found, found_of_conductor }
    }
}

impl Load {
    /// Sends until every phase is over.
    pub(crate) fn drive(&self, mut setups: Vec<WorkerSetup>, sources: Sources) -> Result<Driven, EngineError> {
        let _looking = self.watch.start()?;
        if setups.len() == 1
            && let Some(setup) = setups.pop()
        {
            return self.drive_here(setup, sources);
        }
        self.drive_several(setups, sources)
    }

    /// One worker: the conductor lives in its loop.
    fn drive_here(&self, setup: WorkerSetup, sources: Sources) -> Result<Driven, EngineError> {
        let runtime = local_runtime()?;
        sharpen_timers();
        let entered = self.watch.enter();
        runtime.block_on(async {
            let conductor = self.conductor(sources);
            let weak = Rc::downgrade(&conductor);
            let send_event = move |event| {
                if let Some(conductor) = weak.upgrade() {
                    conductor.handle(event);
                }
            };
            let (alarm, mut panicked) = Alarm::new();
            let worker = self.worker(setup, Box::new(send_event), alarm);
            conductor.set_workers(Workers::local(worker.clone(), self.unsent.clone()));
            tokio::task::spawn_local(worker.clone().keep_time(DeadlineTimer::new()?));
            tokio::task::spawn_local(worker.clone().nudge());
            tokio::task::spawn_local(worker.clone().keep_waking());
            tokio::task::spawn_local(worker.clone().launch());
            tokio::select! {
                biased;
                driven = conductor.drive() => driven?,
                Some(()) = panicked.recv() => return Err(EngineError::Panicked("worker")),
            }
            conductor.dismiss();
            Ok(Driven::new(conductor, worker.clocks(), vec![entered.found()], None))
        })
    }

    /// Several workers: each has a thread, and the conductor runs on this one.
    fn drive_several(&self, setups: Vec<WorkerSetup>, sources: Sources) -> Result<Driven, EngineError> {
        let (report, mut reports) = unbounded_channel::<(usize, Event)>();
        let (alarm, mut panicked) = Alarm::new();
        let mut threads = Vec::new();
        let mut links = Vec::new();
        for setup in setups {
            let (command, commands) = unbounded_channel::<Command>();
            links.push(command);
            let (load, report, alarm) = (self.clone(), report.clone(), alarm.clone());
            let name = format!("aiperf-worker-{}", setup.number);
            let work = move || {
                let ended = catch_unwind(AssertUnwindSafe(|| load.work(setup, commands, report, alarm.clone())));
                if !matches!(ended, Ok(Ok(_))) {
                    alarm.raise();
                }
                ended
            };
            threads.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        drop(report);
        let runtime = local_runtime()?;
        sharpen_timers();
        let entered = self.watch.enter();
        let driven = runtime.block_on(async {
            let conductor = self.conductor(sources);
            conductor.set_workers(Workers::remote(links, self.unsent.clone()));
            let listener = conductor.clone();
            let mut listen = tokio::task::spawn_local(async move {
                while let Some((worker, event)) = reports.recv().await {
                    listener.handle_from(worker, event);
                }
            });
            let result = tokio::select! {
                biased;
                driven = conductor.drive() => driven.map_err(EngineError::from),
                Some(()) = panicked.recv() => Err(EngineError::Panicked("worker")),
                // The runtime catches a panic of `handle_from`. No event would reach the schedule any more.
                Err(_) = &mut listen => Err(EngineError::Panicked("conductor")),
            };
            listen.abort();
            conductor.dismiss();
            result.map(|()| conductor)
        });
        let mut found = Vec::new();
        let mut clocks = Clocks::default();
        for thread in threads {
            let (of_worker, of_clocks) = thread.join().flatten().map_err(|_| EngineError::Panicked("worker"))??;
            found.push(of_worker);
            clocks = clocks.and(of_clocks);
        }
        Ok(Driven::new(driven?, clocks, found, Some(entered.found())))
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
    fn work(
        &self,
        setup: WorkerSetup,
        mut commands: UnboundedReceiver<Command>,
        report: UnboundedSender<(usize, Event)>,
        alarm: Alarm,
    ) -> io::Result<(Found, Clocks)> {
        let runtime = local_runtime()?;
        sharpen_timers();
        let entered = self.watch.enter();
        runtime.block_on(async {
            let number = usize::from(setup.number);
            let send_event = move |event| {
                let _ = report.send((number, event));
            };
            let worker = self.worker(setup, Box::new(send_event), alarm);
            let time = tokio::task::spawn_local(worker.clone().keep_time(DeadlineTimer::new()?));
            let nudge = tokio::task::spawn_local(worker.clone().nudge());
            let keep_waking = tokio::task::spawn_local(worker.clone().keep_waking());
            let launch = tokio::task::spawn_local(worker.clone().launch());
            while let Some(command) = commands.recv().await {
                worker.perform(command);
            }
            time.abort();
            nudge.abort();
            keep_waking.abort();
            launch.abort();
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

/// A runtime for the tasks of one thread. It looks for arrivals after every few tasks. With tokio's default of 61
/// tasks, a burst of new requests delays arrivals. It takes every arrival at once: a turn that leaves some to the next
/// one would not know which sockets are empty.
fn local_runtime() -> io::Result<LocalRuntime> {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().event_interval(16).max_io_events_per_tick(MOST_SOCKETS);
    turn::note_turns(&mut runtime).build_local(LocalOptions::default())
}

/// More sockets than a worker has.
const MOST_SOCKETS: usize = 1 << 16;

/// The kernel may delay the wake-up of a sleeping thread by 50 us to save power; a worker asks for 1 ns.
fn sharpen_timers() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
