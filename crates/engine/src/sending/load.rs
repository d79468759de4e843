//! What the sending side of a run consists of, and the thread of a worker.

use crate::core_watch::{CoreWatch, Found};
use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::worker_counters::AllCounters;
use crate::queue::Queue;
use crate::requests::Requests;
use crate::sending::alarm::Alarm;
use crate::sending::conductor::WorkerEvents;
use crate::sending::secrets::Secrets;
use crate::sending::unsent::Unsent;
use crate::sending::worker::{self, Clocks, Command, Ids, Patience, Worker};
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
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinHandle;

/// The settings and limits that all workers share.
pub(crate) struct Shared {
    /// Those at the start, and those that may be added.
    pub(crate) workers: usize,
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
    pub(crate) fn new(plan: &Plan, number: usize, shared: &Shared) -> Self {
        let endpoint = &plan.endpoint;
        let http = &endpoint.http;
        let settings = ClientSettings {
            stamps: match plan.runtime.timestamps {
                Timestamps::User => StampMode::User,
                Timestamps::Auto | Timestamps::Kernel => StampMode::Kernel,
            },
            connect: shared.connect.clone(),
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
        Self { number: number as u16, settings, buffers: BufferReturn::of_one_in(shared.workers) }
    }

    pub(crate) fn thread_name(&self) -> String {
        format!("aiperf-worker-{}", self.number)
    }
}

/// Reports whether a worker that is added has started.
pub(super) type Started = oneshot::Sender<io::Result<()>>;

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

impl Load {
    /// The thread of a worker, until its commands end. `started` is used up when it can send.
    pub(crate) fn work(
        &self,
        setup: WorkerSetup,
        mut commands: UnboundedReceiver<Vec<Command>>,
        events: UnboundedSender<WorkerEvents>,
        alarm: Alarm,
        started: &mut Option<Started>,
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
            tasks.push(tokio::task::spawn_local(outbox.send_to(number, events)));
            // If the conductor is gone, the run has ended.
            let _ = started.take().map(|started| started.send(Ok(())));
            while let Some(commands) = commands.recv().await {
                commands.into_iter().for_each(|command| worker.perform(command));
            }
            tasks.iter().for_each(JoinHandle::abort);
            Ok((entered.found(), worker.clocks()))
        })
    }

    pub(super) fn worker(&self, setup: WorkerSetup, send_event: Box<dyn Fn(Event)>, alarm: Alarm) -> Rc<Worker> {
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
pub(super) fn spawn_tasks(worker: &Rc<Worker>) -> io::Result<Vec<JoinHandle<()>>> {
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
        let mut events = self.events.borrow_mut();
        if events.is_empty() {
            self.filled.notify_one();
        }
        events.push(event);
    }

    /// Sends what is added, for ever. Tasks that are ready at the same time run first, and add to it.
    async fn send_to(self: Rc<Self>, worker: usize, batches: UnboundedSender<WorkerEvents>) {
        loop {
            self.filled.notified().await;
            let events = self.events.take();
            // If the conductor is gone, the run has ended.
            let _ = batches.send(WorkerEvents { worker, events });
        }
    }
}

/// A runtime for the tasks of one thread. It looks for arrivals after every few tasks. With tokio's default of 61
/// tasks, a burst of new requests delays arrivals. It takes every arrival at once: a turn that leaves some to the next
/// one would not know which sockets are empty.
pub(super) fn local_runtime() -> io::Result<LocalRuntime> {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().event_interval(16).max_io_events_per_tick(MOST_SOCKETS);
    turn::note_turns(&mut runtime).build_local(LocalOptions::default())
}

/// More sockets than a worker has.
const MOST_SOCKETS: usize = 1 << 16;

/// The kernel may delay the wake-up of a sleeping thread by 50 us to save power; a worker asks for 1 ns.
pub(super) fn sharpen_timers() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
