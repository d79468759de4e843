//! What an inference request asks for.
//!
//! Prompt tokens are counted as words and punctuation marks of the text (token ids as themselves): near enough to show
//! growth and to fill `usage`, and free of any tokenizer.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::http::Status;

/// The inference endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Endpoint {
    Chat,
    Completions,
    Embeddings,
}

impl Endpoint {
    const ALL: [Endpoint; 3] = [Endpoint::Chat, Endpoint::Completions, Endpoint::Embeddings];

    pub(crate) fn path(self) -> &'static str {
        match self {
            Endpoint::Chat => "/v1/chat/completions",
            Endpoint::Completions => "/v1/completions",
            Endpoint::Embeddings => "/v1/embeddings",
        }
    }

    pub(crate) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.path() == path)
    }
}

/// A request body, reduced to what shapes the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InferenceRequest {
    pub(crate) model: Option<String>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) continuous_usage: bool,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) min_tokens: u32,
    pub(crate) ignore_eos: bool,
    pub(crate) n: u32,
    pub(crate) prompts: u32,
    pub(crate) prompt_tokens: u32,
}

/// Why a request is refused, in the words of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: Status,
    pub(crate) message: String,
    pub(crate) kind: &'static str,
    pub(crate) param: Option<&'static str>,
}

impl ApiError {
    pub(crate) fn of_status(status: Status) -> Self {
        ApiError { status, message: status.reason().to_owned(), kind: status.reason(), param: None }
    }

    fn bad_request(message: String, param: &'static str) -> Self {
        ApiError { status: Status::BAD_REQUEST, message, kind: "BadRequestError", param: Some(param) }
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
        }
    }

    /// The error object, as `{"error":{...}}`.
    pub(crate) fn body(&self) -> String {
        serde_json::json!({"error": {
            "message": self.message, "type": self.kind, "param": self.param, "code": self.status.0,
        }})
        .to_string()
    }
}

/// Reads a request body. Unknown members are ignored, as servers do.
pub(crate) fn parse(endpoint: Endpoint, body: &[u8]) -> Result<InferenceRequest, ApiError> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| ApiError {
        status: Status::BAD_REQUEST,
        message: format!("1 validation error:\n  JSON decode error: {error}"),
        kind: "Bad Request",
        param: Some("body"),
    })?;
    let (prompt, member) = match endpoint {
        Endpoint::Chat => (body.messages, "messages"),
        Endpoint::Completions => (body.prompt, "prompt"),
        Endpoint::Embeddings => (body.input, "input"),
    };
    let prompt = prompt.ok_or_else(|| ApiError::bad_request(format!("Field required: {member}"), member))?;
    let max_tokens = body.max_completion_tokens.or(body.max_tokens);
    if max_tokens == Some(0) {
        return Err(ApiError::bad_request("max_tokens must be at least 1, got 0.".to_owned(), "max_tokens"));
    }
    let n = body.n.unwrap_or(1);
    if !(1..=128).contains(&n) {
        return Err(ApiError::bad_request(format!("n must be from 1 to 128, got {n}."), "n"));
    }
    let options = body.stream_options.unwrap_or_default();
    Ok(InferenceRequest {
        model: body.model.map(Cow::into_owned),
        stream: body.stream.unwrap_or(false),
        include_usage: options.include_usage.unwrap_or(false),
        continuous_usage: options.continuous_usage_stats.unwrap_or(false),
        max_tokens,
        min_tokens: body.min_tokens.unwrap_or(0),
        ignore_eos: body.ignore_eos.unwrap_or(false),
        n,
        prompts: if endpoint == Endpoint::Chat { 1 } else { prompt.items },
        prompt_tokens: prompt.tokens,
    })
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    min_tokens: Option<u32>,
    ignore_eos: Option<bool>,
    n: Option<u32>,
    messages: Option<Text>,
    prompt: Option<Text>,
    input: Option<Text>,
}

#[derive(Deserialize, Default)]
struct StreamOptions {
    include_usage: Option<bool>,
    continuous_usage_stats: Option<bool>,
}

/// Text in any of the shapes the APIs take: a string, token ids, parts, messages, or lists of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Text {
    tokens: u32,
    /// Entries of the list, where it is a list of texts.
    items: u32,
    /// A bare number: one token of its list.
    is_token: bool,
}

impl Text {
    fn of(tokens: u32) -> Self {
        Text { tokens, items: 1, is_token: false }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text, token ids, or a list of them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text::of(prompt_tokens(text)))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Text, E> {
        Ok(Text { is_token: true, ..Text::of(1) })
    }

    fn visit_unit<E: de::Error>(self) -> Result<Text, E> {
        Ok(Text::of(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text, A::Error> {
        let mut total = Text { tokens: 0, items: 0, is_token: false };
        let mut only_tokens = true;
        while let Some(item) = list.next_element::<Text>()? {
            total.tokens = total.tokens.saturating_add(item.tokens);
            total.items += 1;
            only_tokens &= item.is_token;
        }
        if only_tokens {
            total.items = 1;
        }
        Ok(total)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        let mut total = Text::of(0);
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "content" | "text" => total.tokens = total.tokens.saturating_add(map.next_value::<Text>()?.tokens),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(total)
    }
}

/// Words and punctuation marks: for English prose within a few percent of what a tokenizer counts.
fn prompt_tokens(text: &str) -> u32 {
    let words = text.split_ascii_whitespace().count();
    let marks = text.bytes().filter(u8::is_ascii_punctuation).count();
    (words + marks) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_in_every_shape_of_prompt() {
        for (endpoint, body, prompts, tokens) in [
            (Endpoint::Chat, r#"{"messages":[{"role":"user","content":"one two\nthree"}]}"#, 1, 3),
            (
                Endpoint::Chat,
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},
                    {"type":"image_url","image_url":{"url":"x y z"}}]},{"role":"assistant","content":null}]}"#,
                1,
                2,
            ),
            (Endpoint::Completions, r#"{"prompt":"a, b c."}"#, 1, 5),
            (Endpoint::Completions, r#"{"prompt":["a b","c"]}"#, 2, 3),
            (Endpoint::Completions, r#"{"prompt":[7,8,9]}"#, 1, 3),
            (Endpoint::Completions, r#"{"prompt":[[7,8],[9]]}"#, 2, 3),
            (Endpoint::Embeddings, r#"{"input":["a","b","c"]}"#, 3, 3),
        ] {
            let ask = parse(endpoint, body.as_bytes()).unwrap();
            assert_eq!((ask.prompts, ask.prompt_tokens), (prompts, tokens), "{body}");
        }
    }

    #[test]
    fn the_newer_length_limit_wins() {
        let ask = parse(Endpoint::Completions, br#"{"prompt":"a","max_tokens":5,"max_completion_tokens":3}"#).unwrap();
        assert_eq!(ask.max_tokens, Some(3));
    }

    #[test]
    fn what_cannot_be_answered_is_refused() {
        for body in ["{", "{}", r#"{"prompt":"a","max_tokens":0}"#, r#"{"prompt":"a","n":0}"#] {
            let refusal = parse(Endpoint::Completions, body.as_bytes()).unwrap_err();
            assert_eq!(refusal.status, Status::BAD_REQUEST, "{body}");
        }
    }
}
