//! A stream socket, TCP or Unix, under tokio's eyes: reads with their instants, writes of several parts.

use crate::stamp::StampedReader;
use crate::turn;
use aiperf_types::{MonoNs, Read};
use nix::sys::socket::{MsgFlags, recv};
use nix::sys::uio::writev;
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// A socket, and since when it is known to be empty.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    empty_since: Cell<MonoNs>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Self { stream: Stream::Tcp(stream), empty_since: Cell::default() }
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Self { stream: Stream::Unix(stream), empty_since: Cell::default() }
    }
}

impl Stream {
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
}

impl Socket {
    pub(crate) fn tcp(&self) -> Option<&TcpStream> {
        match &self.stream {
            Stream::Tcp(stream) => Some(stream),
            Stream::Unix(_) => None,
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
            ready!(self.stream.poll_read_ready(cx))?;
            let mut outcome = None;
            let tried = self.stream.try_io(Interest::READABLE, || {
                let read = self.read(reader, room)?;
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

    /// Reads once, and notes since when the bytes may have been there.
    fn read(&self, reader: &StampedReader, room: &mut [u8]) -> io::Result<Read> {
        let before = turn::seen();
        let mut read = match reader.read(self, room) {
            Ok(read) => read,
            Err(error) => {
                if error.kind() == io::ErrorKind::WouldBlock {
                    self.empty_since.set(before);
                }
                return Err(error);
            }
        };
        let since = self.empty_since.get();
        read.width = read.at.since(since).0.min(u64::from(u32::MAX)) as u32;
        read.is_full = read.len as usize == room.len();
        read.is_late = turn::was_late_after(since);
        if !read.is_full {
            self.empty_since.set(before);
        }
        Ok(read)
    }

    /// One `writev`. A new connection is mostly writable before the runtime has had a chance to find out: it is just
    /// tried.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        loop {
            match writev(self, parts) {
                Ok(written) => return Poll::Ready(Ok(written)),
                Err(nix::errno::Errno::EAGAIN) => {
                    let _ = self.stream.try_io(Interest::WRITABLE, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    ready!(self.stream.poll_write_ready(cx))?;
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
        match &self.stream {
            Stream::Tcp(stream) => (stream.local_addr().ok(), stream.peer_addr().ok()),
            Stream::Unix(_) => (None, None),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}
