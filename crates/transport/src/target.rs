//! The servers that requests go to.

use crate::proxy::{Proxy, ProxyChoice};
use aiperf_types::{Failure, MonoNs};
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;

/// Scheme, host and port: what must be equal for two URLs to be of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Http { tls: bool, host: String, port: u16 },
    Unix(PathBuf),
}

impl Origin {
    pub fn http(host: &str, port: u16) -> Self {
        Self::Http { tls: false, host: host.to_owned(), port }
    }

    pub fn https(host: &str, port: u16) -> Self {
        Self::Http { tls: true, host: host.to_owned(), port }
    }

    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Http { tls: true, .. })
    }

    /// Host and port as people write them, or the socket's path.
    pub fn address(&self) -> String {
        match self {
            Self::Http { host, port, .. } => written(host, *port),
            Self::Unix(path) => path.display().to_string(),
        }
    }

    /// What the `Host` field says: the default port is left out.
    pub fn host_field(&self) -> String {
        match self {
            Self::Http { tls, host, port } if *port == if *tls { 443 } else { 80 } => bracketed(host),
            Self::Http { host, port, .. } => written(host, *port),
            Self::Unix(_) => "localhost".to_owned(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { tls, .. } => write!(f, "{}://{}", if *tls { "https" } else { "http" }, self.host_field()),
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// Only an IPv6 address has a colon of its own.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn written(host: &str, port: u16) -> String {
    format!("{}:{port}", bracketed(host))
}

/// A server, the way to it, and what is known of its addresses.
pub(crate) struct Target {
    pub(crate) origin: Rc<Origin>,
    pub(crate) address: String,
    pub(crate) proxy: Option<Proxy>,
    /// The addresses last resolved, and when.
    pub(crate) resolved: RefCell<Option<(Rc<[SocketAddr]>, MonoNs)>>,
}

impl Target {
    /// A target that is not resolved yet.
    pub(crate) fn new(origin: Origin, proxies: &ProxyChoice) -> Self {
        let proxy = proxies.for_origin(&origin);
        Self { address: origin.address(), origin: Rc::new(origin), proxy, resolved: RefCell::new(None) }
    }

    pub(crate) fn unresolved(&self, reason: &str) -> Failure {
        Failure::Resolve { address: self.address.clone(), reason: reason.to_owned() }
    }

    pub(crate) fn unconnected(&self, error: &io::Error) -> Failure {
        Failure::Connect { address: self.address.clone(), kind: error.kind(), reason: crate::connect::os_reason(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_server_as_people_write_it() {
        for (host, written) in [("::1", "[::1]:8000"), ("127.0.0.1", "127.0.0.1:8000"), ("server", "server:8000")] {
            let target = Target::new(Origin::http(host, 8000), &ProxyChoice::default());
            let failure = target.unconnected(&io::ErrorKind::ConnectionRefused.into());
            assert!(matches!(failure, Failure::Connect { address, .. } if address == written));
        }
    }

    #[test]
    fn the_host_field_leaves_out_the_default_port() {
        for (origin, field, shown) in [
            (Origin::http("h", 80), "h", "http://h"),
            (Origin::http("h", 443), "h:443", "http://h:443"),
            (Origin::https("::1", 443), "[::1]", "https://[::1]"),
            (Origin::Unix("/s".into()), "localhost", "unix:///s"),
        ] {
            assert_eq!((origin.host_field().as_str(), origin.to_string().as_str()), (field, shown));
        }
    }
}
