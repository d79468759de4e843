//! The parts of HTTP/2 (RFC 9113) that such a server needs: frames in and out of bytes, streams and their windows.
//!
//! It has no socket: bytes come in, and the bytes to send are appended to a buffer.

use std::collections::{BTreeMap, VecDeque};

use crate::hpack::{Decoder, write_field, write_no_table};
use crate::http::{Fields, Head, LARGEST_BODY};
use crate::truth::{Payload, WriteIndex};

/// The first bytes from a client.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADER_BYTES: usize = 9;
/// The largest frame this server takes, and the window it opens: defaults of the protocol, updated with every frame.
const FRAME_SIZE: usize = 16_384;
const WINDOW: i64 = 65_535;
const LARGEST_WINDOW: i64 = 0x7fff_ffff;
const LARGEST_HEADERS: usize = 64 << 10;
const MOST_STREAMS: u32 = 1 << 16;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Of DATA and HEADERS; of SETTINGS and PING the same bit acknowledges.
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 32;

const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

/// Why a connection or a stream ends, by the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    NoError = 0,
    Protocol = 1,
    Internal = 2,
    FlowControl = 3,
    FrameSize = 6,
    Compression = 9,
    EnhanceYourCalm = 11,
}

/// An event on the connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Request {
        stream: u32,
        method: String,
        target: String,
        fields: Fields<String>,
        body: Vec<u8>,
    },
    /// The client gave a stream up.
    Reset(u32),
    /// More may be sent than before.
    WindowOpened,
}

/// Part of a body that waits for its window.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: bool,
    pub(crate) payload: Payload,
    /// Where the write that carried its beginning was noted.
    pub(crate) place: Option<WriteIndex>,
}

#[derive(Debug)]
struct Stream {
    method: String,
    target: String,
    fields: Fields<String>,
    body: Vec<u8>,
    window: i64,
    waiting: VecDeque<Waiting>,
}

/// The state of one connection.
pub(crate) struct Session {
    inbox: Vec<u8>,
    greeted: bool,
    decoder: Decoder,
    streams: BTreeMap<u32, Stream>,
    latest: u32,
    window: i64,
    initial_window: i64,
    frame_size: usize,
    /// A header block that goes on in the next frame, and whether a body follows it.
    block: Option<(u32, bool, Vec<u8>)>,
    table_refused: bool,
}

impl Session {
    pub(crate) fn new() -> Self {
        Session {
            inbox: Vec::new(),
            greeted: false,
            decoder: Decoder::new(),
            streams: BTreeMap::new(),
            latest: 0,
            window: WINDOW,
            initial_window: WINDOW,
            frame_size: FRAME_SIZE,
            block: None,
            table_refused: false,
        }
    }

    /// Takes bytes, including the preface; immediate replies are appended to `out`.
    pub(crate) fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<Vec<Happening>, Reason> {
        self.inbox.extend_from_slice(bytes);
        let inbox = std::mem::take(&mut self.inbox);
        let mut rest = &inbox[..];
        let mut happenings = Vec::new();
        if !self.greeted {
            match rest.strip_prefix(PREFACE) {
                Some(after) => rest = after,
                None if PREFACE.starts_with(rest) => {
                    self.inbox = inbox;
                    return Ok(happenings);
                }
                None => return Err(Reason::Protocol),
            }
            self.greeted = true;
            write_header(out, 6, SETTINGS, 0, 0);
            out.extend_from_slice(&MAX_CONCURRENT_STREAMS.to_be_bytes());
            out.extend_from_slice(&MOST_STREAMS.to_be_bytes());
        }
        while let Some((header, after)) = rest.split_at_checked(HEADER_BYTES) {
            let length = number(&[0, header[0], header[1], header[2]]);
            if length > FRAME_SIZE {
                return Err(Reason::FrameSize);
            }
            let Some((payload, after)) = after.split_at_checked(length) else { break };
            let stream = number(&header[5..]) as u32 & LARGEST_WINDOW as u32;
            self.take_frame((header[3], header[4], stream), payload, out, &mut happenings)?;
            rest = after;
        }
        self.inbox = rest.to_vec();
        Ok(happenings)
    }

    fn take_frame(
        &mut self,
        (kind, flags, id): (u8, u8, u32),
        payload: &[u8],
        out: &mut Vec<u8>,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), Reason> {
        if self.block.is_some() && kind != CONTINUATION {
            return Err(Reason::Protocol);
        }
        match kind {
            DATA => self.take_data(flags, id, payload, out, happenings),
            HEADERS => {
                let block = unpadded(flags, payload)?;
                let block = if flags & PRIORITY != 0 { block.get(5..).ok_or(Reason::FrameSize)? } else { block };
                self.block = Some((id, flags & END_STREAM != 0, block.to_vec()));
                self.end_block(flags, happenings)
            }
            CONTINUATION => {
                let (stream, _, block) = self.block.as_mut().ok_or(Reason::Protocol)?;
                if *stream != id {
                    return Err(Reason::Protocol);
                }
                block.extend_from_slice(payload);
                if block.len() > LARGEST_HEADERS {
                    return Err(Reason::EnhanceYourCalm);
                }
                self.end_block(flags, happenings)
            }
            RST_STREAM => {
                if self.streams.remove(&id).is_some() {
                    happenings.push(Happening::Reset(id));
                }
                Ok(())
            }
            SETTINGS if flags & ACK != 0 => Ok(()),
            SETTINGS => {
                self.take_settings(payload)?;
                write_header(out, 0, SETTINGS, ACK, 0);
                happenings.push(Happening::WindowOpened);
                Ok(())
            }
            PING if payload.len() != 8 => Err(Reason::FrameSize),
            PING if flags & ACK == 0 => {
                write_header(out, payload.len(), PING, ACK, 0);
                out.extend_from_slice(payload);
                Ok(())
            }
            WINDOW_UPDATE => {
                let bytes = payload.try_into().map(u32::from_be_bytes).map_err(|_| Reason::FrameSize)?;
                let more = i64::from(bytes) & LARGEST_WINDOW;
                let window = match (id, self.streams.get_mut(&id)) {
                    (0, _) => &mut self.window,
                    (_, Some(stream)) => &mut stream.window,
                    // Of a stream that is over.
                    (_, None) => return Ok(()),
                };
                *window += more;
                if *window > LARGEST_WINDOW {
                    return Err(Reason::FlowControl);
                }
                happenings.push(Happening::WindowOpened);
                Ok(())
            }
            PUSH_PROMISE => Err(Reason::Protocol),
            // PRIORITY, GOAWAY and kinds not known ask for nothing: a client that goes away closes by itself.
            _ => Ok(()),
        }
    }

    fn take_data(
        &mut self,
        flags: u8,
        id: u32,
        payload: &[u8],
        out: &mut Vec<u8>,
        happenings: &mut Vec<Happening>,
    ) -> Result<(), Reason> {
        let data = unpadded(flags, payload)?;
        // Both windows stay as wide as they were.
        let ends = flags & END_STREAM != 0;
        if !payload.is_empty() {
            write_window_update(out, 0, payload.len());
            if !ends {
                write_window_update(out, id, payload.len());
            }
        }
        // Data may still come on a stream that is over.
        let Some(stream) = self.streams.get_mut(&id) else {
            return if id == 0 || id > self.latest { Err(Reason::Protocol) } else { Ok(()) };
        };
        stream.body.extend_from_slice(data);
        if stream.body.len() > LARGEST_BODY {
            return Err(Reason::EnhanceYourCalm);
        }
        if ends {
            self.end_request(id, happenings);
        }
        Ok(())
    }

    fn end_block(&mut self, flags: u8, happenings: &mut Vec<Happening>) -> Result<(), Reason> {
        if flags & END_HEADERS == 0 {
            return Ok(());
        }
        let Some((id, ends, block)) = self.block.take() else { return Ok(()) };
        let fields = self.decoder.decode(&block).map_err(|_| Reason::Compression)?;
        if self.streams.contains_key(&id) {
            // Trailers.
            if !ends {
                return Err(Reason::Protocol);
            }
        } else if id % 2 == 1 && id > self.latest {
            self.latest = id;
            let find = |wanted: &[u8]| {
                let found = fields.iter().find(|(name, _)| name == wanted);
                found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            };
            let stream = Stream {
                method: find(b":method").ok_or(Reason::Protocol)?,
                target: find(b":path").ok_or(Reason::Protocol)?,
                fields: Fields {
                    request_id: find(b"x-request-id"),
                    correlation_id: find(b"x-correlation-id"),
                    content_type: find(b"content-type"),
                    accept: find(b"accept"),
                    anthropic_version: find(b"anthropic-version"),
                },
                body: Vec::new(),
                window: self.initial_window,
                waiting: VecDeque::new(),
            };
            self.streams.insert(id, stream);
        } else {
            return Err(Reason::Protocol);
        }
        if ends {
            self.end_request(id, happenings);
        }
        Ok(())
    }

    fn end_request(&mut self, id: u32, happenings: &mut Vec<Happening>) {
        if let Some(stream) = self.streams.get_mut(&id) {
            happenings.push(Happening::Request {
                stream: id,
                method: std::mem::take(&mut stream.method),
                target: std::mem::take(&mut stream.target),
                fields: std::mem::take(&mut stream.fields),
                body: std::mem::take(&mut stream.body),
            });
        }
    }

    fn take_settings(&mut self, payload: &[u8]) -> Result<(), Reason> {
        let (settings, []) = payload.as_chunks::<6>() else { return Err(Reason::FrameSize) };
        for setting in settings {
            let value = number(&setting[2..]);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                INITIAL_WINDOW_SIZE if value as i64 > LARGEST_WINDOW => return Err(Reason::FlowControl),
                INITIAL_WINDOW_SIZE => {
                    let change = value as i64 - self.initial_window;
                    self.initial_window += change;
                    self.streams.values_mut().for_each(|stream| stream.window += change);
                }
                MAX_FRAME_SIZE => self.frame_size = value.clamp(FRAME_SIZE, (1 << 24) - 1),
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the head of a response.
    pub(crate) fn write_head(
        &mut self,
        out: &mut Vec<u8>,
        id: u32,
        head: &Head<'_>,
        date: &str,
        length: Option<usize>,
    ) {
        let start = out.len();
        write_header(out, 0, HEADERS, END_HEADERS, id);
        if !std::mem::replace(&mut self.table_refused, true) {
            write_no_table(out);
        }
        write_field(out, ":status", itoa::Buffer::new().format(head.status.0));
        write_field(out, "date", date);
        write_field(out, "server", "aiperf-sim");
        write_field(out, "content-type", head.content_type);
        for (name, value) in head.fields {
            write_field(out, name, value);
        }
        if let Some(length) = length {
            write_field(out, "content-length", itoa::Buffer::new().format(length));
        }
        let length = out.len() - start - HEADER_BYTES;
        out[start..start + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
    }

    /// Appends as much of a body as both windows allow; returns the number of bytes, `None` if nothing is left to do.
    pub(crate) fn write_data(&mut self, out: &mut Vec<u8>, id: u32, bytes: &[u8], end: bool) -> Option<usize> {
        let stream = self.streams.get_mut(&id)?;
        let mut sent = 0;
        loop {
            let allowed = self.window.min(stream.window).max(0) as usize;
            let length = (bytes.len() - sent).min(allowed).min(self.frame_size);
            let last = sent + length == bytes.len();
            if length == 0 && !(last && end) {
                return if last { None } else { Some(sent) };
            }
            write_header(out, length, DATA, if last && end { END_STREAM } else { 0 }, id);
            out.extend_from_slice(&bytes[sent..sent + length]);
            sent += length;
            self.window -= length as i64;
            stream.window -= length as i64;
            if last {
                return None;
            }
        }
    }

    /// Parts of the body of a stream that wait; nothing for a stream that is over.
    pub(crate) fn waiting(&mut self, id: u32) -> Option<&mut VecDeque<Waiting>> {
        self.streams.get_mut(&id).map(|stream| &mut stream.waiting)
    }

    /// Streams with parts that wait.
    pub(crate) fn blocked(&self) -> Vec<u32> {
        self.streams.iter().filter(|(_, stream)| !stream.waiting.is_empty()).map(|(id, _)| *id).collect()
    }

    /// The response is sent, or no longer wanted.
    pub(crate) fn forget(&mut self, id: u32) {
        self.streams.remove(&id);
    }

    pub(crate) fn write_reset(&mut self, out: &mut Vec<u8>, id: u32, reason: Reason) {
        self.forget(id);
        write_header(out, 4, RST_STREAM, 0, id);
        out.extend_from_slice(&(reason as u32).to_be_bytes());
    }

    /// Announces that no further stream is taken.
    pub(crate) fn write_goaway(&self, out: &mut Vec<u8>, reason: Reason) {
        write_header(out, 8, GOAWAY, 0, 0);
        out.extend_from_slice(&self.latest.to_be_bytes());
        out.extend_from_slice(&(reason as u32).to_be_bytes());
    }
}

fn write_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

fn write_window_update(out: &mut Vec<u8>, stream: u32, bytes: usize) {
    write_header(out, 4, WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&(bytes as u32).to_be_bytes());
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

fn unpadded(flags: u8, payload: &[u8]) -> Result<&[u8], Reason> {
    if flags & PADDED == 0 {
        return Ok(payload);
    }
    let (padding, rest) = payload.split_first().ok_or(Reason::FrameSize)?;
    let length = rest.len().checked_sub(usize::from(*padding)).ok_or(Reason::Protocol)?;
    Ok(&rest[..length])
}
