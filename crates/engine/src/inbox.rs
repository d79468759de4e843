//! The queue of one receiver. Its senders sleep for a moment if another thread uses the queue. They do not spin: a sender of real-time priority that spins could keep the other thread from the core that it needs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

struct Shared<T> {
    waiting: Mutex<Waiting<T>>,
    arrived: Condvar,
    senders: AtomicUsize,
}

struct Waiting<T> {
    items: VecDeque<T>,
    /// All senders are gone, or the receiver is.
    is_closed: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Sender<T>(Arc<Shared<T>>);

/// Takes items, in the order in which they were added.
pub(crate) struct Inbox<T>(Arc<Shared<T>>);

/// What an inbox has for its owner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken<T> {
    Item(T),
    /// Nothing arrived in time.
    Nothing,
    /// It is empty and all senders are gone.
    End,
}

pub(crate) fn inbox<T>() -> (Sender<T>, Inbox<T>) {
    let waiting = Mutex::new(Waiting { items: VecDeque::new(), is_closed: false });
    let shared = Arc::new(Shared { waiting, arrived: Condvar::new(), senders: AtomicUsize::new(1) });
    (Sender(shared.clone()), Inbox(shared))
}

impl<T> Sender<T> {
    /// Returns whether the receiver is still there. If not, the item is dropped.
    pub(crate) fn send(&self, item: T) -> bool {
        let mut waiting = self.0.lock();
        let is_open = !waiting.is_closed;
        if is_open {
            waiting.items.push_back(item);
            self.0.arrived.notify_one();
        }
        is_open
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, AcqRel);
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, AcqRel) == 1 {
            self.0.lock().is_closed = true;
            self.0.arrived.notify_one();
        }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.is_closed = true;
        let unread = std::mem::take(&mut waiting.items);
        drop(waiting);
        drop(unread);
    }
}

impl<T> Inbox<T> {
    /// The next item. Waits until there is one, `None` if there can be none any more.
    pub(crate) fn take(&self) -> Option<T> {
        let is_idle = |waiting: &mut Waiting<T>| waiting.items.is_empty() && !waiting.is_closed;
        let waiting = self.0.arrived.wait_while(self.0.lock(), is_idle);
        waiting.unwrap_or_else(PoisonError::into_inner).items.pop_front()
    }

    /// The next item, if there is one until then.
    pub(crate) fn take_until(&self, until: Instant) -> Taken<T> {
        let mut waiting = self.0.lock();
        loop {
            if let Some(item) = waiting.items.pop_front() {
                return Taken::Item(item);
            }
            let left = until.saturating_duration_since(Instant::now());
            match (waiting.is_closed, left) {
                (true, _) => return Taken::End,
                (false, Duration::ZERO) => return Taken::Nothing,
                (false, left) => {
                    waiting = self.0.arrived.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_ends_with_its_last_sender_and_after_its_last_item() {
        let (sender, inbox) = inbox();
        assert_eq!(inbox.take_until(Instant::now()), Taken::Nothing);
        let other = sender.clone();
        sender.send(1);
        drop(sender);
        std::thread::scope(|scope| {
            scope.spawn(move || other.send(2));
            assert_eq!((inbox.take(), inbox.take(), inbox.take()), (Some(1), Some(2), None));
        });
        assert_eq!(inbox.take_until(Instant::now()), Taken::<i32>::End);
    }

    #[test]
    fn items_for_a_receiver_that_is_gone_are_dropped() {
        let (sender, inbox) = inbox();
        let item = Arc::new(());
        assert!(sender.send(item.clone()));
        drop(inbox);
        assert!(!sender.send(item.clone()));
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
