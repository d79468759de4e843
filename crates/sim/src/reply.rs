//! Writes a response: heads, events and whole bodies, framed for the client's protocol.

use crate::encoding::{ContentEncoding, Encoder};
use crate::http::{Head, Heads, LAST_CHUNK, join, write_chunk};
use crate::http2::{Session, Waiting};
use crate::socket::Socket;
use crate::truth::{Payload, TruthRecord};

/// Where responses go, and the buffers they are put together in.
pub(crate) struct Outlet<'a> {
    pub(crate) socket: &'a mut Socket,
    /// The state of HTTP/2, where the connection speaks it.
    pub(crate) session: Option<&'a mut Session>,
    pub(crate) heads: &'a mut Heads,
    /// The event that is sent next.
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// How much of a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    FirstHalf,
    /// Nothing: the head describes the body that a GET would get.
    HeadAlone,
}

/// One response on its way.
pub(crate) struct Reply {
    /// The stream of HTTP/2; 0 on HTTP/1.1.
    stream: u32,
    pub(crate) keep_alive: bool,
    encoder: Option<Encoder>,
}

impl Reply {
    pub(crate) fn new(stream: u32, keep_alive: bool, encoding: Option<ContentEncoding>) -> Self {
        Reply { stream, keep_alive, encoder: encoding.map(Encoder::new) }
    }

    pub(crate) fn stream(&self) -> u32 {
        self.stream
    }

    /// How events are written to the buffer they are sent from: as chunks where nothing more is done to them.
    pub(crate) fn framing(&self) -> fn(&mut Vec<u8>, &[&[u8]]) {
        if self.encoder.is_none() && self.stream == 0 { write_chunk } else { join }
    }

    /// Sends the head of a body that comes in pieces.
    pub(crate) fn stream_head(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, head: &Head<'_>) {
        let fields = encoding_field(self.encoder.as_ref());
        let head = Head { fields: fields.as_slice(), ..*head };
        outlet.scratch.clear();
        if let Some(session) = &mut outlet.session {
            session.write_head(outlet.scratch, self.stream, &head, outlet.heads.date(), None);
            outlet.socket.send(outlet.scratch, record, Payload::Head);
            return;
        }
        outlet.heads.write_stream_head(outlet.scratch, &head, self.keep_alive);
        outlet.socket.send(outlet.scratch, record, Payload::Head);
    }

    /// Sends the event in the outlet's buffer, with one write.
    pub(crate) fn event(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, payload: Payload) {
        if outlet.session.is_some() {
            let event = std::mem::take(outlet.scratch);
            let body = self.encoder.as_mut().map(|encoder| encoder.event(&event));
            self.data(outlet, record, payload, body.as_deref().unwrap_or(&event), false);
            return;
        }
        if let Some(encoder) = &mut self.encoder {
            let encoded = encoder.event(outlet.scratch);
            outlet.scratch.clear();
            write_chunk(outlet.scratch, &[&encoded]);
        }
        outlet.socket.send(outlet.scratch, record, payload);
    }

    /// Sends the event in the outlet's buffer and the end of the body, with one write.
    pub(crate) fn last_event(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, payload: Payload) {
        if outlet.session.is_some() {
            let event = std::mem::take(outlet.scratch);
            let body = self.encoder.as_mut().map(|encoder| encoder.last(&event));
            self.data(outlet, record, payload, body.as_deref().unwrap_or(&event), true);
            return;
        }
        if let Some(encoder) = &mut self.encoder {
            let encoded = encoder.last(outlet.scratch);
            outlet.scratch.clear();
            write_chunk(outlet.scratch, &[&encoded]);
        }
        outlet.scratch.extend_from_slice(LAST_CHUNK);
        outlet.socket.send(outlet.scratch, record, payload);
    }

    /// Sends a head and a body; gives what is left of the body for [`Reply::rest`].
    pub(crate) fn whole(
        &mut self,
        outlet: &mut Outlet<'_>,
        record: Option<&mut TruthRecord>,
        payload: Payload,
        head: &Head<'_>,
        (body, extent): (&[u8], Extent),
    ) -> Vec<u8> {
        let encoded = self.encoder.as_mut().map(|encoder| encoder.last(body));
        let body = encoded.as_deref().unwrap_or(body);
        let fields: Vec<_> = head.fields.iter().copied().chain(encoding_field(self.encoder.as_ref())).collect();
        let head = Head { fields: &fields, ..*head };
        let held_back = match extent {
            Extent::All => 0,
            Extent::FirstHalf => body.len() / 2,
            Extent::HeadAlone => body.len(),
        };
        outlet.scratch.clear();
        if let Some(session) = &mut outlet.session {
            session.write_head(outlet.scratch, self.stream, &head, outlet.heads.date(), Some(body.len()));
            let (now, rest) = body.split_at(body.len() - held_back);
            self.data(outlet, record, payload, now, extent != Extent::FirstHalf);
            return rest.to_vec();
        }
        outlet.heads.write_response(outlet.scratch, &head, self.keep_alive, body);
        let rest = outlet.scratch.split_off(outlet.scratch.len() - held_back);
        outlet.socket.send(outlet.scratch, record, payload);
        rest
    }

    /// Sends what was held back of a body.
    pub(crate) fn rest(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, rest: &[u8]) {
        if outlet.session.is_some() {
            outlet.scratch.clear();
            self.data(outlet, record, Payload::Content, rest, true);
        } else {
            outlet.socket.send(rest, record, Payload::Content);
        }
    }

    /// Sends what is in the outlet's buffer and then, as DATA, as much of `bytes` as the windows take; the rest waits.
    fn data(
        &self,
        outlet: &mut Outlet<'_>,
        record: Option<&mut TruthRecord>,
        payload: Payload,
        bytes: &[u8],
        end: bool,
    ) {
        let Some(session) = &mut outlet.session else { return };
        let behind_others = session.waiting(self.stream).is_some_and(|waiting| !waiting.is_empty());
        let sent = match behind_others {
            true => Some(0),
            false => session.write_data(outlet.scratch, self.stream, bytes, end),
        };
        let place = match outlet.scratch.is_empty() {
            true => None,
            false => outlet.socket.send(outlet.scratch, record, payload),
        };
        if let (Some(sent), Some(waiting)) = (sent, session.waiting(self.stream)) {
            waiting.push_back(Waiting { bytes: bytes[sent..].to_vec(), end, payload, place });
        }
    }

    /// An error goes out as plain bytes.
    pub(crate) fn drop_encoding(&mut self) {
        self.encoder = None;
    }
}

fn encoding_field(encoder: Option<&Encoder>) -> Option<(&'static str, &'static str)> {
    encoder.map(|encoder| ("content-encoding", encoder.encoding().name()))
}
