//! The round trip to a server: what the handshake of a connection takes that nothing is sent over.

use crate::clock::mono_now;
use crate::connect::{AddressChoice, connect_to, tcp_socket};
use crate::os_error::os_reason;
use crate::sys;
use aiperf_types::Nanos;
use nix::sys::socket::{setsockopt, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

/// A connection that was opened and closed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// From the call until this process saw the connection open: a busy process sees it late.
    pub connect: Nanos,
    /// From the first segment to its acknowledgement, as measured by the kernel; `None` if it has no measurement.
    pub round_trip: Option<Nanos>,
    /// First segments that were lost and sent again.
    pub retransmits: u32,
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closing {
    /// In order. The port stays taken on this side for a minute.
    #[default]
    Orderly,
    /// By a reset, which frees the port at once.
    Reset,
}

/// Opens a connection to an address and closes it.
pub async fn handshake(address: SocketAddr, closing: Closing) -> io::Result<Handshake> {
    let socket = tcp_socket(address)?;
    if closing == Closing::Reset {
        setsockopt(&socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
    }
    let start = mono_now();
    let stream = connect_to(socket, address).await?;
    let connect = mono_now().since(start);
    let counters = sys::tcp_counters(stream.as_fd()).unwrap_or_default();
    let round_trip = counters.round_trip_us.map(|us| Nanos(u64::from(us) * 1_000));
    Ok(Handshake { connect, round_trip, retransmits: counters.total_retransmits })
}

/// The first address of a host that requests would go to.
pub async fn first_address(host: &str, port: u16, choice: AddressChoice) -> io::Result<SocketAddr> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, port));
    }
    let unresolved = |why: &str| io::Error::other(format!("the name has no address: {why}"));
    let found = tokio::net::lookup_host((host, port)).await.map_err(|error| unresolved(&os_reason(&error)))?;
    choice.choose(found.collect()).first().copied().ok_or_else(|| unresolved("none was found"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn block_on<T>(task: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
    }

    #[test]
    fn the_round_trip_is_the_kernels_and_no_longer_than_the_connect() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for closing in [Closing::Orderly, Closing::Reset] {
            let shake = block_on(handshake(address, closing)).unwrap();
            let round_trip = shake.round_trip.unwrap();
            assert!(round_trip <= Nanos(shake.connect.0 + 1_000), "{shake:?}");
            assert_eq!(shake.retransmits, 0);
        }
    }

    #[test]
    fn a_port_without_a_listener_is_refused() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let refused = block_on(handshake(port, Closing::Orderly)).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn an_address_needs_no_lookup_and_an_unknown_name_is_an_error() {
        let of = |host: &str| block_on(first_address(host, 7, AddressChoice::V4));
        assert_eq!(of("::1").unwrap(), SocketAddr::new("::1".parse().unwrap(), 7));
        assert!(of("localhost").unwrap().ip().is_loopback());
        assert!(of("no-such-host.invalid").unwrap_err().to_string().starts_with("the name has no address"));
    }
}
