//! How an answer is put on the wire: heads, events and whole bodies, framed as the client's protocol wants them.

use crate::encoding::{ContentEncoding, Encoder};
use crate::http::{Head, Heads, LAST_CHUNK, join, write_chunk};
use crate::socket::Socket;
use crate::truth::{Payload, TruthRecord};

/// Where answers go, and the buffers they are put together in.
pub(crate) struct Outlet<'a> {
    pub(crate) socket: &'a mut Socket,
    pub(crate) heads: &'a mut Heads,
    /// The event that is sent next.
    pub(crate) scratch: &'a mut Vec<u8>,
}

/// How much of a body is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    All,
    FirstHalf,
}

/// One answer on its way.
pub(crate) struct Reply {
    pub(crate) keep_alive: bool,
    encoder: Option<Encoder>,
}

impl Reply {
    pub(crate) fn new(keep_alive: bool, encoding: Option<ContentEncoding>) -> Self {
        Reply { keep_alive, encoder: encoding.map(Encoder::new) }
    }

    /// How events are written to the buffer they are sent from: as chunks where nothing more is done to them.
    pub(crate) fn framing(&self) -> fn(&mut Vec<u8>, &[&[u8]]) {
        if self.encoder.is_none() { write_chunk } else { join }
    }

    /// Sends the head of an event stream.
    pub(crate) fn stream_head(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>) {
        let fields = encoding_field(self.encoder.as_ref());
        let head = Head { fields: fields.as_slice(), ..Head::STREAM };
        outlet.scratch.clear();
        outlet.heads.write_stream_head(outlet.scratch, &head, self.keep_alive);
        outlet.socket.send(outlet.scratch, record, Payload::Head);
    }

    /// Sends the event in the outlet's buffer, with one write.
    pub(crate) fn event(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, payload: Payload) {
        if let Some(encoder) = &mut self.encoder {
            let encoded = encoder.event(outlet.scratch);
            outlet.scratch.clear();
            write_chunk(outlet.scratch, &[&encoded]);
        }
        outlet.socket.send(outlet.scratch, record, payload);
    }

    /// Sends the event in the outlet's buffer and the end of the body, with one write.
    pub(crate) fn last_event(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, payload: Payload) {
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
        outlet.scratch.clear();
        outlet.heads.write_response(outlet.scratch, &head, self.keep_alive, body);
        let held_back = if extent == Extent::FirstHalf { body.len() / 2 } else { 0 };
        let rest = outlet.scratch.split_off(outlet.scratch.len() - held_back);
        outlet.socket.send(outlet.scratch, record, payload);
        rest
    }

    /// Sends what was held back of a body.
    pub(crate) fn rest(&mut self, outlet: &mut Outlet<'_>, record: Option<&mut TruthRecord>, rest: &[u8]) {
        outlet.socket.send(rest, record, Payload::Content);
    }

    /// An error is said in plain bytes.
    pub(crate) fn drop_encoding(&mut self) {
        self.encoder = None;
    }
}

fn encoding_field(encoder: Option<&Encoder>) -> Option<(&'static str, &'static str)> {
    encoder.map(|encoder| ("content-encoding", encoder.encoding().name()))
}
