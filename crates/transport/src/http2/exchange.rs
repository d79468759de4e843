//! One request on an HTTP/2 connection, and its response in the form of all responses: a head in the text of
//! HTTP/1, the body behind it, and the reads that delivered them.

use super::connection::{ConnectionState, Http2Connection};
use super::failure::Http2Failure;
use super::request;
use super::sent::Sent;
use super::tap::Arrival;
use crate::clock::mono_now;
use crate::framer::{FIELD_LIMIT, HEAD_LIMIT, LINE_LIMIT};
use crate::receive::{Retention, note_dropped};
use aiperf_types::{Body, Exchange, Failure, MonoNs, Read};
use h2::RecvStream;
use h2::client::ResponseFuture;
use http::response::Parts;
use std::io::Write;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Bytes of a response that are released for new ones at once: each release takes the lock of the connection. The end of
/// a stream releases the rest. 65,536 streams together hold back less than the window of their connection.
const RELEASE: usize = 16 << 10;

/// How far a response has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its head or a part of its body was added.
    Received,
    Complete,
}

/// A request under way. Dropped, it is cancelled, and the others on its connection go on; [`Http2Exchange::close`]
/// notes before that what was sent and received.
pub struct Http2Exchange {
    stream: u32,
    connection: Rc<ConnectionState>,
    response: ResponseState,
    kept: Retention,
    /// The read of the last entry of the timeline, and the last with some of the body.
    kept_read: u64,
    body_read: u64,
    /// Bytes that were taken and not released yet.
    unreleased: usize,
    /// Why nothing more is kept: more came than may be.
    refused: Option<Failure>,
}

enum ResponseState {
    Head(ResponseFuture),
    Body(RecvStream),
    Over,
}

impl Http2Exchange {
    /// Hands a request to the connection: its head as HTTP/1.1 writes it, and its body. The body is shared, not
    /// copied, and goes out as fast as the server lets it.
    pub fn start(
        connection: &Http2Connection,
        head: &[u8],
        body: &Body,
        kept: Retention,
    ) -> Result<Self, Http2Failure> {
        let request = request::from_http1(head, connection.scheme()).map_err(Http2Failure::Request)?;
        let refused = |error: h2::Error| match error.is_io() || error.is_go_away() || error.is_reset() {
            // The connection ended before anything of this request went out.
            true => Http2Failure::NotProcessed,
            false => Http2Failure::Request(error.to_string()),
        };
        let (response, mut sending) = connection.sender().send_request(request, body.is_empty()).map_err(refused)?;
        let state = connection.state();
        let stream = response.stream_id().as_u32();
        // The driver has not run yet, so nothing of the stream has gone by.
        state.taps.borrow_mut().register(stream);
        state.last_stream.set(stream);
        state.last_used.set(mono_now());
        state.open.set(state.open.get() + 1);
        let exchange = Self {
            stream,
            connection: state.clone(),
            response: ResponseState::Head(response),
            kept,
            kept_read: 0,
            body_read: 0,
            unreleased: 0,
            refused: None,
        };
        let mut pieces = body.pieces().iter().filter(|piece| !piece.is_empty()).peekable();
        while let Some(piece) = pieces.next() {
            sending.send_data(piece.clone(), pieces.peek().is_none()).map_err(refused)?;
        }
        Ok(exchange)
    }

    /// Adds what has come of the response to the exchange; at the end, also what was sent. Interim responses are passed
    /// over. To be polled until the response is complete or has failed, and not after that.
    pub fn poll_progress(
        &mut self,
        cx: &mut Context<'_>,
        exchange: &mut Exchange,
    ) -> Poll<Result<Progress, Http2Failure>> {
        let mut has_news = false;
        loop {
            match self.poll_step(cx, exchange) {
                Poll::Ready(Ok(Progress::Received)) => has_news = true,
                Poll::Pending if has_news => return Poll::Ready(Ok(Progress::Received)),
                Poll::Pending => return Poll::Pending,
                Poll::Ready(end) => {
                    exchange.timeline.end = self.end(end.is_ok());
                    self.note(exchange);
                    self.response = ResponseState::Over;
                    return Poll::Ready(end);
                }
            }
        }
    }

    /// Waits for the whole response.
    pub async fn run(mut self, exchange: &mut Exchange) -> Result<(), Http2Failure> {
        loop {
            match std::future::poll_fn(|cx| self.poll_progress(cx, exchange)).await? {
                Progress::Received => {}
                Progress::Complete => return Ok(()),
            }
        }
    }

    /// When the request was written, once all of it is.
    pub fn sent(&self) -> Option<MonoNs> {
        let taps = self.connection.taps.borrow();
        taps.sent.of(self.stream).filter(|sent| sent.is_whole).map(Sent::at)
    }

    /// Cancels the request, and notes what was sent and received of it.
    pub fn close(self, exchange: &mut Exchange) {
        self.note(exchange);
    }

    fn poll_step(&mut self, cx: &mut Context<'_>, exchange: &mut Exchange) -> Poll<Result<Progress, Http2Failure>> {
        match &mut self.response {
            ResponseState::Head(head) => {
                while let Poll::Ready(Some(interim)) = head.poll_informational(cx) {
                    if let Err(error) = interim {
                        return Poll::Ready(Err(self.failure(error)));
                    }
                    self.connection.taps.borrow_mut().received.take_head(self.stream);
                }
                match ready!(Pin::new(head).poll(cx)) {
                    Ok(response) => {
                        let (parts, body) = response.into_parts();
                        let text = match head_text(&parts) {
                            Ok(text) => text,
                            Err(why) => return Poll::Ready(Err(Http2Failure::Head(why))),
                        };
                        self.response = ResponseState::Body(body);
                        self.add_head(&parts, &text, exchange);
                        Poll::Ready(Ok(Progress::Received))
                    }
                    Err(error) => Poll::Ready(Err(self.failure(error))),
                }
            }
            ResponseState::Body(body) => match ready!(body.poll_data(cx)) {
                Some(Ok(data)) => {
                    self.unreleased += data.len();
                    if self.unreleased >= RELEASE {
                        // Of a stream that ended meanwhile, nothing can be released, and nothing needs to be.
                        let _ = body.flow_control().release_capacity(std::mem::take(&mut self.unreleased));
                    }
                    self.add_data(&data, exchange);
                    if let Some(failure) = self.refused.clone() {
                        return Poll::Ready(Err(Http2Failure::Refused(failure)));
                    }
                    Poll::Ready(Ok(Progress::Received))
                }
                Some(Err(error)) => Poll::Ready(Err(self.failure(error))),
                None => Poll::Ready(Ok(Progress::Complete)),
            },
            ResponseState::Over => Poll::Ready(Ok(Progress::Complete)),
        }
    }

    fn add_head(&mut self, parts: &Parts, text: &[u8], exchange: &mut Exchange) {
        let arrival = self.connection.taps.borrow_mut().received.take_head(self.stream);
        let arrival = arrival.unwrap_or_else(unseen);
        exchange.timeline.head = arrival.stamp.at;
        exchange.status = Some(parts.status.as_u16());
        exchange.chunked = false;
        self.keep(text, arrival, exchange);
        (exchange.head_at, exchange.body_at) = (0, exchange.raw_len);
    }

    fn add_data(&mut self, data: &[u8], exchange: &mut Exchange) {
        let mut rest = data;
        while !rest.is_empty() {
            let piece = self.connection.taps.borrow_mut().received.take_data(self.stream, rest.len() as u64);
            let (arrival, len) = piece.unwrap_or_else(|| (unseen(), rest.len() as u64));
            let (bytes, after) = rest.split_at(len as usize);
            rest = after;
            let timeline = &mut exchange.timeline;
            if timeline.body_start == MonoNs::default() {
                timeline.body_start = arrival.stamp.at;
            }
            timeline.body_reads += u32::from(self.body_read != arrival.read);
            self.body_read = arrival.read;
            match self.kept.drops(exchange) {
                false => self.keep(bytes, arrival, exchange),
                true => self.note_dropped(bytes.len(), arrival, exchange),
            }
        }
    }

    fn note_dropped(&mut self, len: usize, arrival: Arrival, exchange: &mut Exchange) {
        let is_another = self.kept_read != arrival.read;
        note_dropped(arrival.with_len(len as u32), is_another, &mut exchange.timeline.reads);
        self.kept_read = arrival.read;
    }

    /// Puts bytes behind those that are kept, unless they are too many. What follows a gap is not kept either.
    fn keep(&mut self, bytes: &[u8], arrival: Arrival, exchange: &mut Exchange) {
        let filled = exchange.raw_len + bytes.len();
        let reads = &mut exchange.timeline.reads;
        if self.refused.is_none() {
            self.refused = self.kept.admit(filled, exchange.raw.len(), reads).err();
        }
        if self.refused.is_some() {
            return;
        }
        match exchange.raw.get_mut(exchange.raw_len..filled) {
            Some(room) => room.copy_from_slice(bytes),
            None => {
                exchange.raw.truncate(exchange.raw_len);
                exchange.raw.extend_from_slice(bytes);
            }
        }
        exchange.raw_len = filled;
        match reads.last_mut() {
            Some(last) if self.kept_read == arrival.read => {
                last.len += bytes.len() as u32;
                last.is_shared |= arrival.stamp.is_shared;
                last.is_followed |= arrival.stamp.is_followed;
            }
            _ => reads.push(arrival.with_len(bytes.len() as u32)),
        }
        self.kept_read = arrival.read;
    }

    /// When the exchange was over: the read that ended the stream, or now.
    fn end(&self, is_complete: bool) -> MonoNs {
        let taps = self.connection.taps.borrow();
        let ended = taps.received.end(self.stream);
        let arrival = if is_complete || self.refused.is_some() { ended } else { taps.received.reset(self.stream) };
        arrival.map_or_else(mono_now, |arrival| arrival.stamp.at)
    }

    /// Notes what the taps know.
    fn note(&self, exchange: &mut Exchange) {
        let taps = self.connection.taps.borrow();
        let timeline = &mut exchange.timeline;
        timeline.bytes_received = taps.received.bytes(self.stream);
        if let Some(sent) = taps.sent.of(self.stream) {
            (timeline.bytes_sent, timeline.send_end) = (sent.bytes, sent.at());
            timeline.writes = sent.writes.len() as u32;
            timeline.write_log.clone_from(&sent.writes);
        }
        // Cause before effect: a response may be stamped before our write has returned.
        if let Some(first) = timeline.reads.first() {
            timeline.send_end = timeline.send_end.min(first.at);
            timeline.send_start = timeline.send_start.min(timeline.send_end);
        }
    }

    fn failure(&self, error: h2::Error) -> Http2Failure {
        let after_head = matches!(self.response, ResponseState::Body(_));
        let taps = self.connection.taps.borrow();
        if let Some(what) = taps.received.flood() {
            return Http2Failure::Flood { what, after_head };
        }
        if taps.received.last_processed().is_some_and(|last| self.stream > last) {
            return Http2Failure::NotProcessed;
        }
        if error.is_io() && taps.is_closed {
            return Http2Failure::Closed { after_head };
        }
        match error.reason() {
            Some(reason) if error.is_reset() && error.is_remote() => Http2Failure::Reset { reason, after_head },
            _ if error.is_io() => Http2Failure::Io(error.into_io().unwrap_or_else(|| std::io::ErrorKind::Other.into())),
            _ => Http2Failure::Protocol(error.to_string()),
        }
    }
}

impl Drop for Http2Exchange {
    fn drop(&mut self) {
        let connection = &self.connection;
        connection.taps.borrow_mut().forget(self.stream);
        connection.open.set(connection.open.get() - 1);
        connection.last_used.set(mono_now());
    }
}

/// A head as HTTP/1 writes it, with the limits that it has there.
fn head_text(parts: &Parts) -> Result<Vec<u8>, String> {
    if parts.headers.len() > FIELD_LIMIT {
        return Err(format!("more than {FIELD_LIMIT} header fields"));
    }
    let mut text = Vec::with_capacity(512);
    // Writing to memory cannot fail.
    let _ = write!(text, "HTTP/2 {}\r\n", parts.status.as_u16());
    for (name, value) in &parts.headers {
        let start = text.len();
        for bytes in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            text.extend_from_slice(bytes);
        }
        if text.len() - start > LINE_LIMIT + 1 {
            return Err(format!("a header line is longer than {LINE_LIMIT} bytes"));
        }
    }
    text.extend_from_slice(b"\r\n");
    if text.len() > HEAD_LIMIT { Err(format!("head is longer than {HEAD_LIMIT} bytes")) } else { Ok(text) }
}

/// For bytes that no tap saw: there are none.
fn unseen() -> Arrival {
    Arrival { stamp: Read { at: mono_now(), lag: Read::NO_STAMP, ..Read::default() }, read: 0 }
}
