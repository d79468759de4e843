//! What failures are called in records: the names that error summaries have always been grouped by.

use aiperf_types::{Failure, RequestError};
use std::io;

/// The error of a record, for a failure of the transport.
pub(crate) fn error_of(failure: &Failure) -> RequestError {
    let exception = |kind: &str, text: &str, below: &str| RequestError::exception(kind, text, &[below]);
    match failure {
        Failure::Resolve { address, reason } => {
            let text = format!("connect to {address} failed: cannot resolve host: {reason}");
            exception("ClientConnectorDNSError", &text, "gaierror").caused_by(reason)
        }
        Failure::Connect { address, kind, reason } => {
            let below = match kind {
                io::ErrorKind::ConnectionRefused => "ConnectionRefusedError",
                io::ErrorKind::ConnectionReset => "ConnectionResetError",
                io::ErrorKind::TimedOut => "TimeoutError",
                _ => "OSError",
            };
            let text = format!("connect to {address} failed: {reason}");
            exception("ClientConnectorError", &text, below).caused_by(reason)
        }
        Failure::Certificate { address, reason } => {
            let text = format!("connect to {address} failed: {reason}");
            exception("ClientConnectorCertificateError", &text, "SSLCertVerificationError").caused_by(reason)
        }
        Failure::Handshake { address, reason } => {
            let text = format!("connect to {address} failed: {reason}");
            exception("ClientConnectorSSLError", &text, "SSLError").caused_by(reason)
        }
        Failure::NoProxy { address, proxy, reason } => {
            let text = format!("connect to {address} failed: cannot reach the proxy {proxy}: {reason}");
            exception("ClientProxyConnectionError", &text, "ClientConnectorError").caused_by(reason)
        }
        Failure::Proxy { address, proxy, reason } => {
            let text = format!("connect to {address} through the proxy {proxy} failed: {reason}");
            exception("ClientHttpProxyError", &text, "ClientResponseError").caused_by(reason)
        }
        Failure::Disconnected => RequestError::exception("ServerDisconnectedError", "Server disconnected", &[]),
        Failure::Lost { was_reset, reason } => {
            let below = if *was_reset { "ConnectionResetError" } else { "OSError" };
            exception("ClientOSError", &format!("connection lost: {reason}"), below)
        }
        Failure::Head(text) => exception("ClientResponseError", text, "HttpProcessingError"),
        Failure::ShortBody { got, announced } => {
            let text = format!("body ended after {got} of {announced} bytes");
            exception("ClientPayloadError", &text, "ContentLengthError")
        }
        Failure::Framing(text) => exception("ClientPayloadError", text, "TransferEncodingError"),
        Failure::Encoding(text) => exception("ClientPayloadError", text, "ContentEncodingError"),
        Failure::Text(text) => RequestError::exception("UnicodeDecodeError", text, &[]),
        Failure::UnknownCharset(name) => {
            RequestError::exception("LookupError", format!("unknown encoding: {name}"), &[])
        }
        Failure::TooLarge { limit } => {
            let text = format!("response is longer than the {limit} bytes that are kept");
            exception("ClientPayloadError", &text, "ResponseTooLarge")
        }
        Failure::TimedOut => exception("TimeoutError", "", "CancelledError"),
        Failure::SendTimedOut => {
            RequestError::coded(0, "RequestSendTimeout", "Timed out waiting for request to be sent")
        }
        Failure::CutOff => cancelled("Request cancelled by external signal"),
        Failure::Cancelled { after } => {
            cancelled(&format!("Request cancelled {:.3}s after being sent", after.as_secs_f64()))
        }
        Failure::TooManyRedirects { limit } => {
            let text = format!("the server redirected more than {limit} times");
            RequestError::exception("TooManyRedirects", text, &["ClientResponseError"])
        }
        Failure::Unsendable(text) => RequestError::exception("ValueError", text, &[]),
        Failure::Redirect(text) => exception("InvalidUrlRedirectClientError", text, "InvalidURL"),
    }
}

fn cancelled(message: &str) -> RequestError {
    RequestError::coded(499, "RequestCancellationError", message)
}
