//! Readers of the responses of one exchange, and the content of a response.

use crate::response::vectors::Vectors;
use crate::text::json::{self, is_truthy};
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::LazyLock;

/// Reads the responses of one exchange, in order. Each exchange has a new reader, so it may remember earlier responses.
pub trait Reader {
    /// Reads one response. `None`: it cannot be read.
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>>;

    /// Whether the content of a response never depends on earlier ones. Then a text in the same form always means the
    /// same, and the form need not be parsed again.
    fn is_stateless(&self) -> bool {
        false
    }
}

/// How a response arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Body,
    /// The data of an event of a stream.
    Event,
}

/// A reader without state. An empty body is shown in the error.
pub struct Stateless(pub for<'a> fn(&'a str, Delivery) -> Option<Piece<'a>>);

impl Reader for Stateless {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        shown_if_empty((self.0)(text, delivery), text, delivery)
    }

    fn is_stateless(&self) -> bool {
        true
    }
}

/// The content of a response; for an empty body, an error that shows it.
pub(crate) fn shown_if_empty<'a>(piece: Option<Piece<'a>>, text: &str, delivery: Delivery) -> Option<Piece<'a>> {
    let is_silent = || piece.as_ref().is_none_or(|piece| *piece == Piece::default());
    if delivery == Delivery::Body && is_silent() && json::holds_nothing(text) {
        let message = format!("Invalid inference result: the body holds nothing: {}", text.trim());
        let error = ResponseError::Invalid { kind: "InvalidInferenceResultError", message };
        return Some(Piece { error: Some(error), ..Piece::default() });
    }
    piece
}

/// The content of one response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece<'a> {
    /// The choice of `data`, if a request has several.
    pub choice: u32,
    pub data: Option<Data<'a>>,
    /// Its content for other choices.
    pub others: Vec<(u32, Data<'a>)>,
    pub usage: Option<Map<String, Value>>,
    /// Its data on speculative decoding.
    pub spec_decode: Option<Map<String, Value>>,
    /// Its sources.
    pub sources: Option<Value>,
    pub error: Option<ResponseError>,
    /// It ends a choice: by a finish reason, or as the last event of its type.
    pub finishes: bool,
}

impl<'a> Piece<'a> {
    /// The content of each of several choices: the first that has any, and the others.
    pub(crate) fn of_choices(self, choices: impl IntoIterator<Item = (u32, Option<Data<'a>>)>) -> Self {
        let mut choices = choices.into_iter().filter_map(|(choice, data)| Some((choice, data?)));
        let (choice, data) = choices.next().unzip();
        Self { choice: choice.unwrap_or_default(), data, others: choices.collect(), ..self }
    }

    /// The same for a single choice. Without content, the response belongs to no choice in particular.
    pub(crate) fn with_choice(self, choice: Option<u32>, data: Option<Data<'a>>) -> Self {
        let choice = choice.filter(|_| data.is_some()).unwrap_or_default();
        Self { choice, data, ..self }
    }

    /// Whether it is empty, except for the end of a response.
    pub(crate) fn is_silent(&self) -> bool {
        *self == Self { finishes: self.finishes, ..Self::default() }
    }

    /// Its content for one choice, if any.
    pub(crate) fn of_choice(&self, wanted: u32) -> impl Iterator<Item = &Data<'a>> {
        let first = self.data.iter().filter(move |_| self.choice == wanted);
        first.chain(self.others.iter().filter(move |(choice, _)| *choice == wanted).map(|(_, data)| data))
    }
}

/// Why a response is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// The server reports it.
    Reported { code: Option<i64>, message: String },
    /// It is invalid; `kind` is its error type in records.
    Invalid { kind: &'static str, message: String },
}

/// Content of a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Data<'a> {
    Text(Cow<'a, str>),
    /// Reasoning, perhaps with text and tool calls.
    Reasoning {
        reasoning: Cow<'a, str>,
        /// Text beside it.
        content: Option<Cow<'a, str>>,
        /// Names and arguments of tool calls beside it.
        tool_calls: Option<Cow<'a, str>>,
    },
    /// Tool calls, perhaps with text.
    ToolCall {
        /// Names and arguments, concatenated.
        text: Cow<'a, str>,
        /// Text beside them.
        content: Option<Cow<'a, str>>,
    },
    Embeddings(Vectors<'a>),
    Rankings(Vec<Value>),
    /// Objects found in images.
    ImageRetrieval(Value),
    Images(Box<Images>),
    /// A video's job, as the server reports it.
    Video(Map<String, Value>),
}

impl<'a> Data<'a> {
    /// Of reasoning, text and calls: all of it counts.
    pub(crate) fn of(
        reasoning: Option<Cow<'a, str>>,
        content: Option<Cow<'a, str>>,
        tool_calls: Option<Cow<'a, str>>,
    ) -> Option<Self> {
        match (reasoning, tool_calls) {
            (Some(reasoning), tool_calls) => Some(Self::Reasoning { reasoning, content, tool_calls }),
            (None, Some(text)) => Some(Self::ToolCall { text, content }),
            (None, None) => content.map(Self::Text),
        }
    }

    /// The text: neither reasoning nor calls.
    pub(crate) fn content(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Reasoning { content, .. } | Self::ToolCall { content, .. } => content.as_deref(),
            _ => None,
        }
    }
}

/// Images made, and what they have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Each with its members `url`, `b64_json`, `revised_prompt`, `partial_image_index`.
    pub images: Vec<Map<String, Value>>,
    /// `size`, `quality`, `output_format`, `background`.
    pub settings: Map<String, Value>,
}

/// The error in the member `error` of a response: if it is not empty, the response has failed, whatever else it
/// contains. Only in a video's job it is an ordinary member.
pub(crate) fn error_of(object: &Map<String, Value>) -> Option<ResponseError> {
    object.get("error").and_then(reported)
}

/// The same of the member alone, not read yet.
pub(crate) fn error_in(error: Option<&RawValue>) -> Option<ResponseError> {
    let error = error?;
    json::read(error.get()).as_ref().map_or_else(|| reported(&error.get().into()), reported)
}

/// An error as servers report it: an object with a message, or a text. An empty value is no error.
fn reported(error: &Value) -> Option<ResponseError> {
    if !is_truthy(Some(error)) {
        return None;
    }
    let message = match error {
        Value::String(text) => text.clone(),
        Value::Object(members) => match members.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        },
        other => other.to_string(),
    };
    Some(ResponseError::Reported { code: error.get("code").and_then(Value::as_i64), message })
}

/// Members with content: an object with one of them is no error just because of a code and a message.
const CONTENT: [&str; 16] = [
    "choices",
    "content",
    "data",
    "delta",
    "embedding",
    "embeddings",
    "generated_text",
    "item",
    "output",
    "output_text",
    "rankings",
    "response",
    "result",
    "results",
    "text",
    "token",
];

fn has_content(object: &Map<String, Value>) -> bool {
    CONTENT.iter().any(|member| is_truthy(object.get(*member)))
}

/// Members of a chunk or an event of a known type: an object with one of them is no error just because of a `detail`.
const MARKS: [&str; 5] = ["choices", "id", "object", "type", "usage"];

/// Parts of the names by which [`bare_error`] knows an error: without one of them nothing need be read.
static ERROR_NAMES: LazyLock<[memmem::Finder<'static>; 7]> = LazyLock::new(|| {
    let names = ["\"message\"", "rror", "\"detail\"", "xception\"", "\"status\"", "\"base_resp\"", "\"ERROR\""];
    names.map(memmem::Finder::new)
});

/// An error that is the whole response, to be asked of one without content: `{"object":"error","message":…}`, as vLLM,
/// SGLang and TensorRT-LLM write it, `{"code":500,"message":…}` or `{"status_code":500,"message":…}`, as proxies do,
/// `{"errors":…}`, `{"Error":…}`, `{"status":"error"}`, `{"detail":…}`, as FastAPI does,
/// `{"error_code":…,"error_msg":…}`, as Baidu does, `{"internalServerException":…}`, as Bedrock does, a [`problem`], or
/// a list of one error. Of a chunk with choices only [`attached_error`] counts.
pub(crate) fn bare_error(json: &str) -> Option<ResponseError> {
    if !ERROR_NAMES.iter().any(|name| name.find(json.as_bytes()).is_some()) {
        return None;
    }
    let Some(object) = json::read::<Map<String, Value>>(json) else { return listed_error(json) };
    if let Some(error) = coded_error(&object).or_else(|| attached_error(&object)) {
        return Some(error);
    }
    if has_content(&object) {
        return None;
    }
    let errors = object.get("errors").or_else(|| object.get("Error"));
    let first = errors.and_then(|errors| errors.as_array().map_or(Some(errors), |list| list.first()));
    let by_name = first.and_then(reported).or_else(|| exception(&object)).or_else(|| aws_error(&object));
    by_name.or_else(|| problem(&object)).or_else(|| described_error(&object))
}

/// An error in a member that may be beside choices: one of Groq or MiniMax, or the end of a stream of Cohere,
/// `{"type":"message-end","delta":{"error":…,"finish_reason":"ERROR"}}`.
fn attached_error(object: &Map<String, Value>) -> Option<ResponseError> {
    let of_vendor = object.get("x_groq").and_then(groq_error);
    let delta = object.get("delta").and_then(Value::as_object);
    of_vendor
        .or_else(|| minimax_error(object.get("base_resp")?))
        .or_else(|| error_of(delta?))
        .or_else(|| given_up(delta.unwrap_or(object).get("finish_reason")?))
}

/// The error in the member `x_groq`: `{"error":"over_capacity"}`.
pub(crate) fn groq_error(member: &Value) -> Option<ResponseError> {
    member.get("error").and_then(reported)
}

/// The error in the member `base_resp` of MiniMax: `{"status_code":1013,"status_msg":…}`; zero is success.
pub(crate) fn minimax_error(member: &Value) -> Option<ResponseError> {
    let code = member.get("status_code").and_then(number).filter(|code| *code != 0)?;
    let message = text_of(member.as_object()?, &["status_msg"]).map_or_else(|| member.to_string(), str::to_owned);
    Some(ResponseError::Reported { code: Some(code), message })
}

/// The first text that is not empty among members of these names.
fn text_of<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| object.get(*name)?.as_str().filter(|text| !text.is_empty()))
}

/// Whether a name is that of an error: `ServiceUnavailableException`, `InternalServerError`, `error`.
pub(crate) fn names_failure(name: &str) -> bool {
    let ends_in = |end: &str| {
        let start = name.len().checked_sub(end.len());
        start.and_then(|start| name.get(start..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    };
    ends_in("error") || ends_in("exception")
}

/// An error of AWS: `{"__type":"ThrottlingException","message":…}`, perhaps in `Output`, or
/// `{"ErrorCode":…,"Message":…,"OriginalStatusCode":500}`.
fn aws_error(object: &Map<String, Value>) -> Option<ResponseError> {
    let kind = object.get("__type").or_else(|| object.get("Output")?.get("__type"));
    let kind = kind.filter(|kind| kind.as_str().is_some_and(names_failure));
    let kind = kind.or_else(|| object.get("ErrorCode").filter(|code| is_truthy_code(code)))?;
    let message = text_of(object, &["message", "Message"]).or(kind.as_str());
    let code = object.get("OriginalStatusCode").unwrap_or(kind);
    let message = message.map_or_else(|| kind.to_string(), str::to_owned);
    Some(ResponseError::Reported { code: number(code), message })
}

/// A problem of RFC 9457: `{"type":"urn:…","title":…,"status":500,"detail":…}`, as NVCF and NIM write it.
fn problem(object: &Map<String, Value>) -> Option<ResponseError> {
    let code = object.get("status")?.as_i64().filter(|status| is_status(*status))?;
    let message = text_of(object, &["detail", "title"])?.to_owned();
    Some(ResponseError::Reported { code: Some(code), message })
}

/// What an exception of Bedrock's stream is called: `{"throttlingException":{"message":…}}`.
fn exception(object: &Map<String, Value>) -> Option<ResponseError> {
    let (_, exception) = object.iter().find(|(name, value)| name.ends_with("Exception") && value.is_object())?;
    reported(exception)
}

/// An error by a description or a status, if nothing marks the response as a chunk or an event of another kind.
fn described_error(object: &Map<String, Value>) -> Option<ResponseError> {
    let code = ["error_code", "errorCode"].iter().find_map(|name| object.get(*name));
    let is_marked = MARKS.iter().any(|member| object.contains_key(*member));
    if let Some(message) = text_of(object, &["error_msg", "error_message", "errorMsg", "errorMessage"])
        && code.map_or(!is_marked, is_truthy_code)
    {
        return Some(ResponseError::Reported { code: code.and_then(number), message: message.to_owned() });
    }
    if is_marked {
        return None;
    }
    let detail = object.get("detail");
    let is_one = |detail: &&Value| detail.is_string() || detail.is_array() || is_truthy(detail.get("error"));
    let failed =
        || ["error", "failed"].contains(&object.get("status")?.as_str()?).then(|| Value::Object(object.clone()));
    detail.filter(is_one).and_then(reported).or_else(|| reported(&failed()?))
}

/// Members with an HTTP status.
const STATUSES: [&str; 3] = ["status_code", "statusCode", "status"];

/// An error with a message, by the name of its object or type, or by its code.
fn coded_error(object: &Map<String, Value>) -> Option<ResponseError> {
    let message = object.get("message")?.as_str().filter(|message| !message.is_empty())?;
    let is_error_status = |status: &&Value| status.is_number() && is_error_code(Some(status));
    let status = STATUSES.iter().find_map(|name| object.get(*name).filter(is_error_status));
    let code = status.or(object.get("code"));
    let is_error = |member: &str| object.get(member).and_then(Value::as_str) == Some("error");
    let is_failure = || object.get("type").and_then(Value::as_str).is_some_and(names_failure);
    let is_named = is_error("object") || (is_failure() || is_error("status")) && !has_content(object);
    let is_coded = || is_error_code(code) && !has_content(object);
    let code = code.and_then(number);
    (is_named || is_coded()).then(|| ResponseError::Reported { code, message: message.to_owned() })
}

fn number(code: &Value) -> Option<i64> {
    code.as_i64().or_else(|| code.as_str()?.parse().ok())
}

/// Whether the code of an error is that of one: zero and the name of success are none.
fn is_truthy_code(code: &Value) -> bool {
    match code {
        Value::String(name) => number(code).map_or_else(|| !is_success(name), |number| number != 0),
        code => is_truthy(Some(code)),
    }
}

fn is_success(name: &str) -> bool {
    ["", "ok", "success"].iter().any(|fine| name.eq_ignore_ascii_case(fine))
}

/// An error in a list of its own: `[{"error":{…}}]`, as Google writes it.
pub(crate) fn listed_error(json: &str) -> Option<ResponseError> {
    let may_be = json.trim_start().starts_with('[') && memmem::find(json.as_bytes(), b"\"error\"").is_some();
    if may_be { error_in_list(&json::read(json)?) } else { None }
}

/// The same of a list that is read.
pub(crate) fn error_in_list(value: &Value) -> Option<ResponseError> {
    let [Value::Object(only)] = value.as_array()?.as_slice() else { return None };
    error_of(only).filter(|_| !has_content(only))
}

fn is_status(number: i64) -> bool {
    (400..600).contains(&number)
}

/// An HTTP error status, or a name other than that of success.
fn is_error_code(code: Option<&Value>) -> bool {
    match code {
        Some(Value::Number(number)) => number.as_i64().is_some_and(is_status),
        Some(Value::String(name)) => match name.parse() {
            Ok(number) => is_status(number),
            Err(_) => !is_success(name),
        },
        _ => false,
    }
}

/// Finish reasons of failed responses, in any case.
const FAILURES: [&str; 17] = [
    "abort",
    "aborted",
    "backend_error",
    "canceled",
    "cancelled",
    "engine_error",
    "error",
    "failed",
    "insufficient_system_resource", // DeepSeek
    "internal_error",
    "model_error",
    "network_error", // Zhipu
    "overloaded",
    "preempted",
    "server_error",
    "timed_out",
    "timeout",
];

/// The error of a response that the server gave up, by its finish reason: its content is not what was requested. The
/// reason is a name, or an object with a type: `{"type":"abort","message":…,"status_code":503}`, as SGLang writes it.
pub(crate) fn given_up(finish_reason: &Value) -> Option<ResponseError> {
    given_up_by("finish_reason", finish_reason)
}

/// The same by a finish reason in the member of this name.
pub(crate) fn given_up_by(member: &str, finish_reason: &Value) -> Option<ResponseError> {
    let name = finish_reason.get("type").unwrap_or(finish_reason).as_str()?;
    if !FAILURES.iter().any(|failure| name.eq_ignore_ascii_case(failure)) {
        return None;
    }
    let why = finish_reason.get("message").and_then(Value::as_str).filter(|why| !why.is_empty());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let message = format!("the response ended with {member} '{name}'{why}");
    Some(ResponseError::Reported { code: finish_reason.get("status_code").and_then(Value::as_i64), message })
}

/// The same for a response of any form: its own `meta_info` and `details`, and those of its choices or of a list of
/// responses.
pub(crate) fn given_up_in(value: &Value) -> Option<ResponseError> {
    let responses = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let choices = value.get("choices").and_then(Value::as_array).into_iter().flatten();
    let details = responses.iter().flat_map(|response| [response.get("meta_info"), response.get("details")]).flatten();
    choices.chain(details).find_map(|part| given_up(part.get("finish_reason")?))
}

/// The error in the value of a field `error` of a stream: JSON, or a text.
pub(crate) fn error_in_field(value: &str) -> Option<ResponseError> {
    let value = json::read(value).unwrap_or_else(|| Value::from(value));
    reported(value.get("error").unwrap_or(&value))
}

/// The error that a response reports, of any type.
pub(crate) fn error_in_text(json: &str) -> Option<ResponseError> {
    let member = || json::read(json).as_ref().and_then(error_of);
    memmem::find(json.as_bytes(), b"\"error\"").and_then(|_| member()).or_else(|| bare_error(json))
}

/// Whether a response reports an error.
pub(crate) fn is_error(json: &str) -> bool {
    error_in_text(json).is_some()
}

pub(crate) fn usage_of(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    object.get("usage").and_then(Value::as_object).filter(|usage| !usage.is_empty()).cloned()
}

pub(crate) fn usage_from(raw: &RawValue) -> Option<Map<String, Value>> {
    json::read::<Map<String, Value>>(raw.get()).filter(|usage| !usage.is_empty())
}

pub(crate) fn spec_decode_from(metrics: &RawValue) -> Option<Map<String, Value>> {
    let mut metrics = json::read::<Map<String, Value>>(metrics.get())?;
    match metrics.remove("speculative_decoding") {
        Some(Value::Object(report)) => Some(report),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reported(code: Option<i64>, message: &str) -> Option<ResponseError> {
        Some(ResponseError::Reported { code, message: message.into() })
    }

    #[test]
    fn an_error_without_a_member_of_that_name_is_known_by_its_object_or_its_code() {
        for (json, error) in [
            (
                r#"{"object":"error","message":"a","type":"BadRequestError","param":null,"code":400}"#,
                reported(Some(400), "a"),
            ),
            (r#"{"object":"error","message":"a","code":null}"#, reported(None, "a")),
            (r#"{"code":500,"message":"a"}"#, reported(Some(500), "a")),
            (r#"{"message":"a","type":"Internal","code":503,"choices":[]}"#, reported(Some(503), "a")),
            (r#"{"code":"429","message":"a"}"#, reported(Some(429), "a")),
            (r#"{"code":"InvalidParameter","message":"a","request_id":"r"}"#, reported(None, "a")),
            (r#"{"status_code":500,"message":"a"}"#, reported(Some(500), "a")),
            (r#"{"code":"ok","status_code":503,"message":"a"}"#, reported(Some(503), "a")),
            (r#"{"errors":[{"message":"a","code":507}]}"#, reported(Some(507), "a")),
            (r#"{"errors":["a","b"],"choices":[]}"#, reported(None, "a")),
            (r#"{"errors":{"message":"a","code":507}}"#, reported(Some(507), "a")),
            (r#"{"errors":"a"}"#, reported(None, "a")),
            (r#"{"detail":"a"}"#, reported(None, "a")),
            (r#"{"detail":[{"msg":"a"}]}"#, reported(None, r#"[{"msg":"a"}]"#)),
            (r#"{"type":"error","message":"a"}"#, reported(None, "a")),
            (r#"{"status":"error","message":"a","code":"x"}"#, reported(None, "a")),
            (r#"{"status":"error"}"#, reported(None, r#"{"status":"error"}"#)),
            (r#"{"status":"failed","reason":"OOM"}"#, reported(None, r#"{"status":"failed","reason":"OOM"}"#)),
            (r#"{"detail":{"error":"a"}}"#, reported(None, r#"{"error":"a"}"#)),
            (r#"{"error_code":336100,"error_msg":"a","id":"x"}"#, reported(Some(336_100), "a")),
            (r#"{"error_code":"E1","error_message":"a"}"#, reported(None, "a")),
            (r#"{"errorMessage":"a","errorType":"x"}"#, reported(None, "a")),
            (r#"{"Error":{"Code":"x","message":"a"}}"#, reported(None, "a")),
            (r#"{"Error":"a"}"#, reported(None, "a")),
            (r#"{"internalServerException":{"message":"a"}}"#, reported(None, "a")),
            (r#"{"modelStreamErrorException":{"message":"a","originalStatusCode":500}}"#, reported(None, "a")),
            (r#"[{"error":{"code":429,"message":"a","status":"RESOURCE_EXHAUSTED"}}]"#, reported(Some(429), "a")),
            (r#" [ {"error":"a"} ]"#, reported(None, "a")),
            (r#"{"choices":[{"delta":{}}],"x_groq":{"id":"r","error":"a"}}"#, reported(None, "a")),
            (r#"{"x_groq":{"error":{"message":"a","code":503}}}"#, reported(Some(503), "a")),
            (r#"{"type":"urn:x:problem-details","title":"t","status":500,"detail":"a"}"#, reported(Some(500), "a")),
            (r#"{"type":"about:blank","title":"a","status":503}"#, reported(Some(503), "a")),
            (r#"{"title":"t","status":503,"detail":"a"}"#, reported(Some(503), "a")),
            (r#"{"choices":null,"base_resp":{"status_code":1013,"status_msg":"a"}}"#, reported(Some(1013), "a")),
            (r#"{"choices":[{}],"base_resp":{"status_code":"7"}}"#, reported(Some(7), r#"{"status_code":"7"}"#)),
            (r#"{"__type":"ThrottlingException","message":"a"}"#, reported(None, "a")),
            (r#"{"__type":"x#AccessDeniedException","Message":"a"}"#, reported(None, "a")),
            (r#"{"Output":{"__type":"x#InternalServerException"}}"#, reported(None, "x#InternalServerException")),
            (r#"{"ErrorCode":"M","Message":"a","OriginalStatusCode":500}"#, reported(Some(500), "a")),
            (r#"{"ErrorCode":"a"}"#, reported(None, "a")),
            (r#"{"message":"a","type":"ServiceUnavailableException"}"#, reported(None, "a")),
            (r#"{"message":"a","type":"InternalServerError"}"#, reported(None, "a")),
            (r#"{"statusCode":503,"message":"a"}"#, reported(Some(503), "a")),
            (r#"{"status":503,"message":"a"}"#, reported(Some(503), "a")),
            (r#"{"type":"message-end","delta":{"error":"a","finish_reason":"ERROR"}}"#, reported(None, "a")),
            (
                r#"{"type":"message-end","delta":{"finish_reason":"ERROR"}}"#,
                reported(None, "the response ended with finish_reason 'ERROR'"),
            ),
            (
                r#"{"event_type":"stream-end","finish_reason":"ERROR","response":{"text":"b"}}"#,
                reported(None, "the response ended with finish_reason 'ERROR'"),
            ),
        ] {
            assert_eq!(bare_error(json), error, "{json}");
            assert!(is_error(json), "{json}");
        }
    }

    #[test]
    fn a_code_and_a_message_are_no_error_where_they_may_be_something_else() {
        for json in [
            r#"{"code":200,"message":"a"}"#,
            r#"{"code":0,"message":"a"}"#,
            r#"{"code":10001,"message":"a"}"#,
            r#"{"code":"200","message":"a"}"#,
            r#"{"code":"Success","message":"a"}"#,
            r#"{"code":"","message":"a"}"#,
            r#"{"code":500}"#,
            r#"{"code":500,"message":""}"#,
            r#"{"code":500,"message":{"content":"a"}}"#,
            r#"{"code":500,"message":"a","choices":[{"delta":{}}]}"#,
            r#"{"code":500,"message":"a","output":{"text":"b"}}"#,
            r#"{"object":"chat.completion","message":"a"}"#,
            r#"{"message":"a"}"#,
            "no JSON of a \"message\"",
            r#"{"code":"ok","message":"a"}"#,
            r#"{"status_code":200,"message":"a"}"#,
            r#"{"status_code":"failed","message":"a"}"#,
            r#"{"status_code":500,"message":"a","choices":[{"delta":{}}]}"#,
            r#"{"status_code":500}"#,
            r#"{"errors":[]}"#,
            r#"{"errors":null,"detail":null}"#,
            r#"{"errors":["a"],"text":"b"}"#,
            r#"{"detail":""}"#,
            r#"{"detail":{"step":1}}"#,
            r#"{"detail":[]}"#,
            r#"{"type":"error","message":"a","text":"b"}"#,
            r#"{"type":"message","message":"a"}"#,
            r#"{"detail":"a","choices":[]}"#,
            r#"{"detail":"a","usage":{"completion_tokens":2}}"#,
            r#"{"detail":"a","text":"b"}"#,
            r#"{"type":"ping","detail":"a"}"#,
            r#"{"status":"ok"}"#,
            r#"{"status":"error","id":"x"}"#,
            r#"{"type":"status","status":"failed"}"#,
            r#"{"status":"failed","text":"b"}"#,
            r#"{"error_code":0,"error_msg":"success"}"#,
            r#"{"error_code":"0","error_msg":"a"}"#,
            r#"{"error_code":"OK","error_msg":"a"}"#,
            r#"{"error_code":5,"error_msg":""}"#,
            r#"{"error_code":5,"error_msg":"a","result":"b"}"#,
            r#"{"error_msg":"a","object":"chat.completion.chunk","choices":[]}"#,
            r#"{"Error":null}"#,
            r#"{"Error":"a","choices":[{"delta":{}}]}"#,
            r#"{"noException":"a"}"#,
            r#"{"anException":{}}"#,
            r#"{"exception":{"message":"a"}}"#,
            r#"{"anException":{"message":"a"},"content":"b"}"#,
            r#"[{"error":null}]"#,
            r#"[{"error":"a","text":"b"}]"#,
            r#"[{"error":"a"},{"text":"b"}]"#,
            r#"["error"]"#,
            "[\"error\", {nope",
            r#"{"choices":[{"delta":{}}],"x_groq":{"id":"r","error":null}}"#,
            r#"{"x_groq":"error"}"#,
            r#"{"choices":[],"base_resp":{"status_code":0,"status_msg":"success"}}"#,
            r#"{"base_resp":{"status_msg":"a"}}"#,
            r#"{"base_resp":null}"#,
            r#"{"type":"x","status":200,"detail":"a"}"#,
            r#"{"type":"x","status":500}"#,
            r#"{"type":"x","title":"t","status":500,"detail":"a","text":"b"}"#,
            r#"{"__type":"x#Message","message":"a"}"#,
            r#"{"ErrorCode":0,"Message":"a"}"#,
            r#"{"ErrorCode":"Success","Message":"a"}"#,
            r#"{"message":"a","type":"ServiceUnavailableException","text":"b"}"#,
            r#"{"message":"a","type":"errors"}"#,
            r#"{"statusCode":200,"message":"a"}"#,
            r#"{"statusCode":503,"message":"a","result":"b"}"#,
            r#"{"type":"message-end","delta":{"error":null,"finish_reason":"COMPLETE"}}"#,
            r#"{"type":"response.output_text.delta","delta":"\"error\""}"#,
        ] {
            assert_eq!(bare_error(json), None, "{json}");
        }
    }

    #[test]
    fn a_response_that_the_server_gave_up_is_an_error() {
        for reason in
            ["aborted", "Cancelled", "failed", "ERROR", "network_error", "preempted", "insufficient_system_resource"]
        {
            let message = format!("the response ended with finish_reason '{reason}'");
            assert_eq!(given_up(&reason.into()), reported(None, &message));
            assert_eq!(given_up(&json!({"type": reason})), reported(None, &message));
        }
        let full = json!({"type": "abort", "message": "queue full", "status_code": 503});
        assert_eq!(given_up(&full), reported(Some(503), "the response ended with finish_reason 'abort': queue full"));
        for reason in ["stop", "length", "tool_calls", "content_filter", "eos", "end_turn", ""] {
            assert_eq!(given_up(&reason.into()), None, "{reason}");
            assert_eq!(given_up(&json!({"type": reason, "message": "abort"})), None, "{reason}");
        }
        for odd in [json!(null), json!(1), json!(["abort"]), json!({"message": "abort"}), json!({"type": null})] {
            assert_eq!(given_up(&odd), None, "{odd}");
        }
    }
}
