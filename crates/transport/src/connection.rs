//! A connection: a socket, with TLS on it or not. Whatever lies between, bytes that come carry the instant of the raw
//! read that completed them.

use crate::socket::Socket;
use crate::stamp::StampedReader;
use crate::stamped_stream::StampedStream;
use crate::tls::Session;
use aiperf_types::Read;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};

/// An open connection to a server.
pub struct Connection {
    socket: Socket,
    tls: Option<Box<Session>>,
    reader: Rc<StampedReader>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
}

impl Connection {
    pub(crate) fn plain(socket: Socket, reader: Rc<StampedReader>) -> Self {
        let (local, remote) = socket.addresses();
        Self { socket, tls: None, reader, local, remote }
    }

    /// The same connection with a TLS session on it, once its handshake is over.
    pub(crate) fn with_tls(self, session: Session) -> Self {
        Self { tls: Some(Box::new(session)), ..self }
    }

    pub(crate) fn socket(&self) -> (&Socket, &StampedReader) {
        (&self.socket, &self.reader)
    }

    /// Our address and the other side's, where there are addresses.
    pub fn addresses(&self) -> Option<Box<(SocketAddr, SocketAddr)>> {
        Some(Box::new((self.local?, self.remote?)))
    }

    /// Whether both sides agreed on HTTP/2.
    pub fn speaks_http2(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.speaks_http2())
    }

    /// Whether it closed without the goodbye that its protocol has: what came may not be all. TCP alone has none.
    pub(crate) fn was_cut(&self) -> bool {
        self.tls.as_ref().is_some_and(|session| session.was_cut())
    }

    /// Whether nothing came while it was idle: a close, or bytes that belong to no request and would be taken for the
    /// beginning of the next response. The kernel is asked every time: what came since the worker last polled is not
    /// known here.
    pub(crate) fn is_quiet(&mut self) -> bool {
        match (&mut self.tls, self.socket.peek()) {
            (_, Some(0)) => false,
            (None, came) => came.is_none(),
            (Some(session), None) => session.is_quiet(),
            // A server hands out session tickets when it likes: they are no response.
            (Some(session), Some(_)) => {
                let _ = session.receive(&self.socket, &self.reader);
                session.is_quiet() && self.socket.peek() != Some(0)
            }
        }
    }
}

impl StampedStream for Connection {
    #[inline]
    fn poll_read(&mut self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<Read>> {
        match &mut self.tls {
            None => self.socket.poll_read(cx, &self.reader, room),
            Some(session) => session.poll_read(cx, &self.socket, &self.reader, room),
        }
    }

    /// Bytes that it reports as written have left for the socket, also over TLS.
    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match &mut self.tls {
            None => self.socket.poll_write(cx, parts),
            Some(session) => session.poll_write(cx, &self.socket, parts),
        }
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Dropping it closes it.
        Poll::Ready(Ok(()))
    }
}
