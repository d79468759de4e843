//! How often a server that takes no connections is tried: at once, then less and less often, at most a hundred times a second
//! for the whole process, until a connect succeeds. Without it a dead server is asked as fast as its refusals come back, some
//! 70,000 times a second, and a run is over before the server is back.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Between two tries: first, and at most.
const SHORTEST_GAP: Nanos = Nanos(1_000_000);
const LONGEST_GAP: Nanos = Nanos(10_000_000);

/// Whether a connect may go out.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Go,
    WaitUntil(MonoNs),
}

/// Which servers take no connections, and when one of them may be tried next.
#[derive(Debug, Default)]
struct Failing {
    addresses: BTreeSet<String>,
    /// Those that were told of.
    told: BTreeSet<String>,
    in_a_row: u32,
    next: MonoNs,
}

impl Failing {
    fn turn(&mut self, address: &str, now: MonoNs) -> Turn {
        if !self.addresses.contains(address) {
            return Turn::Go;
        }
        if now < self.next {
            return Turn::WaitUntil(self.next);
        }
        self.next = now.plus(self.gap());
        Turn::Go
    }

    /// Notes a failure; `true` when people should hear of it.
    fn note_failure(&mut self, address: &str, now: MonoNs) -> bool {
        self.in_a_row += 1;
        self.next = now.plus(self.gap());
        self.addresses.insert(address.to_owned());
        self.told.insert(address.to_owned())
    }

    fn note_success(&mut self, address: &str) {
        self.addresses.remove(address);
        if self.addresses.is_empty() {
            self.in_a_row = 0;
        }
    }

    fn gap(&self) -> Nanos {
        let doublings = self.in_a_row.saturating_sub(1).min(8);
        Nanos((SHORTEST_GAP.0 << doublings).min(LONGEST_GAP.0))
    }
}

/// The pace of connects to servers that fail, shared by the clients of a process.
pub struct ConnectPace {
    /// Some server takes no connections: nearly always false, and then nothing else is looked at.
    is_failing: AtomicBool,
    failing: Mutex<Failing>,
    /// Held by the one who waits for the next try; the others wait for it, in order.
    turn: Semaphore,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl ConnectPace {
    /// A pace that tells once of each server that takes no connections.
    pub fn telling(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            is_failing: AtomicBool::new(false),
            failing: Mutex::default(),
            turn: Semaphore::new(1),
            tell: Box::new(tell),
        }
    }

    /// Waits until a connect may go out; returns when the waiting began, if there was any.
    pub(crate) async fn wait(&self, address: &str) -> Option<MonoNs> {
        if !self.is_failing.load(Relaxed) || !self.failing().addresses.contains(address) {
            return None;
        }
        let began = mono_now();
        let _turn = self.turn.acquire().await;
        loop {
            let now = mono_now();
            let turn = self.failing().turn(address, now);
            match turn {
                Turn::Go => return Some(began),
                Turn::WaitUntil(at) => tokio::time::sleep(Duration::from_nanos(at.since(now).0)).await,
            }
        }
    }

    pub(crate) fn note_failure(&self, address: &str, how: &str) {
        let is_news = self.failing().note_failure(address, mono_now());
        self.is_failing.store(true, Relaxed);
        if is_news {
            (self.tell)(&format!("connections to {address} {how}; trying at most 100 times a second"));
        }
    }

    pub(crate) fn note_success(&self, address: &str) {
        if self.is_failing.load(Relaxed) {
            let mut failing = self.failing();
            failing.note_success(address);
            self.is_failing.store(!failing.addresses.is_empty(), Relaxed);
        }
    }

    fn failing(&self) -> MutexGuard<'_, Failing> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Tries made in a time by someone who tries whenever it is allowed, and the gaps between the first of them.
    fn tries(failing: &mut Failing, until: u64) -> Vec<u64> {
        let (mut now, mut tries) = (0, Vec::new());
        while now < until {
            match failing.turn("a:1", MonoNs(now)) {
                Turn::Go => {
                    tries.push(now);
                    failing.note_failure("a:1", MonoNs(now));
                }
                Turn::WaitUntil(at) => now = at.0,
            }
        }
        tries
    }

    #[test]
    fn a_server_that_refuses_is_tried_at_once_and_then_less_and_less_often() {
        let tries = tries(&mut Failing::default(), 10_000 * MS);
        let gaps: Vec<u64> = tries.windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect();
        assert_eq!(gaps[..6], [1, 2, 4, 8, 10, 10]);
        assert!(tries.len() <= 1005 && tries.len() > 990, "{}", tries.len());
    }

    #[test]
    fn a_connect_that_succeeds_ends_the_waiting_and_others_never_wait() {
        let mut failing = Failing::default();
        tries(&mut failing, 100 * MS);
        let next = failing.next;
        assert_eq!(failing.turn("b:1", MonoNs(50)), Turn::Go);
        assert_eq!(failing.turn("a:1", MonoNs(next.0 - 1)), Turn::WaitUntil(next));
        failing.note_success("a:1");
        assert_eq!(failing.turn("a:1", MonoNs(next.0 - 1)), Turn::Go);
        assert!(failing.note_failure("b:1", next), "another server is told of");
        assert!(!failing.note_failure("a:1", next), "nobody is told twice");
    }
}
