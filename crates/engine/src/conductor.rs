//! The schedule driven by a clock. With one worker it lives in that worker's loop; with several it has a thread.

use crate::control::{Board, Stop};
use crate::recorder::Shared;
use crate::worker::{Command, Worker};
use aiperf_plan::Plan;
use aiperf_schedule::{Action, Event, PhaseEnd, PhaseState, Schedule};
use aiperf_transport::DeadlineTimer;
use aiperf_transport::clock::{anchor, mono_now};
use aiperf_types::{MonoNs, Nanos, PhaseIndex, PhaseProgress, Progress, WallAnchor};
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

/// How often progress is put up.
const PUBLISH_EVERY: Nanos = Nanos(100_000_000);
/// How often a held dispatch looks whether it may go on.
const HOLD_POLL: Nanos = Nanos(1_000_000);

/// Who carries out what the conductor decides.
pub(crate) enum Outlet {
    /// The one worker, on the same thread.
    Here(Rc<Worker>),
    /// Several workers on threads of their own, with the requests each has in flight.
    There(Vec<(UnboundedSender<Command>, Cell<u64>)>),
}

/// What became of a phase.
#[derive(Clone, Debug)]
pub(crate) struct PhaseRun {
    pub(crate) anchor: WallAnchor,
    pub(crate) end: MonoNs,
    pub(crate) counts: PhaseProgress,
    pub(crate) how: PhaseEnd,
}

/// The conductor of a run.
pub(crate) struct Conductor {
    plan: Arc<Plan>,
    schedule: RefCell<Schedule>,
    inbox: RefCell<Vec<Event>>,
    actions: RefCell<Vec<Action>>,
    outlet: RefCell<Option<Outlet>>,
    shared: Arc<Shared>,
    board: Board,
    phases: RefCell<Vec<PhaseRun>>,
    held: Cell<Option<MonoNs>>,
    holds: Cell<u64>,
    held_total: Cell<u64>,
    deadline: Cell<Option<MonoNs>>,
    published: Cell<MonoNs>,
    finished: Cell<bool>,
    wake: Notify,
}

impl Conductor {
    pub(crate) fn new(plan: Arc<Plan>, shared: Arc<Shared>, board: Board) -> Rc<Self> {
        Rc::new(Self {
            schedule: RefCell::new(Schedule::new(plan.phases.clone())),
            plan,
            inbox: RefCell::default(),
            actions: RefCell::default(),
            outlet: RefCell::default(),
            shared,
            board,
            phases: RefCell::default(),
            held: Cell::new(None),
            holds: Cell::new(0),
            held_total: Cell::new(0),
            deadline: Cell::new(None),
            published: Cell::new(MonoNs(0)),
            finished: Cell::new(false),
            wake: Notify::new(),
        })
    }

    /// Who carries out what is decided.
    pub(crate) fn set_outlet(&self, outlet: Outlet) {
        *self.outlet.borrow_mut() = Some(outlet);
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
            let tick = self.published.get().plus(PUBLISH_EVERY);
            let deadline = self.deadline.get().map_or(tick, |at| at.min(tick));
            let deadline = if self.held.get().is_some() { deadline.min(mono_now().plus(HOLD_POLL)) } else { deadline };
            timer.set(Some(deadline))?;
            let fired = std::future::poll_fn(|cx| timer.poll_fired(cx));
            tokio::select! {
                biased;
                () = stop.stopped(), if !stopping => {
                    stopping = true;
                    self.inbox.borrow_mut().push(Event::Stop);
                }
                result = fired => result?,
                () = self.wake.notified() => {}
            }
            self.pump();
        }
        self.publish(mono_now());
        Ok(())
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
            self.act(action, &schedule, now);
        }
        drop(actions);
        drop(schedule);
        if deadline != self.deadline.replace(deadline) || self.finished.get() {
            self.wake.notify_one();
        }
        if now.since(self.published.get()) >= PUBLISH_EVERY {
            self.publish(now);
        }
    }

    fn act(&self, action: Action, schedule: &Schedule, now: MonoNs) {
        match action {
            Action::Start(_) => {
                let anchor = anchor();
                let (counts, how) = (PhaseProgress::default(), PhaseEnd::default());
                self.phases.borrow_mut().push(PhaseRun { anchor, end: now, counts, how });
            }
            Action::Send(dispatch) => {
                let anchor = self.phases.borrow()[usize::from(dispatch.phase.0)].anchor;
                self.send(Command::Send(dispatch, anchor, now));
            }
            Action::Cancel(phase) => self.everywhere(Command::Cancel(phase)),
            Action::SendingComplete(phase) => self.note(schedule, phase, now),
            Action::Complete(phase, how) => {
                let phases = &mut self.phases.borrow_mut();
                let run = &mut phases[usize::from(phase.0)];
                run.end = now;
                run.how = how;
            }
            Action::Finished => self.finished.set(true),
        }
        self.note_counts(schedule);
    }

    fn note(&self, schedule: &Schedule, phase: PhaseIndex, now: MonoNs) {
        if let Some((_, counts, ..)) = schedule.running() {
            let run = &mut self.phases.borrow_mut()[usize::from(phase.0)];
            run.counts = counts.clone();
            run.end = now;
        }
    }

    /// The counters of the phase now running; its last look is when it completes.
    fn note_counts(&self, schedule: &Schedule) {
        if let Some((phase, counts, ..)) = schedule.running() {
            let mut phases = self.phases.borrow_mut();
            if let Some(run) = phases.get_mut(usize::from(phase.0)) {
                run.counts.clone_from(counts);
            }
        }
    }

    fn send(&self, command: Command) {
        match &*self.outlet.borrow() {
            Some(Outlet::Here(worker)) => worker.perform(command),
            Some(Outlet::There(workers)) => {
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
        if let Some(Outlet::There(workers)) = &*self.outlet.borrow() {
            let load = &workers[worker].1;
            load.set(load.get().saturating_sub(1));
        }
    }

    fn everywhere(&self, command: Command) {
        match &*self.outlet.borrow() {
            Some(Outlet::Here(worker)) => worker.perform(command),
            Some(Outlet::There(workers)) => workers.iter().for_each(|(sender, _)| {
                let _ = sender.send(command);
            }),
            None => {}
        }
    }

    /// Back-pressure stops dispatch, never reading.
    fn check_budget(&self, now: MonoNs) {
        let queue = &self.shared.queue;
        match self.held.get() {
            None if queue.is_over_budget() => {
                self.held.set(Some(now));
                self.holds.set(self.holds.get() + 1);
                self.inbox.borrow_mut().push(Event::Hold);
            }
            Some(since) if !queue.is_half_full() => {
                self.held.set(None);
                self.held_total.set(self.held_total.get() + now.since(since).0);
                self.inbox.borrow_mut().push(Event::Release);
            }
            _ => {}
        }
    }

    fn publish(&self, now: MonoNs) {
        self.published.set(now);
        let schedule = self.schedule.borrow();
        let records = self.shared.records.load(Relaxed);
        let backlog = self.shared.queue.waiting();
        let progress = match schedule.running() {
            Some((index, counts, state, started)) => {
                let plan = &self.plan.phases[usize::from(index.0)];
                Progress {
                    phase: Some(plan.name.as_str().into()),
                    kind: Some(plan.kind),
                    expected: plan.requests(),
                    length_ns: plan.duration().map(|length| length.0),
                    elapsed_ns: now.since(started).0,
                    counts: counts.clone(),
                    draining: state != PhaseState::Sending,
                    records,
                    backlog,
                    finished: false,
                }
            }
            None => Progress { records, backlog, ..self.board.look() },
        };
        self.board.put(progress);
    }
}
