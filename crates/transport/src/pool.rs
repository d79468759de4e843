//! Idle connections, newest first, and the limit of connections in use.

use crate::clock::mono_now;
use crate::connection::Connection;
use aiperf_types::{MonoNs, Nanos, Timeline};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Unused connections of a target that are closed in one go.
const CLOSED_AT_A_TIME: usize = 32;

/// Which requests a connection is kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// The next request to a target.
    Anyone,
    /// One session, by its number in the run, which no other session of any phase has.
    Session(u64),
}

struct Idle {
    connection: Connection,
    since: MonoNs,
}

/// Connections of one worker to its targets.
pub struct Pool {
    /// By target.
    anyones: RefCell<Vec<Vec<Idle>>>,
    sessions: RefCell<HashMap<(usize, u64), Idle>>,
    /// Places of the whole process, where they can run out.
    places: Option<Arc<Semaphore>>,
    keep: Nanos,
}

impl Pool {
    /// An empty pool. `places` has one for each connection that the process may use at once; `keep` is how long an idle
    /// one lives.
    pub fn new(places: Option<Arc<Semaphore>>, keep: Nanos) -> Self {
        Self { anyones: RefCell::default(), sessions: RefCell::default(), places, keep }
    }

    /// A place among the connections in use; waiting for one is noted.
    pub async fn acquire(&self, timeline: &mut Timeline) -> Option<SemaphorePermit<'_>> {
        let places = self.places.as_ref()?;
        if let Ok(place) = places.try_acquire() {
            return Some(place);
        }
        // Noted before, too: a request that is cut off while it waits has waited until then.
        timeline.blocked.0 = timeline.leg_start;
        let place = places.acquire().await.ok();
        timeline.blocked = (timeline.leg_start, mono_now());
        place
    }

    /// An idle connection that the server has not closed.
    pub(crate) fn take(&self, target: usize, holder: Holder) -> Option<Connection> {
        let now = mono_now();
        let is_good = |idle: &mut Idle| now.since(idle.since) < self.keep && idle.connection.is_quiet();
        match holder {
            Holder::Session(session) => {
                let mut idle = self.sessions.borrow_mut().remove(&(target, session))?;
                is_good(&mut idle).then_some(idle.connection)
            }
            Holder::Anyone => {
                let mut anyones = self.anyones.borrow_mut();
                let idle = anyones.get_mut(target)?;
                while let Some(mut found) = idle.pop() {
                    if is_good(&mut found) {
                        return Some(found.connection);
                    }
                }
                None
            }
        }
    }

    /// Lets go of the connection of a session that is over.
    pub(crate) fn forget(&self, target: usize, holder: Holder) {
        if let Holder::Session(session) = holder {
            self.sessions.borrow_mut().remove(&(target, session));
        }
    }

    /// Closes connections that no request has used since an instant, a few of each target: each takes time. Those of
    /// sessions stay.
    pub(crate) fn close_unused(&self, since: MonoNs) {
        for idle in self.anyones.borrow_mut().iter_mut() {
            // The longest unused are first.
            let unused = idle.partition_point(|idle| idle.since < since);
            idle.drain(..unused.min(CLOSED_AT_A_TIME));
        }
    }

    /// Keeps a connection for the next request.
    pub(crate) fn give(&self, target: usize, holder: Holder, connection: Connection) {
        let idle = Idle { connection, since: mono_now() };
        match holder {
            Holder::Session(session) => drop(self.sessions.borrow_mut().insert((target, session), idle)),
            Holder::Anyone => {
                let mut anyones = self.anyones.borrow_mut();
                if anyones.len() <= target {
                    anyones.resize_with(target + 1, Vec::new);
                }
                anyones[target].push(idle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;
    use crate::stamp::{StampMode, StampedReader};
    use std::io::Write;
    use std::net::TcpListener;
    use std::rc::Rc;
    use tokio::net::TcpStream;

    #[test]
    fn a_connection_on_which_anything_came_is_not_used_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let connect = || {
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            let socket = Socket::from(TcpStream::from_std(client).unwrap());
            let reader = Rc::new(StampedReader::new(StampMode::User));
            (Connection::plain(socket, reader), listener.accept().unwrap().0)
        };
        let pool = Pool::new(None, Nanos::MAX);
        let (quiet, _server) = connect();
        pool.give(0, Holder::Anyone, quiet);
        assert!(pool.take(0, Holder::Session(1)).is_none(), "not kept for a session");
        assert!(pool.take(0, Holder::Anyone).is_some());
        let (spoken_to, mut server) = connect();
        pool.give(0, Holder::Anyone, spoken_to);
        server.write_all(b"more").unwrap();
        assert!(pool.take(0, Holder::Anyone).is_none(), "bytes that belong to no request");
        let (closed, server) = connect();
        pool.give(0, Holder::Session(1), closed);
        drop(server);
        assert!(pool.take(0, Holder::Session(1)).is_none(), "a close");
        assert!(pool.sessions.borrow().is_empty(), "nothing stays of a session");
    }

    #[test]
    fn connections_unused_since_an_instant_are_closed() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut servers = Vec::new();
        let mut connect = || {
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            servers.push(listener.accept().unwrap().0);
            let socket = Socket::from(TcpStream::from_std(client).unwrap());
            Connection::plain(socket, Rc::new(StampedReader::new(StampMode::User)))
        };
        let pool = Pool::new(None, Nanos::MAX);
        pool.give(0, Holder::Anyone, connect());
        pool.give(0, Holder::Session(1), connect());
        let since = mono_now().plus(Nanos(1));
        while mono_now() < since {}
        pool.give(0, Holder::Anyone, connect());
        pool.close_unused(since);
        assert!(pool.take(0, Holder::Anyone).is_some(), "given since");
        assert!(pool.take(0, Holder::Anyone).is_none(), "unused since");
        assert!(pool.take(0, Holder::Session(1)).is_some(), "its session may go on");
    }
}
