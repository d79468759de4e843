//! The wish to end early.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Notify;

/// Ends a run early: sending stops, requests in flight are cancelled, everything is written.
#[derive(Clone, Default)]
pub struct Stop(Arc<Wish>);

/// The wish that a run ends.
#[derive(Default)]
struct Wish {
    is_stopped: AtomicBool,
    notify: Notify,
    /// Runs that end with it.
    children: Mutex<Vec<Weak<Wish>>>,
}

impl Wish {
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

    /// The wish to end one run of several: it ends with all of them, and they do not end with it.
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

    /// Whether it was asked to.
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
    fn one_ends_with_all_and_not_all_with_one() {
        let all = Stop::default();
        let (first, second) = (all.of_one(), all.of_one());
        first.stop();
        assert!(first.is_stopped() && !second.is_stopped() && !all.is_stopped());
        all.stop();
        assert!(second.is_stopped() && all.of_one().is_stopped());
    }
}
