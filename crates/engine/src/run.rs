//! A run from start to end: threads up, load on, records out.

use crate::conductor::{Conductor, Outlet, PhaseRun};
use crate::control::{Board, Stop};
use crate::curves::SharedSweep;
use crate::limits;
use crate::lines::{LineSink, LineWriter, OrderedLines};
use crate::quality::{Conduct, Quality, run_queue_wait, stolen_ticks, throttled_periods};
use crate::queue::Queue;
use crate::record::Reader;
use crate::recorder::{Findings, Recorder, Shared};
use crate::requests::Requests;
use crate::watch::Watch;
use crate::worker::{Command, Ids, Worker};
use aiperf_metrics::{Accumulator, Metrics};
use aiperf_plan::{Plan, ReuseStrategy, Timestamps};
use aiperf_schedule::Event;
use aiperf_tokenize::Tokenizer;
use aiperf_transport::clock::{mono_now, read_cost};
use aiperf_transport::connect::SocketOptions;
use aiperf_transport::stamp::keep_stamping;
use aiperf_transport::{BufferReturn, Client, ClientSettings, StampMode, Target};
use aiperf_types::{Nanos, PhaseId, PhaseKind, PhaseProgress, WallNs};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use thiserror::Error;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What a run needs.
pub struct Setup {
    /// What to run.
    pub plan: Arc<Plan>,
    /// What to send.
    pub requests: Arc<Requests>,
    /// Counts tokens; `None` when the server's counts are used.
    pub tokenizer: Option<Tokenizer>,
    /// Which metrics there are.
    pub metrics: Arc<Metrics>,
    /// Makes a line writer for each record thread, when lines are wanted.
    pub line_writer: Option<Box<dyn Fn() -> Box<dyn LineWriter> + Send>>,
    /// Where lines go.
    pub line_sink: Option<Box<dyn LineSink>>,
    /// Ends the run early.
    pub stop: Stop,
    /// Where progress is put.
    pub board: Board,
    /// Where running statistics are put when somebody asks.
    pub watch: Watch,
}

/// What came of a run.
pub struct Outcome {
    /// Phase by phase, those that started.
    pub phases: Vec<PhaseOutcome>,
    /// What reading and sending cost, over the profiling phases.
    pub quality: Quality,
    /// What is known of the run as a whole.
    pub conduct: Conduct,
    /// The user ended it.
    pub was_stopped: bool,
    /// Record lines could not all be written.
    pub line_failure: Option<io::Error>,
}

/// What came of one phase.
pub struct PhaseOutcome {
    /// Which phase.
    pub id: Arc<PhaseId>,
    /// When it started.
    pub start: WallNs,
    /// When its last request was over.
    pub end: WallNs,
    /// Its counters.
    pub counts: PhaseProgress,
    /// The user ended it.
    pub was_stopped: bool,
    /// Its records.
    pub records: Accumulator,
}

/// Why a run could not be started or carried on.
#[derive(Debug, Error)]
pub enum EngineError {
    /// Too few descriptors.
    #[error(
        "this run may need {needed} connections, but the process may open only {allowed} files\n  \
         each connection is one\n  try: ulimit -n {needed}, or a smaller --concurrency"
    )]
    Descriptors {
        /// Connections needed.
        needed: u64,
        /// Files allowed.
        allowed: u64,
    },
    /// Kernel stamps were asked for and cannot be had.
    #[error(
        "--timestamps kernel: this kernel gives no receive stamps: {0}\n  \
         try: --timestamps auto, which falls back to when a read returned"
    )]
    NoStamps(io::Error),
    /// A thread or its runtime could not be made.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    /// A thread ended by a fault of our own.
    #[error("an internal thread failed: {0}")]
    Panicked(&'static str),
}

/// Runs a plan to its end, or until it is stopped.
pub fn run(setup: Setup) -> Result<Outcome, EngineError> {
    let needed = u64::from(setup.plan.peak_concurrency());
    limits::allow_connections(needed).map_err(|allowed| EngineError::Descriptors { needed, allowed })?;
    let worker_count = limits::workers(&setup.plan);
    let _stamping = match (setup.plan.runtime.timestamps, keep_stamping()) {
        (Timestamps::Kernel, Err(error)) => return Err(EngineError::NoStamps(error)),
        (Timestamps::User, _) => None,
        (_, stamping) => stamping.ok(),
    };
    let stolen = stolen_ticks();
    let throttled = throttled_periods();

    let clients: Vec<Seat> = (0..worker_count).map(|number| Seat::new(&setup, number, worker_count)).collect();
    let shared = Arc::new(Shared {
        queue: Queue::new(setup.plan.runtime.record_queue_budget),
        lines: OrderedLines::new(setup.line_sink),
        reader: Reader {
            plan: setup.plan.clone(),
            requests: setup.requests.clone(),
            tokenizer: setup.tokenizer,
            phases: phase_ids(&setup.plan),
        },
        metrics: setup.metrics.clone(),
        sweeps: SharedSweep::of_phases(&setup.plan.phases, &setup.metrics),
        buffers: clients.iter().map(|seat| seat.buffers.clone()).collect(),
        records: AtomicU64::new(0),
        errors: AtomicU64::new(0),
        relief: AtomicU64::new(0),
    });

    let mut recorders = Vec::new();
    setup.watch.begin(worker_count + 1);
    for number in 0..=worker_count {
        let writer = setup.line_writer.as_ref().map(|make| make());
        let recorder = Recorder::new(shared.clone(), number as u16, writer, setup.watch.clone());
        let is_relief = number == worker_count;
        let name = if is_relief { "aiperf-relief".to_owned() } else { format!("aiperf-record-{number}") };
        let work = move || if is_relief { recorder.relieve() } else { recorder.run() };
        recorders.push(std::thread::Builder::new().name(name).spawn(work)?);
    }

    let load = Load {
        plan: setup.plan.clone(),
        requests: setup.requests.clone(),
        shared: shared.clone(),
        stop: setup.stop.clone(),
        board: setup.board.clone(),
    };
    let driven = load.drive(clients);
    // Whatever happened, what was measured is written.
    let backlog_at_end = shared.queue.waiting();
    let ended = mono_now();
    shared.queue.close();
    let mut findings = collect(recorders)?;
    for (records, sweep) in findings.phases.iter_mut().zip(&shared.sweeps) {
        sweep.finish(records);
    }
    let line_failure = shared.lines.finish();
    setup.board.finish();
    let (mut conduct, runs) = driven?;
    conduct.record_threads = worker_count;
    conduct.backlog_at_end = backlog_at_end;
    conduct.drain = mono_now().since(ended);
    conduct.peak_backlog_bytes = shared.queue.peak_bytes();
    conduct.relief = Nanos(shared.relief.load(Relaxed));
    conduct.clock_read_ns = read_cost();
    conduct.steal_share = share(stolen, stolen_ticks());
    conduct.throttled = throttled.zip(throttled_periods()).map(|(before, after)| after.saturating_sub(before));
    Ok(outcome(&shared, runs, findings, conduct, setup.stop.is_stopped(), line_failure))
}

fn outcome(
    shared: &Shared,
    runs: Vec<PhaseRun>,
    findings: Findings,
    conduct: Conduct,
    was_stopped: bool,
    line_failure: Option<io::Error>,
) -> Outcome {
    let ids = shared.reader.phases.iter();
    let phases = runs
        .into_iter()
        .zip(ids)
        .zip(findings.phases)
        .map(|((run, id), records)| PhaseOutcome {
            id: id.clone(),
            start: run.anchor.wall,
            end: run.anchor.wall(run.end),
            counts: run.counts,
            was_stopped: run.how.stopped,
            records,
        })
        .collect();
    Outcome { phases, quality: findings.quality, conduct, was_stopped, line_failure }
}

fn collect(recorders: Vec<JoinHandle<Findings>>) -> Result<Findings, EngineError> {
    let mut all: Option<Findings> = None;
    for recorder in recorders {
        let part = recorder.join().map_err(|_| EngineError::Panicked("record thread"))?;
        all = Some(match all {
            None => part,
            Some(mut sum) => {
                sum.phases = sum.phases.into_iter().zip(part.phases).map(|(a, b)| a.merge(b)).collect();
                sum.quality.merge(&part.quality);
                sum
            }
        });
    }
    all.ok_or(EngineError::Panicked("no record thread"))
}

fn share(before: Option<(u64, u64)>, after: Option<(u64, u64)>) -> Option<f64> {
    let ((stolen_before, all_before), (stolen, all)) = before.zip(after)?;
    (all > all_before).then(|| stolen.saturating_sub(stolen_before) as f64 / (all - all_before) as f64)
}

fn phase_ids(plan: &Plan) -> Vec<Arc<PhaseId>> {
    let mut profiling = 0;
    let mut id = |index: usize, phase: &aiperf_plan::PhasePlan| {
        let profiling_index = (phase.kind == PhaseKind::Profiling).then(|| {
            profiling += 1;
            profiling - 1
        });
        Arc::new(PhaseId { index: index as u16, profiling_index, name: phase.name.as_str().into(), kind: phase.kind })
    };
    plan.phases.iter().enumerate().map(|(index, phase)| id(index, phase)).collect()
}

/// What a worker's thread starts from. The client itself is made there: it belongs to that thread.
struct Seat {
    number: u16,
    settings: ClientSettings,
    buffers: BufferReturn,
}

impl Seat {
    fn new(setup: &Setup, number: usize, workers: usize) -> Self {
        let endpoint = &setup.plan.endpoint;
        let http = &endpoint.http;
        let share = |total: u32| (total as usize).div_ceil(workers);
        let settings = ClientSettings {
            stamps: match setup.plan.runtime.timestamps {
                Timestamps::User => StampMode::User,
                Timestamps::Auto | Timestamps::Kernel => StampMode::Kernel,
            },
            socket: SocketOptions {
                recv_buffer: http.recv_buffer as usize,
                send_buffer: http.send_buffer as usize,
                keep_idle: http.keep_idle,
                keep_interval: http.keep_interval,
                keep_count: http.keep_count,
                user_timeout_ms: http.user_timeout_ms,
            },
            connection_limit: share(http.connection_limit.max(setup.plan.peak_concurrency())),
            connects_outstanding: share(http.connects_outstanding),
            keepalive: if http.keepalive_timeout_seconds > 0.0 {
                Nanos::from_secs_f64(http.keepalive_timeout_seconds)
            } else {
                Nanos::MAX
            },
            kept_limit: http.kept_body_limit,
            never_reuse: endpoint.reuse == ReuseStrategy::Never,
        };
        Self { number: number as u16, settings, buffers: BufferReturn::default() }
    }
}

/// The sending side of a run.
struct Load {
    plan: Arc<Plan>,
    requests: Arc<Requests>,
    shared: Arc<Shared>,
    stop: Stop,
    board: Board,
}

type Driven = (Conduct, Vec<PhaseRun>);

impl Load {
    fn drive(&self, mut seats: Vec<Seat>) -> Result<Driven, EngineError> {
        if seats.len() == 1
            && let Some(seat) = seats.pop()
        {
            return self.drive_here(seat);
        }
        self.drive_several(seats)
    }

    /// One worker: the conductor lives in its loop.
    fn drive_here(&self, seat: Seat) -> Result<Driven, EngineError> {
        let runtime = local_runtime()?;
        sharpen_timers();
        let waited = run_queue_wait();
        runtime.block_on(async {
            let conductor = Conductor::new(self.plan.clone(), self.shared.clone(), self.board.clone());
            let told = Rc::downgrade(&conductor);
            let tell = move |event| {
                if let Some(conductor) = told.upgrade() {
                    conductor.tell(event);
                }
            };
            let worker = self.worker(seat, Box::new(tell));
            conductor.set_outlet(Outlet::Here(worker.clone()));
            tokio::task::spawn_local(worker.clone().watch_deadlines());
            tokio::task::spawn_local(worker.clone().launch());
            conductor.drive(self.stop.clone()).await?;
            let waits = vec![Nanos(run_queue_wait().0.saturating_sub(waited.0))];
            Ok((self.conduct(&conductor, worker.clock_steps(), waits), conductor.phase_runs()))
        })
    }

    /// Several workers: each a thread, the conductor on this one.
    fn drive_several(&self, seats: Vec<Seat>) -> Result<Driven, EngineError> {
        let (report, mut reports) = unbounded_channel::<(usize, Event)>();
        let mut threads = Vec::new();
        let mut outlets = Vec::new();
        for seat in seats {
            let (command, commands) = unbounded_channel::<Command>();
            outlets.push((command, std::cell::Cell::new(0)));
            let (load, report) = (self.clone_parts(), report.clone());
            let name = format!("aiperf-worker-{}", seat.number);
            let work = move || load.work(seat, commands, report);
            threads.push(std::thread::Builder::new().name(name).spawn(work)?);
        }
        drop(report);
        let runtime = local_runtime()?;
        sharpen_timers();
        let driven = runtime.block_on(async {
            let conductor = Conductor::new(self.plan.clone(), self.shared.clone(), self.board.clone());
            conductor.set_outlet(Outlet::There(outlets));
            let listener = conductor.clone();
            let listen = tokio::task::spawn_local(async move {
                while let Some((worker, event)) = reports.recv().await {
                    listener.unload(worker);
                    listener.tell(event);
                }
            });
            let result = conductor.drive(self.stop.clone()).await;
            listen.abort();
            // Closing the queues of commands ends the workers.
            conductor.set_outlet(Outlet::There(Vec::new()));
            result.map(|()| conductor)
        });
        let mut waits = Vec::new();
        let mut steps = 0;
        for thread in threads {
            let (waited, clock_steps) = thread.join().map_err(|_| EngineError::Panicked("worker"))??;
            waits.push(waited);
            steps += clock_steps;
        }
        let conductor = driven?;
        Ok((self.conduct(&conductor, steps, waits), conductor.phase_runs()))
    }

    fn clone_parts(&self) -> Self {
        Self {
            plan: self.plan.clone(),
            requests: self.requests.clone(),
            shared: self.shared.clone(),
            stop: self.stop.clone(),
            board: self.board.clone(),
        }
    }

    /// A worker's thread, until its commands end.
    fn work(
        &self,
        seat: Seat,
        mut commands: UnboundedReceiver<Command>,
        report: UnboundedSender<(usize, Event)>,
    ) -> io::Result<(Nanos, u64)> {
        let runtime = local_runtime()?;
        sharpen_timers();
        let before = run_queue_wait();
        runtime.block_on(async {
            let number = usize::from(seat.number);
            let tell = move |event| {
                let _ = report.send((number, event));
            };
            let worker = self.worker(seat, Box::new(tell));
            let watch = tokio::task::spawn_local(worker.clone().watch_deadlines());
            let launch = tokio::task::spawn_local(worker.clone().launch());
            while let Some(command) = commands.recv().await {
                worker.perform(command);
            }
            watch.abort();
            launch.abort();
            Ok((Nanos(run_queue_wait().0.saturating_sub(before.0)), worker.clock_steps()))
        })
    }

    fn worker(&self, seat: Seat, tell: Box<dyn Fn(Event)>) -> Rc<Worker> {
        let targets = self.plan.endpoint.urls.iter().map(|url| Target::new(url.host(), url.port())).collect();
        let client = Client::new(seat.settings, targets, seat.buffers);
        let timeout = self.plan.endpoint.timeout_seconds;
        let timeout = (timeout > 0.0).then(|| Nanos::from_secs_f64(timeout));
        let key = self.plan.run.benchmark_id.bytes().fold(0, |key: u64, byte| key.rotate_left(7) ^ u64::from(byte));
        let stop = self.stop.clone();
        let keep_cancelled = Box::new(move || stop.is_stopped());
        Worker::new(
            seat.number,
            client,
            self.requests.clone(),
            self.shared.clone(),
            Ids::new(key ^ self.started()),
            timeout,
            tell,
            keep_cancelled,
        )
    }

    /// The same for every worker of this run, another for the next.
    fn started(&self) -> u64 {
        u64::from(std::process::id()) << 32
    }

    fn conduct(&self, conductor: &Conductor, clock_steps: u64, worker_run_queue_wait: Vec<Nanos>) -> Conduct {
        let (holds, held) = conductor.holds();
        let workers = worker_run_queue_wait.len();
        Conduct { workers, holds, held, clock_steps, worker_run_queue_wait, ..Conduct::default() }
    }
}

/// A runtime for the tasks of one thread. It looks for arrivals after every few tasks; tokio's own habit of 61 lets a
/// burst of new requests keep what has arrived waiting.
fn local_runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().event_interval(16).build_local(LocalOptions::default())
}

/// The kernel may delay a sleeper's wake-up by 50 us to save power; a worker asks for 1 ns.
fn sharpen_timers() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
