//! A stream socket, TCP or Unix, under tokio's eyes: reads with their instants, writes of several parts.

use crate::stamp::StampedReader;
use aiperf_types::Read;
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::uio::writev;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_read_ready(cx),
            Self::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => stream.poll_write_ready(cx),
            Self::Unix(stream) => stream.poll_write_ready(cx),
        }
    }

    fn try_io<R>(&self, interest: Interest, work: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        match self {
            Self::Tcp(stream) => stream.try_io(interest, work),
            Self::Unix(stream) => stream.try_io(interest, work),
        }
    }

    /// One `recvmsg`. A length of zero is the end of the stream.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        reader: &StampedReader,
        room: &mut [u8],
    ) -> Poll<io::Result<Read>> {
        loop {
            ready!(self.poll_read_ready(cx))?;
            let mut outcome = None;
            let tried = self.try_io(Interest::READABLE, || {
                let read = reader.read(self, room)?;
                outcome = Some(read);
                // A short read emptied the socket. Reporting that clears tokio's readiness and saves the recvmsg that would
                // only return EAGAIN; a close that came along stays noted, and later bytes raise a new edge.
                if read.len != 0 && (read.len as usize) < room.len() {
                    Err(io::ErrorKind::WouldBlock.into())
                } else {
                    Ok(())
                }
            });
            match (outcome, tried) {
                (Some(read), _) => return Poll::Ready(Ok(read)),
                (None, Err(error)) if error.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(error)),
                (None, _) => {}
            }
        }
    }

    /// One `writev`. A new connection is mostly writable before the runtime has had a chance to find out: it is just
    /// tried.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            match writev(self, parts) {
                Ok(written) => return Poll::Ready(Ok(written)),
                Err(nix::errno::Errno::EAGAIN) => {
                    let _ = self.try_io(Interest::WRITABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    ready!(self.poll_write_ready(cx))?;
                }
                Err(errno) => return Poll::Ready(Err(errno.into())),
            }
        }
    }

    /// What has come, left where it is; `None` while nothing has.
    pub(crate) fn peek(&self) -> Option<usize> {
        let mut byte = [0u8; 1];
        match recv(self.as_raw_fd(), &mut byte, MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT) {
            Ok(came) => Some(came),
            Err(nix::errno::Errno::EAGAIN) => None,
            Err(_) => Some(0),
        }
    }

    /// Our address and the other side's, where the socket has addresses.
    pub(crate) fn addresses(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        match self {
            Self::Tcp(stream) => (stream.local_addr().ok(), stream.peer_addr().ok()),
            Self::Unix(_) => (None, None),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
