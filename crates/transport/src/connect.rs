//! Name resolution, socket options, and connecting.

use crate::clock::mono_now;
use crate::connection::Connection;
use crate::origin::Origin;
use crate::os_error::os_reason;
use crate::pace::ConnectPace;
use crate::proxy::ProxyChoice;
use crate::socket::Socket;
use crate::stamp::{self, StampMode, StampedReader};
use crate::sys;
use crate::target::Target;
use crate::tls::{self, HandshakeError, TlsSettings};
use aiperf_types::{Failure, Nanos, Timeline};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, connect, setsockopt, socket, sockopt,
};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;

/// Seconds that Linux allows for keep-alive timings; the reference's settings allow more.
const KEEPALIVE_MOST: u32 = 32767;

const BETWEEN_UNIX_TRIES: Duration = Duration::from_millis(1);

/// Which of a server's addresses are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressChoice {
    /// IPv4; IPv6 only where a server has nothing else.
    #[default]
    V4,
    /// IPv6; IPv4 only where a server has nothing else.
    V6,
    /// All, IPv4 first.
    Both,
}

impl AddressChoice {
    /// Those to try, in order.
    pub(crate) fn choose(self, mut found: Vec<SocketAddr>) -> Vec<SocketAddr> {
        found.sort_by_key(|address| !address.is_ipv4());
        let is_wanted: fn(&SocketAddr) -> bool = match self {
            Self::V4 => SocketAddr::is_ipv4,
            Self::V6 => SocketAddr::is_ipv6,
            Self::Both => return found,
        };
        if found.iter().any(is_wanted) {
            found.retain(is_wanted);
        }
        found
    }
}

/// How names become addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution {
    pub addresses: AddressChoice,
    /// How long a resolved address is used. With `None`, each connect resolves the name again.
    pub believed: Option<Nanos>,
}

impl Default for Resolution {
    fn default() -> Self {
        Self { addresses: AddressChoice::default(), believed: Some(Nanos(300 * 1_000_000_000)) }
    }
}

/// Finds the addresses of a host and notes how.
async fn resolve(
    target: &Target,
    (host, port): (&str, u16),
    how: Resolution,
    timeline: &mut Timeline,
) -> Result<Rc<[SocketAddr]>, Failure> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(Rc::new([SocketAddr::new(ip, port)]));
    }
    let start = timeline.blocked.1.taken().unwrap_or(timeline.leg_start);
    if let Some(believed) = how.believed
        && let Some((addresses, at)) = &*target.resolved.borrow()
        && start.since(*at) < believed
    {
        timeline.dns_hit = start;
        return Ok(addresses.clone());
    }
    timeline.dns.0 = start;
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| target.unresolved(&error.to_string()))?.collect();
    let addresses: Rc<[SocketAddr]> = how.addresses.choose(found).into();
    if addresses.is_empty() {
        return Err(target.unresolved("no address"));
    }
    timeline.dns.1 = mono_now();
    *target.resolved.borrow_mut() = Some((addresses.clone(), timeline.dns.1));
    Ok(addresses)
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
        setsockopt(&fd, sockopt::TcpKeepIdle, &self.keep_idle.min(KEEPALIVE_MOST))?;
        setsockopt(&fd, sockopt::TcpKeepInterval, &self.keep_interval.min(KEEPALIVE_MOST))?;
        setsockopt(&fd, sockopt::TcpKeepCount, &self.keep_count)?;
        shrink_until_accepted(self.recv_buffer, |size| setsockopt(&fd, sockopt::RcvBuf, &size))?;
        shrink_until_accepted(self.send_buffer, |size| setsockopt(&fd, sockopt::SndBuf, &size))?;
        sys::acknowledge_at_once(fd);
        Ok(setsockopt(&fd, sockopt::TcpUserTimeout, &self.user_timeout_ms)?)
    }
}

/// If the kernel is short of buffer space, a smaller buffer is requested, down to 1 KB.
fn shrink_until_accepted(mut size: usize, set: impl Fn(usize) -> nix::Result<()>) -> io::Result<()> {
    loop {
        match set(size) {
            Err(Errno::ENOBUFS) if size > 1024 => size = (size / 2).max(1024),
            result => return Ok(result?),
        }
    }
}

/// A limit of the connects that are outstanding at once. Its clones share it.
#[derive(Clone)]
pub struct Outstanding(Arc<Semaphore>);

impl Outstanding {
    /// This many connects; at least one.
    pub fn up_to(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most.max(1))))
    }
}

/// How connections are opened: socket options, names, TLS, proxies.
#[derive(Clone)]
pub struct ConnectSettings {
    pub socket: SocketOptions,
    pub resolution: Resolution,
    pub tls: Arc<TlsSettings>,
    pub proxies: ProxyChoice,
    /// Shared by all workers of a run.
    pub outstanding: Outstanding,
}

/// Connects, at most so many at once: a thousand cold connects in one go overflow accept queues, and each overflow is
/// a second of retransmission wait in a time to first token.
pub struct Connector {
    settings: ConnectSettings,
    reader: Rc<StampedReader>,
    pace: Arc<ConnectPace>,
}

impl Connector {
    /// A connector whose connections are read by a reader.
    pub fn new(settings: ConnectSettings, reader: Rc<StampedReader>) -> Self {
        Self { settings, reader, pace: Arc::new(ConnectPace::reporting(|_| ())) }
    }

    /// Keeps a pace with others, where servers take no connections.
    pub(crate) fn keep_pace(&mut self, pace: Arc<ConnectPace>) {
        self.pace = pace;
    }

    /// Opens a connection and notes its steps. Each begins at the instant at which the one before it ended.
    pub(crate) async fn connect(&self, target: &Target, timeline: &mut Timeline) -> Result<Connection, Failure> {
        let paced = self.pace.wait(&target.address).await;
        let outstanding = &self.settings.outstanding.0;
        let place = outstanding.try_acquire().ok();
        let waited = paced.or_else(|| place.is_none().then(mono_now));
        let _place = match place {
            Some(place) => Some(place),
            None => outstanding.acquire().await.ok(),
        };
        if let Some(since) = waited {
            timeline.connect_wait = (since, mono_now());
            timeline.blocked = (timeline.leg_start, timeline.connect_wait.1);
        }
        let socket = match &*target.origin {
            Origin::Unix(path) => {
                timeline.connect.0 = timeline.blocked.1.taken().unwrap_or(timeline.leg_start);
                let opened = open_unix(path).await.map(Socket::from);
                opened.map_err(|error| self.failed(target, &error))?
            }
            Origin::Http { host, port, .. } => {
                let through = target.proxy.as_ref().map_or((host.as_str(), *port), |proxy| (&proxy.host, proxy.port));
                let addresses = resolve(target, through, self.settings.resolution, timeline).await;
                let addresses = addresses
                    .inspect_err(|_| self.pace.note_failure(&target.address, "fail: the name has no address"))?;
                let before = timeline.dns.1.taken().or(timeline.blocked.1.taken()).unwrap_or(timeline.leg_start);
                timeline.connect.0 = before;
                self.open_any(target, &addresses).await?
            }
        };
        self.pace.note_success(&target.address);
        if let Some(stream) = socket.tcp()
            && let Ok(counters) = sys::tcp_counters(stream.as_fd())
        {
            timeline.syn_retransmits = counters.total_retransmits.min(255) as u8;
        }
        if self.reader.mode() == StampMode::Kernel {
            // A kernel without stamps still gives read instants; the run reports which it used.
            let _ = stamp::enable(&socket);
        }
        let connection = Connection::plain(socket, self.reader.clone());
        let connection = self.secure(target, connection, timeline).await?;
        timeline.connect.1 = mono_now();
        Ok(connection)
    }

    /// Opens a tunnel through the target's proxy and a TLS session, as far as there are to be any.
    async fn secure(
        &self,
        target: &Target,
        mut connection: Connection,
        timeline: &mut Timeline,
    ) -> Result<Connection, Failure> {
        let Origin::Http { tls: true, host, .. } = &*target.origin else { return Ok(connection) };
        let address = || target.address.clone();
        if let Some(proxy) = &target.proxy {
            let tunnel = proxy.open_tunnel(&mut connection, &target.address).await;
            tunnel.map_err(|reason| Failure::Proxy { address: address(), proxy: proxy.address(), reason })?;
        }
        let config = self.settings.tls.config();
        let config = config.map_err(|error| Failure::Handshake { address: address(), reason: error.to_string() })?;
        let (socket, reader) = connection.socket();
        let (session, start) = tls::handshake(socket, reader, config, host).await.map_err(|error| match error {
            HandshakeError::Certificate(reason) => Failure::Certificate { address: address(), reason },
            HandshakeError::Other(reason) => Failure::Handshake { address: address(), reason },
        })?;
        timeline.tls = (start, mono_now());
        timeline.tls_resumed = session.is_resumed();
        Ok(connection.with_tls(session))
    }

    /// Tries the addresses in order; the failure of the last one counts.
    async fn open_any(&self, target: &Target, addresses: &[SocketAddr]) -> Result<Socket, Failure> {
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in addresses {
            match self.open(*address).await {
                Ok(stream) => return Ok(stream.into()),
                Err(error) => last = error,
            }
        }
        Err(self.failed(target, &last))
    }

    fn failed(&self, target: &Target, error: &io::Error) -> Failure {
        if let Some(proxy) = &target.proxy {
            let (proxy, reason) = (proxy.address(), os_reason(error));
            self.pace.note_failure(&target.address, &format!("fail: cannot reach the proxy {proxy}: {reason}"));
            return Failure::NoProxy { address: target.address.clone(), proxy, reason };
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => self.pace.note_failure(&target.address, "are refused"),
            _ => self.pace.note_failure(&target.address, &format!("fail: {}", os_reason(error))),
        }
        target.unconnected(error)
    }

    async fn open(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = tcp_socket(address)?;
        self.settings.socket.apply(&socket)?;
        connect_to(socket, address).await
    }
}

/// A socket for an address, not connected.
pub(crate) fn tcp_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    Ok(socket(family, SockType::Stream, flags, SockProtocol::Tcp)?)
}

/// Connects a socket. Over loopback the connect is done as soon as the call has returned, whatever it returned, so one
/// look decides whether to wait at all, and the request goes out in the same breath: going through the runtime's poll
/// first would put every other new request of a burst in between, 17 ms for 300.
pub(crate) async fn connect_to(socket: OwnedFd, address: SocketAddr) -> io::Result<TcpStream> {
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

/// A Unix socket whose server has not taken earlier connections yet fails instead of waiting.
async fn open_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(BETWEEN_UNIX_TRIES).await,
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_chosen_by_family_and_ipv4_comes_first() {
        let (v4, v6) = (SocketAddr::from(([127, 0, 0, 1], 1)), SocketAddr::from(([0; 16], 1)));
        for (choice, found, chosen) in [
            (AddressChoice::V4, vec![v6, v4], vec![v4]),
            (AddressChoice::V4, vec![v6], vec![v6]),
            (AddressChoice::V6, vec![v4, v6], vec![v6]),
            (AddressChoice::V6, vec![v4], vec![v4]),
            (AddressChoice::Both, vec![v6, v4], vec![v4, v6]),
        ] {
            assert_eq!(choice.choose(found), chosen);
        }
    }
}
