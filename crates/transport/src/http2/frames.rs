//! Where frames begin and end in a stream of HTTP/2 bytes, whatever pieces it comes in.
//!
//! Nothing is refused here: a malformed frame is walked over by its length, and `h2`, which sees the same bytes, ends
//! the connection for it.

/// Bytes of a frame header.
pub const HEADER_LEN: usize = 9;
/// What a client sends before its first frame.
pub const PREFACE_LEN: usize = 24;

/// The kinds of frames that are distinguished (RFC 9113, section 6).
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const GOAWAY: u8 = 7;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of DATA, HEADERS and CONTINUATION.
pub mod flag {
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
}

/// A frame: its header, and as much of its payload as is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    /// Bytes of payload, padding included.
    pub len: u32,
    /// The first bytes of the payload, as far as they came.
    lead: [u8; 4],
}

impl Frame {
    fn of_header(header: &[u8; HEADER_LEN]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *header;
        Self { kind, flags, stream: stream_id(stream), len: u32::from_be_bytes([0, a, b, c]), lead: [0; 4] }
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the frame is part of a message: a head, a body or trailers.
    pub fn is_of_message(&self) -> bool {
        matches!(self.kind, kind::DATA | kind::HEADERS | kind::CONTINUATION)
    }

    /// Bytes of data in a complete DATA frame: without padding, and without the byte with its length.
    pub fn data_len(&self) -> u32 {
        let padding = if self.has(flag::PADDED) { 1 + u32::from(self.lead[0]) } else { 0 };
        self.len.saturating_sub(padding)
    }

    /// Whether a complete frame has data.
    pub fn has_data(&self) -> bool {
        self.kind == kind::DATA && self.data_len() > 0
    }

    /// The last stream that the server handled, by a complete GOAWAY frame.
    pub fn last_stream(&self) -> u32 {
        stream_id(self.lead)
    }
}

/// The highest bit means nothing.
fn stream_id(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

/// The bytes of one frame in one piece of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub frame: Frame,
    /// Bytes of the frame that this piece added. A header counts when its last byte has come.
    pub fresh: u32,
    /// Whether this was the last of the frame.
    pub is_last: bool,
}

/// Walks over frames.
#[derive(Clone, Debug, Default)]
pub struct FrameWalker {
    /// Bytes before the first frame.
    skip: usize,
    header: [u8; HEADER_LEN],
    /// Bytes of the header that came.
    filled: usize,
    frame: Frame,
    /// Bytes of payload still to come.
    left: u32,
}

impl FrameWalker {
    /// A walker for what a client sends.
    pub fn after_preface() -> Self {
        Self { skip: PREFACE_LEN, ..Self::default() }
    }

    /// The bytes so far end within the header of a frame.
    pub fn is_within_header(&self) -> bool {
        (1..HEADER_LEN).contains(&self.filled)
    }

    /// Takes the next piece of the stream, and visits every frame that has bytes in it.
    pub fn walk(&mut self, piece: &[u8], mut visit: impl FnMut(Part)) {
        let skipped = self.skip.min(piece.len());
        self.skip -= skipped;
        let mut rest = &piece[skipped..];
        while !rest.is_empty() {
            let mut fresh = 0;
            if self.filled < HEADER_LEN {
                let (bytes, after) = rest.split_at(rest.len().min(HEADER_LEN - self.filled));
                self.header[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
                self.filled += bytes.len();
                rest = after;
                if self.filled < HEADER_LEN {
                    return;
                }
                self.frame = Frame::of_header(&self.header);
                self.left = self.frame.len;
                fresh = HEADER_LEN as u32;
            }
            // A frame is at most 16 MB long, so all of this fits.
            let (payload, after) = rest.split_at(rest.len().min(self.left as usize));
            let came = (self.frame.len - self.left) as usize;
            for (into, &byte) in self.frame.lead.iter_mut().skip(came).zip(payload) {
                *into = byte;
            }
            self.left -= payload.len() as u32;
            rest = after;
            fresh += payload.len() as u32;
            let is_last = self.left == 0;
            if is_last {
                self.filled = 0;
            }
            visit(Part { frame: self.frame, fresh, is_last });
        }
    }
}
