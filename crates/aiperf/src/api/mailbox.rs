//! Messages that wait for one WebSocket client: all events, and the latest of each snapshot.

use super::messages::Push;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Subscribes to everything.
pub(super) const EVERYTHING: &str = "*";
/// Bytes of several messages that may wait for a client. Snapshots replace each other, and a run has few phases: if
/// more is waiting, the client is gone without a close. One message may be larger, for example with many GPUs.
pub(super) const MOST_WAITING: usize = 4 << 20;

/// The messages of a client. The thread that receives events fills it, and the connection of the client empties it.
#[derive(Default)]
pub(super) struct Mailbox {
    waiting: Mutex<Waiting>,
    wake: Notify,
    /// Whether the last message of the run was written to the socket.
    is_flushed: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    topics: BTreeSet<String>,
    queue: VecDeque<Entry>,
    /// The latest of each snapshot, so that an equal one is not sent again.
    latest: HashMap<(&'static str, u32), Utf8Bytes>,
    bytes: usize,
    is_overrun: bool,
}

struct Entry {
    /// The kind and number of a snapshot; only the latest counts.
    of: Option<(&'static str, u32)>,
    text: Utf8Bytes,
}

impl Mailbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn subscribe(&self, topics: impl IntoIterator<Item = String>) {
        let mut waiting = self.waiting();
        waiting.topics.extend(topics);
        waiting.latest.clear();
    }

    pub(super) fn unsubscribe<'a>(&self, topics: impl IntoIterator<Item = &'a str>) {
        let mut waiting = self.waiting();
        for topic in topics {
            waiting.topics.remove(topic);
        }
    }

    /// Whether its client subscribed to this kind.
    pub(super) fn wants(&self, kind: &str) -> bool {
        let topics = &self.waiting().topics;
        topics.contains(kind) || topics.contains(EVERYTHING)
    }

    /// Adds a message. It replaces an older snapshot of the same kind that still waits. A snapshot equal to the one
    /// before is dropped.
    pub(super) fn put(&self, push: &Push, text: &Utf8Bytes) {
        let mut waiting = self.waiting();
        let of = push.snapshot_of.map(|number| (push.kind, number));
        if of.and_then(|of| waiting.latest.insert(of, text.clone())).is_some_and(|before| before == *text) {
            return;
        }
        let older = of.and_then(|of| waiting.queue.iter_mut().find(|entry| entry.of == Some(of)));
        let freed = match older {
            Some(entry) => std::mem::replace(&mut entry.text, text.clone()).len(),
            None => {
                waiting.queue.push_back(Entry { of, text: text.clone() });
                0
            }
        };
        waiting.bytes = waiting.bytes + text.len() - freed;
        if waiting.bytes > MOST_WAITING && waiting.queue.len() > 1 {
            waiting.is_overrun = true;
            waiting.queue.clear();
            waiting.bytes = 0;
        }
        self.wake.notify_one();
    }

    /// All waiting messages; `None` if there were too many, so the client is disconnected.
    pub(super) fn take(&self) -> Option<VecDeque<Utf8Bytes>> {
        let mut waiting = self.waiting();
        waiting.bytes = 0;
        let queue = std::mem::take(&mut waiting.queue);
        (!waiting.is_overrun).then(|| queue.into_iter().map(|entry| entry.text).collect())
    }

    /// The run is over, and its last message was written to the socket.
    pub(super) fn set_flushed(&self) {
        self.is_flushed.store(true, Ordering::Release);
    }

    pub(super) fn is_flushed(&self) -> bool {
        self.is_flushed.load(Ordering::Acquire)
    }

    /// Waits until there is a message to take.
    pub(super) async fn filled(&self) {
        self.wake.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn push(kind: &'static str, snapshot_of: Option<u32>) -> Push {
        Push { kind, snapshot_of, body: json!({}) }
    }

    fn taken(mailbox: &Mailbox) -> Vec<String> {
        mailbox.take().unwrap().iter().map(|text| text.as_str().to_owned()).collect()
    }

    #[test]
    fn a_slow_client_loses_old_snapshots_and_no_message() {
        let mailbox = Mailbox::default();
        for number in 0..3 {
            mailbox.put(&push("progress", Some(0)), &format!("progress 0 {number}").into());
            mailbox.put(&push("progress", Some(1)), &format!("progress 1 {number}").into());
            mailbox.put(&push("phase", None), &format!("phase {number}").into());
        }
        assert_eq!(taken(&mailbox), ["progress 0 2", "progress 1 2", "phase 0", "phase 1", "phase 2"]);
        assert!(taken(&mailbox).is_empty());
    }

    #[test]
    fn an_unchanged_snapshot_is_not_sent_again() {
        let mailbox = Mailbox::default();
        let put = |text: &str| mailbox.put(&push("status", Some(0)), &text.into());
        put("idle");
        assert_eq!(taken(&mailbox), ["idle"]);
        put("idle");
        assert!(taken(&mailbox).is_empty());
        put("busy");
        put("idle");
        assert_eq!(taken(&mailbox), ["idle"]);
        mailbox.subscribe(["status".to_owned()]);
        put("idle");
        assert_eq!(taken(&mailbox), ["idle"], "a new subscription starts without it");
    }

    #[test]
    fn a_client_that_never_reads_is_disconnected() {
        let mailbox = Mailbox::default();
        let text: Utf8Bytes = "x".repeat(MOST_WAITING / 4).into();
        for _ in 0..4 {
            mailbox.put(&push("phase", None), &text);
        }
        for _ in 0..100 {
            mailbox.put(&push("progress", Some(0)), &"".into());
        }
        assert!(mailbox.waiting().queue.len() == 5, "as much as is allowed");
        mailbox.put(&push("phase", None), &text);
        assert_eq!(mailbox.take(), None);
    }

    #[test]
    fn one_message_may_have_any_size() {
        let mailbox = Mailbox::default();
        let text: Utf8Bytes = "x".repeat(MOST_WAITING + 1).into();
        mailbox.put(&push("gpus", Some(0)), &text);
        assert_eq!(taken(&mailbox).len(), 1);
        mailbox.put(&push("gpus", Some(1)), &text);
        mailbox.put(&push("phase", None), &"more".into());
        assert_eq!(mailbox.take(), None, "it has not read that one");
    }

    #[test]
    fn a_client_gets_nothing_before_it_subscribes() {
        let mailbox = Mailbox::default();
        assert!(!mailbox.wants("heartbeat"));
        mailbox.subscribe(["heartbeat".to_owned(), EVERYTHING.to_owned()]);
        assert!(mailbox.wants("heartbeat") && mailbox.wants("worker_health"));
        mailbox.unsubscribe([EVERYTHING]);
        assert!(mailbox.wants("heartbeat") && !mailbox.wants("worker_health"));
    }
}
