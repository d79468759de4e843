//! Workers and other threads: their counters and their CPU use.

use super::threads::ThreadUse;
use aiperf_types::{Nanos, WorkerProgress};
use std::sync::Arc;

/// Percent of a core above which a worker is under high load.
const HIGH_LOAD: f64 = 85.0;
/// How long a worker counts as failing after a failure.
const ERROR_FOR: Nanos = Nanos(10_000_000_000);
/// A worker with requests in flight and no response for so long is stale.
const STALE_AFTER: Nanos = Nanos(30_000_000_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Healthy,
    HighLoad,
    Error,
    Idle,
    Stale,
}

impl Health {
    pub(crate) const ALL: [Self; 5] = [Self::Healthy, Self::HighLoad, Self::Error, Self::Idle, Self::Stale];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::HighLoad => "High Load",
            Self::Error => "Error",
            Self::Idle => "Idle",
            Self::Stale => "Stale",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) now: WorkerProgress,
    failed_at: Option<Nanos>,
    moved_at: Nanos,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Workers {
    pub(crate) workers: Vec<Worker>,
    pub(crate) threads: Vec<ThreadUse>,
    /// Resident memory of the process.
    pub(crate) memory: Option<u64>,
}

impl Workers {
    pub(crate) fn progress(&mut self, progress: &Arc<[WorkerProgress]>, now: Nanos) {
        for (at, progress) in progress.iter().enumerate() {
            match self.workers.get_mut(at) {
                None => self.workers.push(Worker { now: progress.clone(), failed_at: None, moved_at: now }),
                Some(worker) => {
                    if progress.failed > worker.now.failed {
                        worker.failed_at = Some(now);
                    }
                    if progress.completed != worker.now.completed || progress.in_flight == 0 {
                        worker.moved_at = now;
                    }
                    worker.now = progress.clone();
                }
            }
        }
    }

    pub(crate) fn cpu(&self, thread: u32) -> Option<f64> {
        self.threads.iter().find(|known| known.id == thread)?.cpu
    }

    pub(crate) fn health(&self, worker: &Worker, now: Nanos) -> Health {
        let since = |at: Nanos| Nanos(now.0.saturating_sub(at.0));
        if worker.failed_at.is_some_and(|at| since(at) < ERROR_FOR) {
            Health::Error
        } else if worker.now.in_flight > 0 && since(worker.moved_at) >= STALE_AFTER {
            Health::Stale
        } else if self.cpu(worker.now.thread).is_some_and(|cpu| cpu >= HIGH_LOAD) {
            Health::HighLoad
        } else if worker.now.in_flight == 0 {
            Health::Idle
        } else {
            Health::Healthy
        }
    }

    /// Threads that are not workers, the busiest first.
    pub(crate) fn others(&self) -> Vec<&ThreadUse> {
        let is_worker = |thread: &ThreadUse| self.workers.iter().any(|worker| worker.now.thread == thread.id);
        let mut others: Vec<&ThreadUse> = self.threads.iter().filter(|thread| !is_worker(thread)).collect();
        others.sort_by(|one, other| other.cpu.unwrap_or(0.0).total_cmp(&one.cpu.unwrap_or(0.0)));
        others
    }
}
