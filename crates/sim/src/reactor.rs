//! The loop of one serving thread: waits for sockets and deadlines, and lets each exchange take its next step.
//!
//! Sockets are watched edge-triggered and registered once. Nothing blocks: what a socket does not take stays pending.

use std::collections::VecDeque;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signalfd::SignalFd;

use crate::ask::{self, Endpoint, Refusal};
use crate::burst::Burst;
use crate::clock::monotonic_ns;
use crate::error::SimError;
use crate::exchange::{Arrived, Exchange, Next, Stage, Tools};
use crate::fault::Fault;
use crate::http::{self, Heads, Received, Request, Status};
use crate::metrics::Finished;
use crate::script::Purpose;
use crate::shared::{Page, Shared};
use crate::slots::{Key, Slots};
use crate::timers::Timers;
use crate::truth::{Carries, TruthRecord};
use crate::wire::{Arrival, Incoming, Wire, reset_on_close};

const LISTENER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;
const READ_BYTES: usize = 256 << 10;
const EVENTS: usize = 1024;

/// One client.
struct Connection {
    wire: Wire,
    inbox: Vec<u8>,
    /// Bytes the inbox must hold before it is worth another look.
    need: usize,
    arrival: Arrival,
    exchange: Option<Box<Exchange>>,
    /// To be closed once everything pending was sent.
    closing: bool,
}

/// What shall become of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Close,
    Reset,
}

/// One serving thread.
pub(crate) struct Reactor {
    thread: usize,
    shared: Arc<Shared>,
    epoll: Epoll,
    listener: Arc<TcpListener>,
    accepting: bool,
    timers: Timers,
    connections: Slots<Connection>,
    waiting: VecDeque<Key>,
    running: usize,
    burst: Option<Burst>,
    heads: Heads,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

impl Reactor {
    pub(crate) fn new(
        thread: usize,
        shared: Arc<Shared>,
        listener: Arc<TcpListener>,
        stop: &EventFd,
    ) -> Result<Self, SimError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timers = Timers::new()?;
        watch_listener(&epoll, &listener)?;
        epoll.add(&timers, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        epoll.add(stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        let burst = shared.script.config.burst.then(|| Burst::new(&shared.script.config));
        Ok(Reactor {
            thread,
            shared,
            epoll,
            listener,
            accepting: true,
            timers,
            connections: Slots::new(),
            waiting: VecDeque::new(),
            running: 0,
            burst,
            heads: Heads::default(),
            buffer: vec![0; READ_BYTES],
            scratch: Vec::with_capacity(16 << 10),
        })
    }

    /// Lets one of these signals stop it too.
    pub(crate) fn watch_signals(&self, signals: &SignalFd) -> nix::Result<()> {
        self.epoll.add(signals, EpollEvent::new(EpollFlags::EPOLLIN, STOP))
    }

    /// Serves until stopped.
    pub(crate) fn run(&mut self) -> Result<(), SimError> {
        // Failing leaves the default of 50 us, which only the epoll wait itself would notice.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut ready = [EpollEvent::empty(); EVENTS];
        loop {
            let count = match self.epoll.wait(&mut ready, EpollTimeout::NONE) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            for event in &ready[..count] {
                match event.data() {
                    STOP => {
                        self.close_all();
                        return Ok(());
                    }
                    LISTENER => self.accept(),
                    TIMER => {}
                    bits => self.ready(Key::from_bits(bits), event.events()),
                }
            }
            if let Some(burst) = &mut self.burst {
                burst.count_into(&mut self.shared.metrics(self.thread));
            }
            while let Some(key) = self.timers.pop_due(monotonic_ns()) {
                self.with(key, |reactor, connection| reactor.deadline(key, connection));
            }
            self.timers.arm()?;
        }
    }

    fn accept(&mut self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    return self.stop_accepting();
                }
                // Nobody there, or a connection that was gone again.
                Err(_) => return,
            };
            if self.refuses() {
                reset_on_close(&stream);
                continue;
            }
            // A connection that is gone already is none.
            let _ = self.welcome(stream);
            if self.shared.metrics.len() > 1 {
                return;
            }
        }
    }

    /// Out of descriptors: the listener would stay readable and the loop never rest. New connections wait in its queue
    /// until one is closed.
    fn stop_accepting(&mut self) {
        if self.accepting && self.epoll.delete(&*self.listener).is_ok() {
            self.accepting = false;
            eprintln!("warning: no more open files allowed; further connections wait (see ulimit -n)");
        }
    }

    fn accept_again(&mut self) {
        if !self.accepting {
            self.accepting = watch_listener(&self.epoll, &self.listener).is_ok();
        }
    }

    fn refuses(&self) -> bool {
        let script = &self.shared.script;
        script.faults.refuses_connections() && {
            let number = self.shared.connections.fetch_add(1, Ordering::Relaxed);
            script.faults.draw_refusal(&mut script.random(Purpose::Refusal, number))
        }
    }

    fn welcome(&mut self, stream: TcpStream) -> std::io::Result<()> {
        let wire = Wire::new(stream, self.shared.truth.is_some())?;
        let key = self.connections.reserve();
        let watched = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        if let Err(errno) = self.epoll.add(wire.stream(), EpollEvent::new(watched, key.to_bits())) {
            self.connections.release(key);
            return Err(errno.into());
        }
        let connection = Connection {
            wire,
            inbox: Vec::new(),
            need: 0,
            arrival: Arrival::default(),
            exchange: None,
            closing: false,
        };
        self.connections.put(key, Box::new(connection));
        Ok(())
    }

    /// Lets `work` have a connection, and does with it what it says.
    fn with(&mut self, key: Key, work: impl FnOnce(&mut Self, &mut Connection) -> Fate) {
        let Some(mut connection) = self.connections.take(key) else { return };
        let fate = work(self, &mut connection);
        if fate == Fate::Keep && !connection.wire.failed() {
            self.connections.put(key, connection);
        } else {
            if fate == Fate::Reset {
                connection.wire.reset_on_close();
            }
            let why = if fate == Fate::Keep { Finished::Abort } else { Finished::Error };
            self.drop_exchange(&mut connection, why);
            drop(connection);
            self.connections.release(key);
            self.accept_again();
        }
        self.admit_waiting();
    }

    fn ready(&mut self, key: Key, events: EpollFlags) {
        self.with(key, |reactor, connection| {
            if events.contains(EpollFlags::EPOLLOUT) && !connection.wire.flushed() {
                let record = connection.exchange.as_mut().and_then(|exchange| exchange.truth.as_deref_mut());
                connection.wire.flush(record);
                if reactor.settle(key, connection) != Fate::Keep {
                    return Fate::Close;
                }
            }
            let gone = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
            if events.intersects(EpollFlags::EPOLLIN | gone) {
                reactor.read(key, connection, events.intersects(gone))
            } else {
                Fate::Keep
            }
        });
    }

    /// Reads what there is; with `to_the_end`, up to the end of the stream, which no further event would announce.
    fn read(&mut self, key: Key, connection: &mut Connection, to_the_end: bool) -> Fate {
        loop {
            let (incoming, arrival) = connection.wire.read(&mut self.buffer);
            let count = match incoming {
                Incoming::Bytes(count) => count,
                Incoming::Nothing => return Fate::Keep,
                Incoming::Closed => {
                    self.drop_exchange(connection, Finished::Abort);
                    return Fate::Close;
                }
            };
            connection.arrival = arrival;
            let fate = if self.burst.is_some() {
                self.serve_burst(connection, count)
            } else {
                connection.inbox.extend_from_slice(&self.buffer[..count]);
                self.serve(key, connection)
            };
            // A read that does not fill the buffer has emptied the socket.
            if fate != Fate::Keep || (count < self.buffer.len() && !to_the_end) {
                return fate;
            }
        }
    }

    /// Answers every whole request among the first `count` bytes of the buffer.
    fn serve_burst(&mut self, connection: &mut Connection, count: usize) -> Fate {
        let Some(mut burst) = self.burst.take() else { return Fate::Keep };
        let buffer = std::mem::take(&mut self.buffer);
        let mut inbox = std::mem::take(&mut connection.inbox);
        let bytes = if inbox.is_empty() {
            &buffer[..count]
        } else {
            inbox.extend_from_slice(&buffer[..count]);
            &inbox
        };
        let mut fate = Fate::Keep;
        let mut start = 0;
        while start < bytes.len() && bytes.len() - start >= connection.need && fate == Fate::Keep {
            connection.need = 0;
            match http::receive(&bytes[start..]) {
                Received::Whole(request) => {
                    start += request.length;
                    match Endpoint::at(request.path).filter(|_| request.method == "POST") {
                        Some(endpoint) => {
                            let answer = burst.answer(endpoint, request.body);
                            connection.wire.send(answer, None, Carries::Content);
                        }
                        None => {
                            burst.count_into(&mut self.shared.metrics(self.thread));
                            self.answer_other(connection, &request);
                        }
                    }
                    connection.closing |= !request.keep_alive;
                    fate = close_when_sent(connection);
                }
                other => {
                    fate = self.not_whole(connection, other);
                    break;
                }
            }
        }
        let rest = bytes[start..].to_vec();
        connection.inbox = rest;
        self.buffer = buffer;
        self.burst = Some(burst);
        fate
    }

    /// Takes up the next request of the inbox, unless one is being answered.
    fn serve(&mut self, key: Key, connection: &mut Connection) -> Fate {
        while connection.exchange.is_none() && !connection.closing {
            if connection.inbox.is_empty() || connection.inbox.len() < connection.need {
                return Fate::Keep;
            }
            connection.need = 0;
            let mut inbox = std::mem::take(&mut connection.inbox);
            match http::receive(&inbox) {
                Received::Whole(request) => {
                    let length = request.length;
                    let fate = self.take_up(key, connection, &request);
                    inbox.drain(..length);
                    connection.inbox = inbox;
                    if fate != Fate::Keep {
                        return fate;
                    }
                }
                other => {
                    let fate = self.not_whole(connection, other);
                    connection.inbox = inbox;
                    return fate;
                }
            }
        }
        close_when_sent(connection)
    }

    fn not_whole(&mut self, connection: &mut Connection, received: Received<'_>) -> Fate {
        match received {
            Received::Partial { need, expects_continue } => {
                connection.need = need;
                if expects_continue {
                    connection.wire.send(b"HTTP/1.1 100 Continue\r\n\r\n", None, Carries::Nothing);
                }
                Fate::Keep
            }
            Received::Bad(status) => {
                connection.closing = true;
                self.answer_refusal(connection, &Refusal::of_status(status), None);
                close_when_sent(connection)
            }
            Received::Whole(_) => Fate::Keep,
        }
    }

    fn take_up(&mut self, key: Key, connection: &mut Connection, request: &Request<'_>) -> Fate {
        let Some(endpoint) = Endpoint::at(request.path).filter(|_| request.method == "POST") else {
            connection.closing |= !request.keep_alive;
            self.answer_other(connection, request);
            return Fate::Keep;
        };
        let now_ns = monotonic_ns();
        let number = self.shared.requests.fetch_add(1, Ordering::Relaxed);
        let script = &self.shared.script;
        let fault = script.faults.draw(&mut script.random(Purpose::Fault, number));
        let truth = self.shared.truth.is_some().then(|| {
            Box::new(TruthRecord {
                request_id: request.request_id.unwrap_or_default().to_owned(),
                path: endpoint.path(),
                status: 200,
                fault: fault.map(|fault| fault.name()),
                finished: false,
                received_kernel_ns: connection.arrival.kernel_ns,
                received_read_ns: connection.arrival.read_ns,
                head: None,
                chunks: Vec::new(),
            })
        });
        let refused = match fault {
            Some(Fault::Reset) => {
                self.log(truth);
                return Fate::Reset;
            }
            Some(Fault::Status(code)) => Some(Refusal::of_status(Status(code))),
            _ => None,
        };
        let keep_alive = request.keep_alive;
        let planned = match refused {
            Some(refusal) => Err((refusal, truth)),
            None => match ask::read(endpoint, request.body) {
                Err(refusal) => Err((refusal, truth)),
                Ok(ask) => Exchange::plan(script, Arrived { endpoint, ask, number, keep_alive, fault, now_ns, truth }),
            },
        };
        match planned {
            Err((refusal, truth)) => {
                connection.closing |= !keep_alive;
                self.shared.metrics(self.thread).answered(endpoint.path(), "POST", refusal.status.0, 1);
                self.answer_refusal(connection, &refusal, truth);
            }
            Ok(exchange) => {
                connection.exchange = Some(Box::new(exchange));
                match fault {
                    Some(Fault::SlowHeaders(time)) => self.timers.set(now_ns + time.as_nanos() as u64, key),
                    _ => self.open(key, connection),
                }
            }
        }
        Fate::Keep
    }

    /// Sends the head and queues the exchange for the batch.
    fn open(&mut self, key: Key, connection: &mut Connection) {
        let Some(exchange) = &mut connection.exchange else { return };
        let mut metrics = self.shared.metrics(self.thread);
        exchange.open(&mut Tools {
            script: &self.shared.script,
            wire: &mut connection.wire,
            heads: &mut self.heads,
            metrics: &mut metrics,
            scratch: &mut self.scratch,
        });
        if self.running < self.batch_limit() && self.waiting.is_empty() {
            self.running += 1;
            let due_ns = exchange.start(monotonic_ns(), &self.shared.script, &mut metrics);
            self.timers.set(due_ns, key);
        } else {
            metrics.waiting += 1;
            self.waiting.push_back(key);
        }
    }

    fn batch_limit(&self) -> usize {
        self.shared.script.config.max_running.map_or(usize::MAX, |limit| limit.get())
    }

    /// Fills free places of the batch, first come first served.
    fn admit_waiting(&mut self) {
        while self.running < self.batch_limit() {
            let Some(key) = self.waiting.pop_front() else { return };
            // A key of the past: its client gave up.
            let Some(mut connection) = self.connections.take(key) else { continue };
            if let Some(exchange) = &mut connection.exchange
                && exchange.stage == Stage::Waiting
            {
                let mut metrics = self.shared.metrics(self.thread);
                metrics.waiting -= 1;
                self.running += 1;
                let due_ns = exchange.start(monotonic_ns(), &self.shared.script, &mut metrics);
                self.timers.set(due_ns, key);
            }
            self.connections.put(key, connection);
        }
    }

    fn deadline(&mut self, key: Key, connection: &mut Connection) -> Fate {
        let Some(exchange) = &mut connection.exchange else { return Fate::Keep };
        if exchange.stage == Stage::HeadHeld {
            self.open(key, connection);
            return Fate::Keep;
        }
        let next = {
            let mut metrics = self.shared.metrics(self.thread);
            exchange.advance(
                monotonic_ns(),
                &mut Tools {
                    script: &self.shared.script,
                    wire: &mut connection.wire,
                    heads: &mut self.heads,
                    metrics: &mut metrics,
                    scratch: &mut self.scratch,
                },
            )
        };
        match next {
            Next::At(due_ns) => self.timers.set(due_ns, key),
            Next::Never => {}
            Next::Close => return Fate::Close,
            Next::Reset => return Fate::Reset,
            Next::Over => {
                self.running -= 1;
                return self.settle(key, connection);
            }
        }
        Fate::Keep
    }

    /// Once an answer is over and sent: writes its record, and goes on with the connection.
    fn settle(&mut self, key: Key, connection: &mut Connection) -> Fate {
        if !connection.wire.flushed() {
            return Fate::Keep;
        }
        if let Some(mut exchange) = connection.exchange.take_if(|exchange| exchange.stage == Stage::Over) {
            connection.closing |= !exchange.keep_alive;
            if let Some(truth) = &mut exchange.truth {
                truth.finished &= !connection.wire.failed();
            }
            self.log(exchange.truth.take());
            return self.serve(key, connection);
        }
        close_when_sent(connection)
    }

    /// Ends an exchange whose connection ends.
    fn drop_exchange(&mut self, connection: &mut Connection, why: Finished) {
        if let Some(mut exchange) = connection.exchange.take() {
            if exchange.stage == Stage::Running {
                self.running -= 1;
            }
            exchange.abandon(why, &mut self.shared.metrics(self.thread));
            if let Some(truth) = &mut exchange.truth {
                truth.finished = false;
            }
            self.log(exchange.truth.take());
        }
    }

    fn close_all(&mut self) {
        let connections: Vec<_> = self.connections.drain().collect();
        for mut connection in connections {
            self.drop_exchange(&mut connection, Finished::Abort);
        }
    }

    fn log(&self, record: Option<Box<TruthRecord>>) {
        if let (Some(truth), Some(record)) = (&self.shared.truth, record) {
            truth.send(*record);
        }
    }

    fn answer_refusal(&mut self, connection: &mut Connection, refusal: &Refusal, mut truth: Option<Box<TruthRecord>>) {
        self.scratch.clear();
        let body = refusal.body();
        let keep_alive = !connection.closing;
        self.heads.whole(&mut self.scratch, refusal.status, "application/json", keep_alive, body.as_bytes());
        if let Some(truth) = &mut truth {
            truth.status = refusal.status.0;
            truth.finished = true;
        }
        connection.wire.send(&self.scratch, truth.as_deref_mut(), Carries::Nothing);
        self.log(truth);
    }

    /// Everything that is not inference.
    fn answer_other(&mut self, connection: &mut Connection, request: &Request<'_>) {
        let Page { handler, method, status, content_type, body } = self.shared.page(request.method, request.path);
        self.shared.metrics(self.thread).answered(handler, method, status.0, 1);
        self.scratch.clear();
        self.heads.whole(&mut self.scratch, status, content_type, request.keep_alive, &body);
        connection.wire.send(&self.scratch, None, Carries::Nothing);
    }
}

fn watch_listener(epoll: &Epoll, listener: &TcpListener) -> nix::Result<()> {
    // One thread at a time is woken for a new connection.
    let new_connection = EpollFlags::EPOLLIN | EpollFlags::EPOLLEXCLUSIVE;
    epoll.add(listener, EpollEvent::new(new_connection, LISTENER))
}

fn close_when_sent(connection: &Connection) -> Fate {
    if connection.closing && connection.wire.flushed() && connection.exchange.is_none() {
        Fate::Close
    } else {
        Fate::Keep
    }
}
