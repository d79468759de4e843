//! The stream that `h2` reads and writes: every byte passes the taps.

use super::sent::SentTap;
use super::tap::Tap;
use crate::clock::mono_now;
use crate::stamped_stream::StampedStream;
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes asked of the connection at once. `h2` offers what its own buffer has left, often a few bytes; with room of our
/// own a read mostly empties the socket, and costs no clearing of memory.
const ROOM: usize = 32 << 10;

/// What is known of a connection's bytes.
#[derive(Default)]
pub struct Taps {
    pub received: Tap,
    pub sent: SentTap,
    /// Whether the server closed the connection.
    pub is_closed: bool,
}

impl Taps {
    /// Notes what is sent and received on a stream from now on.
    pub fn register(&mut self, stream: u32) {
        self.received.register(stream);
        self.sent.register(stream);
    }

    /// Lets go of what was noted on a stream.
    pub fn forget(&mut self, stream: u32) {
        self.received.forget(stream);
        self.sent.forget(stream);
    }
}

/// A connection's stream with its taps.
pub struct TappedStream<S> {
    stream: S,
    taps: Rc<RefCell<Taps>>,
    room: Box<[u8]>,
    /// What was read and not handed on yet.
    ready: Range<usize>,
}

impl<S> TappedStream<S> {
    /// Taps a stream of which nothing was read or written.
    pub fn new(stream: S, taps: Rc<RefCell<Taps>>) -> Self {
        Self { stream, taps, room: vec![0; ROOM].into(), ready: 0..0 }
    }
}

impl<S: StampedStream + Unpin> AsyncRead for TappedStream<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.ready.is_empty() {
            let read = ready!(this.stream.poll_read(cx, &mut this.room))?;
            let mut taps = this.taps.borrow_mut();
            this.ready = 0..read.len as usize;
            taps.is_closed |= read.len == 0;
            taps.received.note(&this.room[this.ready.clone()], read);
            if let Some(what) = taps.received.flood() {
                this.ready = 0..0;
                return Poll::Ready(Err(io::Error::other(what)));
            }
        }
        let len = this.ready.len().min(into.remaining());
        into.put_slice(&this.room[this.ready.start..this.ready.start + len]);
        this.ready.start += len;
        Poll::Ready(Ok(()))
    }
}

impl<S: StampedStream + Unpin> AsyncWrite for TappedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = ready!(this.stream.poll_write(cx, parts))?;
        let mut left = wrote;
        let written = parts.iter().map(|part| {
            let len = part.len().min(left);
            left -= len;
            &part[..len]
        });
        let mut taps = this.taps.borrow_mut();
        if taps.sent.note(written, mono_now()) {
            taps.received.note_progress();
        }
        Poll::Ready(Ok(wrote))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream.poll_shutdown(cx)
    }
}
