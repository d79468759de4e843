//! Bodies that come compressed: gzip and deflate undone, read by read.
//!
//! The result is another exchange with the same head and a plain body. What a read completed carries that read's
//! instant, so a compressed stream keeps its timing, and readers of bodies need not know. The exchange as it came stays
//! unchanged: two threads may be reading it, and the figures of the connection (bytes, reads, phases) are of what came
//! over it.

use crate::body;
use aiperf_types::{Exchange, Failure, Read, Timeline};
use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;
use std::io::{self, Write};

/// Most encodings of one body. Servers use one; a head has room for a thousand, each a pass over as much as may be
/// kept.
const MOST_CODINGS: usize = 4;
/// Room for what is inflated at a time.
const INFLATE_ROOM: usize = 16 << 10;
/// Bytes that are undone at a time. They may become a thousand times as many, which lie beside what is decoded already.
const STEP: usize = 1 << 10;
/// Members of one gzip body. A server that compresses every event of a stream for itself sends thousands; one of no bytes
/// takes 20 bytes and some microseconds, and millions fit into what may be kept.
const MOST_MEMBERS: u32 = 16 << 10;
/// From here on a decoded body grows fourfold: of each step, what was there before is held as well.
const LARGE: usize = 4 << 20;

/// An exchange whose body is not compressed.
pub struct Decoded<'a> {
    /// The exchange itself where nothing was to be undone. Otherwise one whose body has no framing either, as far as it
    /// could be read.
    pub exchange: Cow<'a, Exchange>,
    /// Why there is no more of it.
    pub failure: Option<Failure>,
}

/// Undoes the encodings that the response's head names, the last one first. A body that would be longer than `limit`
/// ends there, with an error.
pub fn decode(exchange: &Exchange, limit: usize) -> Decoded<'_> {
    let names = codings(exchange);
    if names.is_empty() {
        return Decoded { exchange: Cow::Borrowed(exchange), failure: None };
    }
    match names.iter().map(|name| Layer::new(name, limit)).collect::<Result<Vec<_>, _>>() {
        Ok(layers) if layers.len() > MOST_CODINGS => {
            let why = format!("the server encoded its answer {} times over, which is not read", layers.len());
            Decoded { exchange: Cow::Owned(Plain::of(exchange).finish()), failure: Some(Failure::Encoding(why)) }
        }
        Ok(mut layers) => {
            layers.reverse();
            undo(exchange, &mut layers)
        }
        Err(why) => {
            Decoded { exchange: Cow::Owned(Plain::of(exchange).finish()), failure: Some(Failure::Encoding(why)) }
        }
    }
}

/// Whether the body comes as it is, by the response's head.
pub fn is_plain(exchange: &Exchange) -> bool {
    codings(exchange).is_empty()
}

/// What was done to the body, in order.
fn codings(exchange: &Exchange) -> Vec<String> {
    let is_one = |name: &&str| !name.is_empty() && !name.eq_ignore_ascii_case("identity");
    let mut codings = Vec::new();
    for field in body::headers(exchange, "content-encoding") {
        codings.extend(field.split(',').map(str::trim).filter(is_one).map(str::to_owned));
    }
    codings
}

fn undo<'a>(exchange: &'a Exchange, layers: &mut [Layer]) -> Decoded<'a> {
    let mut plain = Plain::of(exchange);
    let most = layers.last().map_or(0, |layer| layer.limit).saturating_add(plain.raw.len());
    let mut result = Ok(());
    body::for_each_span(exchange, |read, span| {
        if result.is_ok() {
            let before = plain.raw.len();
            result = feed(layers, span, &mut plain.raw, most);
            plain.add_read(read, plain.raw.len() - before);
        }
    });
    let result = result.and_then(|()| layers.iter_mut().try_for_each(Layer::end));
    Decoded { exchange: Cow::Owned(plain.finish()), failure: result.err().map(Failure::Encoding) }
}

/// Sends bytes through all layers, a few at a time. What comes out of the last one is kept even when one fails.
fn feed(layers: &mut [Layer], bytes: &[u8], out: &mut Vec<u8>, most: usize) -> Result<(), String> {
    let Some((first, inner)) = layers.split_first_mut() else {
        append(bytes, out, most);
        return Ok(());
    };
    for step in bytes.chunks(STEP) {
        let fed = first.feed(step);
        let came = first.take();
        let passed = feed(inner, &came, out, most);
        fed.and(passed)?;
    }
    Ok(())
}

/// Adds decoded bytes to those there are, of which there will be no more than `most`.
fn append(bytes: &[u8], out: &mut Vec<u8>, most: usize) {
    let filled = out.len() + bytes.len();
    if filled > out.capacity() && filled > LARGE {
        out.reserve_exact(filled.saturating_mul(4).min(most).max(filled) - out.len());
    }
    out.extend_from_slice(bytes);
}

/// The plain exchange in the making.
struct Plain<'a> {
    from: &'a Exchange,
    raw: Vec<u8>,
    reads: Vec<Read>,
}

impl<'a> Plain<'a> {
    /// With the head alone, as one read.
    fn of(from: &'a Exchange) -> Self {
        let head = from.raw.get(..from.body_at).unwrap_or_default();
        let first = from.timeline.reads.first().copied().unwrap_or_default();
        Self { from, raw: head.to_vec(), reads: vec![Read { len: head.len() as u32, ..first }] }
    }

    /// Adds what a read completed. A read that completed nothing is left out, but its bytes follow those before.
    fn add_read(&mut self, read: &Read, completed: usize) {
        let len = completed as u32;
        match self.reads.last_mut() {
            Some(last) if last.at == read.at && last.lag == read.lag => {
                last.len += len;
                last.is_followed |= read.is_followed || len == 0;
            }
            _ if len > 0 => self.reads.push(Read { len, ..*read }),
            _ => {}
        }
    }

    fn finish(self) -> Exchange {
        let Self { from, raw, reads } = self;
        Exchange {
            tag: from.tag.clone(),
            timeline: Timeline { reads, ..from.timeline.clone() },
            status: from.status,
            raw_len: raw.len(),
            raw,
            head_at: from.head_at,
            body_at: from.body_at,
            chunked: false,
            failure: from.failure.clone(),
            request_body: from.request_body.clone(),
            parsed: None,
            request_head: from.request_head.clone(),
        }
    }
}

/// One encoding being undone.
struct Layer {
    /// As the server wrote it.
    name: String,
    coding: Coding,
    limit: usize,
    has_begun: bool,
}

enum Coding {
    Gzip(Gzip),
    Deflate(Deflate),
}

impl Layer {
    fn new(name: &str, limit: usize) -> Result<Self, String> {
        let coding = match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Coding::Gzip(Gzip::new(Bounded::new(limit))),
            "deflate" => Coding::Deflate(Deflate::new(Bounded::new(limit))),
            _ => return Err(format!("the server sent Content-Encoding '{name}', which was not asked for")),
        };
        Ok(Self { name: name.to_owned(), coding, limit, has_begun: false })
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.has_begun |= !bytes.is_empty();
        let fed = match &mut self.coding {
            Coding::Gzip(gzip) => gzip.feed(bytes),
            Coding::Deflate(deflate) => deflate.feed(bytes),
        };
        fed.map_err(|broken| match self.out().is_full {
            true => format!("decoded, the response is longer than the {} bytes that are kept", self.limit),
            false if broken.kind() == io::ErrorKind::QuotaExceeded => {
                format!("the response has more than {MOST_MEMBERS} '{}' members", self.name)
            }
            false => format!("the response is not the '{}' that its head announces: {broken}", self.name),
        })
    }

    /// What came out since the last time.
    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out().bytes)
    }

    fn out(&mut self) -> &mut Bounded {
        match &mut self.coding {
            Coding::Gzip(gzip) => gzip.member.get_mut(),
            Coding::Deflate(deflate) => &mut deflate.out,
        }
    }

    /// The response is over. Nothing at all is a body of no bytes.
    fn end(&mut self) -> Result<(), String> {
        let is_whole = match &mut self.coding {
            Coding::Gzip(gzip) => gzip.is_whole(),
            Coding::Deflate(deflate) => deflate.has_ended,
        };
        match is_whole || !self.has_begun {
            true => Ok(()),
            false => Err(format!("the response ends within its '{}' data", self.name)),
        }
    }
}

/// Members one after the other; what follows them and begins none is skipped, as other clients do.
struct Gzip {
    member: GzDecoder<Bounded>,
    is_between: bool,
    is_over: bool,
    members: u32,
}

/// How every member begins.
const GZIP_MAGIC: u8 = 0x1f;

impl Gzip {
    fn new(out: Bounded) -> Self {
        Self { member: GzDecoder::new(out), is_between: false, is_over: false, members: 1 }
    }

    fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(next) = bytes.first() {
            self.is_over |= self.is_between && *next != GZIP_MAGIC;
            if self.is_over {
                break;
            }
            let taken = self.member.write(bytes)?;
            self.is_between = taken == 0;
            if self.is_between {
                self.member.try_finish()?;
                self.members += 1;
                if self.members > MOST_MEMBERS {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                self.member = GzDecoder::new(std::mem::take(self.member.get_mut()));
            }
            bytes = &bytes[taken..];
        }
        self.member.flush()
    }

    fn is_whole(&mut self) -> bool {
        self.is_over || self.is_between || self.member.try_finish().is_ok()
    }
}

/// With the frame of zlib, as the standard has it, or without, as some servers send it.
struct Deflate {
    state: Option<Decompress>,
    has_ended: bool,
    out: Bounded,
}

impl Deflate {
    fn new(out: Bounded) -> Self {
        Self { state: None, has_ended: false, out }
    }

    fn feed(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(first) = bytes.first().filter(|_| !self.has_ended) else { return Ok(()) };
        // The low bits of a zlib frame name the one method there is.
        let state = self.state.get_or_insert_with(|| Decompress::new(first & 0xf == 8));
        let mut room = [0; INFLATE_ROOM];
        loop {
            let before = (state.total_in(), state.total_out());
            let status = state.decompress(bytes, &mut room, FlushDecompress::None)?;
            let taken = (state.total_in() - before.0) as usize;
            let made = (state.total_out() - before.1) as usize;
            bytes = &bytes[taken..];
            self.out.write_all(&room[..made])?;
            self.has_ended = status == Status::StreamEnd;
            if self.has_ended || (taken, made) == (0, 0) {
                return Ok(());
            }
        }
    }
}

/// Where decoded bytes gather: so many in all, and no more.
#[derive(Debug, Default)]
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
    is_full: bool,
}

impl Bounded {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), room: limit, is_full: false }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.room);
        self.bytes.extend_from_slice(&bytes[..fits]);
        self.room -= fits;
        self.is_full |= fits < bytes.len();
        if self.is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
