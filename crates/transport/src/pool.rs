//! Idle connections, newest first, and the limit of connections in use.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos, Timeline};
use nix::sys::socket::{MsgFlags, recv};
use std::cell::RefCell;
use std::os::fd::AsRawFd;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A connection idle for less than this is used without asking the kernel whether the server closed it: the worker's
/// own poll would have seen it.
const FRESH: Nanos = Nanos(1_000_000);

struct Idle {
    stream: TcpStream,
    since: MonoNs,
}

/// Connections of one worker to its targets.
pub struct Pool {
    idle: Vec<RefCell<Vec<Idle>>>,
    in_use: Semaphore,
    keep: Nanos,
}

impl Pool {
    /// An empty pool. `keep` is how long an idle connection lives.
    pub fn new(targets: usize, limit: usize, keep: Nanos) -> Self {
        Self { idle: (0..targets).map(|_| RefCell::default()).collect(), in_use: Semaphore::new(limit.max(1)), keep }
    }

    /// A place among the connections in use; waiting for one is noted.
    pub async fn acquire(&self, timeline: &mut Timeline) -> Option<SemaphorePermit<'_>> {
        if let Ok(place) = self.in_use.try_acquire() {
            return Some(place);
        }
        timeline.pool_wait.0 = mono_now();
        let place = self.in_use.acquire().await.ok();
        timeline.pool_wait.1 = mono_now();
        place
    }

    /// An idle connection that the server has not closed.
    pub fn take(&self, target: usize) -> Option<TcpStream> {
        let now = mono_now();
        let mut idle = self.idle[target].borrow_mut();
        while let Some(Idle { stream, since }) = idle.pop() {
            let age = now.since(since);
            if age < self.keep && is_open(&stream, age) {
                return Some(stream);
            }
        }
        None
    }

    /// Keeps a connection for the next request.
    pub fn give(&self, target: usize, stream: TcpStream) {
        self.idle[target].borrow_mut().push(Idle { stream, since: mono_now() });
    }
}

fn is_open(stream: &TcpStream, age: Nanos) -> bool {
    // Readable while idle is a close, or bytes that belong to no request.
    let readable = stream.try_io(Interest::READABLE, || Ok(()));
    if readable.is_ok() {
        return !has_something(stream);
    }
    age < FRESH || !has_something(stream)
}

fn has_something(stream: &TcpStream) -> bool {
    let mut byte = [0u8; 1];
    let peeked = recv(stream.as_raw_fd(), &mut byte, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
    peeked != Err(nix::errno::Errno::EAGAIN)
}
