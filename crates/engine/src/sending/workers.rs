//! The workers that execute the conductor's decisions: one on the same thread, or several on their own threads.

use crate::sending::unsent::Unsent;
use crate::sending::worker::{Command, Worker};
use aiperf_schedule::{Dispatch, Event};
use aiperf_types::{MonoNs, NumberMap, PhaseIndex};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// Sends commands to a worker on its own thread, several at a time.
pub(crate) type Link = UnboundedSender<Vec<Command>>;

/// The workers of a run, by number.
pub(crate) struct Workers {
    /// The first worker, if it is on the conductor's thread. Once there are others, no new session goes to it.
    local: Option<Rc<Worker>>,
    remote: RefCell<Vec<Remote>>,
    placement: RefCell<Placement>,
    unsent: Arc<Unsent>,
}

struct Remote {
    link: Link,
    /// Commands that were not sent yet.
    outgoing: Vec<Command>,
}

impl Workers {
    /// One worker, on the conductor's thread.
    pub(crate) fn local(worker: Rc<Worker>, unsent: Arc<Unsent>) -> Self {
        let placement = RefCell::new(Placement::after_local());
        Self { local: Some(worker), remote: RefCell::default(), placement, unsent }
    }

    /// Workers on their own threads.
    pub(crate) fn remote(links: Vec<Link>, unsent: Arc<Unsent>) -> Self {
        let workers = Self { local: None, remote: RefCell::default(), placement: RefCell::default(), unsent };
        workers.add(links);
        workers
    }

    /// Adds workers on their own threads. New sessions go to these only.
    pub(crate) fn add(&self, links: Vec<Link>) {
        self.placement.borrow_mut().add(links.len());
        let remote = links.into_iter().map(|link| Remote { link, outgoing: Vec::new() });
        self.remote.borrow_mut().extend(remote);
    }

    /// The number of workers on their own threads.
    pub(crate) fn remote_workers(&self) -> usize {
        self.remote.borrow().len()
    }

    /// Sends a request. If its worker is on another thread, the request leaves with the next [`Workers::flush`].
    pub(crate) fn send(&self, dispatch: Dispatch, issued: MonoNs) {
        self.unsent.add();
        let command = Command::Send(dispatch, issued);
        match self.place(&dispatch) {
            Place::Local(worker) => worker.perform(command),
            Place::Remote(at) => self.remote.borrow_mut()[at].outgoing.push(command),
        }
    }

    /// Sends a request that a timer released. If its worker is local, the request starts before anything else happens
    /// there.
    pub(crate) fn send_at_once(&self, dispatch: Dispatch, issued: MonoNs) {
        match &self.local {
            Some(worker) if self.remote_workers() == 0 && worker.start_at_once(dispatch, issued) => {}
            _ => self.send(dispatch, issued),
        }
    }

    pub(crate) fn everywhere(&self, command: Command) {
        self.local.iter().for_each(|worker| worker.perform(command));
        self.remote.borrow_mut().iter_mut().for_each(|remote| remote.outgoing.push(command));
    }

    /// Closes connections of the local worker that no request has used since an instant.
    pub(crate) fn close_unused(&self, since: MonoNs) {
        self.local.iter().for_each(|worker| worker.close_unused(since));
    }

    /// Sends what waits for other threads. Each is woken once, however many commands it gets.
    pub(crate) fn flush(&self) {
        for remote in self.remote.borrow_mut().iter_mut().filter(|remote| !remote.outgoing.is_empty()) {
            // A worker that is gone has raised the alarm.
            let _ = remote.link.send(std::mem::take(&mut remote.outgoing));
        }
    }

    fn place(&self, dispatch: &Dispatch) -> Place<'_> {
        let locals = usize::from(self.local.is_some());
        match &self.local {
            Some(worker) if self.remote_workers() == 0 => Place::Local(worker),
            local => match (self.placement.borrow_mut().place(dispatch), local) {
                (0, Some(worker)) => Place::Local(worker),
                (number, _) => Place::Remote(number - locals),
            },
        }
    }

    /// An event from a worker on another thread.
    pub(crate) fn note(&self, worker: usize, event: &Event) {
        if let Event::Returned { .. } = event {
            self.placement.borrow_mut().unload(worker);
        }
    }

    /// The sessions of a phase do not continue.
    pub(crate) fn forget(&self, phase: PhaseIndex) {
        self.placement.borrow_mut().forget(phase);
    }
}

/// Where a request goes.
enum Place<'a> {
    Local(&'a Rc<Worker>),
    Remote(usize),
}

/// Which worker a request goes to. The first request of a session goes to the worker with the fewest in flight. The
/// others go to the same worker, which has the messages of the session.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Requests in flight, by worker. Those of a local worker are not counted.
    loads: Vec<u64>,
    /// The first worker that gets new sessions.
    first_open: usize,
    /// The first worker to consider, so that equally loaded workers take turns.
    next: usize,
    /// The workers of sessions with more turns to come. Sessions of one turn are never here.
    homes: NumberMap<Home>,
}

#[derive(Clone, Copy, Debug)]
struct Home {
    phase: PhaseIndex,
    worker: usize,
}

/// The worker of sessions that began while it was the only one.
const LOCAL: usize = 0;

impl Placement {
    /// No new session goes to the local worker.
    fn after_local() -> Self {
        Self { loads: vec![0], first_open: LOCAL + 1, ..Self::default() }
    }

    fn add(&mut self, workers: usize) {
        self.loads.resize(self.loads.len() + workers, 0);
    }

    fn place(&mut self, dispatch: &Dispatch) -> usize {
        let home = match (dispatch.is_first(), dispatch.is_last()) {
            (true, _) => None,
            (false, false) => self.homes.get(&dispatch.session).copied(),
            (false, true) => self.homes.remove(&dispatch.session),
        };
        let worker = match home {
            Some(home) => home.worker,
            None if dispatch.is_first() => self.least_loaded(),
            None => LOCAL,
        };
        if dispatch.is_first() && !dispatch.is_last() {
            self.homes.insert(dispatch.session, Home { phase: dispatch.phase, worker });
        }
        if worker >= self.first_open {
            self.loads[worker] += 1;
        }
        worker
    }

    fn least_loaded(&mut self) -> usize {
        let all = self.loads.len() - self.first_open;
        let in_turn = (0..all).map(|step| self.first_open + (self.next + step) % all);
        let worker = in_turn.min_by_key(|worker| self.loads[*worker]).unwrap_or(LOCAL);
        self.next = worker - self.first_open + 1;
        worker
    }

    fn unload(&mut self, worker: usize) {
        self.loads[worker] = self.loads[worker].saturating_sub(1);
    }

    fn forget(&mut self, phase: PhaseIndex) {
        self.homes.retain(|_, home| home.phase != phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Placement {
        fn over(workers: usize) -> Self {
            let mut placement = Self::default();
            placement.add(workers);
            placement
        }
    }

    fn turn(session: u64, turn: u32, turns: u32) -> Dispatch {
        Dispatch { phase: PhaseIndex(session as u16 / 100), session, turn, turns, ..Dispatch::default() }
    }

    #[test]
    fn equally_loaded_workers_take_turns_and_the_least_loaded_comes_first() {
        let mut placement = Placement::over(3);
        let placed: Vec<usize> = (0..7).map(|session| placement.place(&turn(session, 0, 1))).collect();
        assert_eq!(placed, [0, 1, 2, 0, 1, 2, 0]);
        (0..2).for_each(|_| placement.unload(2));
        let placed: Vec<usize> = (7..10).map(|session| placement.place(&turn(session, 0, 1))).collect();
        assert_eq!(placed, [2, 2, 1]);
        // Single requests go to each worker in turn, so that none stays cold.
        let mut alone = Placement::over(2);
        let placed = [0, 1, 2, 3].map(|session| {
            let worker = alone.place(&turn(session, 0, 1));
            alone.unload(worker);
            worker
        });
        assert_eq!(placed, [0, 1, 0, 1]);
    }

    #[test]
    fn a_session_stays_with_the_worker_of_its_first_turn_however_busy_that_is() {
        let mut placement = Placement::over(2);
        assert_eq!([0, 1, 2].map(|session| placement.place(&turn(session, 0, 3))), [0, 1, 0]);
        placement.unload(1);
        assert_eq!(placement.place(&turn(2, 1, 3)), 0);
        assert_eq!(placement.place(&turn(2, 2, 3)), 0);
        assert_eq!((placement.loads, placement.homes.len()), (vec![4, 0], 2));
    }

    #[test]
    fn sessions_of_the_local_worker_stay_there_and_new_ones_go_to_workers_that_were_added() {
        let mut placement = Placement::after_local();
        placement.add(2);
        assert_eq!([10, 11, 12].map(|session| placement.place(&turn(session, 0, 1))), [1, 2, 1]);
        assert_eq!([1, 2].map(|at| placement.place(&turn(3, at, 3))), [LOCAL, LOCAL], "it began before");
        placement.add(2);
        assert_eq!([20, 21].map(|session| placement.place(&turn(session, 0, 1))), [3, 4]);
    }

    #[test]
    fn nothing_is_kept_of_single_turns_of_finished_sessions_and_of_finished_phases() {
        let mut placement = Placement::over(2);
        for session in 0..50 {
            placement.place(&turn(session, 0, 1));
        }
        assert!(placement.homes.is_empty());
        for session in [50, 51, 150] {
            placement.place(&turn(session, 0, 2));
        }
        placement.place(&turn(50, 1, 2));
        assert_eq!(placement.homes.len(), 2);
        placement.forget(PhaseIndex(0));
        assert!(placement.homes.keys().eq(&[150]));
    }
}
