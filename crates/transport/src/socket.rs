//! A stream socket, TCP or Unix, under tokio's eyes: reads with their instants, writes of several parts.

use crate::stamp::{StampedReader, unstamped};
use crate::turn;
use aiperf_types::{MonoNs, Nanos, Read};
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
    /// Since when a task waits for bytes.
    awaited_since: Cell<MonoNs>,
    /// The stamp of the last read.
    stamped: Cell<MonoNs>,
}

/// No task waits.
const NEVER: MonoNs = MonoNs(u64::MAX);

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        Stream::Tcp(stream).into()
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        Stream::Unix(stream).into()
    }
}

impl From<Stream> for Socket {
    fn from(stream: Stream) -> Self {
        Self { stream, empty_since: Cell::default(), awaited_since: Cell::new(NEVER), stamped: Cell::default() }
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
            let Poll::Ready(readiness) = self.stream.poll_read_ready(cx) else {
                self.await_bytes();
                return Poll::Pending;
            };
            readiness?;
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

    /// A task waits for bytes from now on, if none did before.
    fn await_bytes(&self) {
        if self.awaited_since.get() == NEVER {
            self.awaited_since.set(turn::seen());
        }
    }

    /// Since when the bytes that are read now may have been there.
    fn empty_since(&self) -> MonoNs {
        let empty_until = turn::empty_until();
        let is_awaited = self.awaited_since.get() <= empty_until;
        self.empty_since.get().max(if is_awaited { empty_until } else { MonoNs::default() })
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
        let empty_since = self.empty_since();
        let since = earliest(read.at, empty_since, self.stamped.get()).unwrap_or_else(|| {
            // The stamp is that of the last byte. It arrived long before others, which filled a gap in the stream.
            read = unstamped(turn::seen().max(empty_since), read.len);
            empty_since
        });
        self.awaited_since.set(NEVER);
        self.stamped.set(read.at);
        read.width = read.at.since(since).0.min(u64::from(u32::MAX)) as u32;
        read.is_full = read.len as usize == room.len();
        read.is_late = turn::was_late_after(since) || read.was_read_late(turn::LONG);
        if !read.is_full {
            self.empty_since.set(before);
        }
        Ok(read)
    }

    /// One `writev`. A new connection is mostly writable before the runtime has had a chance to find out: it is just
    /// tried.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, parts: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        // The task may look at bytes that arrive only after it has written.
        self.awaited_since.set(NEVER);
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

/// The kernel stamps a packet before the socket gets it. That takes less than this, or the packet was held back because
/// an earlier one was lost.
const TO_THE_SOCKET: Nanos = Nanos::from_millis(1);

/// The earliest arrival of bytes whose last one has this stamp. `None` if the stamp is not that of their arrival: the
/// network has reordered or lost packets, and the last one waited for others.
fn earliest(stamp: MonoNs, empty_since: MonoNs, stamp_before: MonoNs) -> Option<MonoNs> {
    let earliest = MonoNs(empty_since.0.saturating_sub(TO_THE_SOCKET.0)).max(stamp_before);
    match () {
        () if empty_since <= stamp => Some(empty_since),
        () if earliest <= stamp => Some(earliest),
        () => None,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::mono_now;
    use crate::stamp::StampMode;
    use std::future::poll_fn;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream as Peer};
    use std::rc::Rc;
    use std::thread::sleep;
    use std::time::Duration;
    use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

    fn runtime() -> LocalRuntime {
        let mut runtime = Builder::new_current_thread();
        turn::note_turns(runtime.enable_all().event_interval(3)).build_local(LocalOptions::default()).unwrap()
    }

    /// Sockets and their other sides.
    fn pairs(number: usize) -> (Vec<Socket>, Vec<Peer>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let pair = |_| {
            let client = Peer::connect(listener.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            let server = listener.accept().unwrap().0;
            server.set_nodelay(true).unwrap();
            (Socket::from(TcpStream::from_std(client).unwrap()), server)
        };
        (0..number).map(pair).unzip()
    }

    async fn read(socket: &Socket, reader: &StampedReader) -> Read {
        let mut room = [0; 64];
        poll_fn(|cx| socket.poll_read(cx, reader, &mut room)).await.unwrap()
    }

    #[test]
    fn every_byte_arrives_within_the_interval_of_its_read() {
        const BYTES: usize = 400;
        let runtime = runtime();
        let (sockets, mut peers) = runtime.block_on(async { pairs(4) });
        let sender = std::thread::spawn(move || {
            let mut written = vec![Vec::new(); peers.len()];
            for number in 0..BYTES {
                // No order that the reader could follow, and now and then a pause.
                let at = number * number / 3 % peers.len();
                peers[at].write_all(b"x").unwrap();
                written[at].push(mono_now());
                sleep(Duration::from_micros([0, 40, 0, 300][number % 4]));
            }
            written
        });
        let reader = Rc::new(StampedReader::new(StampMode::User));
        let tasks: Vec<_> = sockets
            .into_iter()
            .map(|socket| {
                let reader = reader.clone();
                runtime.spawn_local(async move {
                    let mut reads: Vec<Read> = Vec::new();
                    loop {
                        let read = read(&socket, &reader).await;
                        if read.len == 0 {
                            return reads;
                        }
                        // The thread is busy, and bytes wait.
                        sleep(Duration::from_micros([0, 500, 0][reads.len() % 3]));
                        reads.push(read);
                    }
                })
            })
            .collect();
        let all = runtime.block_on(async {
            let mut all = Vec::new();
            for task in tasks {
                all.push(task.await.unwrap());
            }
            all
        });
        let mut bytes = 0;
        for (reads, written) in all.into_iter().zip(sender.join().unwrap()) {
            let mut written = written.into_iter();
            for read in reads {
                for byte in written.by_ref().take(read.len as usize) {
                    // A byte has arrived when its write returns.
                    assert!(read.at.0 - u64::from(read.width) <= byte.0, "{read:?} {byte:?}");
                    bytes += 1;
                }
            }
        }
        assert_eq!(bytes, BYTES);
    }

    #[test]
    fn bytes_are_no_earlier_than_the_empty_socket_or_the_stamp_before_them() {
        let us = |us: u64| MonoNs(us * 1000);
        assert_eq!(earliest(us(5000), us(4000), us(1000)), Some(us(4000)));
        assert_eq!(earliest(us(3900), us(4000), us(1000)), Some(us(3000)), "stamped before the socket got it");
        assert_eq!(earliest(us(3900), us(4000), us(3800)), Some(us(3800)), "and after the read before");
        assert_eq!(earliest(us(2900), us(4000), us(1000)), None, "it waited for a packet that was lost");
        assert_eq!(earliest(us(900), us(1000), us(950)), None, "reordered");
    }

    #[test]
    fn a_socket_was_empty_while_the_thread_woke_for_others_only() {
        let runtime = runtime();
        let (sockets, mut peers) = runtime.block_on(async { pairs(2) });
        let [busy, quiet]: [Socket; 2] = sockets.try_into().unwrap();
        let reader = Rc::new(StampedReader::new(StampMode::User));
        let of_quiet = reader.clone();
        let waiting = runtime.spawn_local(async move { read(&quiet, &of_quiet).await });
        let first = runtime.block_on(async {
            let mut first = None;
            for _ in 0..3 {
                peers[0].write_all(b"x").unwrap();
                first.get_or_insert(read(&busy, &reader).await.at);
            }
            first.unwrap()
        });
        peers[1].write_all(b"x").unwrap();
        let read = runtime.block_on(waiting).unwrap();
        assert!(read.at.0 - u64::from(read.width) >= first.0, "{read:?} {first:?}");
    }
}
