//! Why an exchange ended without a whole response, as the transport saw it. The writer of records
//! chooses its name there.

use crate::Nanos;
use std::fmt;
use std::io;

/// What went wrong on the way to a whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server's name has no address.
    Resolve {
        address: String,
        reason: String,
    },
    Connect {
        address: String,
        kind: io::ErrorKind,
        reason: String,
    },
    /// A certificate that does not verify: which check failed, and how to trust it.
    Certificate {
        address: String,
        reason: String,
    },
    /// Any other failure of a TLS handshake.
    Handshake {
        address: String,
        reason: String,
    },
    /// The proxy could not be reached.
    NoProxy {
        address: String,
        proxy: String,
        reason: String,
    },
    /// The proxy would not pass the connection on.
    Proxy {
        address: String,
        proxy: String,
        reason: String,
    },
    /// The server closed the connection before a response.
    Disconnected,
    /// The connection broke.
    Lost {
        was_reset: bool,
        reason: String,
    },
    /// What came is no response.
    Head(String),
    /// The connection closed within a body of known length.
    ShortBody {
        got: u64,
        announced: u64,
    },
    /// The framing of a body broke, or the connection closed within it.
    Framing(String),
    /// A compressed body that cannot be undone, or not within the limit.
    Encoding(String),
    /// A body of text that cannot be read in its charset.
    Text(String),
    UnknownCharset(String),
    /// More came than is kept.
    TooLarge {
        limit: usize,
    },
    /// Other responses in flight leave it no room.
    NoRoom {
        limit: usize,
    },
    TimedOut,
    /// The request was not written in its time.
    SendTimedOut,
    /// The run cut it off: it was ended, or a phase's grace period was.
    CutOff,
    /// The same before a worker began it.
    NeverBegun,
    /// Cancelled so long after it was sent, because the plan demands it.
    Cancelled {
        after: Nanos,
    },
    TooManyRedirects {
        limit: u8,
    },
    /// The request cannot be put into the protocol spoken.
    Unsendable(String),
    /// There is no body for it: which conversation, and why.
    Unbuildable {
        /// The API has no place for what the conversation holds.
        is_unsupported: bool,
        message: String,
    },
    /// A step of a request of several failed, and how records name that.
    Step {
        code: i64,
        kind: &'static str,
        message: String,
    },
    /// A redirect that cannot be followed.
    Redirect(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve { address, reason } => {
                write!(f, "connect to {address} failed: cannot resolve host: {reason}")
            }
            Self::Connect { address, reason, .. }
            | Self::Certificate { address, reason }
            | Self::Handshake { address, reason } => write!(f, "connect to {address} failed: {reason}"),
            Self::NoProxy { address, proxy, reason } => {
                write!(f, "connect to {address} failed: cannot reach the proxy {proxy}: {reason}")
            }
            Self::Proxy { address, proxy, reason } => {
                write!(f, "connect to {address} through the proxy {proxy} failed: {reason}")
            }
            Self::Disconnected => f.write_str("the server closed the connection before a response"),
            Self::Lost { reason, .. } => write!(f, "connection lost: {reason}"),
            Self::UnknownCharset(name) => write!(f, "unknown encoding: {name}"),
            Self::Encoding(text)
            | Self::Text(text)
            | Self::Head(text)
            | Self::Framing(text)
            | Self::Unsendable(text)
            | Self::Redirect(text) => f.write_str(text),
            Self::Step { message, .. } | Self::Unbuildable { message, .. } => f.write_str(message),
            Self::ShortBody { got, announced } => write!(f, "body ended after {got} of {announced} bytes"),
            Self::TooLarge { limit } => write!(f, "response is longer than the {limit} bytes that are kept"),
            Self::NoRoom { limit } => write!(
                f,
                "responses in flight hold the {limit} bytes that are kept for all of them; lower the concurrency, or ask for \
                 shorter responses"
            ),
            Self::TooManyRedirects { limit } => write!(f, "the server redirected more than {limit} times"),
            Self::TimedOut => f.write_str("timed out"),
            Self::SendTimedOut => f.write_str("Timed out waiting for request to be sent"),
            Self::CutOff => f.write_str("Request cancelled by external signal"),
            Self::NeverBegun => f.write_str("Request cancelled by external signal before it was sent"),
            Self::Cancelled { after } => write!(f, "Request cancelled {:.3}s after being sent", after.as_secs_f64()),
        }
    }
}
