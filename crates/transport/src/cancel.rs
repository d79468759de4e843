//! Stopping a request from outside: by the end of a phase, by Ctrl-C, or because its time is up.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Why a request is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// The run or the phase ended.
    Stopped,
    /// Its total time is up.
    TimedOut,
    /// It was not written in its time.
    SendTimedOut,
    /// The plan has it cancelled some time after it was sent.
    Planned,
    /// A stream whose last event had come was not ended in its time.
    LeftOpen,
}

/// A request's stop sign, shared by the task that runs it and the worker that may stop it.
#[derive(Clone, Default)]
pub struct Cancel(Rc<Inner>);

#[derive(Default)]
struct Inner {
    reason: Cell<Option<CancelReason>>,
    nudged: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Cancel {
    /// Stops the request; the first reason counts.
    pub fn cancel(&self, reason: CancelReason) {
        if self.0.reason.get().is_none() {
            self.0.reason.set(Some(reason));
            if let Some(waker) = self.0.waker.borrow_mut().take() {
                waker.wake();
            }
        }
    }

    /// Has the request look whether it waits for nothing.
    pub fn nudge(&self) {
        self.0.nudged.set(true);
        if let Some(waker) = &*self.0.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Whether it was nudged and has not looked yet.
    pub fn is_nudged(&self) -> bool {
        self.0.nudged.get()
    }

    /// The same, asked by the one who looks.
    pub(crate) fn take_nudge(&self) -> bool {
        self.0.nudged.take()
    }

    /// The reason, once there is one; otherwise the task is woken when there is.
    pub fn poll(&self, cx: &mut Context<'_>) -> Option<CancelReason> {
        if let Some(reason) = self.0.reason.get() {
            return Some(reason);
        }
        // A request lives in one task, so its waker is stored once rather than once a read.
        let mut slot = self.0.waker.borrow_mut();
        if slot.is_none() {
            *slot = Some(cx.waker().clone());
        }
        None
    }

    /// Waits for the stop.
    pub(crate) async fn stopped(&self) -> CancelReason {
        std::future::poll_fn(|cx| self.poll(cx).map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Runs a future unless the request is stopped first.
    pub async fn or<F: Future>(&self, future: F) -> Result<F::Output, CancelReason> {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| match self.poll(cx) {
            Some(reason) => Poll::Ready(Err(reason)),
            None => future.as_mut().poll(cx).map(Ok),
        })
        .await
    }
}
