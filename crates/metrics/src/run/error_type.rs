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
    /// The type of an error, by the type names in it: they are all that records, and errors in the bodies of servers, have.
    /// Messages never decide: they may quote the server. `status` is that
    /// of the HTTP response, if there was one: codes that the client made up do not count.
    pub fn of(error: &RequestError, status: Option<u16>) -> Self {
        // An error that is the response itself has the server's reason phrase as its type.
        let is_response = status.is_some() && error.code == status.map(i64::from);
        let kind = error.kind.as_deref().filter(|_| !is_response).unwrap_or_default();
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
        let is_json = kind.to_ascii_lowercase().starts_with("json");
        // The names of texts that do not decode, and of unknown charsets.
        if is_json || matches!(kind, "UnicodeDecodeError" | "LookupError") { Self::Parse } else { Self::Other }
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

    #[test]
    fn a_message_of_the_server_does_not_decide() {
        let text = "failed to parse JSON: request timeout";
        let event = RequestError { code: Some(502), ..RequestError::exception("SSEResponseError", text, &[]) };
        assert_eq!(ErrorType::of(&event, Some(200)), ErrorType::Other);
        for reason in ["timeout", "cancelled", "Gateway Timeout", "JSONDecodeError"] {
            assert_eq!(ErrorType::of(&RequestError::status(500, reason, text), Some(500)), ErrorType::Http5xx);
        }
    }

    #[test]
    fn a_text_that_cannot_be_decoded_is_a_parse_error() {
        let error = RequestError::exception("UnicodeDecodeError", "byte 7", &[]);
        assert_eq!(ErrorType::of(&error, Some(200)), ErrorType::Parse);
    }
}
