//! One request from start to end: a connection, the write, and a read loop that does as little as possible.

use crate::buffers::{BufferReturn, Buffers};
use crate::cancel::{Cancel, CancelReason};
use crate::clock::mono_now;
use crate::connect::{ConnectSettings, Connector, os_reason};
use crate::connection::Connection;
use crate::framer::{FrameError, Framer};
use crate::legs::{Leg, Script, Step};
use crate::pace::ConnectPace;
use crate::phases;
use crate::pool::{Holder, Pool};
use crate::receive::record_read;
use crate::stamp::{StampMode, StampedReader};
use crate::stream_end::{END_PATIENCE, Quiet, StreamEnd};
use crate::target::{Origin, Target};
use crate::timers::{Deadline, Timers};
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, RequestTag, Timeline};
use bytes::Bytes;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Semaphore;

/// When less than this is left in a buffer, it grows before the next read.
const LEAST_ROOM: usize = 2 << 10;
/// What a body that is no longer kept is read into.
const OVERFLOW_ROOM: usize = 64 << 10;
/// A server that closes a pooled connection this soon after a request went out had closed it before the request came:
/// what tells us takes one round trip, seldom more than a few tenths of a second. One that closes later had the
/// request, and a second one would be work done twice and a failure hidden.
const CLOSED_BEFORE: Nanos = Nanos(1_000_000_000);

/// How a client behaves.
#[derive(Clone)]
pub struct ClientSettings {
    /// Which instant a read gets.
    pub stamps: StampMode,
    pub connect: ConnectSettings,
    /// Places for connections in use, of the whole process.
    pub places: Arc<Semaphore>,
    /// How long an idle connection lives.
    pub keepalive: Nanos,
    /// Bytes of a response that are kept.
    pub kept_limit: usize,
    pub reuse: Reuse,
    pub stream_end: StreamEnd,
    /// Keep the head as sent and an account of each write.
    pub detailed: bool,
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
    pub body: Bytes,
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
    reader: Rc<StampedReader>,
    timers: Timers,
    buffers: RefCell<Buffers>,
}

/// How the reading of a response ended.
enum End {
    Complete,
    /// The last event of a stream came, and nothing ended the stream.
    SaidDone,
    Closed,
    Failed(Failure),
    Cancelled(CancelReason),
}

impl End {
    /// Whether a pooled connection was closed while it was idle, before the request came: the write failed, or the
    /// close followed it at once, without a byte of an answer.
    fn is_of_idle(&self, timeline: &Timeline, now: MonoNs) -> bool {
        let sent = timeline.send_start.max(timeline.send_end);
        let had_no_request = timeline.bytes_sent == 0 || now.since(sent) <= CLOSED_BEFORE;
        let is_over = matches!(self, Self::Closed | Self::Failed(_));
        timeline.reused && timeline.bytes_received == 0 && is_over && had_no_request
    }
}

impl Client {
    /// A client without connections. Record threads give its buffers back through `returns`.
    pub fn new(settings: ClientSettings, targets: Vec<Target>, returns: BufferReturn) -> Self {
        let reader = Rc::new(StampedReader::new(settings.stamps));
        Self {
            connector: Connector::new(settings.connect.clone(), reader.clone()),
            pool: Pool::new(settings.places.clone(), settings.keepalive),
            reader,
            timers: Timers::default(),
            buffers: RefCell::new(Buffers::new(returns)),
            settings,
            targets: RefCell::new(targets.into_iter().map(Rc::new).collect()),
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

    /// The deadlines of its requests. Somebody has to keep their time.
    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    /// Sends a request and reads its answer, leg by leg. Always gives an exchange: failures are in it.
    pub async fn send(&self, out: OutgoingRequest, cancel: &Cancel, script: &mut dyn Script) -> Exchange {
        let (raw, reads) = self.buffers.borrow_mut().take();
        let start = mono_now();
        let OutgoingRequest { intended, issued, .. } = out;
        let timeline = Timeline { intended, issued, start, leg_start: start, reads, ..Timeline::default() };
        let mut exchange =
            Exchange { tag: out.tag, timeline, raw, request_body: out.body.clone(), ..Exchange::default() };
        let deadlines = Deadlines::new(&self.timers, start, out.timeout, out.cancelled, cancel);
        let session = exchange.tag.correlation_id;
        let holder =
            if self.settings.reuse == Reuse::WithinSession { Holder::Session(session) } else { Holder::Anyone };
        let mut sending = Sending { target: out.target, holder, ends_session: out.ends_session, deadlines, cancel };
        let origin = self.targets.borrow()[out.target].origin.clone();
        let mut leg = Leg { origin, head: out.head, body: out.body };
        let outcome = loop {
            if let Err(failure) = self.run(&mut sending, &leg, &mut exchange).await {
                break Err(failure);
            }
            match script.next(&leg, &exchange) {
                Step::End => break Ok(()),
                Step::Fail(failure) => break Err(failure),
                Step::Next(pause, next) => {
                    phases::begin_leg(&mut exchange, described(&leg), mono_now());
                    if pause > Nanos(0)
                        && let Err(reason) = cancel.or(self.timers.sleep_until(mono_now().plus(pause))).await
                    {
                        break Err(sending.stopped(reason));
                    }
                    sending.target = self.target_of(&next.origin);
                    leg = *next;
                }
            }
        };
        if self.settings.detailed {
            exchange.request_head = std::mem::take(&mut leg.head);
        }
        if let Err(failure) = outcome {
            exchange.failure = Some(failure);
            exchange.timeline.end = mono_now();
        }
        exchange
    }

    /// The target of an origin that a leg leads to.
    fn target_of(&self, origin: &Origin) -> usize {
        let mut targets = self.targets.borrow_mut();
        targets.iter().position(|target| target.origin == *origin).unwrap_or_else(|| {
            targets.push(Rc::new(Target::new(origin.clone())));
            targets.len() - 1
        })
    }

    /// Runs one leg.
    async fn run(&self, sending: &mut Sending<'_>, leg: &Leg, exchange: &mut Exchange) -> Result<(), Failure> {
        let cancel = sending.cancel;
        let place = cancel.or(self.pool.acquire(&mut exchange.timeline)).await;
        let _place = place.map_err(|reason| sending.stopped(reason))?;
        let target = self.targets.borrow()[sending.target].clone();
        let through_proxy = target.proxy.as_ref().filter(|_| !target.origin.is_tls());
        let rewritten = through_proxy.map(|proxy| proxy.head(&leg.head, &target.origin));
        let head = rewritten.as_ref().unwrap_or(&leg.head);
        let reuses = self.settings.reuse != Reuse::Never;
        let idle = if reuses { self.pool.take(sending.target, sending.holder) } else { None };
        exchange.timeline.reused = idle.is_some();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect(&target, sending, exchange).await?,
        };
        let mut framer = Framer::default();
        let mut end = self.write_and_read(&mut connection, head, &leg.body, exchange, &mut framer, sending).await;
        if end.is_of_idle(&exchange.timeline, mono_now()) {
            // Nobody failed: it goes out again, and all of it is part of the request's time.
            phases::begin_leg(exchange, described(leg), mono_now());
            exchange.timeline.connection_retries += 1;
            connection = self.connect(&target, sending, exchange).await?;
            end = self.write_and_read(&mut connection, head, &leg.body, exchange, &mut framer, sending).await;
        }
        let timeline = &mut exchange.timeline;
        // Cause before effect: a stamp may say that the answer came before our write had returned.
        if let Some(first) = timeline.reads.first() {
            timeline.send_end = timeline.send_end.min(first.at);
            timeline.send_start = timeline.send_start.min(timeline.send_end);
        }
        match end {
            End::Complete => {
                timeline.end = timeline.reads.last().map_or_else(mono_now, |read| read.at);
                let is_over = sending.ends_session && matches!(sending.holder, Holder::Session(_));
                if framer.is_reusable() && reuses && !is_over {
                    self.pool.give(sending.target, sending.holder, connection);
                }
                Ok(())
            }
            End::SaidDone => {
                timeline.left_open = true;
                timeline.end = timeline.reads.last().map_or_else(mono_now, |read| read.at);
                Ok(())
            }
            End::Closed => {
                timeline.end = mono_now();
                framer.close().map_err(unframed)
            }
            End::Failed(failure) => Err(failure),
            End::Cancelled(reason) => Err(sending.stopped(reason)),
        }
    }

    async fn connect(
        &self,
        target: &Target,
        sending: &Sending<'_>,
        exchange: &mut Exchange,
    ) -> Result<Connection, Failure> {
        let connect = self.connector.connect(target, &mut exchange.timeline);
        sending.cancel.or(connect).await.map_err(|reason| sending.stopped(reason))?
    }

    /// Writes the request while reading the answer: a long body may be answered before it is sent.
    async fn write_and_read(
        &self,
        connection: &mut Connection,
        head: &[u8],
        body: &[u8],
        exchange: &mut Exchange,
        framer: &mut Framer,
        sending: &mut Sending<'_>,
    ) -> End {
        let total = head.len() + body.len();
        let mut sent = 0;
        let mut patience = None;
        let mut quiet = Quiet::default();
        let cancel = sending.cancel;
        let timeline = &mut exchange.timeline;
        timeline.send_start = timeline.connect.1.taken().or(timeline.blocked.1.taken()).unwrap_or(timeline.leg_start);
        (timeline.local, timeline.remote) = connection.addresses();
        std::future::poll_fn(|cx| {
            match cancel.poll(cx) {
                Some(_) if patience.is_some() => return Poll::Ready(End::SaidDone),
                Some(reason) => return Poll::Ready(End::Cancelled(reason)),
                None => {}
            }
            if cancel.take_nudge() && quiet.has_said_all(exchange, self.settings.stream_end) {
                return Poll::Ready(End::SaidDone);
            }
            while sent < total {
                match write_some(connection, cx, head, body, sent) {
                    Poll::Ready(Ok(written)) => {
                        sent += written;
                        let now = mono_now();
                        let timeline = &mut exchange.timeline;
                        timeline.send_end = now;
                        timeline.writes += 1;
                        timeline.bytes_sent += written as u64;
                        if sent >= head.len() && timeline.head_sent == MonoNs(0) {
                            timeline.head_sent = now;
                        }
                        if self.settings.detailed {
                            timeline.write_log.push((now, written as u32));
                        }
                        if sent == total && sending.deadlines.note_sent(now) {
                            return Poll::Ready(End::Cancelled(CancelReason::Planned));
                        }
                    }
                    // The server may have answered and closed: what it said matters more than the failed write.
                    Poll::Pending | Poll::Ready(Err(_)) => break,
                }
            }
            loop {
                let room = self.room(exchange);
                let read = match connection.poll_read(cx, room) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(read)) => read,
                    Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(lost(&error))),
                };
                if read.len == 0 {
                    return Poll::Ready(if sent < total && exchange.timeline.reads.is_empty() {
                        End::Failed(Failure::Disconnected)
                    } else {
                        End::Closed
                    });
                }
                if let Err(error) = record_read(read, exchange, framer, self.settings.kept_limit) {
                    return Poll::Ready(End::Failed(unframed(error)));
                }
                if framer.is_done() {
                    // An answer that came before the request was written leaves the connection unusable.
                    return Poll::Ready(if sent < total { End::Closed } else { End::Complete });
                }
                if patience.is_none() && self.settings.stream_end.has_come(exchange) {
                    let until = mono_now().plus(Nanos(END_PATIENCE.as_nanos() as u64));
                    patience = Some(self.timers.stop_at(until, cancel, CancelReason::LeftOpen));
                }
            }
        })
        .await
    }

    /// Room for the next read in the exchange's own buffer.
    fn room<'a>(&self, exchange: &'a mut Exchange) -> &'a mut [u8] {
        let filled = exchange.raw_len;
        if exchange.raw.len() - filled < LEAST_ROOM {
            let wanted = if filled < self.settings.kept_limit { filled * 2 } else { filled + OVERFLOW_ROOM };
            exchange.raw.resize(wanted.max(filled + LEAST_ROOM), 0);
        }
        &mut exchange.raw[filled..]
    }
}

/// How a request is on its way.
struct Sending<'a> {
    target: usize,
    /// Who may use its connection again.
    holder: Holder,
    ends_session: bool,
    deadlines: Deadlines<'a>,
    cancel: &'a Cancel,
}

impl Sending<'_> {
    fn stopped(&self, reason: CancelReason) -> Failure {
        match reason {
            CancelReason::Stopped => Failure::CutOff,
            CancelReason::SendTimedOut => Failure::SendTimedOut,
            CancelReason::Planned => Failure::Cancelled { after: self.deadlines.cancelled_after() },
            CancelReason::TimedOut | CancelReason::LeftOpen => Failure::TimedOut,
        }
    }
}

/// The deadlines of one request.
struct Deadlines<'a> {
    timers: &'a Timers,
    cancel: &'a Cancel,
    end: Option<MonoNs>,
    planned: Option<PlannedCancel>,
    /// The request's own end, or the end of its sending.
    running: Option<Deadline>,
    cancelling: Option<Deadline>,
}

impl<'a> Deadlines<'a> {
    fn new(
        timers: &'a Timers,
        start: MonoNs,
        timeout: Option<Nanos>,
        planned: Option<PlannedCancel>,
        cancel: &'a Cancel,
    ) -> Self {
        let end = timeout.map(|timeout| start.plus(timeout));
        let mut deadlines = Self { timers, cancel, end, planned, running: None, cancelling: None };
        match (end, planned) {
            (end, Some(planned)) => {
                let sent_by = end.unwrap_or(start.plus(planned.send_timeout));
                deadlines.running = Some(timers.stop_at(sent_by, cancel, CancelReason::SendTimedOut));
            }
            (Some(end), None) => deadlines.running = Some(timers.stop_at(end, cancel, CancelReason::TimedOut)),
            (None, None) => {}
        }
        deadlines
    }

    /// The request was sent; `true` when it is to be cancelled at once.
    fn note_sent(&mut self, now: MonoNs) -> bool {
        let Some(planned) = self.planned else { return false };
        self.running = self.end.map(|end| self.timers.stop_at(end, self.cancel, CancelReason::TimedOut));
        let cancelled_at = now.plus(planned.after);
        self.cancelling = Some(self.timers.stop_at(cancelled_at, self.cancel, CancelReason::Planned));
        planned.after == Nanos(0)
    }

    fn cancelled_after(&self) -> Nanos {
        self.planned.map_or(Nanos(0), |planned| planned.after)
    }
}

fn write_some(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    head: &[u8],
    body: &[u8],
    sent: usize,
) -> Poll<io::Result<usize>> {
    match head.get(sent..) {
        Some(rest) if !rest.is_empty() => connection.poll_write(cx, &[IoSlice::new(rest), IoSlice::new(body)]),
        _ => connection.poll_write(cx, &[IoSlice::new(&body[sent - head.len()..])]),
    }
}

/// What a leg asked for, as an account of it says.
fn described(leg: &Leg) -> String {
    let (method, path) = leg.request_line();
    format!("{method} {}{path}", leg.origin)
}

fn lost(error: &io::Error) -> Failure {
    Failure::Lost { was_reset: error.kind() == io::ErrorKind::ConnectionReset, reason: os_reason(error) }
}

fn unframed(error: FrameError) -> Failure {
    match error {
        FrameError::ClosedBeforeHead => Failure::Disconnected,
        FrameError::ShortBody { got, announced } => Failure::ShortBody { got, announced },
        FrameError::Head(_) => Failure::Head(error.to_string()),
        FrameError::Chunk(_) | FrameError::CutChunked => Failure::Framing(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_out_again_only_when_its_pooled_connection_was_closed_before_it_came() {
        const SENT: MonoNs = MonoNs(5_000_000_000);
        let pooled =
            || Timeline { reused: true, send_start: MonoNs(1), send_end: SENT, bytes_sent: 9, ..Timeline::default() };
        let unsent = || Timeline { send_end: MonoNs(0), bytes_sent: 0, ..pooled() };
        let later = |nanos: u64| MonoNs(SENT.0 + nanos);
        for (timeline, now, goes_again) in [
            (pooled(), later(1_000), true),
            (pooled(), later(CLOSED_BEFORE.0), true),
            (pooled(), later(CLOSED_BEFORE.0 + 1), false),
            (unsent(), later(60_000_000_000), true),
            (Timeline { reused: false, ..pooled() }, later(1_000), false),
            (Timeline { bytes_received: 1, ..pooled() }, later(1_000), false),
        ] {
            for end in [End::Closed, End::Failed(Failure::Disconnected)] {
                assert_eq!(end.is_of_idle(&timeline, now), goes_again, "{timeline:?} at {now:?}");
            }
            assert!(!End::Cancelled(CancelReason::TimedOut).is_of_idle(&timeline, now));
        }
    }
}
