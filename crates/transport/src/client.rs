//! One request from start to end: a connection, the write, and a read loop that does as little as possible.

use crate::buffers::{BufferReturn, Buffers};
use crate::cancel::{Cancel, CancelReason};
use crate::clock::mono_now;
pub use crate::connect::Target;
use crate::connect::{Connector, SocketOptions, os_reason};
use crate::framer::{FrameError, Framer};
use crate::pace::ConnectPace;
use crate::pool::Pool;
use crate::receive::record_read;
use crate::stamp::{StampMode, StampedReader};
use crate::stream_end::{END_PATIENCE, Quiet, StreamEnd};
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, Read, RequestTag, Timeline};
use bytes::Bytes;
use nix::sys::uio::writev;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// When less than this is left in a buffer, it grows before the next read.
const LEAST_ROOM: usize = 2 << 10;
/// What a body that is no longer kept is read into.
const OVERFLOW_ROOM: usize = 64 << 10;
/// A server that closes a pooled connection this soon after a request went out had closed it before the request came:
/// what tells us takes one round trip, seldom more than a few tenths of a second. One that closes later had the
/// request, and a second one would be work done twice and a failure hidden.
const CLOSED_BEFORE: Nanos = Nanos(1_000_000_000);

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// Which instant a read gets.
    pub stamps: StampMode,
    pub socket: SocketOptions,
    /// Connections this client may have in use.
    pub connection_limit: usize,
    /// Connects it may have outstanding.
    pub connects_outstanding: usize,
    /// How long an idle connection lives.
    pub keepalive: Nanos,
    /// Bytes of a response that are kept.
    pub kept_limit: usize,
    /// Use a connection for one request only.
    pub never_reuse: bool,
    pub stream_end: StreamEnd,
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
}

/// Sends requests; one a worker.
pub struct Client {
    settings: ClientSettings,
    targets: Vec<Target>,
    connector: Connector,
    pool: Pool,
    reader: StampedReader,
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
        Self {
            connector: Connector::new(settings.socket.clone(), settings.stamps, settings.connects_outstanding),
            pool: Pool::new(targets.len(), settings.connection_limit, settings.keepalive),
            reader: StampedReader::new(settings.stamps),
            buffers: RefCell::new(Buffers::new(returns)),
            settings,
            targets,
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

    /// Sends a request and reads its answer. Always gives an exchange: failures are in it.
    pub async fn send(&self, out: OutgoingRequest, cancel: &Cancel) -> Exchange {
        let (raw, reads) = self.buffers.borrow_mut().take();
        let timeline =
            Timeline { intended: out.intended, issued: out.issued, start: mono_now(), reads, ..Timeline::default() };
        let mut exchange =
            Exchange { tag: out.tag, timeline, raw, request_body: out.body.clone(), ..Exchange::default() };
        let outcome = self.run(out.target, &out.head, &out.body, &mut exchange, cancel).await;
        if let Err(failure) = outcome {
            exchange.failure = Some(failure);
            exchange.timeline.end = mono_now();
        }
        exchange
    }

    async fn run(
        &self,
        target: usize,
        head: &[u8],
        body: &[u8],
        exchange: &mut Exchange,
        cancel: &Cancel,
    ) -> Result<(), Failure> {
        let place = cancel.or(self.pool.acquire(&mut exchange.timeline)).await;
        let _place = place.map_err(stopped)?;
        let idle = if self.settings.never_reuse { None } else { self.pool.take(target) };
        exchange.timeline.reused = idle.is_some();
        let mut stream = match idle {
            Some(stream) => stream,
            None => self.connect(target, exchange, cancel).await?,
        };
        let mut framer = Framer::default();
        let mut end = self.write_and_read(&stream, head, body, exchange, &mut framer, cancel).await;
        if end.is_of_idle(&exchange.timeline, mono_now()) {
            // Nobody failed: it goes out again, and all of it is part of the request's time.
            let timeline = &mut exchange.timeline;
            timeline.connection_retries += 1;
            timeline.reused = false;
            (timeline.writes, timeline.bytes_sent) = (0, 0);
            (timeline.send_start, timeline.send_end) = (MonoNs(0), MonoNs(0));
            stream = self.connect(target, exchange, cancel).await?;
            end = self.write_and_read(&stream, head, body, exchange, &mut framer, cancel).await;
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
                if framer.is_reusable() && !self.settings.never_reuse {
                    self.pool.give(target, stream);
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
            End::Cancelled(reason) => Err(stopped(reason)),
        }
    }

    async fn connect(&self, target: usize, exchange: &mut Exchange, cancel: &Cancel) -> Result<TcpStream, Failure> {
        let connect = self.connector.connect(&self.targets[target], &mut exchange.timeline);
        cancel.or(connect).await.map_err(stopped)?
    }

    /// Writes the request while reading the answer: a long body may be answered before it is sent.
    async fn write_and_read(
        &self,
        stream: &TcpStream,
        head: &[u8],
        body: &[u8],
        exchange: &mut Exchange,
        framer: &mut Framer,
        cancel: &Cancel,
    ) -> End {
        let total = head.len() + body.len();
        let mut sent = 0;
        let mut patience: Option<Pin<Box<Sleep>>> = None;
        let mut quiet = Quiet::default();
        exchange.timeline.send_start = mono_now();
        std::future::poll_fn(|cx| {
            let stopped = cancel.poll(cx);
            if let Some(patience) = &mut patience
                && (stopped.is_some() || patience.as_mut().poll(cx).is_ready())
            {
                return Poll::Ready(End::SaidDone);
            }
            if let Some(reason) = stopped {
                return Poll::Ready(End::Cancelled(reason));
            }
            if cancel.take_nudge() && quiet.has_said_all(exchange, self.settings.stream_end) {
                return Poll::Ready(End::SaidDone);
            }
            while sent < total {
                let wrote = write_some(stream, head, body, sent);
                match wrote {
                    Ok(n) => {
                        sent += n;
                        let timeline = &mut exchange.timeline;
                        timeline.send_end = mono_now();
                        timeline.writes += 1;
                        timeline.bytes_sent += n as u64;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => match stream.poll_write_ready(cx) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(lost(&error))),
                        Poll::Pending => break,
                    },
                    // The server may have answered and closed: what it said matters more than the failed write.
                    Err(_) => break,
                }
            }
            loop {
                match stream.poll_read_ready(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(lost(&error))),
                    Poll::Ready(Ok(())) => {}
                }
                match self.read_some(stream, exchange) {
                    Ok(None) => {}
                    Ok(Some(read)) if read.len == 0 => {
                        return Poll::Ready(if sent < total && exchange.timeline.reads.is_empty() {
                            End::Failed(Failure::Disconnected)
                        } else {
                            End::Closed
                        });
                    }
                    Ok(Some(read)) => {
                        if let Err(error) = record_read(read, exchange, framer, self.settings.kept_limit) {
                            return Poll::Ready(End::Failed(unframed(error)));
                        }
                        if framer.is_done() {
                            // An answer that came before the request was written leaves the connection unusable.
                            return Poll::Ready(if sent < total { End::Closed } else { End::Complete });
                        }
                        if patience.is_none() && self.settings.stream_end.has_come(exchange) {
                            let mut sleep = Box::pin(tokio::time::sleep(END_PATIENCE));
                            // Asked once, it wakes this task when it is over.
                            let _ = sleep.as_mut().poll(cx);
                            patience = Some(sleep);
                        }
                    }
                    Err(error) => return Poll::Ready(End::Failed(lost(&error))),
                }
            }
        })
        .await
    }

    /// One `recvmsg` into the exchange's own buffer; `None` when there was nothing yet.
    fn read_some(&self, stream: &TcpStream, exchange: &mut Exchange) -> io::Result<Option<Read>> {
        let filled = exchange.raw_len;
        if exchange.raw.len() - filled < LEAST_ROOM {
            let wanted = if filled < self.settings.kept_limit { filled * 2 } else { filled + OVERFLOW_ROOM };
            exchange.raw.resize(wanted.max(filled + LEAST_ROOM), 0);
        }
        let room = &mut exchange.raw[filled..];
        let mut outcome = None;
        let tried = stream.try_io(Interest::READABLE, || {
            let read = self.reader.read(stream, room)?;
            outcome = Some(read);
            // A short read emptied the socket. Saying so clears tokio's readiness and saves the recvmsg that would
            // only return EAGAIN; a close that came along stays noted, and later bytes bring a new edge.
            if read.len != 0 && (read.len as usize) < room.len() {
                Err(io::ErrorKind::WouldBlock.into())
            } else {
                Ok(())
            }
        });
        match tried {
            Err(error) if outcome.is_none() && error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(outcome),
        }
    }
}

fn write_some(stream: &TcpStream, head: &[u8], body: &[u8], sent: usize) -> io::Result<usize> {
    if sent == 0 {
        // A new connection is mostly writable before the runtime has had a chance to find out: just try.
        Ok(writev(stream, &[IoSlice::new(head), IoSlice::new(body)])?)
    } else if sent < head.len() {
        stream.try_write_vectored(&[IoSlice::new(&head[sent..]), IoSlice::new(body)])
    } else {
        stream.try_write(&body[sent - head.len()..])
    }
}

fn stopped(reason: CancelReason) -> Failure {
    match reason {
        CancelReason::Stopped => Failure::CutOff,
        CancelReason::TimedOut => Failure::TimedOut,
    }
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
