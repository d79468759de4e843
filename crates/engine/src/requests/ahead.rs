//! Bodies that did not fit beforehand: made while the run is on, ahead of the schedule's draws, which are known.
//!
//! Threads under SCHED_IDLE make them in the order of the draws and put them on a ring, as far ahead as their bytes go.
//! Such a thread may get no core for seconds, at any instruction, so a worker never waits for what it holds: a body is
//! there, or it is late. A late one is made at once by a thread of normal priority, and its request goes out when it is
//! made; no worker makes any.

use crate::requests::{PreparedRequest, Requests, Unbuildable};
use aiperf_dataset::courtesy;
use aiperf_schedule::{Draw, Order, OrderId};
use aiperf_transport::sys;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, scope};
use std::time::Duration;
use tokio::sync::oneshot;

/// Draws that a ring spans: a third of a second of the largest rates there are.
const SPAN: usize = 1 << 14;
/// How long a thread sleeps that is as far ahead as it may be: longer and longer.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);
const LONGEST_SLEEP: Duration = Duration::from_millis(8);
/// A thread that makes bodies for so many cores: as many as feed workers that need the others.
const CORES_A_THREAD: usize = 4;

/// What came of making a body.
pub(crate) type Prepared = Result<Arc<PreparedRequest>, Unbuildable>;

/// The first request of a session.
pub(crate) enum First {
    Ready(Prepared),
    /// Being made.
    Late(oneshot::Receiver<Prepared>),
}

/// Bodies ahead of the draws of a run.
pub(crate) struct Ahead {
    rings: Vec<Ring>,
    /// Where bodies are asked for that are late, while there is somebody who makes them; `None` ends that.
    late: OnceLock<Sender<Option<LateBody>>>,
    is_closed: AtomicBool,
}

/// A body that somebody waits for.
struct LateBody {
    draw: Draw,
    conversation: u32,
    reply: oneshot::Sender<Prepared>,
}

/// The bodies of one order of draws, those of [`SPAN`] draws at most.
struct Ring {
    id: OrderId,
    order: Order,
    slots: Box<[Slot]>,
    /// The draw that is made next, and the one after the last that was asked for.
    next: AtomicU64,
    reached: AtomicU64,
    /// Bytes of bodies that are ready, and how many there may be.
    bytes: AtomicUsize,
    most: usize,
}

#[derive(Default)]
struct Slot {
    /// The draw after the last that was asked for here.
    taken: AtomicU64,
    ready: Mutex<Option<ReadyBody>>,
}

struct ReadyBody {
    position: u64,
    bytes: usize,
    prepared: Prepared,
}

impl Ahead {
    /// So many bytes of bodies, ahead of these orders.
    pub(crate) fn new(orders: Vec<(OrderId, Order)>, bytes: usize) -> Self {
        let most = bytes / orders.len().max(1);
        let rings = orders.into_iter().map(|(id, order)| Ring::new(id, order, most)).collect();
        Self { rings, late: OnceLock::new(), is_closed: AtomicBool::new(false) }
    }

    /// Makes bodies on so many threads until as many are ready as may be.
    pub(crate) fn fill(&self, requests: &Requests, threads: usize) {
        scope(|scope| {
            for _ in 1..threads {
                // Where no more threads are to be had, fewer do it.
                let _ =
                    Builder::new().name("aiperf-make".into()).spawn_scoped(scope, || while self.make_next(requests) {});
            }
            while self.make_next(requests) {}
        });
    }

    /// The body of a draw, which nobody asks for again; `None` where it is not ready.
    pub(crate) fn take(&self, draw: Draw) -> Option<Prepared> {
        self.ring(draw)?.take(draw.position)
    }

    /// A draw whose body is kept: those after it come next.
    pub(crate) fn pass(&self, draw: Draw) {
        self.ring(draw).into_iter().for_each(|ring| ring.pass(draw.position));
    }

    /// Has a late body made; `None` where nobody makes any.
    pub(crate) fn ask(&self, draw: Draw, conversation: u32) -> Option<oneshot::Receiver<Prepared>> {
        let (reply, answer) = oneshot::channel();
        self.late.get()?.send(Some(LateBody { draw, conversation, reply })).ok()?;
        Some(answer)
    }

    fn ring(&self, draw: Draw) -> Option<&Ring> {
        self.rings.iter().find(|ring| ring.id == draw.order)
    }

    /// Makes the body that is needed next; `false` where all rings are as far ahead as they may be.
    fn make_next(&self, requests: &Requests) -> bool {
        let claimed = self.rings.iter().find_map(|ring| Some((ring, ring.claim(requests)?)));
        let Some((ring, (position, conversation))) = claimed else { return false };
        ring.put(position, requests.make_ahead(conversation));
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

    /// The next draw whose body is to be made, and its conversation; nobody else makes it.
    fn claim(&self, requests: &Requests) -> Option<(u64, u32)> {
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
            if is_wanted && !requests.is_kept(conversation) {
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
        // Whoever asked meanwhile found the slot locked, and has it made by another.
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

    /// Lets go of the oldest body that the draws have passed: a phase that ended early may never ask for it, and what
    /// comes next has no room. `false` where there is none.
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

/// The threads that make bodies while a run is on. They end when this goes.
pub(crate) struct BodyThreads {
    requests: Arc<Requests>,
    threads: Vec<JoinHandle<()>>,
}

impl BodyThreads {
    /// None where every body is there already.
    pub(crate) fn start(requests: &Arc<Requests>, cores: usize) -> io::Result<Option<Self>> {
        let Some(ahead) = requests.ahead() else { return Ok(None) };
        let (ask, asked) = channel();
        let _ = ahead.late.set(ask);
        let mut started = Self { requests: requests.clone(), threads: Vec::new() };
        let late = requests.clone();
        started.spawn("aiperf-late".to_owned(), move || make_late(&late, &asked))?;
        for number in 0..(cores / CORES_A_THREAD).max(1) {
            let requests = requests.clone();
            started.spawn(format!("aiperf-ahead-{number}"), move || stay_ahead(&requests))?;
        }
        Ok(Some(started))
    }

    fn spawn(&mut self, name: String, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        self.threads.push(Builder::new().name(name).spawn(work)?);
        Ok(())
    }
}

impl Drop for BodyThreads {
    fn drop(&mut self) {
        if let Some(ahead) = self.requests.ahead() {
            ahead.is_closed.store(true, Relaxed);
            // One that is gone already needs no word.
            ahead.late.get().into_iter().for_each(|late| drop(late.send(None)));
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn stay_ahead(requests: &Requests) {
    // A kernel that refuses leaves the thread at normal priority: slower reads, same bodies.
    let _ = sys::set_idle_priority();
    courtesy::give_way();
    let Some(ahead) = requests.ahead() else { return };
    let mut sleep = SHORTEST_SLEEP;
    while !ahead.is_closed.load(Relaxed) {
        if ahead.make_next(requests) {
            sleep = SHORTEST_SLEEP;
            std::thread::yield_now();
        } else {
            std::thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
    }
}

fn make_late(requests: &Requests, asked: &Receiver<Option<LateBody>>) {
    while let Ok(Some(LateBody { draw, conversation, reply })) = asked.recv() {
        // It may have become ready since.
        let ready = requests.ahead().and_then(|ahead| ahead.take(draw));
        // Nobody waits any more where the run was stopped.
        if !reply.is_closed() {
            let _ = reply.send(ready.unwrap_or_else(|| requests.make_ahead(conversation).0));
        }
    }
}

#[cfg(test)]
impl Ahead {
    /// From now on late bodies are asked for and nobody makes them, as long as what this gives is there.
    pub(crate) fn ask_in_vain(&self) -> impl Sized + use<> {
        let (ask, asked) = channel();
        let _ = self.late.set(ask);
        asked
    }
}

#[cfg(test)]
mod tests;
