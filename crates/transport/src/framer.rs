//! HTTP/1.1 responses without a socket: bytes in; head, end of the body, or an error out.
//!
//! Strict where it costs nothing: two lengths, a bad chunk size or an overlong line is an error and the connection is
//! not used again; neither is one with bytes after the end of a message, with `Connection: close`, HTTP/1.0, or a body
//! ended by the close itself. Lenient as other clients are in one thing: the lines of a head may end in a line feed
//! alone. What cannot become a response is refused as soon as that is known, so that no request waits for its end.

use httparse::ParserConfig;
use std::mem::MaybeUninit;
use thiserror::Error;

/// The longest status line or header line.
pub(crate) const LINE_LIMIT: usize = 8190;
/// The longest head: far above what servers send, far below what could fill memory.
pub(crate) const HEAD_LIMIT: usize = 128 << 10;
/// Most header fields.
pub(crate) const FIELD_LIMIT: usize = 128;
/// Most interim (1xx) responses before the real one.
pub(crate) const INTERIM_LIMIT: u8 = 8;

/// Why bytes are not an HTTP/1.1 response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The status line or a header field.
    #[error("malformed response head: {0}")]
    Head(String),
    /// A chunk's size or its line ends.
    #[error("malformed chunk framing: {0}")]
    Chunk(&'static str),
    /// The connection closed before a response.
    #[error("server closed the connection before a response")]
    ClosedBeforeHead,
    /// The connection closed within a body of known length.
    #[error("body ended after {got} of {announced} bytes")]
    ShortBody {
        /// Bytes that came.
        got: u64,
        announced: u64,
    },
    /// The connection closed within a chunked body.
    #[error("chunked body was cut")]
    CutChunked,
}

/// The head of a response, as far as framing needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Bytes of the head, interim responses included: where the body starts.
    pub len: usize,
    /// The body comes in chunks.
    pub chunked: bool,
    /// The body's length, when announced.
    pub content_length: Option<u64>,
    /// The connection may be used again.
    pub keep_alive: bool,
    /// Where this response's own head starts, after interim ones.
    pub start: usize,
}

/// The state of one response.
#[derive(Clone, Debug)]
pub struct Framer {
    state: State,
    /// Where the current head starts in the bytes so far.
    head_start: usize,
    /// How far the search for the end of the head has looked.
    searched: usize,
    interim: u8,
    head: Option<Head>,
    /// Bytes that came after the end of the message.
    surplus: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Head,
    Length { got: u64, announced: u64 },
    Chunked(ChunkDecoder),
    UntilClose,
    Done,
}

impl Default for Framer {
    fn default() -> Self {
        Self { state: State::Head, head_start: 0, searched: 0, interim: 0, head: None, surplus: 0 }
    }
}

impl Framer {
    /// The head, once it is complete.
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the response is complete.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Bytes that came after the end of the message, in the read that completed it: they belong to no response.
    pub fn surplus(&self) -> usize {
        self.surplus
    }

    /// Whether the connection may carry another request.
    pub fn is_reusable(&self) -> bool {
        self.is_done() && self.surplus == 0 && self.head.as_ref().is_some_and(|head| head.keep_alive)
    }

    /// Takes the bytes of one read: `so_far` is everything kept of this exchange, ending with the `fresh` newest bytes.
    pub fn feed(&mut self, so_far: &[u8], fresh: usize) -> Result<(), FrameError> {
        if self.state == State::Head {
            let Some(end) = self.find_head_end(so_far)? else { return Ok(()) };
            return self.feed_body(&so_far[end..]);
        }
        self.feed_body(&so_far[so_far.len() - fresh..])
    }

    /// Takes bytes of the body that are not kept.
    pub fn feed_body(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let used = match &mut self.state {
            State::Head => return Err(FrameError::Head("body before head".into())),
            State::Done => 0,
            State::UntilClose => bytes.len(),
            State::Length { got, announced } => {
                let take = (*announced - *got).min(bytes.len() as u64);
                *got += take;
                if got == announced {
                    self.state = State::Done;
                }
                take as usize
            }
            State::Chunked(decoder) => {
                let used = decoder.feed(bytes, |_| ())?;
                if decoder.is_done() {
                    self.state = State::Done;
                }
                used
            }
        };
        self.surplus += bytes.len() - used;
        Ok(())
    }

    /// The connection closed: the end of a body without a length, an error anywhere else.
    pub fn close(&mut self) -> Result<(), FrameError> {
        match &self.state {
            State::Done => Ok(()),
            State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            State::Head => Err(FrameError::ClosedBeforeHead),
            State::Length { got, announced } => Err(FrameError::ShortBody { got: *got, announced: *announced }),
            State::Chunked(_) => Err(FrameError::CutChunked),
        }
    }

    /// Looks for the end of the head; interim responses are passed over.
    fn find_head_end(&mut self, so_far: &[u8]) -> Result<Option<usize>, FrameError> {
        loop {
            let end = match find_empty_line(so_far, self.searched) {
                Ok(end) => end,
                Err(searched) => {
                    self.searched = searched;
                    return refuse_early(&so_far[self.head_start..]).map(|()| None);
                }
            };
            refuse_early(&so_far[self.head_start..end])?;
            let head = parse_head(&so_far[self.head_start..end], self.head_start)?;
            if head.status >= 200 {
                self.begin_body(head);
                return Ok(Some(end));
            }
            // What follows would be another protocol, which was not asked for.
            if head.status == 101 {
                return Err(FrameError::Head("the server switches to another protocol".into()));
            }
            self.interim += 1;
            if self.interim > INTERIM_LIMIT {
                return Err(FrameError::Head("too many interim responses".into()));
            }
            self.head_start = end;
            self.searched = end;
        }
    }

    fn begin_body(&mut self, head: Head) {
        self.state = if matches!(head.status, 204 | 304) {
            State::Done
        } else if head.chunked {
            State::Chunked(ChunkDecoder::default())
        } else {
            match head.content_length {
                Some(0) => State::Done,
                Some(announced) => State::Length { got: 0, announced },
                None => State::UntilClose,
            }
        };
        self.head = Some(head);
    }
}

/// Where the first empty line ends, or from where to look again when there is more: its bytes may straddle two reads.
fn find_empty_line(bytes: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr(b'\n', &bytes[at..]) {
        let after = at + found + 1;
        match &bytes[after..] {
            [] | [b'\r'] => return Err(at + found),
            [b'\n', ..] => return Ok(after + 1),
            [b'\r', b'\n', ..] => return Ok(after + 2),
            _ => at = after,
        }
    }
    Err(bytes.len())
}

/// A head that cannot become one is refused before it is complete, and so is one that came whole: what is refused must
/// not depend on how it was cut.
fn refuse_early(partial: &[u8]) -> Result<(), FrameError> {
    if partial.len() > HEAD_LIMIT {
        return Err(FrameError::Head(format!("head is longer than {HEAD_LIMIT} bytes")));
    }
    if partial.len() > LINE_LIMIT && memchr::memchr(b'\n', &partial[..=LINE_LIMIT]).is_none() {
        return Err(FrameError::Head(format!("status line is longer than {LINE_LIMIT} bytes")));
    }
    for (place, byte) in partial.iter().enumerate().take(STATUS_LINE.len()) {
        let (is_allowed, otherwise) = STATUS_LINE[place];
        if !is_allowed(*byte) {
            return Err(FrameError::Head(otherwise.into()));
        }
    }
    Ok(())
}

/// What may be at a place, and what is wrong otherwise.
type Allowed = (fn(u8) -> bool, &'static str);

/// The beginning of a status line, place by place.
const STATUS_LINE: [Allowed; 13] = [
    (|b| b == b'H', NOT_HTTP),
    (|b| b == b'T', NOT_HTTP),
    (|b| b == b'T', NOT_HTTP),
    (|b| b == b'P', NOT_HTTP),
    (|b| b == b'/', NOT_HTTP),
    (|b| b == b'1', NOT_HTTP_1),
    (|b| b == b'.', NOT_HTTP_1),
    (|b| matches!(b, b'0' | b'1'), NOT_HTTP_1),
    (|b| b == b' ', NOT_HTTP_1),
    (|b| matches!(b, b'1'..=b'9'), NO_STATUS),
    (|b| b.is_ascii_digit(), NO_STATUS),
    (|b| b.is_ascii_digit(), NO_STATUS),
    (|b| matches!(b, b' ' | b'\r' | b'\n'), NO_STATUS),
];
const NOT_HTTP: &str = "response does not begin with HTTP/";
const NOT_HTTP_1: &str = "response is not HTTP/1.0 or HTTP/1.1";
const NO_STATUS: &str = "the status is not a number from 100 to 999";

fn parse_head(bytes: &[u8], start: usize) -> Result<Head, FrameError> {
    if bytes.len() > LINE_LIMIT && bytes.split(|&b| b == b'\n').any(|line| line.len() > LINE_LIMIT) {
        return Err(FrameError::Head(format!("a header line is longer than {LINE_LIMIT} bytes")));
    }
    let mut fields = [MaybeUninit::uninit(); FIELD_LIMIT];
    let mut response = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut fields);
    let len = match parsed {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Err(FrameError::Head("incomplete".into())),
        Err(error) => return Err(FrameError::Head(error.to_string())),
    };
    // Both must see the end of the head in the same place, or a body would be read as a head.
    if len != bytes.len() {
        return Err(FrameError::Head("the end of the head is not clear".into()));
    }
    let status = response.code.unwrap_or_default();
    let mut head = Head {
        status,
        len: start + len,
        chunked: false,
        content_length: None,
        keep_alive: response.version == Some(1),
        start,
    };
    for field in response.headers.iter() {
        if field.name.eq_ignore_ascii_case("content-length") {
            let digits = std::str::from_utf8(field.value).unwrap_or_default().trim();
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let length = digits.parse::<u64>().ok().filter(|_| plain);
            let Some(length) = length else { return Err(FrameError::Head("bad Content-Length".into())) };
            if head.content_length.is_some_and(|earlier| earlier != length) {
                return Err(FrameError::Head("two different Content-Length fields".into()));
            }
            head.content_length = Some(length);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            let coding = std::str::from_utf8(field.value).unwrap_or_default().trim();
            if !coding.eq_ignore_ascii_case("chunked") {
                return Err(FrameError::Head(format!("unsupported Transfer-Encoding '{coding}'")));
            }
            head.chunked = true;
        } else if field.name.eq_ignore_ascii_case("connection") {
            let mut options = field.value.split(|&b| b == b',').map(<[u8]>::trim_ascii);
            head.keep_alive &= !options.any(|option| option.eq_ignore_ascii_case(b"close"));
        }
    }
    if head.chunked && head.content_length.is_some() {
        return Err(FrameError::Head("both Content-Length and Transfer-Encoding".into()));
    }
    if !head.chunked && head.content_length.is_none() && !matches!(status, 100..=199 | 204 | 304) {
        head.keep_alive = false;
    }
    Ok(head)
}

/// Skips or removes chunk framing, in any splits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkDecoder {
    at: ChunkAt,
    size: u64,
    /// Bytes of the line at hand: digits of a size, an extension, a trailer.
    line: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkAt {
    #[default]
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Done,
}

/// The size of a chunk as nearly every server writes it, and the bytes of its line: a few digits, no extension, no
/// zero, and the whole line is there.
#[inline]
fn usual_size(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut size = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        match (*byte as char).to_digit(16) {
            Some(digit) => size = size << 4 | u64::from(digit),
            None => return (size > 0 && bytes.get(at..at + 2) == Some(b"\r\n")).then_some((size, at + 2)),
        }
    }
    None
}

impl ChunkDecoder {
    /// Whether the last chunk and its trailers have come.
    pub fn is_done(&self) -> bool {
        self.at == ChunkAt::Done
    }

    /// Takes bytes, gives each span of data, returns how many were used: fewer only when the body ended among them.
    pub fn feed<'a>(&mut self, bytes: &'a [u8], mut data: impl FnMut(&'a [u8])) -> Result<usize, FrameError> {
        let mut i = 0;
        while i < bytes.len() {
            if self.at == ChunkAt::Size
                && self.line == 0
                && let Some((size, len)) = usual_size(&bytes[i..])
            {
                (self.size, self.at) = (size, ChunkAt::Data);
                i += len;
                continue;
            }
            let byte = bytes[i];
            match self.at {
                ChunkAt::Done => break,
                ChunkAt::Data => {
                    let take = self.size.min((bytes.len() - i) as u64) as usize;
                    data(&bytes[i..i + take]);
                    self.size -= take as u64;
                    i += take;
                    if self.size == 0 {
                        let has_end = bytes.get(i..i + 2) == Some(b"\r\n");
                        self.at = if has_end { ChunkAt::Size } else { ChunkAt::DataCr };
                        i += if has_end { 2 } else { 0 };
                    }
                    continue;
                }
                ChunkAt::Size => match (byte as char).to_digit(16) {
                    // Zeros before it change nothing, however many: servers pad sizes.
                    Some(digit) => {
                        if self.size >> 60 != 0 {
                            return Err(FrameError::Chunk("chunk size is too large"));
                        }
                        self.size = self.size << 4 | u64::from(digit);
                        self.count_line()?;
                    }
                    None if self.line == 0 => return Err(FrameError::Chunk("chunk without a size")),
                    None => {
                        self.at = match byte {
                            b'\r' => ChunkAt::SizeLf,
                            b';' | b' ' | b'\t' => ChunkAt::Extension,
                            _ => return Err(FrameError::Chunk("bad chunk size")),
                        };
                    }
                },
                ChunkAt::Extension => self.skip_line(byte, ChunkAt::SizeLf)?,
                ChunkAt::SizeLf => {
                    expect(byte, b'\n')?;
                    self.at = if self.size == 0 { ChunkAt::TrailerStart } else { ChunkAt::Data };
                    self.line = 0;
                }
                ChunkAt::DataCr => {
                    expect(byte, b'\r')?;
                    self.at = ChunkAt::DataLf;
                }
                ChunkAt::DataLf => {
                    expect(byte, b'\n')?;
                    self.at = ChunkAt::Size;
                }
                ChunkAt::TrailerStart if byte == b'\r' => self.at = ChunkAt::EndLf,
                // All trailers together are held to the length of a line: nothing reads them, and some servers never
                // end.
                ChunkAt::TrailerStart => self.at = ChunkAt::Trailer,
                ChunkAt::Trailer => self.skip_line(byte, ChunkAt::TrailerLf)?,
                ChunkAt::TrailerLf => {
                    expect(byte, b'\n')?;
                    self.at = ChunkAt::TrailerStart;
                }
                ChunkAt::EndLf => {
                    expect(byte, b'\n')?;
                    self.at = ChunkAt::Done;
                }
            }
            i += 1;
        }
        Ok(i)
    }

    fn count_line(&mut self) -> Result<(), FrameError> {
        self.line += 1;
        if usize::from(self.line) > LINE_LIMIT {
            return Err(FrameError::Chunk("line in chunk framing is too long"));
        }
        Ok(())
    }

    fn skip_line(&mut self, byte: u8, at_cr: ChunkAt) -> Result<(), FrameError> {
        self.count_line()?;
        match byte {
            b'\r' => self.at = at_cr,
            b'\n' => return Err(FrameError::Chunk("bare line feed in chunk framing")),
            _ => {}
        }
        Ok(())
    }
}

fn expect(byte: u8, wanted: u8) -> Result<(), FrameError> {
    if byte == wanted { Ok(()) } else { Err(FrameError::Chunk("bad line end in chunk framing")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bytes: &[u8], step: usize) -> (Framer, Result<(), FrameError>) {
        let mut framer = Framer::default();
        let mut end = 0;
        while end < bytes.len() {
            let fresh = step.min(bytes.len() - end);
            end += fresh;
            if let Err(error) = framer.feed(&bytes[..end], fresh) {
                return (framer, Err(error));
            }
        }
        (framer, Ok(()))
    }

    #[test]
    fn a_chunked_body_ends_in_any_splits() {
        let bytes =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=1\r\nabc\r\n0\r\nT: 1\r\n\r\n";
        for step in 1..bytes.len() {
            let (framer, result) = run(bytes, step);
            assert_eq!(result, Ok(()), "step {step}");
            assert!(framer.is_done() && framer.is_reusable(), "step {step}");
        }
    }

    #[test]
    fn a_body_of_known_length_ends_and_surplus_bars_reuse() {
        let (framer, result) = run(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokX", 64);
        assert!(result.is_ok() && framer.is_done() && !framer.is_reusable());
    }

    #[test]
    fn interim_responses_are_passed_over() {
        let (framer, _) = run(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", 7);
        assert!(framer.is_done() && framer.is_reusable());
        assert_eq!(framer.head().map(|head| head.status), Some(204));
    }

    #[test]
    fn a_cut_body_names_how_it_was_cut() {
        let (mut framer, _) = run(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 64);
        assert_eq!(framer.close(), Err(FrameError::ShortBody { got: 3, announced: 10 }));
        let (mut framer, _) = run(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", 64);
        assert_eq!(framer.close(), Err(FrameError::CutChunked));
        let (mut framer, _) = run(b"HTTP/1.1 200 OK\r\n\r\nabc", 64);
        assert_eq!(framer.close(), Ok(()));
        assert!(!framer.is_reusable());
    }

    #[test]
    fn what_is_not_http_is_refused_at_once() {
        assert!(matches!(run(b"garbage", 3).1, Err(FrameError::Head(_))));
        assert!(matches!(run(b"HTTP/1.1 099 Early\r\n\r\n", 99).1, Err(FrameError::Head(_))));
        assert!(matches!(
            run(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 99).1,
            Err(FrameError::Head(_))
        ));
        assert!(matches!(
            run(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 99).1,
            Err(FrameError::Chunk(_))
        ));
    }

    #[test]
    fn what_is_refused_does_not_depend_on_the_reads() {
        let blank_line_first = b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
        let mut long_head = b"HTTP/1.1 200 OK\r\n".to_vec();
        for _ in 0..20 {
            long_head.extend_from_slice(format!("X: {}\r\n", "a".repeat(8000)).as_bytes());
        }
        long_head.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        for bytes in [blank_line_first, long_head] {
            for step in [1, 1000, bytes.len()] {
                assert!(matches!(run(&bytes, step).1, Err(FrameError::Head(_))), "step {step}");
            }
        }
    }

    #[test]
    fn the_lines_of_a_head_may_end_in_line_feeds_alone() {
        for bytes in [
            &b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok",
            b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\nok",
            b"HTTP/1.1 100 Go\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        ] {
            for step in 1..=bytes.len() {
                let (framer, result) = run(bytes, step);
                assert!(result.is_ok() && framer.is_done() && framer.is_reusable(), "step {step}: {result:?}");
                assert_eq!(framer.head().map(|head| head.len), Some(bytes.len() - 2), "step {step}");
            }
        }
    }

    #[test]
    fn a_bad_status_line_is_refused_before_the_head_ends() {
        for line in [
            "HTTP/1.1 000 OK",
            "HTTP/1.1 99 OK",
            "HTTP/1.1 2000 OK",
            "HTTP/1.1 abc",
            "HTTP/1.1  200",
            "HTTP/2 200 OK",
            "HTTP/1.2 200 OK",
            "HTTP/1.1\r\n",
            "HTTP/1.1 20\r\n",
            "ICY 200 OK",
            "\u{0}\u{0}\u{12}\u{4}",
        ] {
            for step in [1, line.len()] {
                assert!(matches!(run(line.as_bytes(), step).1, Err(FrameError::Head(_))), "{line} by {step}");
            }
        }
        assert!(matches!(run(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 99).1, Err(FrameError::Head(_))));
    }

    #[test]
    fn trailers_without_end_are_refused() {
        let response = |trailers: usize| {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
            format!("{head}{}\r\n", "X-Trailer: 1\r\n".repeat(trailers))
        };
        assert!(run(response(3).as_bytes(), 7).1.is_ok());
        assert!(run(response(100_000).as_bytes(), 4096).1.is_err());
    }

    #[test]
    fn a_chunk_size_may_be_padded_but_must_fit() {
        let response =
            |size: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\nhello\r\n0\r\n\r\n");
        for size in ["0000000000000005", "00000000000000000000005"] {
            let (framer, result) = run(response(size).as_bytes(), 3);
            assert!(result.is_ok() && framer.is_reusable(), "{size}: {result:?}");
        }
        for size in ["10000000000000005".to_owned(), "0".repeat(LINE_LIMIT + 1) + "5", String::new(), "-5".into()] {
            assert!(matches!(run(response(&size).as_bytes(), 999).1, Err(FrameError::Chunk(_))), "{size}");
        }
    }

    #[test]
    fn what_follows_a_message_is_counted_and_bars_reuse() {
        for (bytes, surplus) in [
            (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokXYZ"[..], 3),
            (b"HTTP/1.1 204 No Content\r\n\r\nsurplus", 7),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nX", 1),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200", 12),
        ] {
            let (framer, result) = run(bytes, 999);
            assert!(result.is_ok() && framer.is_done() && !framer.is_reusable());
            assert_eq!(framer.surplus(), surplus);
        }
    }
}
