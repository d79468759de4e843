//! Stopping a run and watching it.

use aiperf_types::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

/// Where a run puts its progress about ten times a second, for whoever looks.
#[derive(Clone, Default)]
pub struct Board(Arc<Mutex<Progress>>);

impl Board {
    /// The latest snapshot.
    pub fn look(&self) -> Progress {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a snapshot up, unless somebody is looking just now: a worker never waits for the screen.
    pub(crate) fn put(&self, progress: Progress) {
        if let Ok(mut place) = self.0.try_lock() {
            *place = progress;
        }
    }

    pub(crate) fn finish(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).finished = true;
    }
}
