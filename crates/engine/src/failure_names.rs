//! What failures are called in records: the names that error summaries have always been grouped by.

use aiperf_types::{Failure, RequestError};
use std::io;

/// The error of a record, for a failure of the transport.
pub(crate) fn error_of(failure: &Failure) -> RequestError {
    let text = failure.to_string();
    let exception = |kind: &str, below: &str| RequestError::exception(kind, &text, &[below]);
    match failure {
        Failure::Resolve { reason, .. } => exception("ClientConnectorDNSError", "gaierror").caused_by(reason),
        Failure::Connect { kind, reason, .. } => {
            let below = match kind {
                io::ErrorKind::ConnectionRefused => "ConnectionRefusedError",
                io::ErrorKind::ConnectionReset => "ConnectionResetError",
                io::ErrorKind::TimedOut => "TimeoutError",
                _ => "OSError",
            };
            exception("ClientConnectorError", below).caused_by(reason)
        }
        Failure::Certificate { reason, .. } => {
            exception("ClientConnectorCertificateError", "SSLCertVerificationError").caused_by(reason)
        }
        Failure::Handshake { reason, .. } => exception("ClientConnectorSSLError", "SSLError").caused_by(reason),
        Failure::NoProxy { reason, .. } => {
            exception("ClientProxyConnectionError", "ClientConnectorError").caused_by(reason)
        }
        Failure::Proxy { reason, .. } => exception("ClientHttpProxyError", "ClientResponseError").caused_by(reason),
        Failure::Disconnected => RequestError::exception("ServerDisconnectedError", "Server disconnected", &[]),
        Failure::Lost { was_reset: true, .. } => exception("ClientOSError", "ConnectionResetError"),
        Failure::Lost { was_reset: false, .. } => exception("ClientOSError", "OSError"),
        Failure::Head(_) => exception("ClientResponseError", "HttpProcessingError"),
        Failure::ShortBody { .. } => exception("ClientPayloadError", "ContentLengthError"),
        Failure::Framing(_) => exception("ClientPayloadError", "TransferEncodingError"),
        Failure::Encoding(_) => exception("ClientPayloadError", "ContentEncodingError"),
        Failure::TooLarge { .. } => exception("ClientPayloadError", "ResponseTooLarge"),
        Failure::Text(_) => RequestError::exception("UnicodeDecodeError", text, &[]),
        Failure::UnknownCharset(_) => RequestError::exception("LookupError", text, &[]),
        Failure::TimedOut => RequestError::exception("TimeoutError", "", &["CancelledError"]),
        Failure::SendTimedOut => RequestError::coded(0, "RequestSendTimeout", text),
        Failure::CutOff | Failure::NeverBegun | Failure::Cancelled { .. } => {
            RequestError::coded(499, "RequestCancellationError", text)
        }
        Failure::TooManyRedirects { .. } => exception("TooManyRedirects", "ClientResponseError"),
        Failure::Step { code, kind, .. } => RequestError::coded(*code, kind, text),
        Failure::Unbuildable { is_unsupported: true, .. } => RequestError::exception("NotImplementedError", text, &[]),
        Failure::Unsendable(_) | Failure::Unbuildable { .. } => RequestError::exception("ValueError", text, &[]),
        Failure::Redirect(_) => exception("InvalidUrlRedirectClientError", "InvalidURL"),
    }
}
