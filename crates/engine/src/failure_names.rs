//! The names of failures in records. Error summaries group by these names, so they do not change.

use aiperf_types::{Failure, RequestError};
use std::io;

/// The error of a record, for a failure of the transport.
pub(crate) fn error_of(failure: &Failure) -> RequestError {
    let text = failure.to_string();
    let plain = |kind: &str| RequestError::exception(kind, &text, &[]);
    // An error raised from another has that one as its cause: its type, and the reason alone.
    let raised_from =
        |kind: &str, below: &str, reason: &str| RequestError::exception(kind, &text, &[below]).caused_by(reason);
    match failure {
        Failure::Resolve { reason, .. } => raised_from("ClientConnectorDNSError", "gaierror", reason),
        Failure::Connect { kind, reason, .. } => {
            let below = match kind {
                io::ErrorKind::ConnectionRefused => "ConnectionRefusedError",
                io::ErrorKind::ConnectionReset => "ConnectionResetError",
                io::ErrorKind::TimedOut => "TimeoutError",
                _ => "OSError",
            };
            raised_from("ClientConnectorError", below, reason)
        }
        Failure::Certificate { reason, .. } => {
            raised_from("ClientConnectorCertificateError", "SSLCertVerificationError", reason)
        }
        Failure::Handshake { reason, .. } => raised_from("ClientConnectorSSLError", "SSLError", reason),
        Failure::NoProxy { reason, .. } => raised_from("ClientProxyConnectionError", "ClientConnectorError", reason),
        Failure::Proxy { reason, .. } => raised_from("ClientHttpProxyError", "ClientResponseError", reason),
        Failure::Disconnected => RequestError::exception("ServerDisconnectedError", "Server disconnected", &[]),
        Failure::Lost { was_reset: true, reason } => raised_from("ClientOSError", "ConnectionResetError", reason),
        Failure::Lost { was_reset: false, reason } => raised_from("ClientOSError", "OSError", reason),
        Failure::Head(reason) => raised_from("ClientResponseError", "HttpProcessingError", reason),
        Failure::ShortBody { .. } => raised_from("ClientPayloadError", "ContentLengthError", &text),
        Failure::Framing(reason) => raised_from("ClientPayloadError", "TransferEncodingError", reason),
        Failure::Encoding(reason) => raised_from("ClientPayloadError", "ContentEncodingError", reason),
        Failure::TooLarge { .. } => raised_from("ClientPayloadError", "ResponseTooLarge", &text),
        Failure::NoRoom { .. } => raised_from("ResponseMemoryExceeded", "ClientPayloadError", &text),
        Failure::Text(_) => plain("UnicodeDecodeError"),
        Failure::UnknownCharset(_) => plain("LookupError"),
        Failure::TimedOut => RequestError::exception("TimeoutError", "", &["CancelledError"]).caused_by(""),
        Failure::SendTimedOut => RequestError::coded(0, "RequestSendTimeout", text),
        Failure::CutOff | Failure::NeverBegun | Failure::Cancelled { .. } => {
            RequestError::coded(499, "RequestCancellationError", text)
        }
        Failure::TooManyRedirects { .. } => RequestError::exception("TooManyRedirects", text, &["ClientResponseError"]),
        Failure::Step { code, kind, .. } => RequestError::coded(*code, kind, text),
        Failure::Unbuildable { is_unsupported: true, .. } => plain("NotImplementedError"),
        Failure::Unsendable(_) | Failure::Unbuildable { .. } => plain("ValueError"),
        Failure::Redirect(reason) => raised_from("InvalidUrlRedirectClientError", "InvalidURL", reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_types::Nanos;

    #[test]
    fn a_response_that_is_cut_off_names_its_cause() {
        for (failure, kind, cause) in [
            (
                Failure::ShortBody { got: 5, announced: 9 },
                "ClientPayloadError",
                "ContentLengthError('body ended after 5 of 9 bytes')",
            ),
            (Failure::Framing("no last chunk".into()), "ClientPayloadError", "TransferEncodingError('no last chunk')"),
            (Failure::Encoding("bad gzip".into()), "ClientPayloadError", "ContentEncodingError('bad gzip')"),
            (
                Failure::Lost { was_reset: true, reason: "reset by peer".into() },
                "ClientOSError",
                "ConnectionResetError('reset by peer')",
            ),
            (Failure::Lost { was_reset: false, reason: "no route".into() }, "ClientOSError", "OSError('no route')"),
            (Failure::Head("no status".into()), "ClientResponseError", "HttpProcessingError('no status')"),
            (Failure::TimedOut, "TimeoutError", "CancelledError()"),
        ] {
            let error = error_of(&failure);
            assert_eq!(error.kind.as_deref(), Some(kind), "{failure:?}");
            assert_eq!(error.cause.as_deref(), Some(cause), "{failure:?}");
            let below = error.cause_chain.unwrap_or_default().get(1).cloned().unwrap_or_default();
            assert!(cause.starts_with(&format!("{below}(")), "the chain names the type of {cause}: {below}");
        }
    }

    #[test]
    fn a_failure_without_an_earlier_error_has_no_cause() {
        for failure in
            [Failure::Disconnected, Failure::CutOff, Failure::Cancelled { after: Nanos(1) }, Failure::SendTimedOut]
        {
            assert_eq!(error_of(&failure).cause, None, "{failure:?}");
        }
    }
}
