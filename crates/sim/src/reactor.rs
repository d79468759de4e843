//! The loop of one serving thread: waits for sockets and deadlines, and advances each exchange.
//!
//! Sockets are watched edge-triggered and registered once. Nothing blocks: bytes that a socket does not accept stay
//! pending.

mod pages;
mod responding;
mod streams;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signalfd::SignalFd;

use self::pages::SlowPage;
use self::streams::Http2;
use crate::apis::{ApiError, Route};
use crate::canned::CannedResponses;
use crate::clock::{monotonic_ns, wall_ns};
use crate::error::SimError;
use crate::exchange::{Context, Exchange, Next, Stage};
use crate::http::{self, Heads, Received};
use crate::http2::{PREFACE, Session};
use crate::metrics::FinishReason;
use crate::reply::Outlet;
use crate::script::Purpose;
use crate::shared::Shared;
use crate::slots::{Key, Slots, Task};
use crate::socket::{Arrival, ReadResult, Socket};
use crate::stream::{Listener, Stream};
use crate::timers::Timers;
use crate::tls::Tls;
use crate::truth::{ConnectionFacts, Payload};

const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// The mark of the first listener; those of the others follow.
const LISTENERS: u64 = u64::MAX - 16;
const READ_BYTES: usize = 256 << 10;
const EVENTS: usize = 1024;

/// One client.
struct Connection {
    socket: Socket,
    inbox: Vec<u8>,
    /// Bytes the inbox must hold before it is worth another look.
    need: usize,
    arrival: Arrival,
    facts: ConnectionFacts,
    /// The request being answered on HTTP/1.1.
    exchange: Option<Box<Exchange>>,
    http2: Option<Box<Http2>>,
    /// Metrics pages that are not sent at once, by stream.
    pages: BTreeMap<u32, Box<SlowPage>>,
    /// To be closed once everything pending was sent.
    closing: bool,
}

impl Connection {
    fn put_exchange(&mut self, stream: u32, exchange: Box<Exchange>) {
        match &mut self.http2 {
            Some(http2) => {
                http2.exchanges.insert(stream, exchange);
            }
            None => self.exchange = Some(exchange),
        }
    }

    /// The request being answered (on a stream), and what its response goes to.
    fn parts(&mut self, stream: u32) -> Option<(&mut Exchange, &mut Socket, Option<&mut Session>)> {
        match &mut self.http2 {
            Some(http2) => {
                let exchange = http2.exchanges.get_mut(&stream)?;
                Some((exchange, &mut self.socket, Some(&mut http2.session)))
            }
            None => Some((self.exchange.as_deref_mut()?, &mut self.socket, None)),
        }
    }

    /// What is known of it by now.
    fn facts(&self) -> ConnectionFacts {
        match self.socket.tls() {
            None => self.facts,
            Some(tls) => ConnectionFacts { handshake_ns: tls.handshake_ns, resumed: tls.resumed(), ..self.facts },
        }
    }
}

/// What to do with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disposition {
    Keep,
    Close,
    Reset,
}

/// One serving thread.
pub(crate) struct Reactor {
    thread: usize,
    shared: Arc<Shared>,
    epoll: Epoll,
    listeners: Arc<Vec<Listener>>,
    accepting: bool,
    timers: Timers,
    connections: Slots<Connection>,
    waiting: VecDeque<Task>,
    running: usize,
    canned: Option<CannedResponses>,
    heads: Heads,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

impl Reactor {
    pub(crate) fn new(
        thread: usize,
        shared: Arc<Shared>,
        listeners: Arc<Vec<Listener>>,
        stop: &EventFd,
    ) -> Result<Self, SimError> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timers = Timers::new()?;
        watch_listeners(&epoll, &listeners)?;
        epoll.add(&timers, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        epoll.add(stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        let canned = shared.script.config.burst.then(|| CannedResponses::new(&shared.script));
        Ok(Reactor {
            thread,
            shared,
            epoll,
            listeners,
            accepting: true,
            timers,
            connections: Slots::new(),
            waiting: VecDeque::new(),
            running: 0,
            canned,
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
                    TIMER => {}
                    mark if mark >= LISTENERS => self.accept((mark - LISTENERS) as usize),
                    bits => self.handle_ready(Key::from_bits(bits), event.events()),
                }
            }
            if let Some(canned) = &mut self.canned {
                canned.count_into(&mut self.shared.metrics(self.thread));
            }
            while let Some(task) = self.timers.pop_due(monotonic_ns()) {
                self.with_connection(task.key, |reactor, connection| reactor.handle_deadline(task, connection));
            }
            self.timers.arm()?;
        }
    }

    fn accept(&mut self, listener: usize) {
        loop {
            let stream = match self.listeners[listener].accept() {
                Ok(stream) => stream,
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    return self.stop_accepting();
                }
                // No connection, or one that was gone again.
                Err(_) => return,
            };
            let number = self.shared.connections.fetch_add(1, Ordering::Relaxed);
            if self.refuses(number) {
                stream.reset_on_close();
                continue;
            }
            // A connection that is gone already is none.
            let _ = self.add_connection(stream, number);
            if self.shared.metrics.len() > 1 {
                return;
            }
        }
    }

    /// Out of descriptors: the listener would stay readable and the loop never rest. New connections wait in its queue
    /// until one is closed.
    fn stop_accepting(&mut self) {
        if std::mem::take(&mut self.accepting) {
            for listener in self.listeners.iter() {
                // One that is not watched needs no end of it.
                let _ = self.epoll.delete(listener);
            }
            let warning = "warning: no more open files allowed; further connections wait (see ulimit -n)";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{warning}\n").as_bytes());
        }
    }

    fn accept_again(&mut self) {
        if !self.accepting {
            self.accepting = watch_listeners(&self.epoll, &self.listeners).is_ok();
        }
    }

    fn refuses(&self, number: u64) -> bool {
        let script = &self.shared.script;
        script.faults.refuses_connections() && script.faults.draw_refusal(&mut script.random(Purpose::Refusal, number))
    }

    fn add_connection(&mut self, stream: Stream, number: u64) -> std::io::Result<()> {
        let stamped = self.shared.truth.is_some();
        let tls = self.shared.tls.as_ref().filter(|_| stream.is_tcp());
        let tls = tls.map(Tls::new).transpose().map_err(std::io::Error::other)?;
        let facts = ConnectionFacts {
            number,
            accepted_ns: if stamped { wall_ns() } else { 0 },
            handshake_ns: None,
            protocol: "http/1.1",
            tls: tls.is_some(),
            resumed: false,
        };
        let socket = Socket::new(stream, tls, stamped)?;
        let key = self.connections.reserve();
        let watched = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        if let Err(errno) = self.epoll.add(socket.stream(), EpollEvent::new(watched, key.to_bits())) {
            self.connections.release(key);
            return Err(errno.into());
        }
        let connection = Connection {
            socket,
            inbox: Vec::new(),
            need: 0,
            arrival: Arrival::default(),
            facts,
            exchange: None,
            http2: None,
            pages: BTreeMap::new(),
            closing: false,
        };
        self.connections.put(key, Box::new(connection));
        Ok(())
    }

    /// Takes out a connection for `work`, and executes its decision.
    fn with_connection(&mut self, key: Key, work: impl FnOnce(&mut Self, &mut Connection) -> Disposition) {
        let Some(mut connection) = self.connections.take(key) else { return };
        let disposition = work(self, &mut connection);
        if disposition == Disposition::Keep && !connection.socket.failed() {
            self.connections.put(key, connection);
        } else {
            if disposition == Disposition::Reset {
                connection.socket.reset_on_close();
            }
            if disposition == Disposition::Close {
                connection.socket.close();
            }
            let why = if disposition == Disposition::Keep { FinishReason::Abort } else { FinishReason::Error };
            self.drop_exchange(&mut connection, why);
            drop(connection);
            self.connections.release(key);
            self.accept_again();
        }
        self.admit_waiting();
    }

    fn handle_ready(&mut self, key: Key, events: EpollFlags) {
        self.with_connection(key, |reactor, connection| {
            if events.contains(EpollFlags::EPOLLOUT) && !connection.socket.flushed() {
                let Connection { socket, exchange, http2, pages, .. } = connection;
                socket.flush(|stream, place, after_ns| {
                    let exchange = match http2 {
                        Some(http2) => http2.exchanges.get_mut(&stream),
                        None => exchange.as_mut(),
                    };
                    let record = match exchange {
                        Some(exchange) => exchange.truth.as_deref_mut(),
                        None => pages.get_mut(&stream).and_then(|page| page.truth.as_deref_mut()),
                    };
                    if let Some(record) = record {
                        record.set_end(place, after_ns);
                    }
                });
                if reactor.settle(key, connection) != Disposition::Keep {
                    return Disposition::Close;
                }
            }
            let gone = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
            if events.intersects(EpollFlags::EPOLLIN | gone) {
                reactor.read(key, connection, events.intersects(gone))
            } else {
                Disposition::Keep
            }
        });
    }

    /// Reads what there is; with `to_the_end`, up to the end of the stream, which no further event would announce.
    fn read(&mut self, key: Key, connection: &mut Connection, to_the_end: bool) -> Disposition {
        loop {
            let (result, arrival) = connection.socket.read(&mut self.buffer);
            let (count, drained) = match result {
                ReadResult::Bytes { count, drained } => (count, drained),
                ReadResult::Nothing => return Disposition::Keep,
                ReadResult::Closed => {
                    self.drop_exchange(connection, FinishReason::Abort);
                    return Disposition::Close;
                }
            };
            connection.arrival = arrival;
            let disposition = if connection.http2.is_some() {
                connection.inbox.extend_from_slice(&self.buffer[..count]);
                self.serve_streams(key, connection)
            } else if self.canned.is_some() {
                self.serve_canned(key, connection, count)
            } else {
                connection.inbox.extend_from_slice(&self.buffer[..count]);
                self.serve(key, connection)
            };
            if disposition != Disposition::Keep || (drained && !to_the_end) {
                return disposition;
            }
        }
    }

    /// Answers every whole request among the first `count` bytes of the buffer.
    fn serve_canned(&mut self, key: Key, connection: &mut Connection, count: usize) -> Disposition {
        let Some(mut canned) = self.canned.take() else { return Disposition::Keep };
        let buffer = std::mem::take(&mut self.buffer);
        let mut inbox = std::mem::take(&mut connection.inbox);
        let bytes = if inbox.is_empty() {
            &buffer[..count]
        } else {
            inbox.extend_from_slice(&buffer[..count]);
            &inbox
        };
        let mut disposition = Disposition::Keep;
        let mut start = 0;
        while start < bytes.len() && bytes.len() - start >= connection.need && disposition == Disposition::Keep {
            connection.need = 0;
            match http::receive(&bytes[start..]) {
                Received::Whole(request) => {
                    start += request.length;
                    match Route::of(request.method, request.path) {
                        Some(route) => {
                            let response = canned.response(route, &request);
                            connection.socket.send(response, None, Payload::Content);
                        }
                        None => {
                            canned.count_into(&mut self.shared.metrics(self.thread));
                            // Without faults, nothing is reset.
                            let _ = self.respond_other(Task { key, stream: 0 }, connection, &request, None);
                        }
                    }
                    connection.closing |= !request.keep_alive;
                    disposition = close_when_sent(connection);
                }
                other => {
                    disposition = self.handle_incomplete(connection, &bytes[start..], other);
                    break;
                }
            }
        }
        let rest = bytes[start..].to_vec();
        connection.inbox = rest;
        self.buffer = buffer;
        self.canned = Some(canned);
        if connection.http2.is_some() { self.serve_streams(key, connection) } else { disposition }
    }

    /// Takes up the next request of the inbox, unless one is being answered.
    fn serve(&mut self, key: Key, connection: &mut Connection) -> Disposition {
        while connection.exchange.is_none() && connection.pages.is_empty() && !connection.closing {
            if connection.inbox.is_empty() || connection.inbox.len() < connection.need {
                return Disposition::Keep;
            }
            connection.need = 0;
            let mut inbox = std::mem::take(&mut connection.inbox);
            match http::receive(&inbox) {
                Received::Whole(request) => {
                    let length = request.length;
                    let disposition = self.start_exchange(Task { key, stream: 0 }, connection, &request);
                    inbox.drain(..length);
                    connection.inbox = inbox;
                    if disposition != Disposition::Keep {
                        return disposition;
                    }
                }
                other => {
                    let disposition = self.handle_incomplete(connection, &inbox, other);
                    connection.inbox = inbox;
                    if connection.http2.is_some() {
                        return self.serve_streams(key, connection);
                    }
                    return disposition;
                }
            }
        }
        close_when_sent(connection)
    }

    fn handle_incomplete(&mut self, connection: &mut Connection, bytes: &[u8], received: Received<'_>) -> Disposition {
        match received {
            // A head that HTTP/1.1 does not know may be the greeting of HTTP/2.
            Received::Bad(_) if bytes.starts_with(PREFACE) => {
                connection.http2 = Some(Box::new(Http2::new()));
                connection.facts.protocol = "h2";
                Disposition::Keep
            }
            Received::Bad(_) if PREFACE.starts_with(bytes) => {
                connection.need = PREFACE.len();
                Disposition::Keep
            }
            Received::Partial { need, expects_continue } => {
                connection.need = need;
                if expects_continue {
                    connection.socket.send(b"HTTP/1.1 100 Continue\r\n\r\n", None, Payload::Nothing);
                }
                Disposition::Keep
            }
            Received::Bad(status) => {
                connection.closing = true;
                self.respond_error(connection, 0, ApiError::of_status(status).openai(), (status, None));
                close_when_sent(connection)
            }
            Received::Whole(_) => Disposition::Keep,
        }
    }

    /// Sends the head and queues the exchange for the batch.
    fn open(&mut self, task: Task, connection: &mut Connection) {
        let Some((exchange, socket, session)) = connection.parts(task.stream) else { return };
        let mut metrics = self.shared.metrics(self.thread);
        exchange.open(&mut Context {
            script: &self.shared.script,
            outlet: Outlet { socket, session, heads: &mut self.heads, scratch: &mut self.scratch },
            metrics: &mut metrics,
        });
        let is_inference = exchange.is_inference();
        if !is_inference || (self.running < self.batch_limit() && self.waiting.is_empty()) {
            self.running += usize::from(is_inference);
            let due_ns = exchange.start(monotonic_ns(), &self.shared.script, &mut metrics);
            self.timers.set(due_ns, task);
        } else {
            metrics.waiting += 1;
            self.waiting.push_back(task);
        }
    }

    fn batch_limit(&self) -> usize {
        self.shared.script.config.max_running.map_or(usize::MAX, |limit| limit.get())
    }

    /// Fills free places of the batch, first come first served.
    fn admit_waiting(&mut self) {
        while self.running < self.batch_limit() {
            let Some(task) = self.waiting.pop_front() else { return };
            // A key of the past: its client gave up.
            let Some(mut connection) = self.connections.take(task.key) else { continue };
            if let Some((exchange, ..)) = connection.parts(task.stream)
                && exchange.stage == Stage::Waiting
            {
                let mut metrics = self.shared.metrics(self.thread);
                metrics.waiting -= 1;
                self.running += 1;
                let due_ns = exchange.start(monotonic_ns(), &self.shared.script, &mut metrics);
                self.timers.set(due_ns, task);
            }
            self.connections.put(task.key, connection);
        }
    }

    fn handle_deadline(&mut self, task: Task, connection: &mut Connection) -> Disposition {
        if let Some(disposition) = self.advance_page(task, connection) {
            return disposition;
        }
        let Some((exchange, socket, session)) = connection.parts(task.stream) else { return Disposition::Keep };
        if exchange.stage == Stage::HeadHeld {
            self.open(task, connection);
            return Disposition::Keep;
        }
        let is_inference = exchange.is_inference();
        let next = {
            let mut metrics = self.shared.metrics(self.thread);
            exchange.advance(
                monotonic_ns(),
                &mut Context {
                    script: &self.shared.script,
                    outlet: Outlet { socket, session, heads: &mut self.heads, scratch: &mut self.scratch },
                    metrics: &mut metrics,
                },
            )
        };
        match next {
            Next::At(due_ns) => self.timers.set(due_ns, task),
            Next::Never => {}
            Next::Close => return Disposition::Close,
            Next::Reset if task.stream > 0 => self.reset_stream(connection, task.stream),
            Next::Reset => return Disposition::Reset,
            Next::Over => {
                self.running -= usize::from(is_inference);
                return self.settle(task.key, connection);
            }
        }
        Disposition::Keep
    }

    /// Once a response is over and sent: writes its record, and goes on with the connection.
    fn settle(&mut self, key: Key, connection: &mut Connection) -> Disposition {
        if connection.http2.is_some() {
            return self.settle_streams(connection);
        }
        if !connection.socket.flushed() {
            return Disposition::Keep;
        }
        if let Some(mut exchange) = connection.exchange.take_if(|exchange| exchange.stage == Stage::Over) {
            connection.closing |= !exchange.reply.keep_alive;
            if let Some(truth) = &mut exchange.truth {
                truth.finished &= !connection.socket.failed();
            }
            self.log(exchange.truth.take());
            return self.serve(key, connection);
        }
        if connection.pages.values().any(|page| page.over) {
            for mut page in std::mem::take(&mut connection.pages).into_values() {
                connection.closing |= !page.reply.keep_alive;
                self.log(page.truth.take());
            }
            return self.serve(key, connection);
        }
        close_when_sent(connection)
    }

    /// Ends what is being answered on a connection that ends.
    fn drop_exchange(&mut self, connection: &mut Connection, why: FinishReason) {
        if let Some(exchange) = connection.exchange.take() {
            self.end_exchange(exchange, why);
        }
        for page in std::mem::take(&mut connection.pages).into_values() {
            self.log(page.truth);
        }
        if let Some(http2) = &mut connection.http2 {
            for exchange in std::mem::take(&mut http2.exchanges).into_values() {
                self.end_exchange(exchange, why);
            }
        }
    }

    fn end_exchange(&mut self, mut exchange: Box<Exchange>, why: FinishReason) {
        if exchange.stage == Stage::Running {
            self.running -= usize::from(exchange.is_inference());
        }
        exchange.abandon(why, &mut self.shared.metrics(self.thread));
        if let Some(truth) = &mut exchange.truth {
            truth.finished = false;
        }
        self.log(exchange.truth.take());
    }

    fn close_all(&mut self) {
        let connections: Vec<_> = self.connections.drain().collect();
        for mut connection in connections {
            self.drop_exchange(&mut connection, FinishReason::Abort);
        }
    }
}

fn watch_listeners(epoll: &Epoll, listeners: &[Listener]) -> nix::Result<()> {
    // One thread at a time is woken for a new connection.
    let new_connection = EpollFlags::EPOLLIN | EpollFlags::EPOLLEXCLUSIVE;
    listeners
        .iter()
        .zip(LISTENERS..)
        .try_for_each(|(listener, mark)| epoll.add(listener, EpollEvent::new(new_connection, mark)))
}

fn close_when_sent(connection: &Connection) -> Disposition {
    let is_idle = connection.exchange.is_none() && connection.pages.is_empty();
    if connection.closing && connection.socket.flushed() && is_idle { Disposition::Close } else { Disposition::Keep }
}
