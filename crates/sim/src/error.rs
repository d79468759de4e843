//! Why a server could not be started or had to stop.

use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// What went wrong with the server itself.
#[derive(Debug, Error)]
pub enum SimError {
    /// Two settings that exclude each other, or an invalid one.
    #[error("{0}")]
    Conflict(&'static str),
    /// The faults' rates add up to more than one.
    #[error("the rates of all faults add up to more than 1")]
    FaultRates,
    /// A fault of a family that is on no page of the server.
    #[error("a {kind} page has no family `{family}` to change the type of; names are those without `_total`")]
    UnknownFamily { family: String, kind: &'static str },
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// The path of the Unix socket is taken, or cannot be written.
    #[error("cannot listen on the Unix socket {path}: {source}")]
    UnixSocket { path: PathBuf, source: std::io::Error },
    /// The certificate for clients cannot be written.
    #[error("cannot write the certificate of the authority to {path}: {source}")]
    CaFile { path: PathBuf, source: std::io::Error },
    /// A name that no certificate can hold, or no randomness.
    #[error("cannot make a certificate: {0}; a host is a DNS name or an address")]
    Tls(String),
    /// The truth log cannot be written.
    #[error("cannot write the truth log {path}: {source}")]
    TruthLog { path: PathBuf, source: std::io::Error },
    /// The system refused something that the server needs.
    #[error("the server cannot run: {0}")]
    System(#[from] std::io::Error),
}

impl From<nix::Error> for SimError {
    fn from(errno: nix::Error) -> Self {
        SimError::System(errno.into())
    }
}
