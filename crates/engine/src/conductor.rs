//! The schedule driven by a clock. With one worker it lives in that worker's loop; with several it has a thread.

use crate::events::Events;
use crate::hooks::HookCalls;
use crate::phases::PhaseTrack;
use crate::queue::Queue;
use crate::stop::Stop;
use crate::worker::{Command, Worker};
use aiperf_plan::Plan;
use aiperf_schedule::{Action, Event, PhaseEnd, PhaseState, Schedule, Setup};
use aiperf_transport::DeadlineTimer;
use aiperf_transport::clock::mono_now;
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseMoment, PhaseProgress, PhaseStarted, Progress, RunEvent, Shapes};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

/// How often progress is told.
const PROGRESS_EVERY: Nanos = Nanos(100_000_000);
/// How often a held dispatch looks whether it may go on.
const HOLD_POLL: Nanos = Nanos(1_000_000);

/// Who carries out what the conductor decides.
pub(crate) enum Workers {
    /// The one worker, on the same thread.
    Local(Rc<Worker>),
    /// Several workers on threads of their own, with the requests each has in flight.
    Remote(Vec<(UnboundedSender<Command>, Cell<u64>)>),
}

/// What became of a phase.
#[derive(Clone, Debug)]
pub(crate) struct PhaseRun {
    pub(crate) start: MonoNs,
    pub(crate) end: MonoNs,
    pub(crate) counts: PhaseProgress,
    pub(crate) how: PhaseEnd,
}

/// The conductor of a run.
pub(crate) struct Conductor {
    schedule: RefCell<Schedule>,
    inbox: RefCell<Vec<Event>>,
    actions: RefCell<Vec<Action>>,
    workers: RefCell<Option<Workers>>,
    hooks: Option<HookCalls>,
    queue: Arc<Queue>,
    events: Events,
    tracks: Arc<[PhaseTrack]>,
    phases: RefCell<Vec<PhaseRun>>,
    held: Cell<Option<MonoNs>>,
    holds: Cell<u64>,
    held_total: Cell<u64>,
    deadline: Cell<Option<MonoNs>>,
    /// When progress is told next; never where nobody wants it.
    next_progress: Cell<Option<MonoNs>>,
    finished: Cell<bool>,
    wake: Notify,
}

impl Conductor {
    pub(crate) fn new(
        plan: &Plan,
        shapes: Arc<Shapes>,
        queue: Arc<Queue>,
        tracks: Arc<[PhaseTrack]>,
        events: Events,
        hooks: Option<HookCalls>,
    ) -> Rc<Self> {
        let schedule = Schedule::new(Setup { asks_hooks: hooks.is_some(), ..Setup::of(plan, shapes) });
        Rc::new(Self {
            schedule: RefCell::new(schedule),
            hooks,
            inbox: RefCell::default(),
            actions: RefCell::default(),
            workers: RefCell::default(),
            queue,
            tracks,
            phases: RefCell::default(),
            held: Cell::new(None),
            holds: Cell::new(0),
            held_total: Cell::new(0),
            deadline: Cell::new(None),
            next_progress: Cell::new(events.wants_progress().then_some(MonoNs(0))),
            events,
            finished: Cell::new(false),
            wake: Notify::new(),
        })
    }

    /// Who carries out what is decided.
    pub(crate) fn set_workers(&self, workers: Workers) {
        *self.workers.borrow_mut() = Some(workers);
    }

    /// Something happened: decide and act at once, on the caller's time. A response that frees a slot is followed by
    /// the next request without a hop between tasks.
    pub(crate) fn tell(&self, event: Event) {
        self.inbox.borrow_mut().push(event);
        self.pump();
    }

    /// What became of the phases.
    pub(crate) fn phase_runs(&self) -> Vec<PhaseRun> {
        self.phases.borrow().clone()
    }

    /// How often and how long dispatch was held back.
    pub(crate) fn holds(&self) -> (u64, Nanos) {
        (self.holds.get(), Nanos(self.held_total.get()))
    }

    /// Drives until every phase is over. Needs a runtime with a local task set.
    pub(crate) async fn drive(&self, stop: Stop) -> io::Result<()> {
        let mut timer = DeadlineTimer::new()?;
        let mut stopping = false;
        self.pump();
        while !self.finished.get() {
            let hold_poll = self.held.get().map(|_| mono_now().plus(HOLD_POLL));
            let deadlines = [self.deadline.get(), self.next_progress.get(), hold_poll];
            timer.set(deadlines.into_iter().flatten().min())?;
            let fired = std::future::poll_fn(|cx| timer.poll_fired(cx));
            tokio::select! {
                biased;
                () = stop.stopped(), if !stopping => {
                    stopping = true;
                    self.inbox.borrow_mut().push(Event::Stop);
                }
                event = self.hook_answer() => self.inbox.borrow_mut().push(event),
                result = fired => result?,
                () = self.wake.notified() => {}
            }
            self.pump();
        }
        Ok(())
    }

    /// What came of the hooks before a phase; waits for ever where there are none.
    async fn hook_answer(&self) -> Event {
        std::future::poll_fn(|cx| self.hooks.as_ref().map_or(Poll::Pending, |hooks| hooks.poll_answer(cx))).await
    }

    fn pump(&self) {
        let now = mono_now();
        self.check_budget(now);
        let mut inbox = self.inbox.borrow_mut();
        let mut actions = self.actions.borrow_mut();
        let mut schedule = self.schedule.borrow_mut();
        let deadline = schedule.poll(now, inbox.drain(..), &mut actions);
        drop(inbox);
        for action in actions.drain(..) {
            self.act(action, now);
        }
        drop(actions);
        drop(schedule);
        if deadline != self.deadline.replace(deadline) || self.finished.get() {
            self.wake.notify_one();
        }
        if self.next_progress.get().is_some_and(|at| now >= at) {
            self.tell_progress(now);
        }
    }

    fn act(&self, action: Action, now: MonoNs) {
        match action {
            Action::AskHooks(phase) => {
                let id = &self.tracks[usize::from(phase.0)].id;
                self.hooks.iter().for_each(|hooks| hooks.before(id));
            }
            Action::Start(phase) => {
                let (counts, how) = (PhaseProgress::default(), PhaseEnd::default());
                self.phases.borrow_mut().push(PhaseRun { start: now, end: now, counts, how });
                let track = &self.tracks[usize::from(phase.0)];
                let started = PhaseStarted { phase: track.id.clone(), at: now, targets: track.targets };
                self.events.emit(RunEvent::PhaseStarted(Arc::new(started)));
                let _ = track.started.set(now);
            }
            Action::Send(dispatch) => self.send(Command::Send(dispatch, now)),
            Action::Cancel(phase) => self.everywhere(Command::Cancel(phase)),
            Action::SendingComplete(phase, counts) => {
                self.events.emit(RunEvent::SendingComplete(self.moment(phase, now, counts)));
            }
            Action::Complete(phase, how, counts) => {
                let index = usize::from(phase.0);
                let run = &mut self.phases.borrow_mut()[index];
                (run.end, run.how, run.counts) = (now, how, counts);
                let done = self.moment(phase, now, counts);
                // Told first: the coordinator tells that the phase is complete once it sees this.
                self.events.emit(RunEvent::RequestsDone(done.clone()));
                let _ = self.tracks[index].requests_done.set(done);
                self.everywhere(Command::Forget(phase));
                self.hooks.iter().for_each(|hooks| hooks.after(&self.tracks[index].id));
            }
            Action::TooManyFailed { .. } => {}
            Action::Finished => self.finished.set(true),
        }
    }

    fn moment(&self, phase: PhaseIndex, at: MonoNs, counts: PhaseProgress) -> PhaseMoment {
        PhaseMoment { phase: self.tracks[usize::from(phase.0)].id.clone(), at, counts }
    }

    fn send(&self, command: Command) {
        match &*self.workers.borrow() {
            Some(Workers::Local(worker)) => worker.perform(command),
            Some(Workers::Remote(workers)) => {
                if let Some((sender, load)) = workers.iter().min_by_key(|(_, load)| load.get()) {
                    load.set(load.get() + 1);
                    let _ = sender.send(command);
                }
            }
            None => {}
        }
    }

    /// A worker far away has one request less in flight.
    pub(crate) fn unload(&self, worker: usize) {
        if let Some(Workers::Remote(workers)) = &*self.workers.borrow() {
            let load = &workers[worker].1;
            load.set(load.get().saturating_sub(1));
        }
    }

    fn everywhere(&self, command: Command) {
        match &*self.workers.borrow() {
            Some(Workers::Local(worker)) => worker.perform(command),
            Some(Workers::Remote(workers)) => workers.iter().for_each(|(sender, _)| {
                let _ = sender.send(command);
            }),
            None => {}
        }
    }

    /// Back-pressure stops dispatch, never reading.
    fn check_budget(&self, now: MonoNs) {
        let queue = &self.queue;
        match self.held.get() {
            None if queue.is_behind(now) => {
                self.held.set(Some(now));
                self.holds.set(self.holds.get() + 1);
                self.inbox.borrow_mut().push(Event::Hold);
                // From now on somebody has to look whether it may go on: nothing else may happen any more.
                self.wake.notify_one();
            }
            Some(since) if queue.has_caught_up(now) => {
                self.held.set(None);
                self.held_total.set(self.held_total.get() + now.since(since).0);
                self.inbox.borrow_mut().push(Event::Release);
            }
            _ => {}
        }
    }

    fn tell_progress(&self, now: MonoNs) {
        self.next_progress.set(Some(now.plus(PROGRESS_EVERY)));
        for (index, counts, state, started) in self.schedule.borrow().running() {
            let track = &self.tracks[usize::from(index.0)];
            self.events.emit(RunEvent::Progress(Arc::new(Progress {
                phase: track.id.clone(),
                targets: track.targets,
                elapsed: now.since(started),
                counts: PhaseProgress { errors: counts.errors.max(self.queue.failed(usize::from(index.0))), ..*counts },
                draining: state != PhaseState::Sending,
                records: self.queue.recorded(),
                backlog: self.queue.waiting(),
            })));
        }
    }
}
