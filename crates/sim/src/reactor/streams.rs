//! Connections that speak HTTP/2: many requests at once, each on its stream.

use std::collections::BTreeMap;

use super::{Connection, Disposition, Reactor, Task};
use crate::apis::Route;
use crate::exchange::{Exchange, Stage};
use crate::http::Request;
use crate::http2::{Happening, Reason, Session};
use crate::metrics::FinishReason;
use crate::reply::Extent;
use crate::slots::Key;
use crate::truth::Payload;

/// What a connection is while it speaks HTTP/2.
pub(super) struct Http2 {
    pub(super) session: Session,
    pub(super) exchanges: BTreeMap<u32, Box<Exchange>>,
}

impl Http2 {
    pub(super) fn new() -> Self {
        Http2 { session: Session::new(), exchanges: BTreeMap::new() }
    }
}

impl Reactor {
    /// Takes the bytes of the inbox.
    pub(super) fn serve_streams(&mut self, key: Key, connection: &mut Connection) -> Disposition {
        let Some(http2) = &mut connection.http2 else { return Disposition::Keep };
        let mut out = Vec::new();
        let received = http2.session.receive(&std::mem::take(&mut connection.inbox), &mut out);
        if let Err(reason) = received {
            http2.session.write_goaway(&mut out, reason);
        }
        if !out.is_empty() {
            connection.socket.send(&out, None, Payload::Nothing);
        }
        let Ok(happenings) = received else { return Disposition::Close };
        for happening in happenings {
            match happening {
                Happening::Reset(stream) => self.drop_stream(connection, stream, FinishReason::Abort),
                Happening::WindowOpened => self.send_waiting(connection),
                // A client that got GOAWAY asks again elsewhere.
                Happening::Request { .. } if connection.closing => {}
                Happening::Request { stream, method, target, fields, body } => {
                    let (path, query) =
                        target.split_once('?').map_or((target.as_str(), None), |(path, query)| (path, Some(query)));
                    let request = Request {
                        method: &method,
                        path,
                        query,
                        fields: fields.borrowed(),
                        keep_alive: true,
                        body: &body,
                        length: 0,
                    };
                    if self.serve_canned_stream(Task { key, stream }, connection, &request) {
                        continue;
                    }
                    match self.start_exchange(Task { key, stream }, connection, &request) {
                        Disposition::Keep => {}
                        Disposition::Reset => self.reset_stream(connection, stream),
                        Disposition::Close => return Disposition::Close,
                    }
                }
            }
        }
        self.settle_streams(connection)
    }

    /// Answers with bytes made beforehand, where the server has them.
    fn serve_canned_stream(&mut self, task: Task, connection: &mut Connection, request: &Request<'_>) -> bool {
        let Some(mut canned) = self.canned.take() else { return false };
        match Route::of(request.method, request.path) {
            Some(route) => {
                let (head, body) = canned.response_parts(route, request);
                self.respond(connection, task.stream, &head, (body, Extent::All), None);
            }
            None => {
                canned.count_into(&mut self.shared.metrics(self.thread));
                // Without faults, nothing is reset.
                let _ = self.respond_other(task, connection, request, None);
            }
        }
        self.canned = Some(canned);
        true
    }

    /// Sends what waited for a wider window.
    fn send_waiting(&mut self, connection: &mut Connection) {
        let Some(http2) = &mut connection.http2 else { return };
        for stream in http2.session.blocked() {
            let mut record = match http2.exchanges.get_mut(&stream) {
                Some(exchange) => exchange.truth.as_deref_mut(),
                None => connection.pages.get_mut(&stream).and_then(|page| page.truth.as_deref_mut()),
            };
            while let Some(mut part) = http2.session.waiting(stream).and_then(std::collections::VecDeque::pop_front) {
                let mut out = Vec::new();
                let sent = http2.session.write_data(&mut out, stream, &part.bytes, part.end);
                if !out.is_empty() {
                    part.place = match part.place {
                        None => connection.socket.send(&out, record.as_deref_mut(), part.payload),
                        Some(place) => connection.socket.send_more(&out, record.as_deref_mut(), place),
                    };
                }
                if let Some(sent) = sent {
                    part.bytes.drain(..sent);
                    if let Some(waiting) = http2.session.waiting(stream) {
                        waiting.push_front(part);
                    }
                    break;
                }
            }
            // What was answered at once and did not fit is over with its last part.
            let is_sent = http2.session.waiting(stream).is_some_and(|waiting| waiting.is_empty());
            let is_over = !http2.exchanges.contains_key(&stream) && !connection.pages.contains_key(&stream);
            if is_sent && is_over {
                http2.session.forget(stream);
            }
        }
    }

    /// Ends a stream without the end of its response.
    pub(super) fn reset_stream(&mut self, connection: &mut Connection, stream: u32) {
        let Some(http2) = &mut connection.http2 else { return };
        let mut out = Vec::new();
        http2.session.write_reset(&mut out, stream, Reason::Internal);
        connection.socket.send(&out, None, Payload::Nothing);
        self.drop_stream(connection, stream, FinishReason::Error);
    }

    /// Asks the client to open no more streams here.
    pub(super) fn send_goaway(&mut self, connection: &mut Connection) {
        connection.closing = true;
        if let Some(http2) = &connection.http2 {
            let mut out = Vec::new();
            http2.session.write_goaway(&mut out, Reason::NoError);
            connection.socket.send(&out, None, Payload::Nothing);
        }
    }

    fn drop_stream(&mut self, connection: &mut Connection, stream: u32, why: FinishReason) {
        let exchange = connection.http2.as_mut().and_then(|http2| http2.exchanges.remove(&stream));
        if let Some(exchange) = exchange {
            self.end_exchange(exchange, why);
        }
        if let Some(page) = connection.pages.remove(&stream) {
            self.log(page.truth);
        }
    }

    /// Writes the records of responses that are over and sent, and closes a connection that is to be closed after them.
    pub(super) fn settle_streams(&mut self, connection: &mut Connection) -> Disposition {
        let Some(http2) = &mut connection.http2 else { return Disposition::Keep };
        if !connection.socket.flushed() {
            return Disposition::Keep;
        }
        let mut over = Vec::new();
        let session = &mut http2.session;
        http2.exchanges.retain(|stream, exchange| {
            let sent = session.waiting(*stream).is_none_or(|waiting| waiting.is_empty());
            let done = exchange.stage == Stage::Over && sent;
            if done {
                session.forget(*stream);
                over.push(exchange.truth.take());
            }
            !done
        });
        connection.pages.retain(|stream, page| {
            let sent = session.waiting(*stream).is_none_or(|waiting| waiting.is_empty());
            let done = page.over && sent;
            if done {
                session.forget(*stream);
                over.push(page.truth.take());
            }
            !done
        });
        let idle = connection.pages.is_empty() && http2.exchanges.is_empty() && http2.session.blocked().is_empty();
        for truth in over {
            self.log(truth);
        }
        if connection.closing && idle { Disposition::Close } else { Disposition::Keep }
    }
}
