//! Name resolution, socket options, and connecting.

use crate::clock::mono_now;
use crate::pace::ConnectPace;
use crate::stamp::{self, StampMode};
use crate::sys;
use aiperf_types::{Failure, MonoNs, Timeline};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use std::cell::Cell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A server that requests go to.
pub struct Target {
    /// Host name or address.
    pub host: String,
    pub port: u16,
    /// Both, as people write them.
    address: String,
    /// The address last resolved, and when.
    resolved: Cell<Option<(SocketAddr, MonoNs)>>,
}

/// How long a resolved name is believed, in nanoseconds.
const DNS_TTL: u64 = 300 * 1_000_000_000;

impl Target {
    /// A target that is not resolved yet.
    pub fn new(host: &str, port: u16) -> Self {
        // Only an IPv6 address has a colon of its own.
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Self { host: host.to_owned(), port, address, resolved: Cell::new(None) }
    }

    async fn resolve(&self, timeline: &mut Timeline) -> Result<SocketAddr, Failure> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(SocketAddr::new(ip, self.port));
        }
        let start = mono_now();
        if let Some((address, at)) = self.resolved.get()
            && start.since(at).0 < DNS_TTL
        {
            return Ok(address);
        }
        timeline.dns.0 = start;
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let mut addresses: Vec<SocketAddr> = found.map_err(|error| self.unresolved(&error.to_string()))?.collect();
        // IPv4 first, as servers under test mostly listen there.
        addresses.sort_by_key(|address| !address.is_ipv4());
        let address = addresses.first().copied().ok_or_else(|| self.unresolved("no address"))?;
        timeline.dns.1 = mono_now();
        self.resolved.set(Some((address, timeline.dns.1)));
        Ok(address)
    }

    fn unresolved(&self, reason: &str) -> Failure {
        Failure::Resolve { address: self.address.clone(), reason: reason.to_owned() }
    }

    fn unconnected(&self, error: &io::Error) -> Failure {
        Failure::Connect { address: self.address.clone(), kind: error.kind(), reason: os_reason(error) }
    }
}

/// An I/O error's text without the numbers a library adds.
pub fn os_reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// Options that every connection gets.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// `SO_RCVBUF`.
    pub recv_buffer: usize,
    /// `SO_SNDBUF`.
    pub send_buffer: usize,
    /// `TCP_KEEPIDLE`, seconds.
    pub keep_idle: u32,
    /// `TCP_KEEPINTVL`, seconds.
    pub keep_interval: u32,
    /// `TCP_KEEPCNT`.
    pub keep_count: u32,
    /// `TCP_USER_TIMEOUT`, milliseconds.
    pub user_timeout_ms: u32,
}

impl SocketOptions {
    fn apply(&self, socket: &impl AsFd) -> io::Result<()> {
        let fd = socket.as_fd();
        setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
        setsockopt(&fd, sockopt::KeepAlive, &true)?;
        setsockopt(&fd, sockopt::TcpKeepIdle, &self.keep_idle)?;
        setsockopt(&fd, sockopt::TcpKeepInterval, &self.keep_interval)?;
        setsockopt(&fd, sockopt::TcpKeepCount, &self.keep_count)?;
        setsockopt(&fd, sockopt::TcpUserTimeout, &self.user_timeout_ms)?;
        shrink_until_accepted(self.recv_buffer, |size| setsockopt(&fd, sockopt::RcvBuf, &size))?;
        shrink_until_accepted(self.send_buffer, |size| setsockopt(&fd, sockopt::SndBuf, &size))
    }
}

/// A kernel short of buffer space gets a smaller wish, down to 1 KB.
fn shrink_until_accepted(mut size: usize, set: impl Fn(usize) -> nix::Result<()>) -> io::Result<()> {
    loop {
        match set(size) {
            Err(Errno::ENOBUFS) if size > 1024 => size = (size / 2).max(1024),
            result => return Ok(result?),
        }
    }
}

/// Connects, at most so many at once: a thousand cold connects in one go overflow accept queues, and each overflow is
/// a second of retransmission wait in a time to first token.
pub struct Connector {
    options: SocketOptions,
    stamps: StampMode,
    outstanding: Semaphore,
    pace: Arc<ConnectPace>,
}

impl Connector {
    /// A connector with a limit of connects outstanding.
    pub fn new(options: SocketOptions, stamps: StampMode, outstanding: usize) -> Self {
        let pace = Arc::new(ConnectPace::telling(|_| ()));
        Self { options, stamps, outstanding: Semaphore::new(outstanding.max(1)), pace }
    }

    /// Keeps a pace with others, where servers take no connections.
    pub(crate) fn keep_pace(&mut self, pace: Arc<ConnectPace>) {
        self.pace = pace;
    }

    /// Opens a connection and notes its steps.
    pub async fn connect(&self, target: &Target, timeline: &mut Timeline) -> Result<TcpStream, Failure> {
        let paced = self.pace.wait(&target.address).await;
        let place = self.outstanding.try_acquire().ok();
        let waited = paced.or_else(|| place.is_none().then(mono_now));
        let _place = match place {
            Some(place) => Some(place),
            None => self.outstanding.acquire().await.ok(),
        };
        if let Some(since) = waited {
            timeline.connect_wait = (since, mono_now());
        }
        let resolved = target.resolve(timeline).await;
        let address =
            resolved.inspect_err(|_| self.pace.note_failure(&target.address, "fail: the name has no address"))?;
        timeline.connect.0 = mono_now();
        let stream = self.open(address).await.map_err(|error| {
            match error.kind() {
                io::ErrorKind::ConnectionRefused => self.pace.note_failure(&target.address, "are refused"),
                _ => self.pace.note_failure(&target.address, &format!("fail: {}", os_reason(&error))),
            }
            target.unconnected(&error)
        })?;
        timeline.connect.1 = mono_now();
        self.pace.note_success(&target.address);
        if let Ok(counters) = sys::tcp_counters(stream.as_fd()) {
            timeline.syn_retransmits = counters.total_retransmits.min(255) as u8;
        }
        if self.stamps == StampMode::Kernel {
            // A kernel without stamps still gives read instants; the run reports which it used.
            let _ = stamp::enable(&stream);
        }
        Ok(stream)
    }

    /// Opens a socket and connects it. Over loopback the connect is done as soon as the call has returned, whatever it
    /// returned, so one look decides whether to wait at all, and the request goes out in the same breath: going
    /// through the runtime's poll first would put every other new request of a burst in between, 17 ms for 300.
    async fn open(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket = socket(family, SockType::Stream, flags, SockProtocol::Tcp)?;
        self.options.apply(&socket)?;
        match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut look = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
        let pending = poll(&mut look, PollTimeout::ZERO) == Ok(0);
        let stream = TcpStream::from_std(std::net::TcpStream::from(socket))?;
        if pending {
            stream.writable().await?;
        }
        match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(stream),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_server_as_people_write_it() {
        for (host, written) in [("::1", "[::1]:8000"), ("127.0.0.1", "127.0.0.1:8000"), ("server", "server:8000")] {
            let failure = Target::new(host, 8000).unconnected(&io::ErrorKind::ConnectionRefused.into());
            assert!(matches!(failure, Failure::Connect { address, .. } if address == written));
        }
    }
}
