//! Responses of the API: status, header fields, and a body in memory or in a file.

use super::encoding::Encoding;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) const JSON: &str = "application/json";
pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Bytes read from a file in one step. The server handles other clients between steps.
const PIECE: usize = 64 << 10;
/// Shorter bodies are not compressed: they fit into one packet.
const WORTH_COMPRESSING: usize = 512;

/// The response to a request.
#[derive(Debug)]
pub(super) struct ApiResponse {
    pub(super) status: StatusCode,
    kind: &'static str,
    content: Content,
    fields: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Debug)]
enum Content {
    Memory(Bytes),
    /// A file, and its size when it was opened.
    File(File, u64),
}

impl ApiResponse {
    pub(super) fn new(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, kind, content: Content::Memory(body.into()), fields: Vec::new() }
    }

    pub(super) fn json(value: &Value) -> Self {
        Self::new(StatusCode::OK, JSON, value.to_string())
    }

    /// A refusal, with its reason.
    pub(super) fn refusal(status: StatusCode, detail: impl Into<String>) -> Self {
        Self::new(status, JSON, json!({ "detail": detail.into() }).to_string())
    }

    /// A file, of which this many bytes are sent.
    pub(super) fn file(kind: &'static str, file: File, length: u64) -> Self {
        Self { status: StatusCode::OK, kind, content: Content::File(file, length), fields: Vec::new() }
    }

    /// Adds a header field, unless the value is not valid.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.fields.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        self
    }

    /// The HTTP response, compressed if the client accepts it.
    pub(super) fn into_response(self, encoding: Option<Encoding>) -> Response<Payload> {
        let encoding = encoding.filter(|_| match &self.content {
            Content::Memory(bytes) => bytes.len() >= WORTH_COMPRESSING,
            Content::File(_, length) => *length >= WORTH_COMPRESSING as u64,
        });
        let payload = match (self.content, encoding) {
            (Content::Memory(bytes), None) => Payload::Memory(bytes),
            (Content::Memory(bytes), Some(encoding)) => match encoding.compressed(&bytes) {
                Ok(compressed) => Payload::Memory(compressed.into()),
                Err(error) => Payload::Broken(Some(error)),
            },
            (Content::File(file, left), None) => Payload::File { file, left },
            (Content::File(file, left), Some(encoding)) => match encoding.stream() {
                Ok(encoder) => Payload::Compressed { file, left, encoder: Some(encoder) },
                Err(error) => Payload::Broken(Some(error)),
            },
        };
        let mut response = Response::new(payload);
        *response.status_mut() = self.status;
        let fields = response.headers_mut();
        let mut set = |name: HeaderName, value: &'static str| fields.insert(name, HeaderValue::from_static(value));
        set(header::CONTENT_TYPE, self.kind);
        set(header::CACHE_CONTROL, "no-store");
        set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
        set(header::REFERRER_POLICY, "no-referrer");
        set(header::X_FRAME_OPTIONS, "DENY");
        set(header::VARY, "Accept-Encoding, Origin");
        if let Some(encoding) = encoding {
            set(header::CONTENT_ENCODING, encoding.name());
        }
        self.fields.into_iter().for_each(|(name, value)| drop(fields.insert(name, value)));
        response
    }
}

/// A body that is being sent.
#[derive(Debug)]
pub(super) enum Payload {
    Memory(Bytes),
    File { file: File, left: u64 },
    Compressed { file: File, left: u64, encoder: Option<super::encoding::Stream> },
    Broken(Option<io::Error>),
}

/// The next bytes of a file, never more than are left.
fn piece(file: &mut File, left: &mut u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(*left).unwrap_or(PIECE).min(PIECE)];
    let read = file.read(&mut bytes)?;
    if read == 0 && *left > 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
    }
    bytes.truncate(read);
    *left -= read as u64;
    Ok(bytes)
}

impl Payload {
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        match self {
            Self::Memory(bytes) => Ok(Some(std::mem::take(bytes)).filter(|bytes| !bytes.is_empty())),
            Self::File { left: 0, .. } => Ok(None),
            Self::File { file, left } => Ok(Some(piece(file, left)?.into())),
            Self::Compressed { file, left, encoder } => loop {
                let Some(mut open) = encoder.take() else { return Ok(None) };
                if *left == 0 {
                    return Ok(Some(open.finish()?.into()));
                }
                let compressed = open.push(&piece(file, left)?)?;
                *encoder = Some(open);
                if !compressed.is_empty() {
                    return Ok(Some(compressed.into()));
                }
            },
            Self::Broken(error) => error.take().map_or(Ok(None), Err),
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Poll::Ready(self.next().transpose().map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Memory(bytes) => bytes.is_empty(),
            Self::File { left, .. } => *left == 0,
            Self::Compressed { encoder, .. } => encoder.is_none(),
            Self::Broken(error) => error.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Memory(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::File { left, .. } => SizeHint::with_exact(*left),
            Self::Compressed { .. } | Self::Broken(_) => SizeHint::default(),
        }
    }
}
