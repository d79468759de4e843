//! The servers that requests go to.

use crate::origin::Origin;
use crate::os_error::os_reason;
use crate::proxy::{Proxy, ProxyChoice};
use aiperf_types::{Failure, MonoNs};
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

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
        Failure::Connect { address: self.address.clone(), kind: error.kind(), reason: os_reason(error) }
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
}
