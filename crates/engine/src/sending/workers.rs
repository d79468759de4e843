//! The workers that execute the conductor's decisions: one on the same thread, or several on their own threads.

use crate::sending::unsent::Unsent;
use crate::sending::worker::{Command, Worker};
use aiperf_schedule::{Dispatch, Event};
use aiperf_types::{MonoNs, NumberMap, PhaseIndex};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// The workers of a run.
pub(crate) struct Workers {
    threads: WorkerThreads,
    unsent: Arc<Unsent>,
}

enum WorkerThreads {
    /// The only worker, on the same thread.
    Local(Rc<Worker>),
    /// Several workers on their own threads, by number.
    Remote(Vec<UnboundedSender<Command>>, RefCell<Placement>),
}

impl Workers {
    pub(crate) fn local(worker: Rc<Worker>, unsent: Arc<Unsent>) -> Self {
        Self { threads: WorkerThreads::Local(worker), unsent }
    }

    pub(crate) fn remote(links: Vec<UnboundedSender<Command>>, unsent: Arc<Unsent>) -> Self {
        let placement = RefCell::new(Placement::over(links.len()));
        Self { threads: WorkerThreads::Remote(links, placement), unsent }
    }

    pub(crate) fn send(&self, dispatch: Dispatch, issued: MonoNs) {
        let command = Command::Send(dispatch, issued);
        self.unsent.add();
        match &self.threads {
            WorkerThreads::Local(worker) => worker.perform(command),
            WorkerThreads::Remote(links, placement) => {
                let worker = placement.borrow_mut().place(&dispatch);
                // A worker that is gone has raised the alarm.
                let _ = links[worker].send(command);
            }
        }
    }

    /// Sends a request that a timer released. If its worker is local, the request starts before anything else happens
    /// there.
    pub(crate) fn send_at_once(&self, dispatch: Dispatch, issued: MonoNs) {
        match &self.threads {
            WorkerThreads::Local(worker) if worker.start_at_once(dispatch, issued) => {}
            WorkerThreads::Local(_) | WorkerThreads::Remote(..) => self.send(dispatch, issued),
        }
    }

    pub(crate) fn everywhere(&self, command: Command) {
        match &self.threads {
            WorkerThreads::Local(worker) => worker.perform(command),
            WorkerThreads::Remote(links, _) => links.iter().for_each(|link| {
                let _ = link.send(command);
            }),
        }
    }

    /// An event from a worker on another thread.
    pub(crate) fn note(&self, worker: usize, event: &Event) {
        if let (WorkerThreads::Remote(_, placement), Event::Returned { .. }) = (&self.threads, event) {
            placement.borrow_mut().unload(worker);
        }
    }

    /// The sessions of a phase do not continue.
    pub(crate) fn forget(&self, phase: PhaseIndex) {
        if let WorkerThreads::Remote(_, placement) = &self.threads {
            placement.borrow_mut().forget(phase);
        }
    }
}

/// Which worker a request goes to. The first request of a session goes to the worker with the fewest in flight. The
/// others go to the same worker, which has the messages of the session.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Requests in flight, by worker.
    loads: Vec<u64>,
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

impl Placement {
    fn over(workers: usize) -> Self {
        Self { loads: vec![0; workers], ..Self::default() }
    }

    fn place(&mut self, dispatch: &Dispatch) -> usize {
        let home = match (dispatch.is_first(), dispatch.is_last()) {
            (true, _) => None,
            (false, false) => self.homes.get(&dispatch.session).copied(),
            (false, true) => self.homes.remove(&dispatch.session),
        };
        let worker = home.map_or_else(|| self.least_loaded(), |home| home.worker);
        if dispatch.is_first() && !dispatch.is_last() {
            self.homes.insert(dispatch.session, Home { phase: dispatch.phase, worker });
        }
        self.loads[worker] += 1;
        worker
    }

    fn least_loaded(&mut self) -> usize {
        let all = self.loads.len();
        let in_turn = (0..all).map(|step| (self.next + step) % all);
        let worker = in_turn.min_by_key(|worker| self.loads[*worker]).unwrap_or(0);
        self.next = worker + 1;
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
