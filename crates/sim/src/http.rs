//! The parts of HTTP/1.1 that such a server needs: whole requests from bytes, and response heads.

use crate::clock::{http_date, wall_ns};

/// Requests larger than this are refused, so that a wrong length cannot take all memory.
pub(crate) const LARGEST_BODY: usize = 256 << 20;
const LARGEST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 64;

/// The state of the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received<'a> {
    /// Not a whole request yet; there is no need to look again before this many bytes have arrived.
    Partial {
        /// Bytes needed before the next look.
        need: usize,
        /// The client waits for `100 Continue` before it sends the body.
        expects_continue: bool,
    },
    Whole(Request<'a>),
    /// Not a request this server understands: answer with this status and close.
    Bad(Status),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    /// The text after the question mark.
    pub(crate) query: Option<&'a str>,
    pub(crate) fields: Fields<&'a str>,
    pub(crate) keep_alive: bool,
    pub(crate) body: &'a [u8],
    /// Bytes of head and body together: where the next request starts.
    pub(crate) length: usize,
}

/// The header fields that matter here, framing aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fields<S> {
    pub(crate) request_id: Option<S>,
    pub(crate) correlation_id: Option<S>,
    pub(crate) content_type: Option<S>,
    pub(crate) accept: Option<S>,
    pub(crate) anthropic_version: Option<S>,
}

impl Fields<String> {
    pub(crate) fn borrowed(&self) -> Fields<&str> {
        Fields {
            request_id: self.request_id.as_deref(),
            correlation_id: self.correlation_id.as_deref(),
            content_type: self.content_type.as_deref(),
            accept: self.accept.as_deref(),
            anthropic_version: self.anthropic_version.as_deref(),
        }
    }
}

/// A status code with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u16);

impl Status {
    pub(crate) const OK: Status = Status(200);
    pub(crate) const BAD_REQUEST: Status = Status(400);
    pub(crate) const NOT_FOUND: Status = Status(404);
    pub(crate) const METHOD_NOT_ALLOWED: Status = Status(405);
    pub(crate) const LENGTH_REQUIRED: Status = Status(411);
    pub(crate) const UNSUPPORTED_MEDIA: Status = Status(415);
    pub(crate) const UNPROCESSABLE: Status = Status(422);
    pub(crate) const TOO_LARGE: Status = Status(413);

    pub(crate) fn reason(self) -> &'static str {
        match self.0 {
            200 => "OK",
            301 => "Moved Permanently",
            302 => "Found",
            303 => "See Other",
            307 => "Temporary Redirect",
            308 => "Permanent Redirect",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            411 => "Length Required",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            422 => "Unprocessable Entity",
            429 => "Too Many Requests",
            500 => "Internal Server Error",
            501 => "Not Implemented",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            code if code < 500 => "Client Error",
            _ => "Server Error",
        }
    }
}

/// Looks for a whole request at the start of `bytes`.
pub(crate) fn receive(bytes: &[u8]) -> Received<'_> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let head_length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() <= LARGEST_HEAD => {
            return Received::Partial { need: bytes.len() + 1, expects_continue: false };
        }
        Ok(httparse::Status::Partial) => return Received::Bad(Status(431)),
        Err(_) => return Received::Bad(Status::BAD_REQUEST),
    };
    let mut body_length = 0;
    let mut fields = Fields::default();
    let mut keep_alive = head.version == Some(1);
    let mut expects_continue = false;
    for header in head.headers.iter() {
        let value = || std::str::from_utf8(header.value).unwrap_or_default().trim();
        // Lengths first: most headers are dismissed without comparing letters.
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => match value().parse::<usize>() {
                Ok(length) if length <= LARGEST_BODY => body_length = length,
                Ok(_) => return Received::Bad(Status::TOO_LARGE),
                Err(_) => return Received::Bad(Status::BAD_REQUEST),
            },
            12 if header.name.eq_ignore_ascii_case("x-request-id") => fields.request_id = Some(value()),
            12 if header.name.eq_ignore_ascii_case("content-type") => fields.content_type = Some(value()),
            16 if header.name.eq_ignore_ascii_case("x-correlation-id") => fields.correlation_id = Some(value()),
            6 if header.name.eq_ignore_ascii_case("accept") => fields.accept = Some(value()),
            17 if header.name.eq_ignore_ascii_case("anthropic-version") => fields.anthropic_version = Some(value()),
            10 if header.name.eq_ignore_ascii_case("connection") => {
                keep_alive &= !value().eq_ignore_ascii_case("close");
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                return Received::Bad(Status::LENGTH_REQUIRED);
            }
            6 if header.name.eq_ignore_ascii_case("expect") => {
                expects_continue = value().eq_ignore_ascii_case("100-continue");
            }
            _ => {}
        }
    }
    let length = head_length + body_length;
    if bytes.len() < length {
        return Received::Partial { need: length, expects_continue };
    }
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    Received::Whole(Request {
        method: head.method.unwrap_or_default(),
        path,
        query,
        fields,
        keep_alive,
        body: &bytes[head_length..length],
        length,
    })
}

/// What the head of a response holds beside its framing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) status: Status,
    pub(crate) content_type: &'a str,
    pub(crate) fields: &'a [(&'a str, &'a str)],
}

impl Head<'_> {
    pub(crate) const STREAM: Head<'static> =
        Head { status: Status::OK, content_type: "text/event-stream; charset=utf-8", fields: &[] };

    pub(crate) const fn json(status: Status) -> Head<'static> {
        Head { status, content_type: "application/json", fields: &[] }
    }
}

/// Response heads; the `date` line is made once a second.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    second: u64,
    date: String,
}

impl Heads {
    /// The value of `date`.
    pub(crate) fn date(&mut self) -> &str {
        let second = wall_ns() / 1_000_000_000;
        if second != self.second {
            self.second = second;
            self.date = http_date(second);
        }
        &self.date
    }

    fn write_start(&mut self, out: &mut Vec<u8>, head: &Head<'_>, keep_alive: bool) {
        let date = self.date();
        let mut code = itoa::Buffer::new();
        let pieces = [
            "HTTP/1.1 ",
            code.format(head.status.0),
            " ",
            head.status.reason(),
            "\r\ndate: ",
            date,
            "\r\nserver: aiperf-sim\r\ncontent-type: ",
            head.content_type,
            if keep_alive { "\r\n" } else { "\r\nconnection: close\r\n" },
        ];
        for piece in pieces {
            out.extend_from_slice(piece.as_bytes());
        }
        for (name, value) in head.fields {
            for piece in [name, ": ", value, "\r\n"] {
                out.extend_from_slice(piece.as_bytes());
            }
        }
    }

    /// The head of an event stream in chunks.
    pub(crate) fn write_stream_head(&mut self, out: &mut Vec<u8>, head: &Head<'_>, keep_alive: bool) {
        self.write_start(out, head, keep_alive);
        out.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    }

    /// A whole response.
    pub(crate) fn write_response(&mut self, out: &mut Vec<u8>, head: &Head<'_>, keep_alive: bool, body: &[u8]) {
        self.write_start(out, head, keep_alive);
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(body);
    }
}

/// Appends `parts` as they are.
pub(crate) fn join(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Appends one chunk of the chunked transfer coding, made of `parts`.
pub(crate) fn write_chunk(out: &mut Vec<u8>, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let digits = (usize::BITS - length.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(length >> (4 * digit)) & 0xf]);
    }
    out.extend_from_slice(b"\r\n");
    for part in parts {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(b"\r\n");
}

/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] =
        b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nX-Request-ID: r1\r\ncontent-length: 4\r\n\r\nbodyGET";

    #[test]
    fn a_request_is_found_whole_or_not_at_all() {
        let whole = REQUEST.len() - 3;
        for cut in 0..whole {
            let Received::Partial { need, .. } = receive(&REQUEST[..cut]) else { panic!("at {cut}") };
            assert!(need > cut && need <= whole);
        }
        let Received::Whole(request) = receive(REQUEST) else { panic!() };
        assert_eq!(request.path, "/v1/chat/completions");
        assert_eq!(request.fields.request_id, Some("r1"));
        assert_eq!(request.body, b"body");
        assert_eq!(request.length, whole);
        assert!(request.keep_alive);
    }

    #[test]
    fn a_body_without_a_usable_length_is_refused() {
        for (head, status) in
            [("Transfer-Encoding: chunked", 411), ("Content-Length: x", 400), ("Content-Length: 99999999999", 413)]
        {
            let bytes = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n");
            assert_eq!(receive(bytes.as_bytes()), Received::Bad(Status(status)), "{head}");
        }
    }

    #[test]
    fn chunk_sizes_are_hexadecimal() {
        for (length, size) in [(1, "1"), (15, "f"), (16, "10"), (300, "12c"), (4096, "1000")] {
            let mut out = Vec::new();
            write_chunk(&mut out, &[&vec![b'x'; length]]);
            assert!(out.starts_with(format!("{size}\r\nx").as_bytes()), "{length}");
            assert!(out.ends_with(b"x\r\n"));
            assert_eq!(out.len(), length + size.len() + 4);
        }
    }
}
