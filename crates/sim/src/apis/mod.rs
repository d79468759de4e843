//! The APIs of this server: one file per kind, one row of [`APIS`] each.
//!
//! A row has the paths of a kind, how its requests are parsed, and the form of its refusals. Parsing a request gives
//! the common parts of all kinds ([`InferenceRequest`]) and a [`Wording`], which knows the rest and writes the
//! response: whole, or event by event. Other modules decide when anything is written.
//!
//! | kind | paths | like | streamed |
//! | --- | --- | --- | --- |
//! | chat, completions | `/v1/chat/completions`, `/v1/completions` | vLLM | by `stream` |
//! | responses, messages | `/v1/responses`, `/v1/messages` | vLLM | by `stream` |
//! | embeddings | `/v1/embeddings` | vLLM | no |
//! | generate | `/generate`, `/generate_stream` | TGI | by path |
//! | rerank | `/v2/rerank`, `/v1/rerank` | Cohere, vLLM | no |
//! | TEI rerank | `/rerank` | TEI | no |
//! | NIM ranking | `/v1/ranking` | NIM | no |
//! | images | `/v1/images/generations`, `/v1/images/edits` (a form) | OpenAI | generations by `stream` |
//! | videos | `/v1/videos` (a form), `/v1/videos/ID`, `/v1/videos/ID/content` | SGLang | no |
//! | transcription | `/v1/audio/transcriptions` (a form) | vLLM | no |
//! | image retrieval | `/v1/infer` | NIM | no |
//! | SOLIDO | `/rag/api/prompt` | SOLIDO | by `accept` |

mod chat;
mod choices;
mod completions;
mod embeddings;
mod error;
mod generate;
mod image_retrieval;
mod images;
mod jobs;
mod length;
mod messages;
mod multipart;
mod nim_ranking;
mod pen;
mod ranking;
mod rerank;
mod responses;
mod solido;
mod tei_rerank;
mod text;
mod transcription;
mod videos;

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use self::error::{ApiError, ErrorBody, Statuses};
pub(crate) use self::jobs::Jobs;
pub(crate) use self::length::{Finish, Length};
use self::multipart::{Form, FormError};
pub(crate) use self::pen::Pen;
use crate::config::SimConfig;
use crate::http::Fields;
use crate::script::Script;
use crate::truth::Payload;
use crate::vocabulary;

/// Every kind, the most frequent first: paths are compared in this order.
pub(crate) static APIS: [Api; 17] = [
    chat::API,
    completions::API,
    embeddings::API,
    responses::API,
    messages::API,
    generate::API,
    rerank::API,
    tei_rerank::API,
    nim_ranking::API,
    images::GENERATION,
    images::EDIT,
    videos::SUBMIT,
    videos::POLL,
    videos::CONTENT,
    transcription::API,
    image_retrieval::API,
    solido::API,
];

/// A row of the table.
pub(crate) struct Api {
    /// Its name in metrics and the truth log.
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    /// A segment in braces matches any.
    pub(crate) paths: &'static [&'static str],
    pub(crate) streams: Streams,
    pub(crate) output: Output,
    pub(crate) read: fn(&Ask<'_>) -> Result<Reading, ApiError>,
    pub(crate) error: fn(&ApiError) -> ErrorBody,
    pub(crate) statuses: Statuses,
    /// An example of a short request.
    pub(crate) example: Example,
}

/// What asks for a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    Never,
    /// The member `stream` of the body.
    ByMember,
    ByPath(&'static str),
    /// The header field `accept`.
    ByAccept,
}

/// The content of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Tokens, some of which may be reasoning.
    Text { reasoning: bool },
    /// One picture after another, if they are streamed.
    Pictures,
    /// A result that is complete at once.
    Result,
    /// Data that is already known: it is sent at once, and the engine is not involved.
    Lookup,
}

/// A request to try a kind, or to make its response beforehand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    pub(crate) content_type: &'static str,
    pub(crate) body: &'static str,
}

impl Example {
    pub(crate) const fn json(body: &'static str) -> Self {
        Example { content_type: "application/json", body }
    }
}

/// A path of the table.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) api: &'static Api,
    /// Its index in the table.
    pub(crate) index: usize,
    /// As in the table, including braces.
    pub(crate) path: &'static str,
}

impl Route {
    pub(crate) fn at(path: &str) -> Option<Self> {
        APIS.iter().enumerate().find_map(|(index, api)| {
            let found = api.paths.iter().find(|pattern| matches_path(pattern, path))?;
            Some(Route { api, index, path: found })
        })
    }

    /// The route of a request, if its method is right too.
    pub(crate) fn of(method: &str, path: &str) -> Option<Self> {
        Self::at(path).filter(|route| route.api.method == method)
    }

    pub(crate) fn has_parameter(&self) -> bool {
        self.path.contains('{')
    }
}

fn matches_path(pattern: &str, path: &str) -> bool {
    if !pattern.contains('{') {
        return pattern == path;
    }
    let mut segments = path.split('/');
    let alike = pattern.split('/').all(|wanted| match segments.next() {
        Some(found) if wanted.starts_with('{') => !found.is_empty(),
        found => found == Some(wanted),
    });
    alike && segments.next().is_none()
}

/// A request as it came in.
pub(crate) struct Ask<'a> {
    pub(crate) api: &'static Api,
    pub(crate) path: &'a str,
    /// The number of the request; the draws of the script depend on it.
    pub(crate) number: u64,
    pub(crate) fields: Fields<&'a str>,
    pub(crate) body: &'a [u8],
    pub(crate) script: &'a Script,
    pub(crate) jobs: &'a Arc<Jobs>,
}

impl Ask<'_> {
    /// The body as JSON. A body without a declared type counts as JSON.
    fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        if let Some(declared) = self.fields.content_type {
            let media = declared.split(';').next().unwrap_or_default().trim();
            let is_json = media.eq_ignore_ascii_case("application/json") || media.ends_with("+json");
            if !is_json {
                return Err(ApiError::wrong_type(self.api.statuses, "application/json"));
            }
        }
        serde_json::from_slice(self.body).map_err(|error| ApiError::unreadable(self.api.statuses, &error))
    }

    /// The body as a form of several parts.
    fn form(&self) -> Result<Form<'_>, ApiError> {
        Form::read(self.fields.content_type, self.body).map_err(|error| match error {
            FormError::OtherType => ApiError::wrong_type(self.api.statuses, "multipart/form-data"),
            FormError::Broken(why) => ApiError::broken_form(why),
        })
    }

    fn accepts_events(&self) -> bool {
        accepts_events(self.fields.accept)
    }

    fn missing(&self, member: &'static str) -> ApiError {
        ApiError::missing(self.api.statuses, member)
    }
}

pub(crate) fn accepts_events(accept: Option<&str>) -> bool {
    accept.is_some_and(|accept| accept.to_ascii_lowercase().contains("text/event-stream"))
}

/// The parsed request: the common parts, and the wording of this kind.
pub(crate) type Reading = (InferenceRequest, Box<dyn Wording>);

/// The parts of a request that decide the length and the times of its response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InferenceRequest {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) min_tokens: u32,
    pub(crate) ignore_eos: bool,
    pub(crate) n: u32,
    /// Responses of the same length that are given at once.
    pub(crate) choices: u32,
    pub(crate) prompt_tokens: u32,
    /// Events of a stream of pictures.
    pub(crate) pictures: u32,
    /// Further members for the truth log.
    pub(crate) noted: Vec<(&'static str, Value)>,
}

impl Default for InferenceRequest {
    fn default() -> Self {
        InferenceRequest {
            model: None,
            stream: false,
            max_tokens: None,
            min_tokens: 0,
            ignore_eos: false,
            n: 1,
            choices: 1,
            prompt_tokens: 0,
            pictures: 0,
            noted: Vec::new(),
        }
    }
}

/// A planned response.
pub(crate) struct PlannedResponse {
    pub(crate) request: InferenceRequest,
    pub(crate) model: String,
    pub(crate) number: u64,
    /// Seconds of the wall clock.
    pub(crate) created: u64,
    pub(crate) length: Length,
}

impl PlannedResponse {
    /// Plans the response to a request, or returns why there is none.
    pub(crate) fn plan(api: &Api, script: &Script, request: InferenceRequest, number: u64) -> Result<Self, ApiError> {
        let model = named_model(&script.config, &request)?;
        let length = Length::of(script, api.output, &request, number)?;
        Ok(PlannedResponse { request, model, number, created: crate::clock::wall_ns() / 1_000_000_000, length })
    }

    /// Tokens of one choice.
    fn text(&self, choice: u32, from: u32, to: u32) -> Cow<'static, str> {
        let word = |position| vocabulary::word(self.number.wrapping_add(u64::from(choice)), position);
        if to == from + 1 { word(from).into() } else { (from..to).map(word).collect::<String>().into() }
    }

    /// Sixteen hexadecimal digits that look random and never repeat.
    fn id(&self) -> String {
        format!("{:016x}", mixed(self.number))
    }
}

/// The model named in a response, or why there is none.
fn named_model(config: &SimConfig, request: &InferenceRequest) -> Result<String, ApiError> {
    match (&config.model, &request.model) {
        (Some(served), Some(asked)) if served != asked => Err(ApiError::unknown_model(asked, served)),
        (_, Some(asked)) => Ok(asked.clone()),
        (_, None) => Ok(config.listed_model().to_owned()),
    }
}

/// The finaliser of splitmix64: one to one, so distinct numbers stay distinct.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// New tokens: of each choice, those from one position up to another, not mixed with reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) reasoning: bool,
    pub(crate) last: bool,
}

impl Span {
    fn payload(self) -> Payload {
        if self.reasoning { Payload::Reasoning } else { Payload::Content }
    }
}

/// A body that is sent whole.
pub(crate) struct WholeBody {
    pub(crate) content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl WholeBody {
    fn json(bytes: impl Into<Vec<u8>>) -> Self {
        WholeBody { content_type: "application/json", bytes: bytes.into() }
    }
}

/// The form of the response to one request. Each event goes to the pen separately, and is stamped there.
///
/// The methods for events are called only if the request asked for a stream.
pub(crate) trait Wording: Send {
    /// The whole body of a response that is not streamed.
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody;

    /// With the head, before there is any content.
    fn open(&mut self, _: &mut Pen<'_, '_>, _: &PlannedResponse) {}

    fn tokens(&mut self, _: &mut Pen<'_, '_>, _: &PlannedResponse, _: Span) {}

    /// After the last tokens, unless these ended the body.
    fn close(&mut self, _: &mut Pen<'_, '_>, _: &PlannedResponse) {}

    /// An error in a stream that began well, as an event of its own type or as data; and the end of the body.
    fn fail(&mut self, pen: &mut Pen<'_, '_>, api: &Api, typed: bool) {
        let error = (api.error)(&ApiError::of_status(crate::http::Status(500)));
        pen.last_event(&[error_line(typed), b"data: ", &error.bytes, b"\n\n"], Payload::Nothing);
    }

    /// An event that is cut off within its JSON.
    fn break_json(&mut self, pen: &mut Pen<'_, '_>) {
        pen.event(&[b"data: {\"broken\":\"off", b"\n\n"], Payload::Nothing);
    }
}

fn error_line(typed: bool) -> &'static [u8] {
    if typed { b"event: error\n" } else { b"" }
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The body of `/v1/models`.
pub(crate) fn models(model: &str, created: u64, max_model_len: u32) -> Vec<u8> {
    serde_json::json!({"object": "list", "data": [{
        "id": model, "object": "model", "created": created, "owned_by": "aiperf-sim", "root": model, "parent": null,
        "max_model_len": max_model_len,
        "permission": [{
            "id": "modelperm-0", "object": "model_permission", "created": created, "allow_create_engine": false,
            "allow_sampling": true, "allow_logprobs": true, "allow_search_indices": false, "allow_view": true,
            "allow_fine_tuning": false, "organization": "*", "group": null, "is_blocking": false,
        }],
    }]})
    .to_string()
    .into_bytes()
}

#[cfg(test)]
pub(crate) fn read(path: &str, body: &str) -> Result<InferenceRequest, ApiError> {
    let api = Route::at(path).expect("a path of the table").api;
    let fields = Fields { content_type: Some(api.example.content_type), ..Fields::default() };
    let script = Script::new(SimConfig::default()).expect("defaults go together");
    let jobs = Arc::new(Jobs::all_done("m"));
    let ask = Ask { api, path, number: 0, fields, body: body.as_bytes(), script: &script, jobs: &jobs };
    (api.read)(&ask).map(|(request, _)| request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Status;

    #[test]
    fn every_kind_reads_its_example() {
        for api in &APIS {
            let path = api.paths[0];
            assert!(read(path, api.example.body).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_segment_in_braces_matches_any() {
        for (path, expected) in [("/a/1", true), ("/a/", false), ("/a", false), ("/a/1/b", false), ("/b/1", false)] {
            assert_eq!(matches_path("/a/{id}", path), expected, "{path}");
        }
    }

    #[test]
    fn the_newer_length_limit_wins() {
        let ask = read("/v1/completions", r#"{"prompt":"a","max_tokens":5,"max_completion_tokens":3}"#).unwrap();
        assert_eq!(ask.max_tokens, Some(3));
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        for body in ["{", "{}", r#"{"prompt":"a","max_tokens":0}"#, r#"{"prompt":"a","n":0}"#] {
            let refusal = read("/v1/completions", body).unwrap_err();
            assert_eq!(refusal.status, Status::BAD_REQUEST, "{body}");
        }
    }

    #[test]
    fn words_are_counted_in_every_shape_of_prompt() {
        for (path, body, choices, tokens) in [
            ("/v1/chat/completions", r#"{"messages":[{"role":"user","content":"one two\nthree"}]}"#, 1, 3),
            (
                "/v1/chat/completions",
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},
                    {"type":"image_url","image_url":{"url":"x y z"}}]},{"role":"assistant","content":null}]}"#,
                1,
                2,
            ),
            ("/v1/completions", r#"{"prompt":"a, b c."}"#, 1, 5),
            ("/v1/completions", r#"{"prompt":["a b","c"]}"#, 2, 3),
            ("/v1/completions", r#"{"prompt":[7,8,9]}"#, 1, 3),
            ("/v1/completions", r#"{"prompt":[[7,8],[9]]}"#, 2, 3),
            ("/v1/embeddings", r#"{"input":["a","b","c"]}"#, 1, 3),
        ] {
            let ask = read(path, body).unwrap();
            assert_eq!((ask.choices, ask.prompt_tokens), (choices, tokens), "{body}");
        }
    }
}
