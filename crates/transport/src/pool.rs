//! Idle connections, newest first, and the limit of connections in use.

use crate::clock::mono_now;
use aiperf_types::{MonoNs, Nanos, Timeline};
use nix::sys::socket::{MsgFlags, recv};
use std::cell::RefCell;
use std::os::fd::AsRawFd;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, SemaphorePermit};

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
            if now.since(since) < self.keep && is_quiet(&stream) {
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

/// Whether nothing came while a connection was idle: a close, or bytes that belong to no request and would be taken for the
/// beginning of the next answer. The kernel is asked every time: what came since the worker last polled is not known here.
fn is_quiet(stream: &TcpStream) -> bool {
    let mut byte = [0u8; 1];
    let peeked = recv(stream.as_raw_fd(), &mut byte, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
    peeked == Err(nix::errno::Errno::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn a_connection_on_which_anything_came_is_not_used_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            (TcpStream::from_std(client).unwrap(), listener.accept().unwrap().0)
        };
        let pool = Pool::new(1, 1, Nanos::MAX);
        let (quiet, _server) = connect();
        pool.give(0, quiet);
        assert!(pool.take(0).is_some());
        let (spoken_to, mut server) = connect();
        pool.give(0, spoken_to);
        server.write_all(b"more").unwrap();
        assert!(pool.take(0).is_none(), "bytes that belong to no request");
        let (closed, server) = connect();
        pool.give(0, closed);
        drop(server);
        assert!(pool.take(0).is_none(), "a close");
    }
}
