//! One request from start to end, leg by leg.
//!
//! # Layout
//! - `deadlines`: how long it may take
//! - `http1`: a leg over HTTP/1.1
//! - `http2`: a leg over HTTP/2

mod deadlines;
mod http1;
mod http2;

use crate::budget::ResponseBudget;
use crate::buffers::{BufferReturn, Buffers};
use crate::cancel::{Cancel, CancelReason};
use crate::clock::mono_now;
use crate::connect::{ConnectSettings, Connector};
use crate::connection::Connection;
use crate::earlier_legs::begin_leg;
use crate::http2::Http2Pool;
use crate::legs::{Leg, Script, Step, Watch};
use crate::origin::Origin;
use crate::os_error::os_reason;
use crate::pace::ConnectPace;
use crate::pool::{Holder, Pool};
use crate::receive::{LocalBudget, Retention};
use crate::stamp::{StampMode, StampedReader};
use crate::stream_end::StreamEnd;
use crate::target::Target;
use crate::timers::Timers;
use aiperf_types::{Body, Exchange, Failure, MonoNs, Nanos, RequestTag, Timeline};
use deadlines::Deadlines;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// How a client behaves.
#[derive(Clone)]
pub struct ClientSettings {
    /// Which instant a read gets.
    pub stamps: StampMode,
    pub connect: ConnectSettings,
    /// Places for connections in use (over HTTP/2: requests), of the whole process, where they can run out.
    pub places: Option<Arc<Semaphore>>,
    /// How long an idle connection lives.
    pub keepalive: Nanos,
    /// Bytes of a response that are kept.
    pub kept_limit: usize,
    /// The same of all responses in flight, of the whole process, where they are many.
    pub budget: Option<Arc<ResponseBudget>>,
    pub reuse: Reuse,
    pub stream_end: StreamEnd,
    pub protocol: Protocol,
    /// Keep the head as sent and an account of each write.
    pub detailed: bool,
    /// What connecting may take, where that is less than all the time there is.
    pub connect_timeout: Option<Duration>,
}

/// What is spoken on connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// When a connection is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    Always,
    Never,
    /// By the requests of one session.
    WithinSession,
}

/// A request ready to be sent.
pub struct OutgoingRequest {
    pub tag: RequestTag,
    /// When the schedule wanted it sent.
    pub intended: MonoNs,
    /// When the conductor released it.
    pub issued: MonoNs,
    pub target: usize,
    /// Request line and header fields, with the empty line.
    pub head: Vec<u8>,
    pub body: Body,
    /// All the time it has.
    pub timeout: Option<Nanos>,
    /// The plan has it cancelled.
    pub cancelled: Option<PlannedCancel>,
    /// Its session sends nothing more.
    pub ends_session: bool,
}

/// A request that the plan has cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCancel {
    /// So long after it was sent.
    pub after: Nanos,
    /// What sending may take.
    pub send_timeout: Nanos,
}

/// Sends requests; one a worker.
pub struct Client {
    settings: ClientSettings,
    /// Those of the plan, then those that redirects led to.
    targets: RefCell<Vec<Rc<Target>>>,
    connector: Connector,
    pool: Pool,
    http2: Http2Pool,
    reader: Rc<StampedReader>,
    timers: Timers,
    buffers: RefCell<Buffers>,
    budget: Option<LocalBudget>,
}

impl Client {
    /// A client without connections to its servers. Record threads give its buffers back through `returns`.
    pub fn new(settings: ClientSettings, origins: Vec<Origin>, returns: BufferReturn) -> Self {
        let proxies = &settings.connect.proxies;
        let targets = origins.into_iter().map(|origin| Rc::new(Target::new(origin, proxies))).collect();
        let reader = Rc::new(StampedReader::new(settings.stamps));
        Self {
            connector: Connector::new(settings.connect.clone(), reader.clone()),
            pool: Pool::new(settings.places.clone(), settings.keepalive),
            http2: Http2Pool::new(settings.keepalive),
            reader,
            timers: Timers::default(),
            buffers: RefCell::new(Buffers::new(returns)),
            targets: RefCell::new(targets),
            budget: settings.budget.clone().map(Rc::new),
            settings,
        }
    }

    /// Tries servers that take no connections at a pace shared with other clients.
    #[must_use]
    pub fn keeping_pace(mut self, pace: Arc<ConnectPace>) -> Self {
        self.connector.keep_pace(pace);
        self
    }

    /// Steps of the wall clock noticed while reading.
    pub fn clock_steps(&self) -> u64 {
        self.reader.clock_steps()
    }

    /// How far the clocks can have moved an instant.
    pub fn clock_error(&self) -> Nanos {
        self.reader.clock_error()
    }

    /// The deadlines of its requests. The caller has to keep their time.
    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Sends a request and reads its response, leg by leg. Always gives an exchange: failures are in it.
    pub fn send<'a>(
        &'a self,
        out: OutgoingRequest,
        cancel: &'a Cancel,
        script: &'a mut dyn Script,
    ) -> impl Future<Output = Exchange> + 'a {
        self.send_watched(out, cancel, script, None)
    }

    /// The same, with a watch that follows the response.
    pub async fn send_watched<'a>(
        &'a self,
        out: OutgoingRequest,
        cancel: &'a Cancel,
        script: &'a mut dyn Script,
        watch: Option<&'a mut dyn Watch>,
    ) -> Exchange {
        let (raw, reads) = self.buffers.borrow_mut().take();
        let start = mono_now();
        let OutgoingRequest { intended, issued, .. } = out;
        let timeline = Timeline { intended, issued, start, leg_start: start, reads, ..Timeline::default() };
        let mut exchange =
            Exchange { tag: out.tag, timeline, raw, request_body: out.body.clone(), ..Exchange::default() };
        let deadlines = Deadlines::new(&self.timers, start, out.timeout, out.cancelled, cancel);
        let session = exchange.tag.session;
        let holder = self.holder(session);
        let kept = Retention::up_to(self.settings.kept_limit).within(self.budget.clone());
        let mut sending = Sending { target: out.target, holder, deadlines, cancel, kept, watch };
        let origin = self.targets.borrow()[out.target].origin.clone();
        let mut leg = Leg::new(origin, out.head, out.body);
        let outcome = loop {
            if let Err(failure) = self.run_leg(&mut sending, &leg, &mut exchange).await {
                break Err(failure);
            }
            match script.next(&leg, &exchange) {
                Step::End => break Ok(()),
                Step::Fail(failure) => break Err(failure),
                Step::Next(pause, next) => {
                    begin_leg(&mut exchange, described(&leg), mono_now());
                    if pause > Nanos(0) {
                        let until = mono_now().plus(pause);
                        if let Err(reason) = cancel.or(Box::pin(self.timers.sleep_until(until))).await {
                            break Err(sending.stopped(reason));
                        }
                        // The pause is part of no leg.
                        exchange.timeline.leg_start = mono_now();
                    }
                    leg = *next;
                    sending.target = self.target_of(&leg.origin);
                    sending.kept.drops_body = leg.drops_body;
                    sending.deadlines.begin_leg(exchange.timeline.leg_start, leg.renews_time);
                }
            }
        };
        if self.settings.detailed {
            exchange.request_head = std::mem::take(&mut leg.head);
        }
        if out.ends_session {
            self.end_session(session);
        }
        if let Err(failure) = outcome {
            exchange.failure = Some(failure);
            exchange.timeline.end = mono_now();
        }
        exchange
    }

    /// Closes a few idle HTTP/1.1 connections that no request has used since an instant. Those of sessions stay.
    pub fn close_unused(&self, since: MonoNs) {
        self.pool.close_unused(since);
    }

    /// A session sends nothing more: connections that are its own are closed.
    pub fn end_session(&self, session: u64) {
        let holder = self.holder(session);
        if holder == Holder::Anyone {
            return;
        }
        for target in 0..self.targets.borrow().len() {
            self.pool.forget(target, holder);
            self.http2.forget(target, holder);
        }
    }

    /// Which requests the connections of a session are kept for.
    fn holder(&self, session: u64) -> Holder {
        match self.settings.reuse {
            Reuse::WithinSession => Holder::Session(session),
            Reuse::Always | Reuse::Never => Holder::Anyone,
        }
    }

    /// Runs one leg, once it has a place among the connections in use.
    async fn run_leg(&self, sending: &mut Sending<'_>, leg: &Leg, exchange: &mut Exchange) -> Result<(), Failure> {
        let place = sending.cancel.or(self.pool.acquire(&mut exchange.timeline)).await;
        let _place = place.map_err(|reason| {
            let blocked = &mut exchange.timeline.blocked;
            blocked.1 = blocked.0.taken().map_or(blocked.1, |_| mono_now());
            sending.stopped(reason)
        })?;
        let target = self.targets.borrow()[sending.target].clone();
        // Boxed, here and below, is what few requests go through: a task is as large as the largest thing it may wait
        // for, and every request is one.
        match self.settings.protocol {
            Protocol::Http1 => self.run_http1(&target, sending, leg, exchange).await,
            Protocol::Http2 => Box::pin(self.run_http2(&target, sending, leg, exchange)).await,
        }
    }

    /// The target of an origin that a leg leads to.
    pub(crate) fn target_of(&self, origin: &Origin) -> usize {
        let mut targets = self.targets.borrow_mut();
        targets.iter().position(|target| *target.origin == *origin).unwrap_or_else(|| {
            targets.push(Rc::new(Target::new(origin.clone(), &self.settings.connect.proxies)));
            targets.len() - 1
        })
    }

    /// Opens a connection to a target.
    async fn connect(
        &self,
        target: &Target,
        sending: &Sending<'_>,
        exchange: &mut Exchange,
    ) -> Result<Connection, Failure> {
        let connect = Box::pin(self.connector.connect(target, &mut exchange.timeline));
        let Some(limit) = self.settings.connect_timeout else {
            return sending.cancel.or(connect).await.map_err(|reason| sending.stopped(reason))?;
        };
        let connected = sending.cancel.or(tokio::time::timeout(limit, connect)).await;
        let timed_out = |_| Err(target.unconnected(&io::ErrorKind::TimedOut.into()));
        connected.map_err(|reason| sending.stopped(reason))?.unwrap_or_else(timed_out)
    }
}

/// How a request is on its way.
struct Sending<'a> {
    target: usize,
    /// Who may use its connection again.
    holder: Holder,
    deadlines: Deadlines<'a>,
    cancel: &'a Cancel,
    kept: Retention,
    watch: Option<&'a mut dyn Watch>,
}

impl Sending<'_> {
    /// Notifies the watch that more of the response came.
    fn notify(&mut self, exchange: &Exchange) {
        if let Some(watch) = &mut self.watch {
            watch.read(exchange);
        }
    }

    fn stopped(&self, reason: CancelReason) -> Failure {
        match reason {
            CancelReason::Stopped => Failure::CutOff,
            CancelReason::SendTimedOut => Failure::SendTimedOut,
            CancelReason::Planned => Failure::Cancelled { after: self.deadlines.cancelled_after() },
            CancelReason::TimedOut | CancelReason::LeftOpen => Failure::TimedOut,
        }
    }
}

/// A server that closes a pooled connection this soon after a request went out had closed it before the request came:
/// its notice takes one round trip, seldom more than a few tenths of a second. One that closes later had the
/// request, and a second one would be work done twice and a failure hidden.
const CLOSED_BEFORE: Nanos = Nanos(1_000_000_000);

/// Whether a connection that ended without a byte of a response was closed before the request came.
fn closed_before_it_came(timeline: &Timeline, now: MonoNs) -> bool {
    let sent = timeline.send_start.max(timeline.send_end);
    timeline.bytes_received == 0 && (timeline.bytes_sent == 0 || now.since(sent) <= CLOSED_BEFORE)
}

/// The last event of a stream came and nothing ended the stream: it is over with its last read.
fn leave_open(timeline: &mut Timeline) {
    timeline.left_open = true;
    timeline.end = timeline.reads.last().map_or_else(mono_now, |read| read.at);
}

/// What a leg asked for, as its account shows it.
fn described(leg: &Leg) -> String {
    let (method, path) = leg.request_line();
    format!("{method} {}{path}", leg.origin)
}

fn lost(error: &io::Error) -> Failure {
    Failure::Lost { was_reset: error.kind() == io::ErrorKind::ConnectionReset, reason: os_reason(error) }
}
