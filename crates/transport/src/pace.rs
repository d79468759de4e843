//! How often a server that takes no connections is tried: at once, then less and less often, until a connect succeeds.
//! Each server waits for itself; all that fail together are tried at most a hundred times a second by the whole
//! process. Without this a dead server is asked as fast as its refusals come back, and a run is over before the server
//! is back. Where no server ever accepted a connection, callers learn since when.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Between the first two tries of a server.
const SHORTEST_GAP: Nanos = Nanos(1_000_000);
/// Between two tries of any servers that fail, in the long run.
const LONGEST_GAP: Nanos = Nanos(10_000_000);
/// Twice as long after each failure, up to a minute: the longest gap of thousands of servers.
const MOST_DOUBLINGS: u32 = 16;

/// Whether a connect may go out.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Now,
    NotBefore(MonoNs),
}

/// A server that took no connection once.
#[derive(Debug)]
struct Server {
    /// Failures since the last success.
    in_a_row: u32,
    first_failure: MonoNs,
    next: MonoNs,
    /// Held by the one who waits for the next try; the others wait for it, in order.
    queue: Arc<Semaphore>,
}

impl Server {
    fn failed_at(now: MonoNs) -> Self {
        Self { in_a_row: 0, first_failure: now, next: MonoNs(0), queue: Arc::new(Semaphore::new(1)) }
    }

    fn is_failing(&self) -> bool {
        self.in_a_row > 0
    }

    /// Between two tries of this server, when so many fail: they share what the process may do.
    fn gap(&self, failing: usize) -> Nanos {
        let doublings = self.in_a_row.saturating_sub(1).min(MOST_DOUBLINGS);
        Nanos((SHORTEST_GAP.0 << doublings).min(LONGEST_GAP.0 * failing.max(1) as u64))
    }
}

/// The servers that took no connection once, by address.
#[derive(Debug, Default)]
struct Servers(BTreeMap<String, Server>);

impl Servers {
    fn attempt(&mut self, address: &str, now: MonoNs) -> Attempt {
        let failing = self.failing();
        match self.0.get_mut(address).filter(|server| server.is_failing()) {
            None => Attempt::Now,
            Some(server) if now < server.next => Attempt::NotBefore(server.next),
            Some(server) => {
                server.next = now.plus(server.gap(failing));
                Attempt::Now
            }
        }
    }

    /// When the first connect failed; the earliest of all servers.
    fn first_failure(&self) -> Option<MonoNs> {
        self.0.values().map(|server| server.first_failure).min()
    }

    /// Notes a failure; `true` when people should hear of it: at the first of a server.
    fn note_failure(&mut self, address: &str, now: MonoNs) -> bool {
        let is_news = !self.0.contains_key(address);
        self.0.entry(address.to_owned()).or_insert_with(|| Server::failed_at(now)).in_a_row += 1;
        let failing = self.failing();
        if let Some(server) = self.0.get_mut(address) {
            server.next = now.plus(server.gap(failing));
        }
        is_news
    }

    fn note_success(&mut self, address: &str) {
        if let Some(server) = self.0.get_mut(address) {
            server.in_a_row = 0;
        }
    }

    fn failing(&self) -> usize {
        self.0.values().filter(|server| server.is_failing()).count()
    }

    /// Where those who want to try a server that fails wait.
    fn queue(&self, address: &str) -> Option<Arc<Semaphore>> {
        self.0.get(address).filter(|server| server.is_failing()).map(|server| server.queue.clone())
    }
}

/// The pace of connects to servers that fail, shared by the clients of a process.
pub struct ConnectPace {
    /// Some server takes no connections: nearly always false, and then nothing else is looked at.
    is_failing: AtomicBool,
    /// Some server accepted a connection once.
    has_connected: AtomicBool,
    servers: Mutex<Servers>,
    report: Box<dyn Fn(&str) + Send + Sync>,
}

impl ConnectPace {
    /// A pace that reports each server that takes no connections once.
    pub fn reporting(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (is_failing, has_connected) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { is_failing, has_connected, servers: Mutex::default(), report: Box::new(report) }
    }

    /// Since when connects fail, where no server ever accepted one.
    pub fn unreachable_since(&self) -> Option<MonoNs> {
        if !self.is_failing.load(Relaxed) || self.has_connected.load(Relaxed) {
            return None;
        }
        self.servers().first_failure()
    }

    /// The servers that ever failed, by address.
    pub fn failed_addresses(&self) -> Vec<String> {
        self.servers().0.keys().cloned().collect()
    }

    /// Waits until a connect may go out; returns when the waiting began, if there was any.
    pub(crate) async fn wait(&self, address: &str) -> Option<MonoNs> {
        if !self.is_failing.load(Relaxed) {
            return None;
        }
        let queue = self.servers().queue(address)?;
        let began = mono_now();
        let _first = queue.acquire().await;
        loop {
            let now = mono_now();
            let attempt = self.servers().attempt(address, now);
            match attempt {
                Attempt::Now => return Some(began),
                Attempt::NotBefore(at) => tokio::time::sleep(Duration::from_nanos(at.since(now).0)).await,
            }
        }
    }

    pub(crate) fn note_failure(&self, address: &str, how: &str) {
        let mut servers = self.servers();
        let is_news = servers.note_failure(address, mono_now());
        self.is_failing.store(true, Relaxed);
        drop(servers);
        if is_news {
            (self.report)(&format!("connections to {address} {how}; trying at most 100 times a second"));
        }
    }

    pub(crate) fn note_success(&self, address: &str) {
        if !self.has_connected.load(Relaxed) {
            self.has_connected.store(true, Relaxed);
        }
        if self.is_failing.load(Relaxed) {
            let mut servers = self.servers();
            servers.note_success(address);
            self.is_failing.store(servers.failing() > 0, Relaxed);
        }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Tries made of each server in a time by people who try whenever it is allowed.
    fn tries(servers: &mut Servers, addresses: &[&str], until: u64) -> Vec<Vec<u64>> {
        let mut tries = vec![Vec::new(); addresses.len()];
        for now in (0..until).step_by(MS as usize) {
            for (tries, address) in tries.iter_mut().zip(addresses) {
                while servers.attempt(address, MonoNs(now)) == Attempt::Now {
                    tries.push(now);
                    servers.note_failure(address, MonoNs(now));
                }
            }
        }
        tries
    }

    #[test]
    fn servers_are_unreachable_since_the_first_refusal_until_one_of_them_accepts() {
        let pace = ConnectPace::reporting(|_| ());
        assert_eq!(pace.unreachable_since(), None, "nothing was tried");
        pace.note_failure("a:1", "are refused");
        let since = pace.unreachable_since();
        assert!(since.is_some());
        pace.note_failure("b:1", "are refused");
        pace.note_failure("a:1", "are refused");
        assert_eq!(pace.unreachable_since(), since);
        assert_eq!(pace.failed_addresses(), ["a:1", "b:1"]);
        pace.note_success("b:1");
        assert_eq!(pace.unreachable_since(), None, "one of several is enough");
        pace.note_failure("b:1", "are refused");
        assert_eq!(pace.unreachable_since(), None, "it was reachable once");
    }

    #[test]
    fn a_server_that_refuses_is_tried_at_once_and_then_less_and_less_often() {
        let tries = &tries(&mut Servers::default(), &["a:1"], 10_000 * MS)[0];
        let gaps: Vec<u64> = tries.windows(2).map(|pair| (pair[1] - pair[0]) / MS).collect();
        assert_eq!(gaps[..6], [1, 2, 4, 8, 10, 10]);
        assert!(tries.len() <= 1005 && tries.len() > 990, "{}", tries.len());
    }

    #[test]
    fn servers_that_refuse_share_a_hundred_tries_a_second() {
        let tries = tries(&mut Servers::default(), &["a:1", "b:1", "c:1", "d:1"], 10_000 * MS);
        for tries in &tries {
            assert!(tries.len() <= 260 && tries.len() > 240, "{}", tries.len());
        }
    }

    #[test]
    fn a_server_that_is_long_dead_does_not_hold_up_one_that_failed_once() {
        let mut servers = Servers::default();
        tries(&mut servers, &["a:1"], 100 * MS);
        let now = MonoNs(100 * MS);
        servers.note_failure("b:1", now);
        assert_eq!(servers.attempt("b:1", now), Attempt::NotBefore(now.plus(SHORTEST_GAP)));
        let (dead, other) = (servers.queue("a:1"), servers.queue("b:1"));
        assert!(dead.zip(other).is_some_and(|(dead, other)| !Arc::ptr_eq(&dead, &other)), "each has its own queue");
    }

    #[test]
    fn a_connect_that_succeeds_ends_the_waiting_and_others_never_wait() {
        let mut servers = Servers::default();
        tries(&mut servers, &["a:1"], 100 * MS);
        let next = servers.0["a:1"].next;
        let before = MonoNs(next.0 - 1);
        assert_eq!(servers.attempt("b:1", MonoNs(50)), Attempt::Now);
        assert_eq!(servers.attempt("a:1", before), Attempt::NotBefore(next));
        servers.note_success("a:1");
        assert_eq!(servers.attempt("a:1", before), Attempt::Now);
        assert!(servers.note_failure("b:1", next), "another server is reported");
        assert!(!servers.note_failure("a:1", next), "no server is reported twice");
    }
}
