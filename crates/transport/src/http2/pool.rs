//! Open HTTP/2 connections, each used by many requests at once.

use super::Http2Connection;
use crate::clock::mono_now;
use crate::pool::Holder;
use aiperf_types::Nanos;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Semaphore;

/// The connections to one target.
struct Connections {
    open: RefCell<Vec<Rc<Http2Connection>>>,
    /// Held by the one who opens another: the others wait, since what is opened will serve them too.
    opening: Semaphore,
}

impl Default for Connections {
    fn default() -> Self {
        Self { open: RefCell::default(), opening: Semaphore::new(1) }
    }
}

/// Connections of one worker to its targets.
pub(crate) struct Http2Pool {
    targets: RefCell<HashMap<(usize, Holder), Rc<Connections>>>,
    keep: Nanos,
}

/// A connection with room for a request, and whether it was there before the request came.
pub(crate) struct Found {
    pub(crate) connection: Rc<Http2Connection>,
    pub(crate) was_open: bool,
    /// Another was opening it.
    pub(crate) waited: bool,
}

impl Http2Pool {
    /// An empty pool. `keep` is how long an idle connection lives.
    pub(crate) fn new(keep: Nanos) -> Self {
        Self { targets: RefCell::default(), keep }
    }

    /// A connection that has room, or a new one.
    pub(crate) async fn get<E>(
        &self,
        target: usize,
        holder: Holder,
        open: impl Future<Output = Result<Http2Connection, E>>,
    ) -> Result<Found, E> {
        let connections = self.targets.borrow_mut().entry((target, holder)).or_default().clone();
        if let Some(connection) = self.with_room(&connections) {
            return Ok(Found { connection, was_open: true, waited: false });
        }
        let at_once = connections.opening.try_acquire().ok();
        let waited = at_once.is_none();
        let _turn = match at_once {
            Some(turn) => Some(turn),
            None => connections.opening.acquire().await.ok(),
        };
        if let Some(connection) = self.with_room(&connections).filter(|_| waited) {
            return Ok(Found { connection, was_open: true, waited });
        }
        let connection = Rc::new(open.await?);
        connections.open.borrow_mut().push(connection.clone());
        Ok(Found { connection, was_open: false, waited })
    }

    /// Forgets the connections of a session that sends nothing more.
    pub(crate) fn forget(&self, target: usize, holder: Holder) {
        self.targets.borrow_mut().remove(&(target, holder));
    }

    fn with_room(&self, connections: &Connections) -> Option<Rc<Http2Connection>> {
        let mut open = connections.open.borrow_mut();
        let now = mono_now();
        open.retain(|connection| {
            let is_fresh = connection.open_streams() > 0 || now.since(connection.last_used()) < self.keep;
            connection.is_usable() && is_fresh
        });
        open.iter().find(|connection| connection.free_streams() > 0).cloned()
    }
}
