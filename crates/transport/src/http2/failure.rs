//! Why a request on an HTTP/2 connection has no whole response.

use aiperf_types::Failure;
use h2::Reason;
use std::io;
use thiserror::Error;

/// What went wrong with one exchange, or with the connection under it.
#[derive(Debug, Error)]
pub enum Http2Failure {
    /// The request cannot be expressed in HTTP/2: nothing was sent.
    #[error("request cannot be sent over HTTP/2: {0}")]
    Request(String),
    /// The server went away without looking at the request.
    #[error("server went away before it looked at the request")]
    NotProcessed,
    /// The server closed the connection.
    #[error("server closed the connection {}", moment(*.after_head))]
    Closed {
        /// Whether the head of the response had come.
        after_head: bool,
    },
    /// The server reset the stream.
    #[error("server reset the stream {}: {} ({:#x})", moment(*.after_head), .reason.description(), u32::from(*.reason))]
    Reset {
        reason: Reason,
        /// Whether the head of the response had come.
        after_head: bool,
    },
    /// What the server sent breaks the rules of HTTP/2.
    #[error("malformed HTTP/2 from the server: {0}")]
    Protocol(String),
    /// The head of the response breaks a limit that heads of HTTP/1.1 have, too.
    #[error("malformed response head: {0}")]
    Head(String),
    /// The server keeps the connection busy and makes no progress on any response.
    #[error("the connection was ended {}: the server sent {what}", moment(*.after_head))]
    Flood {
        what: &'static str,
        /// Whether the head of the response had come.
        after_head: bool,
    },
    /// Reading or writing failed.
    #[error("connection lost: {0}")]
    Io(io::Error),
    /// The response is longer than what is kept, or than the room that other responses leave.
    #[error("{0}")]
    Refused(Failure),
}

impl Http2Failure {
    /// Whether the server is known to have done nothing: the request may go out again on another connection, even if
    /// it is not idempotent (RFC 9113, section 8.7).
    pub fn may_be_sent_again(&self) -> bool {
        matches!(self, Self::NotProcessed | Self::Reset { reason: Reason::REFUSED_STREAM, after_head: false })
    }
}

fn moment(after_head: bool) -> &'static str {
    if after_head { "in the middle of its answer" } else { "before an answer" }
}
