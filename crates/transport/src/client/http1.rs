//! One leg over HTTP/1.1: the write, and a read loop that does as little as possible.

use super::{Client, Reuse, Sending, closed_before_it_came, described, leave_open, lost};
use crate::cancel::CancelReason;
use crate::clock::mono_now;
use crate::connection::Connection;
use crate::earlier_legs::begin_leg;
use crate::framer::{FrameError, Framer};
use crate::legs::Leg;
use crate::receive::{Retention, record_read};
use crate::stamped_stream::StampedStream;
use crate::stream_end::{END_PATIENCE, Quiet};
use crate::target::Target;
use aiperf_types::{Body, Exchange, Failure, MonoNs, Nanos, Timeline};
use std::io::{self, IoSlice};
use std::task::{Context, Poll};

/// When less than this is left in a buffer, it grows before the next read.
const LEAST_ROOM: usize = 2 << 10;
/// Pieces of a request that one write takes at most: more of them are a long conversation, and a write more.
const SLICES: usize = 64;
/// The same for a response whose body is dropped: the room is used again and again.
const DROPPED_ROOM: usize = 64 << 10;
/// From here on a buffer grows fourfold, unless responses share a budget: there, room that is not used is others'.
const LARGE: usize = 4 << 20;

/// A write takes microseconds. One that seems to have taken longer had handed its bytes on when this thread lost its
/// core: they left when it began, and what passed since is the server's time.
const LOST_CORE: Nanos = Nanos(1_000_000);

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
    /// close followed it at once, without a byte of a response.
    fn is_of_idle(&self, timeline: &Timeline, now: MonoNs) -> bool {
        timeline.reused && matches!(self, Self::Closed | Self::Failed(_)) && closed_before_it_came(timeline, now)
    }
}

impl Client {
    /// Runs one leg over a connection of its own.
    pub(super) async fn run_http1(
        &self,
        target: &Target,
        sending: &mut Sending<'_>,
        leg: &Leg,
        exchange: &mut Exchange,
    ) -> Result<(), Failure> {
        let through_proxy = target.proxy.as_ref().filter(|_| !target.origin.is_tls());
        let rewritten = through_proxy.map(|proxy| proxy.head(&leg.head, &target.origin));
        let head = rewritten.as_ref().unwrap_or(&leg.head);
        let reuses = self.settings.reuse != Reuse::Never;
        let idle = if reuses { self.pool.take(sending.target, sending.holder) } else { None };
        exchange.timeline.reused = idle.is_some();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Box::pin(self.connect(target, sending, exchange)).await?,
        };
        let mut framer = Framer::default();
        let mut end = self.write_and_read(&mut connection, head, &leg.body, exchange, &mut framer, sending).await;
        if end.is_of_idle(&exchange.timeline, mono_now()) {
            // Nothing failed: it goes out again, and all of it is part of the request's time.
            begin_leg(exchange, described(leg), mono_now());
            exchange.timeline.connection_retries += 1;
            connection = Box::pin(self.connect(target, sending, exchange)).await?;
            end = Box::pin(self.write_and_read(&mut connection, head, &leg.body, exchange, &mut framer, sending)).await;
        }
        let timeline = &mut exchange.timeline;
        // Cause before effect: a response may be stamped before our write has returned.
        if let Some(first) = timeline.reads.first() {
            timeline.send_end = timeline.send_end.min(first.at);
            timeline.send_start = timeline.send_start.min(timeline.send_end);
            timeline.head_sent = timeline.head_sent.min(timeline.send_end);
            timeline.write_log.iter_mut().for_each(|(at, _)| *at = timeline.send_end.min(*at));
        }
        match end {
            End::Complete => {
                timeline.end = timeline.reads.last().map_or_else(mono_now, |read| read.at);
                if framer.is_reusable() && reuses {
                    self.pool.give(sending.target, sending.holder, connection);
                }
                Ok(())
            }
            End::SaidDone => {
                leave_open(timeline);
                Ok(())
            }
            End::Closed => {
                timeline.end = mono_now();
                let ends_by_close = !framer.is_done();
                framer.close().map_err(unframed)?;
                // An attacker, or a proxy that breaks down, can close a connection too (RFC 9112, section 9.8).
                match ends_by_close && connection.was_cut() {
                    true => {
                        Err(Failure::Framing("body was cut: the server closed without the close_notify of TLS".into()))
                    }
                    false => Ok(()),
                }
            }
            End::Failed(failure) => Err(failure),
            End::Cancelled(reason) => Err(sending.stopped(reason)),
        }
    }

    /// Writes the request while reading the response: a long body may be answered before it is sent.
    async fn write_and_read(
        &self,
        connection: &mut Connection,
        head: &[u8],
        body: &Body,
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
        if self.settings.detailed {
            timeline.addresses = connection.addresses();
        }
        std::future::poll_fn(|cx| {
            match cancel.poll(cx) {
                Some(_) if patience.is_some() => return Poll::Ready(End::SaidDone),
                Some(reason) => return Poll::Ready(End::Cancelled(reason)),
                None => {}
            }
            if cancel.take_nudge() && quiet.is_complete(exchange, self.settings.stream_end) {
                return Poll::Ready(End::SaidDone);
            }
            while sent < total {
                let before = mono_now();
                match write_some(connection, cx, head, body, sent) {
                    Poll::Ready(Ok(written)) => {
                        sent += written;
                        let after = mono_now();
                        let now = if after.since(before) > LOST_CORE { before } else { after };
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
                    // The server may have answered and closed: its response matters more than the failed write.
                    Poll::Pending | Poll::Ready(Err(_)) => break,
                }
            }
            loop {
                let room = room(exchange, &sending.kept);
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
                if let Err(error) = record_read(read, exchange, framer, &mut sending.kept) {
                    return Poll::Ready(End::Failed(unframed(error)));
                }
                // A response without end would otherwise be read until the request's time is up, for nothing.
                if let Some(failure) = &exchange.failure {
                    return Poll::Ready(End::Failed(failure.clone()));
                }
                sending.notify(exchange);
                if framer.is_done() {
                    // A response that came before the request was written leaves the connection unusable.
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
}

/// Room for the next read in the exchange's own buffer.
fn room<'a>(exchange: &'a mut Exchange, kept: &Retention) -> &'a mut [u8] {
    let filled = exchange.raw_len;
    let least = if kept.drops_body { DROPPED_ROOM } else { LEAST_ROOM };
    if exchange.raw.len() - filled < least {
        // Of large responses the allocator keeps the smaller buffers for a while: with fewer steps, less is held at
        // once.
        let factor = if filled < LARGE || kept.is_shared() { 2 } else { 4 };
        let wanted = (filled * factor).min(kept.limit().saturating_add(least));
        exchange.raw.resize(wanted.max(filled + least), 0);
    }
    &mut exchange.raw[filled..]
}

fn write_some(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    head: &[u8],
    body: &Body,
    sent: usize,
) -> Poll<io::Result<usize>> {
    match body.pieces() {
        [] | [_] => write_slices::<2>(connection, cx, head, body, sent),
        _ => write_slices::<SLICES>(connection, cx, head, body, sent),
    }
}

fn write_slices<const MOST: usize>(
    connection: &mut Connection,
    cx: &mut Context<'_>,
    head: &[u8],
    body: &Body,
    sent: usize,
) -> Poll<io::Result<usize>> {
    let mut slices = [IoSlice::new(&[]); MOST];
    let mut filled = 0;
    let mut skip = sent;
    let pieces = body.pieces().iter().map(|piece| &piece[..]);
    for piece in std::iter::once(head).chain(pieces) {
        let rest = &piece[skip.min(piece.len())..];
        skip = skip.saturating_sub(piece.len());
        if !rest.is_empty() {
            slices[filled] = IoSlice::new(rest);
            filled += 1;
            if filled == MOST {
                break;
            }
        }
    }
    connection.poll_write(cx, &slices[..filled])
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
    use super::super::CLOSED_BEFORE;
    use super::*;
    use crate::budget::ResponseBudget;
    use std::rc::Rc;
    use std::sync::Arc;

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

    #[test]
    fn a_response_takes_at_most_twice_its_length_of_a_shared_budget() {
        let budget = Rc::new(Arc::new(ResponseBudget::new(1 << 30)));
        let alone = || Retention::up_to(64 << 20);
        for (kept, grown) in [(alone().within(Some(budget)), 16 << 20), (alone(), 32 << 20)] {
            let filled = 8 << 20;
            let mut exchange = Exchange { raw: vec![0; filled], raw_len: filled, ..Exchange::default() };
            room(&mut exchange, &kept);
            assert_eq!(exchange.raw.len(), grown);
        }
    }
}
