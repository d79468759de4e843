//! `error.type`: the type of a failure, in the few words of the conventions.

use aiperf_types::RequestError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    Timeout,
    Cancelled,
    Http5xx,
    Http4xx,
    Parse,
    Other,
}

impl ErrorType {
    /// The type of an error. `status` is that of the HTTP response, if there was one: codes that the client made up do
    /// not count.
    pub fn of(error: &RequestError, status: Option<u16>) -> Self {
        let kind = error.kind.as_deref().unwrap_or_default();
        match (kind, status) {
            ("timeout" | "asyncio.TimeoutError" | "TimeoutError" | "RequestSendTimeout", _) => return Self::Timeout,
            ("cancelled" | "RequestCancellationError", _) => return Self::Cancelled,
            (_, Some(500..=599)) => return Self::Http5xx,
            (_, Some(400..=499)) => return Self::Http4xx,
            _ => {}
        }
        for cause in error.cause_chain.iter().flatten().map(|cause| cause.to_ascii_lowercase()) {
            if cause.contains("timeout") {
                return Self::Timeout;
            }
            if cause.contains("cancel") {
                return Self::Cancelled;
            }
        }
        let message = error.message.to_ascii_lowercase();
        let is_unreadable = message.contains("json") && (message.contains("parse") || message.contains("decode"));
        if is_unreadable || kind.to_ascii_lowercase().starts_with("json") { Self::Parse } else { Self::Other }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Http5xx => "http_5xx",
            Self::Http4xx => "http_4xx",
            Self::Parse => "parse_error",
            Self::Other => "_OTHER",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_the_client_made_up_is_no_response() {
        let cancelled =
            RequestError::coded(499, "RequestCancellationError", "Request cancelled 0.100s after being sent");
        assert_eq!(ErrorType::of(&cancelled, None), ErrorType::Cancelled);
        assert_eq!(ErrorType::of(&cancelled, Some(200)), ErrorType::Cancelled);
        assert_eq!(ErrorType::of(&RequestError::coded(502, "ErrorEvent", "overloaded"), Some(200)), ErrorType::Other);
    }

    #[test]
    fn every_timeout_is_a_timeout_whatever_its_name() {
        for error in [
            RequestError::exception("TimeoutError", "", &["CancelledError"]),
            RequestError::coded(0, "RequestSendTimeout", "Timed out waiting for request to be sent"),
            RequestError::exception("ClientConnectorError", "connect failed", &["TimeoutError"]),
        ] {
            assert_eq!(ErrorType::of(&error, None), ErrorType::Timeout, "{error:?}");
        }
    }
}
