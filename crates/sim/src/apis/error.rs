//! Refusals of requests, in the words of each kind of server.

use crate::http::Status;
use serde_json::json;

/// The reason of a refusal. Some servers choose their words by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The content type.
    Media,
    /// A body that cannot be read.
    Syntax,
    /// A member that is missing.
    Missing,
    Other,
}

/// The statuses by which a server refuses bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Statuses {
    media: Status,
    syntax: Status,
    missing: Status,
}

impl Statuses {
    pub(crate) const VLLM: Statuses =
        Statuses { media: Status::BAD_REQUEST, syntax: Status::BAD_REQUEST, missing: Status::BAD_REQUEST };
    pub(crate) const FASTAPI: Statuses =
        Statuses { media: Status::UNPROCESSABLE, syntax: Status::UNPROCESSABLE, missing: Status::UNPROCESSABLE };
    pub(crate) const AXUM: Statuses =
        Statuses { media: Status::UNSUPPORTED_MEDIA, syntax: Status::BAD_REQUEST, missing: Status::UNPROCESSABLE };
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: Status,
    pub(crate) message: String,
    pub(crate) kind: &'static str,
    pub(crate) param: Option<&'static str>,
    pub(crate) reason: Reason,
}

/// A refusal as it is sent.
pub(crate) struct ErrorBody {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl ErrorBody {
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        ErrorBody { content_type: "application/json", bytes: value.to_string().into_bytes() }
    }
}

impl ApiError {
    pub(crate) fn of_status(status: Status) -> Self {
        let reason = Reason::Other;
        ApiError { status, message: status.reason().to_owned(), kind: status.reason(), param: None, reason }
    }

    pub(crate) fn bad_request(message: String, param: &'static str) -> Self {
        let reason = Reason::Other;
        ApiError { status: Status::BAD_REQUEST, message, kind: "BadRequestError", param: Some(param), reason }
    }

    pub(crate) fn wrong_type(statuses: Statuses, wanted: &str) -> Self {
        ApiError {
            status: statuses.media,
            message: format!("Unsupported Media Type: Only '{wanted}' is allowed"),
            kind: "Bad Request",
            param: None,
            reason: Reason::Media,
        }
    }

    /// Invalid JSON, or members of other types.
    pub(crate) fn unreadable(statuses: Statuses, error: &serde_json::Error) -> Self {
        ApiError {
            status: if error.is_data() { statuses.missing } else { statuses.syntax },
            message: format!("1 validation error:\n  JSON decode error: {error}"),
            kind: "Bad Request",
            param: Some("body"),
            reason: Reason::Syntax,
        }
    }

    pub(crate) fn missing(statuses: Statuses, member: &'static str) -> Self {
        let error = Self::bad_request(format!("Field required: {member}"), member);
        ApiError { status: statuses.missing, reason: Reason::Missing, ..error }
    }

    pub(crate) fn broken_form(why: &str) -> Self {
        let error = Self::of_status(Status::BAD_REQUEST);
        ApiError { message: why.to_owned(), param: Some("body"), ..error }
    }

    pub(crate) fn too_long(max_tokens: u32, limit: u32) -> Self {
        Self::bad_request(
            format!(
                "max_tokens={max_tokens} cannot be greater than max_model_len={limit}. Please request fewer output \
                 tokens. (parameter=max_tokens, value={max_tokens})"
            ),
            "max_tokens",
        )
    }

    pub(crate) fn unknown_model(asked: &str, served: &str) -> Self {
        ApiError {
            status: Status::NOT_FOUND,
            message: format!("The model `{asked}` does not exist. Valid aliases: {served}."),
            kind: "NotFoundError",
            param: Some("model"),
            reason: Reason::Other,
        }
    }

    /// The error object of OpenAI and of vLLM, as `{"error":{...}}`.
    pub(crate) fn openai(&self) -> ErrorBody {
        ErrorBody::json(&json!({"error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.status.0,
        }}))
    }
}

/// The refusals of servers made with FastAPI that leave its own as they are.
pub(super) fn fastapi(error: &ApiError) -> ErrorBody {
    let detail = match error.reason {
        Reason::Missing | Reason::Media => {
            let place: Vec<&str> = std::iter::once("body").chain(error.param).collect();
            json!([{"type": "missing", "loc": place, "msg": "Field required", "input": null}])
        }
        Reason::Syntax => json!([{
            "type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error", "input": {},
            "ctx": {"error": error.message},
        }]),
        Reason::Other => json!(error.message),
    };
    ErrorBody::json(&json!({"detail": detail}))
}

/// The refusals of NVIDIA NIM.
pub(super) fn nim(error: &ApiError) -> ErrorBody {
    let kind = if error.status.0 < 500 { "invalid_request_error" } else { "internal_server_error" };
    ErrorBody::json(&json!({"object": "error", "message": error.message, "detail": {}, "type": kind}))
}

/// The refusals of Hugging Face's servers: bodies that cannot be read are refused in plain text.
pub(super) fn axum(error: &ApiError, fault_of_server: &str) -> ErrorBody {
    let text = match error.reason {
        Reason::Media => "Expected request with `Content-Type: application/json`".to_owned(),
        Reason::Syntax if error.status == Status::BAD_REQUEST => {
            format!("Failed to parse the request body as JSON: {}", error.message)
        }
        Reason::Syntax => format!("Failed to deserialize the JSON body into the target type: {}", error.message),
        Reason::Missing => {
            let member = error.param.unwrap_or_default();
            format!("Failed to deserialize the JSON body into the target type: missing field `{member}`")
        }
        Reason::Other => {
            let kind = match error.kind {
                kind @ ("validation" | "Empty") => kind,
                _ if error.status.0 == 429 => "overloaded",
                _ if error.status.0 < 500 => "validation",
                _ => fault_of_server,
            };
            return ErrorBody::json(&json!({"error": error.message, "error_type": kind}));
        }
    };
    ErrorBody { content_type: "text/plain; charset=utf-8", bytes: text.into_bytes() }
}
