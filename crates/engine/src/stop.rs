//! The wish to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Ends a run early: sending stops, requests in flight are cancelled, everything is written.
#[derive(Clone, Default)]
pub struct Stop(Arc<(AtomicBool, Notify)>);

impl Stop {
    /// Asks the run to end.
    pub fn stop(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify_waiters();
        self.0.1.notify_one();
    }

    /// Whether it was asked to.
    pub fn is_stopped(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    pub(crate) async fn stopped(&self) {
        while !self.is_stopped() {
            self.0.1.notified().await;
        }
    }
}
