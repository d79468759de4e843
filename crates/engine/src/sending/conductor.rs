//! Drives the schedule with a clock. With one worker, the conductor lives in its loop; with several, it has its own
//! thread.

use crate::events::Events;
use crate::events::phases::PhaseTrack;
use crate::events::progress::{PhaseReports, ProgressReports};
use crate::queue::Queue;
use crate::sending::hooks::HookCalls;
use crate::sending::reach::Reach;
use crate::sending::unsent::Unsent;
use crate::sending::worker::Command;
use crate::sending::workers::{Link, Workers};
use crate::stop::Stop;
use aiperf_plan::Plan;
use aiperf_schedule::{Action, Dispatch, Event, PhaseEnd, Schedule, Setup};
use aiperf_transport::clock::mono_now;
use aiperf_transport::{ConnectPace, DeadlineTimer};
use aiperf_types::{LogLevel, MonoNs, Nanos, PhaseEnding, PhaseIndex, PhaseMoment, PhaseProgress, RunEvent, Shapes};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;

/// While dispatch is held, the interval of checks whether it may continue.
const HOLD_POLL: Nanos = Nanos(1_000_000);

/// The result of a phase.
#[derive(Clone, Debug)]
pub(crate) struct PhaseRun {
    pub(crate) start: MonoNs,
    /// When the phase stopped sending.
    pub(crate) sent_end: MonoNs,
    /// When its last request was released.
    pub(crate) last_sent: MonoNs,
    pub(crate) end: MonoNs,
    pub(crate) counts: PhaseProgress,
    pub(crate) how: PhaseEnd,
}

/// Events from threads other than the workers.
#[derive(Default)]
pub(crate) struct Sources {
    /// Calls around phases.
    pub(crate) hooks: Option<HookCalls>,
    /// Records of phases that end when too many requests fail, and phases that have measured enough.
    pub(crate) recorded: Option<UnboundedReceiver<Event>>,
}

impl Sources {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if let Some(Poll::Ready(event)) = self.hooks.as_ref().map(|hooks| hooks.poll_done(cx)) {
            return Poll::Ready(event);
        }
        match self.recorded.as_mut().map(|recorded| recorded.poll_recv(cx)) {
            Some(Poll::Ready(Some(event))) => Poll::Ready(event),
            // The sender is gone, or there is nothing yet.
            _ => Poll::Pending,
        }
    }

    /// Records that were reported meanwhile.
    fn more(&mut self) -> impl Iterator<Item = Event> {
        std::iter::from_fn(|| self.recorded.as_mut()?.try_recv().ok())
    }
}

/// What happened on a worker of another thread.
pub(crate) struct WorkerEvents {
    pub(crate) worker: usize,
    pub(crate) events: Vec<Event>,
}

/// What a conductor works with.
pub(crate) struct Resources {
    pub(crate) shapes: Arc<Shapes>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) unsent: Arc<Unsent>,
    pub(crate) tracks: Arc<[PhaseTrack]>,
    pub(crate) progress: PhaseReports,
    pub(crate) events: Events,
    pub(crate) stop: Stop,
    pub(crate) sources: Sources,
    pub(crate) pace: Arc<ConnectPace>,
}

/// The conductor of a run.
pub(crate) struct Conductor {
    schedule: RefCell<Schedule>,
    inbox: RefCell<Vec<Event>>,
    actions: RefCell<Vec<Action>>,
    workers: RefCell<Option<Workers>>,
    sources: RefCell<Sources>,
    queue: Arc<Queue>,
    unsent: Arc<Unsent>,
    events: Events,
    stop: Stop,
    tracks: Arc<[PhaseTrack]>,
    reports: RefCell<ProgressReports>,
    /// By phase; `None` for a phase that never started.
    phases: RefCell<Vec<Option<PhaseRun>>>,
    /// When each phase released its latest request.
    last_sent: Vec<Cell<MonoNs>>,
    sessions_begun: Cell<u64>,
    too_many_failed: RefCell<Option<(PhaseIndex, String)>>,
    reach: Reach,
    reach_deadline: Cell<Option<MonoNs>>,
    /// No server accepted a connection: the reason why the run ended.
    unreachable: RefCell<Option<String>>,
    held: Cell<Option<MonoNs>>,
    holds: Cell<u64>,
    deadline: Cell<Option<MonoNs>>,
    finished: Cell<bool>,
    wake: Notify,
}

/// Why the conductor polls the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// An event arrived.
    Event,
    /// A deadline was reached. The thread noticed it when it looked for arrivals.
    Timer,
}

impl Conductor {
    pub(crate) fn new(plan: &Plan, resources: Resources) -> Rc<Self> {
        let Resources { shapes, queue, unsent, tracks, progress, events, stop, sources, pace } = resources;
        let schedule = Schedule::new(Setup { asks_hooks: sources.hooks.is_some(), ..Setup::of(plan, shapes) });
        let reports = ProgressReports::new(plan.timing.warmup_log_interval, progress);
        Rc::new(Self {
            schedule: RefCell::new(schedule),
            sources: RefCell::new(sources),
            inbox: RefCell::default(),
            actions: RefCell::default(),
            workers: RefCell::default(),
            queue,
            unsent,
            events,
            stop,
            reports: RefCell::new(reports),
            phases: RefCell::new(vec![None; tracks.len()]),
            last_sent: vec![Cell::new(MonoNs(0)); tracks.len()],
            sessions_begun: Cell::new(0),
            tracks,
            too_many_failed: RefCell::default(),
            reach: Reach { timeout: plan.endpoint.unreachable_timeout, pace },
            reach_deadline: Cell::default(),
            unreachable: RefCell::default(),
            held: Cell::new(None),
            holds: Cell::new(0),
            deadline: Cell::new(None),
            finished: Cell::new(false),
            wake: Notify::new(),
        })
    }

    /// Sets the workers that execute decisions.
    pub(crate) fn set_workers(&self, workers: Workers) {
        *self.workers.borrow_mut() = Some(workers);
    }

    /// Drops the links to workers and hooks. Their threads end when all senders are gone.
    pub(crate) fn dismiss(&self) {
        self.workers.take();
        self.sources.borrow_mut().hooks = None;
    }

    /// Handles an event: decides and acts at once, on the calling thread. A response that frees a slot is followed by
    /// the next request without a hop between tasks.
    ///
    /// Must not be called while a decision is executed: `pump` borrows the schedule and its actions while workers
    /// execute them, and a second `pump` would panic. So a worker sends no event while it performs a command. If it has
    /// one then (a request that cannot be built, or one that was never sent), it sends it from a separate task. A
    /// request that starts at once only spawns its task.
    pub(crate) fn handle(&self, event: Event) {
        self.inbox.borrow_mut().push(event);
        if self.pump(Cause::Event) {
            self.wake.notify_one();
        }
    }

    /// Handles events from workers on other threads.
    pub(crate) fn handle_remote(&self, batches: impl IntoIterator<Item = WorkerEvents>) {
        for WorkerEvents { worker, events } in batches {
            self.with_workers(|workers| events.iter().for_each(|event| workers.note(worker, event)));
            self.inbox.borrow_mut().extend(events);
        }
        if self.pump(Cause::Event) {
            self.wake.notify_one();
        }
    }

    /// Adds workers on other threads.
    pub(crate) fn add_workers(&self, links: Vec<Link>) {
        if let Some(workers) = &*self.workers.borrow() {
            workers.add(links);
            self.unsent.share_over(workers.remote_workers());
        }
    }

    /// The number of workers on other threads.
    pub(crate) fn remote_workers(&self) -> usize {
        self.workers.borrow().as_ref().map_or(0, Workers::remote_workers)
    }

    /// Closes connections of the worker on this thread that no request has used since an instant.
    pub(crate) fn close_unused(&self, since: MonoNs) {
        self.with_workers(|workers| workers.close_unused(since));
    }

    /// The number of sessions that have begun.
    pub(crate) fn sessions_begun(&self) -> u64 {
        self.sessions_begun.get()
    }

    /// The results of the phases, by index; `None` for a phase that never started.
    pub(crate) fn phase_runs(&self) -> Vec<Option<PhaseRun>> {
        self.phases.borrow().clone()
    }

    /// Whether a stop request cancelled requests, or kept a phase from starting.
    pub(crate) fn was_cut_short(&self) -> bool {
        self.phases.borrow().iter().any(|run| run.as_ref().is_none_or(|run| run.how.stopped))
    }

    /// Why the run ended itself early: no server was reachable, or too many requests failed. Records that were computed
    /// after the end of the last request count too.
    pub(crate) fn given_up(&self) -> Option<String> {
        if let Some(reason) = &*self.unreachable.borrow() {
            return Some(reason.clone());
        }
        self.inbox.borrow_mut().extend(self.sources.borrow_mut().more());
        if !self.inbox.borrow().is_empty() {
            self.pump(Cause::Event);
        }
        let crossed = self.too_many_failed.borrow();
        crossed.as_ref().map(|(phase, reason)| {
            let sent = self.phases.borrow()[usize::from(phase.0)].as_ref().map_or(0, |run| run.counts.sent);
            format!("{reason} {sent} requests had been sent when it ended.")
        })
    }

    /// How often and how long dispatch was held, including a hold that is still on.
    pub(crate) fn holds(&self) -> (u64, Nanos) {
        let open = self.held.get().map_or(Nanos::ZERO, |since| mono_now().since(since));
        (self.holds.get(), Nanos(self.queue.held().0 + open.0))
    }

    /// Drives until every phase is over. Needs a runtime with a local task set.
    pub(crate) async fn drive(&self) -> io::Result<()> {
        let mut timer = DeadlineTimer::new()?;
        let mut stopping = false;
        self.pump(Cause::Event);
        while !self.finished.get() {
            let hold_poll = self.held.get().map(|_| mono_now().plus(HOLD_POLL));
            let unreachable = self.reach.deadline().filter(|_| !stopping);
            let deadlines = [self.deadline.get(), self.reports.borrow().next_deadline(), hold_poll, unreachable];
            let next = deadlines.into_iter().flatten().min();
            let cause = tokio::select! {
                biased;
                () = self.stop.stopped(), if !stopping => {
                    stopping = true;
                    self.inbox.borrow_mut().push(Event::Stop);
                    Cause::Event
                }
                event = std::future::poll_fn(|cx| self.sources.borrow_mut().poll_event(cx)) => {
                    let mut inbox = self.inbox.borrow_mut();
                    inbox.push(event);
                    inbox.extend(self.sources.borrow_mut().more());
                    Cause::Event
                }
                result = reach(&mut timer, next) => {
                    result?;
                    Cause::Timer
                }
                // The sender of the event has already polled the schedule: only the deadline has changed.
                () = self.wake.notified() => continue,
            };
            self.pump(cause);
            self.check_reach(mono_now());
        }
        Ok(())
    }

    /// Polls the schedule and acts; `true` if the wait for the next deadline has to start again.
    fn pump(&self, cause: Cause) -> bool {
        let now = mono_now();
        let was_held = self.held.get();
        self.check_budget(now);
        let mut inbox = self.inbox.borrow_mut();
        let mut actions = self.actions.borrow_mut();
        let mut schedule = self.schedule.borrow_mut();
        let deadline = schedule.poll(now, inbox.drain(..), &mut actions);
        drop(inbox);
        // The first request that a timer releases starts at once. The next ones wait until the worker has looked for
        // arrivals, as do requests that follow a response: see `Worker::launch`.
        let mut at_once = cause == Cause::Timer;
        for action in actions.drain(..) {
            match action {
                Action::Send(dispatch) if std::mem::take(&mut at_once) => {
                    self.note_sent(&dispatch, now);
                    self.with_workers(|workers| workers.send_at_once(dispatch, now));
                }
                action => self.act(action, now),
            }
        }
        drop(actions);
        self.with_workers(Workers::flush);
        self.reports.borrow_mut().report(now, schedule.running());
        let is_new = deadline != self.deadline.replace(deadline);
        // While dispatch is held, the loop must check whether it may continue: perhaps no other event arrives any more.
        let reach = self.reach.deadline();
        let is_new = is_new || reach != self.reach_deadline.replace(reach);
        is_new || self.held.get() != was_held || self.finished.get()
    }

    fn act(&self, action: Action, now: MonoNs) {
        match action {
            Action::AskHooks(phase) => self.with_hooks(|hooks| hooks.before(&self.track(phase).id)),
            Action::Start(phase) => {
                let (counts, how) = (PhaseProgress::default(), PhaseEnd::default());
                let run = PhaseRun { start: now, sent_end: now, last_sent: now, end: now, counts, how };
                self.phases.borrow_mut()[usize::from(phase.0)] = Some(run);
                let track = self.track(phase);
                self.events.emit(RunEvent::PhaseStarted(Arc::new(track.started_at(now))));
                let _ = track.started.set(now);
                self.reports.borrow_mut().note_start(track.id.kind, now);
            }
            Action::Send(dispatch) => {
                self.note_sent(&dispatch, now);
                self.with_workers(|workers| workers.send(dispatch, now));
            }
            Action::Cancel(phase) => self.with_workers(|workers| workers.everywhere(Command::Cancel(phase))),
            Action::SendingComplete(phase, counts) => {
                let last_sent = self.last_sent[usize::from(phase.0)].get();
                self.change_run(phase, |run| (run.sent_end, run.last_sent) = (now, last_sent.max(run.start)));
                let _ = self.track(phase).sent.set(now);
                self.events.emit(RunEvent::SendingComplete(self.moment(phase, now, counts)));
            }
            Action::Complete(phase, how, counts) => {
                self.change_run(phase, |run| (run.end, run.how, run.counts) = (now, how, counts));
                self.with_workers(|workers| workers.forget(phase));
                let PhaseEnd { timed_out, grace_expired, stopped: was_stopped, .. } = how;
                let ending = PhaseEnding { timed_out, grace_expired, was_stopped };
                let done = self.moment(phase, now, PhaseProgress { ending, ..counts });
                // Emitted first: when the coordinator sees `requests_done`, it reports that the phase is complete.
                self.events.emit(RunEvent::RequestsDone(done.clone()));
                let _ = self.track(phase).requests_done.set(done);
                self.with_workers(|workers| workers.everywhere(Command::Forget(phase)));
                self.with_hooks(|hooks| hooks.after(&self.track(phase).id));
            }
            Action::TooManyFailed { phase, records, failed } => self.give_up(phase, records, failed),
            Action::Finished => self.finished.set(true),
        }
    }

    fn note_sent(&self, dispatch: &Dispatch, now: MonoNs) {
        self.sessions_begun.set(self.sessions_begun.get() + u64::from(dispatch.is_first()));
        self.last_sent[usize::from(dispatch.phase.0)].set(now);
    }

    /// The schedule has already ended the run; this informs everything else.
    fn give_up(&self, phase: PhaseIndex, records: u64, failed: u64) {
        let threshold = self.track(phase).failure_threshold.unwrap_or_default();
        let reason = format!(
            "{failed} of {records} requests failed, more than --failed-request-threshold {threshold} allows: the run was \
             ended early."
        );
        self.events.say(LogLevel::Error, reason.as_str());
        *self.too_many_failed.borrow_mut() = Some((phase, reason));
        self.stop.stop();
    }

    /// Ends the run if no server has ever accepted a connection and the plan's time to wait for one is over.
    fn check_reach(&self, now: MonoNs) {
        let Some(reason) = self.reach.given_up(now).filter(|_| !self.stop.is_stopped()) else { return };
        self.events.say(LogLevel::Error, reason.as_str());
        *self.unreachable.borrow_mut() = Some(reason);
        self.stop.stop();
    }

    fn track(&self, phase: PhaseIndex) -> &PhaseTrack {
        &self.tracks[usize::from(phase.0)]
    }

    fn moment(&self, phase: PhaseIndex, at: MonoNs, counts: PhaseProgress) -> PhaseMoment {
        let counts = self.queue.with_failures(usize::from(phase.0), counts);
        PhaseMoment { phase: self.track(phase).id.clone(), at, counts }
    }

    fn change_run(&self, phase: PhaseIndex, change: impl Fn(&mut PhaseRun)) {
        self.phases.borrow_mut()[usize::from(phase.0)].iter_mut().for_each(change);
    }

    fn with_workers(&self, act: impl Fn(&Workers)) {
        self.workers.borrow().iter().for_each(act);
    }

    fn with_hooks(&self, ask: impl Fn(&HookCalls)) {
        self.sources.borrow().hooks.iter().for_each(ask);
    }

    /// Back-pressure stops dispatch, never reading. It comes from records that are not written or requests that are not
    /// begun.
    fn check_budget(&self, now: MonoNs) {
        let (queue, unsent) = (&self.queue, &self.unsent);
        match self.held.get() {
            None if queue.is_behind(now) || unsent.is_behind() => {
                self.held.set(Some(now));
                self.holds.set(self.holds.get() + 1);
                self.queue.set_holding(true);
                self.inbox.borrow_mut().push(Event::Hold);
            }
            Some(since) if queue.has_caught_up(now) && unsent.has_caught_up() => {
                self.held.set(None);
                self.queue.add_held(now.since(since));
                self.queue.set_holding(false);
                self.inbox.borrow_mut().push(Event::Release);
            }
            _ => {}
        }
    }
}

/// Waits for an instant; for ever if there is none. If the instant is past, as every second one is at 40,000 requests
/// per second, this costs one yield to the other tasks and no timer.
async fn reach(timer: &mut DeadlineTimer, at: Option<MonoNs>) -> io::Result<()> {
    if at.is_some_and(|at| at <= mono_now()) {
        tokio::task::yield_now().await;
        return Ok(());
    }
    timer.set(at)?;
    std::future::poll_fn(|cx| timer.poll_fired(cx)).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::phases;
    use crate::events::worker_counters::AllCounters;
    use crate::testing::plan;
    use aiperf_plan::{Arrival, ArrivalLaw, RatePlan, StopWhen};
    use aiperf_schedule::RequestEnd;
    use aiperf_types::{Exchange, WallAnchor};
    use std::collections::VecDeque;
    use std::time::Duration;
    use tokio::sync::mpsc::unbounded_channel;

    fn conductor(plan: &Plan, queue: Queue, unsent: Arc<Unsent>) -> Rc<Conductor> {
        let (queue, tracks, events) = (Arc::new(queue), phases::of(plan), Events::new(WallAnchor::default()));
        let progress = PhaseReports::new(&tracks, &queue, &AllCounters::of(1, 0), &events);
        let (shapes, stop, sources) = (Arc::new(Shapes::single(1)), Stop::default(), Sources::default());
        let pace = Arc::new(ConnectPace::reporting(|_| ()));
        Conductor::new(plan, Resources { shapes, queue, unsent, tracks, progress, events, stop, sources, pace })
    }

    #[test]
    fn an_unfinished_hold_counts() {
        let plan = plan("http://127.0.0.1:1");
        // A budget of zero: every finished exchange exceeds it, and none is taken out.
        let (queue, _arrivals) = Queue::new(0, 1, 1);
        queue.push(Exchange::default().into());
        let conductor = conductor(&plan, queue, Arc::new(Unsent::up_to(u64::MAX)));
        assert!(!conductor.queue.holds_dispatch(mono_now()), "records wait, but there is nothing to send");
        conductor.pump(Cause::Event);
        assert!(conductor.queue.holds_dispatch(mono_now()));
        let (holds, held) = conductor.holds();
        assert!(holds == 1 && held > Nanos::ZERO, "{held:?}");
        assert!(conductor.holds().1 > held, "the hold continues");
    }

    #[test]
    fn dispatch_is_held_while_too_many_requests_wait_for_their_worker() {
        const ALL: u64 = 40;
        let mut plan = plan("http://127.0.0.1:1");
        plan.phases[0].concurrency = None;
        plan.phases[0].stop = vec![StopWhen::Requests(ALL)];
        plan.phases[0].arrival = Arrival::Rate { law: ArrivalLaw::Constant, rate: RatePlan::fixed(10_000.0) };
        let (queue, _arrivals) = Queue::new(1 << 30, 1, 1);
        let unsent = Arc::new(Unsent::up_to(4));
        let conductor = conductor(&plan, queue, unsent.clone());
        let (link, mut commands) = unbounded_channel();
        conductor.set_workers(Workers::remote(vec![link], unsent.clone()));
        // A worker that begins nothing until dispatch is held, then one request at a time.
        let work = async {
            let (mut waiting, mut most) = (VecDeque::new(), 0);
            loop {
                while let Ok(sent) = commands.try_recv() {
                    waiting.extend(sent.into_iter().filter_map(|command| match command {
                        Command::Send(dispatch, _) => Some(dispatch),
                        Command::Cancel(_) | Command::Forget(_) => None,
                    }));
                }
                most = unsent.waiting().max(most);
                if conductor.holds().0 > 0
                    && let Some(dispatch) = waiting.pop_front()
                {
                    unsent.remove(1);
                    let (session, turn) = (dispatch.session, dispatch.turn);
                    let returned = Event::Returned { session, turn, end: RequestEnd::Answered, at: mono_now() };
                    conductor.handle_remote([WorkerEvents { worker: 0, events: vec![returned] }]);
                }
                if conductor.finished.get() {
                    return most;
                }
                tokio::task::yield_now().await;
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (driven, most) = runtime.block_on(async {
            let both = async { tokio::join!(conductor.drive(), work) };
            tokio::time::timeout(Duration::from_secs(60), both).await.unwrap()
        });
        driven.unwrap();
        assert!(most > 4 && conductor.holds().0 > 0, "{most}");
        assert_eq!(conductor.phase_runs()[0].as_ref().unwrap().counts.completed, ALL, "none is lost");
    }

    #[test]
    fn a_future_instant_is_awaited_and_a_past_one_is_reached_at_once() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut timer = DeadlineTimer::new().unwrap();
            let soon = mono_now().plus(Nanos(2_000_000));
            reach(&mut timer, Some(soon)).await.unwrap();
            assert!(mono_now() >= soon);
            reach(&mut timer, Some(soon)).await.unwrap();
            let never = reach(&mut timer, None);
            tokio::select! {
                biased;
                _ = never => panic!("there was no instant"),
                () = tokio::task::yield_now() => {}
            }
        });
    }
}
