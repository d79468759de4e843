//! A request to end a run early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Ends a run early: sending stops, requests in flight are cancelled, all results are written.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopState>);

/// The state of a stop request.
#[derive(Default)]
struct StopState {
    is_stopped: AtomicBool,
    notify: Notify,
    /// Runs that stop when this one stops.
    children: Mutex<Vec<Weak<StopState>>>,
}

impl StopState {
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.notify.notify_waiters();
        self.notify.notify_one();
    }
}

impl Stop {
    /// Asks the run to end.
    pub fn stop(&self) {
        let children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.stop();
        children.iter().filter_map(Weak::upgrade).for_each(|child| child.stop());
    }

    /// A stop request for one run of several. It stops when all stop; stopping it does not stop the others.
    #[must_use]
    pub fn of_one(&self) -> Self {
        let child = Self::default();
        let mut children = self.0.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|other| other.strong_count() > 0);
        children.push(Arc::downgrade(&child.0));
        if self.is_stopped() {
            child.0.stop();
        }
        child
    }

    /// Whether the run was asked to end.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::Acquire)
    }

    pub(crate) async fn stopped(&self) {
        while !self.is_stopped() {
            self.0.notify.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stopping_all_stops_each_and_stopping_one_stops_no_other() {
        let all = Stop::default();
        let (first, second) = (all.of_one(), all.of_one());
        first.stop();
        assert!(first.is_stopped() && !second.is_stopped() && !all.is_stopped());
        all.stop();
        assert!(second.is_stopped() && all.of_one().is_stopped());
    }
}
