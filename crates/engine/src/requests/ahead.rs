//! Bodies that were not encoded before the run. They are built while the run is on, ahead of the draws, which are
//! known.
//!
//! Threads under SCHED_IDLE build them in the order of the draws and put them on a ring, as far ahead as the budget of
//! bytes allows. Such a thread may get no core for seconds, at any instruction, so a worker never waits for a lock that
//! it holds: a body is ready, or it is late. A thread of normal priority builds a late body at once, and the request is
//! sent when the body is ready. No worker builds a body.

use crate::inbox::{Inbox, Sender, inbox};
use crate::requests::prepared::Prepared;
use aiperf_schedule::{Draw, Order, OrderId};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{Builder, scope};
use tokio::sync::oneshot;

/// Draws that a ring spans: a third of a second at the largest rates.
const SPAN: usize = 1 << 14;

/// The first request of a session.
pub(crate) enum First {
    Ready(Prepared),
    /// The body is still being built.
    Late(oneshot::Receiver<Prepared>),
}

/// Builds bodies.
pub(crate) trait BodyBuilder: Sync {
    /// Whether the body of a conversation is kept for the whole run. Then it is not built ahead.
    fn is_kept(&self, conversation: u32) -> bool;
    /// The first request of a conversation, and its size in bytes.
    fn build(&self, conversation: u32) -> (Prepared, usize);
}

/// Bodies that are built ahead of the draws of a run.
pub(crate) struct Ahead {
    rings: Vec<Ring>,
    /// Late bodies are requested here, while a thread builds them; `None` ends that thread.
    late: OnceLock<Sender<Option<LateBody>>>,
    is_closed: AtomicBool,
}

/// A body that a worker waits for.
pub(super) struct LateBody {
    pub(super) draw: Draw,
    pub(super) conversation: u32,
    pub(super) reply: oneshot::Sender<Prepared>,
}

/// The bodies of one order of draws, for at most [`SPAN`] draws.
struct Ring {
    id: OrderId,
    order: Order,
    slots: Box<[Slot]>,
    /// The next draw to build, and the draw after the last one that was taken.
    next: AtomicU64,
    reached: AtomicU64,
    /// Bytes of the bodies that are ready, and their limit.
    bytes: AtomicUsize,
    most: usize,
}

#[derive(Default)]
struct Slot {
    /// The draw after the last one that was taken from this slot.
    taken: AtomicU64,
    ready: Mutex<Option<ReadyBody>>,
}

struct ReadyBody {
    position: u64,
    bytes: usize,
    prepared: Prepared,
}

impl Ahead {
    /// Keeps up to `bytes` of bodies ready, ahead of these orders.
    pub(crate) fn new(orders: Vec<(OrderId, Order)>, bytes: usize) -> Self {
        let most = bytes / orders.len().max(1);
        let rings = orders.into_iter().map(|(id, order)| Ring::new(id, order, most)).collect();
        Self { rings, late: OnceLock::new(), is_closed: AtomicBool::new(false) }
    }

    /// Builds bodies on so many threads until the limit is reached.
    pub(super) fn fill(&self, builder: &impl BodyBuilder, threads: usize) {
        scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot start, the others do the work.
                let _ =
                    Builder::new().name("aiperf-make".into()).spawn_scoped(scope, || while self.make_next(builder) {});
            }
            while self.make_next(builder) {}
        });
    }

    /// The body of a draw, which is taken only once; `None` if it is not ready.
    pub(crate) fn take(&self, draw: Draw) -> Option<Prepared> {
        self.ring(draw)?.take(draw.position)
    }

    /// The body of this draw is kept: the ring moves past it.
    pub(crate) fn pass(&self, draw: Draw) {
        self.ring(draw).into_iter().for_each(|ring| ring.pass(draw.position));
    }

    /// Requests a late body; `None` if no thread builds them.
    pub(crate) fn ask(&self, draw: Draw, conversation: u32) -> Option<oneshot::Receiver<Prepared>> {
        let (reply, late) = oneshot::channel();
        self.late.get()?.send(Some(LateBody { draw, conversation, reply })).then_some(late)
    }

    /// From now on late bodies can be requested. Returns the receiver of these requests.
    pub(super) fn open(&self) -> Inbox<Option<LateBody>> {
        let (ask, asked) = inbox();
        let _ = self.late.set(ask);
        asked
    }

    /// Ends the building of bodies.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
        // A thread that has already ended needs no message.
        if let Some(late) = self.late.get() {
            late.send(None);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    fn ring(&self, draw: Draw) -> Option<&Ring> {
        self.rings.iter().find(|ring| ring.id == draw.order)
    }

    /// Builds the body that is needed next; `false` if all rings are as far ahead as they may be.
    pub(super) fn make_next(&self, builder: &impl BodyBuilder) -> bool {
        let claimed = self.rings.iter().find_map(|ring| Some((ring, ring.claim(builder)?)));
        let Some((ring, (position, conversation))) = claimed else { return false };
        ring.put(position, builder.build(conversation));
        true
    }
}

impl Ring {
    fn new(id: OrderId, order: Order, most: usize) -> Self {
        Self {
            id,
            order,
            slots: (0..SPAN).map(|_| Slot::default()).collect(),
            next: AtomicU64::new(0),
            reached: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
            most,
        }
    }

    fn slot(&self, position: u64) -> &Slot {
        &self.slots[(position % SPAN as u64) as usize]
    }

    /// Claims the next draw to build, with its conversation; no other thread builds it.
    fn claim(&self, builder: &impl BodyBuilder) -> Option<(u64, u32)> {
        loop {
            let (position, reached) = (self.next.load(Acquire), self.reached.load(Acquire));
            if position >= reached + SPAN as u64 {
                return None;
            }
            if self.bytes.load(Relaxed) >= self.most && (position > reached || !self.drop_oldest(reached)) {
                return None;
            }
            let conversation = self.order.conversation(position)?;
            if self.next.compare_exchange(position, position + 1, AcqRel, Relaxed).is_err() {
                continue;
            }
            let is_wanted = self.slot(position).taken.load(Acquire) <= position;
            if is_wanted && !builder.is_kept(conversation) {
                return Some((position, conversation));
            }
        }
    }

    fn put(&self, position: u64, (prepared, bytes): (Prepared, usize)) {
        let slot = self.slot(position);
        let ready = ReadyBody { position, bytes, prepared };
        self.bytes.fetch_add(bytes, Relaxed);
        let old = slot.ready.lock().unwrap_or_else(PoisonError::into_inner).replace(ready);
        self.forget(old);
        // A caller that asked meanwhile found the slot locked. Another thread builds the body for it.
        if slot.taken.load(Acquire) > position {
            self.forget(slot.take(position));
        }
    }

    fn take(&self, position: u64) -> Option<Prepared> {
        let slot = self.slot(position);
        slot.taken.fetch_max(position + 1, AcqRel);
        self.pass(position);
        self.forget(slot.take(position))
    }

    fn pass(&self, position: u64) {
        self.reached.fetch_max(position + 1, AcqRel);
    }

    fn forget(&self, body: Option<ReadyBody>) -> Option<Prepared> {
        let ReadyBody { bytes, prepared, .. } = body?;
        self.bytes.fetch_sub(bytes, Relaxed);
        Some(prepared)
    }

    /// Drops the oldest body that the draws have passed. A phase that ended early may never take it, and the next
    /// bodies need its room. `false` if there is none.
    fn drop_oldest(&self, reached: u64) -> bool {
        let passed = |slot: &Slot| {
            let ready = slot.ready.try_lock().ok()?;
            ready.as_ref().map(|ready| ready.position).filter(|position| *position < reached)
        };
        let oldest = self.slots.iter().filter_map(passed).min();
        oldest.is_some_and(|position| self.forget(self.slot(position).take(position)).is_some())
    }
}

impl Slot {
    /// The body of a draw, if it is here. Never waits: a thread that holds the lock may have no core.
    fn take(&self, position: u64) -> Option<ReadyBody> {
        let mut ready = self.ready.try_lock().ok()?;
        ready.take_if(|ready| ready.position == position)
    }
}

#[cfg(test)]
impl Ahead {
    /// From now on late bodies can be requested but no thread builds them, until the returned value is dropped.
    pub(crate) fn ask_in_vain(&self) -> impl Sized + use<> {
        self.open()
    }
}

#[cfg(test)]
mod tests;
