//! The bytes of answers, in the shapes of vLLM 0.32: the events of a stream, and whole bodies.
//!
//! What is the same in every event of an answer is put together once; an event is then a few copies into one buffer.

use crate::inference::{ApiError, Endpoint};
use crate::speculation;

const FINGERPRINT: &str = concat!("aiperf-sim-", env!("CARGO_PKG_VERSION"));

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// At the limit; the last content event says so.
    Length,
    /// By itself; an event without text says so.
    Stop,
}

impl Finish {
    fn name(self) -> &'static str {
        match self {
            Finish::Length => "length",
            Finish::Stop => "stop",
        }
    }
}

/// How one endpoint writes its events.
struct Shape {
    id: &'static str,
    object: &'static str,
    role: Option<(&'static str, &'static str)>,
    text: &'static str,
    reasoning: &'static str,
    more: &'static str,
    length: &'static str,
    stop: &'static str,
    /// Beside the counts in the usage event.
    prompt_details: &'static str,
    /// Beside the counts in a whole answer.
    whole_prompt_details: &'static str,
}

const CHAT: Shape = Shape {
    id: "chatcmpl-",
    object: "chat.completion.chunk",
    role: Some((
        r#","delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]"#,
        r#","prompt_token_ids":null,"prompt_text":null"#,
    )),
    text: r#","delta":{"content":""#,
    reasoning: r#","delta":{"reasoning_content":""#,
    more: r#""},"logprobs":null,"finish_reason":null,"token_ids":null}]"#,
    length: r#""},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":null}]"#,
    stop: r#""},"logprobs":null,"finish_reason":"stop","stop_reason":null,"token_ids":null}]"#,
    prompt_details: r#","prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":0}"#,
    whole_prompt_details: r#","prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":0,"multimodal_tokens":null}"#,
};

const COMPLETIONS: Shape = Shape {
    id: "cmpl-",
    object: "text_completion",
    role: None,
    text: r#","text":""#,
    reasoning: r#","text":""#,
    more: r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    length: r#"","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    stop: r#"","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    prompt_details: r#","prompt_tokens_details":{"cached_tokens":0}"#,
    whole_prompt_details: r#","prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":null,"multimodal_tokens":null}"#,
};

/// Token counts as `usage` reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) prompt: u32,
    pub(crate) completion: u32,
    pub(crate) reasoning: u32,
    /// Tokens drafted ahead in each step; none, and nothing is said of it.
    pub(crate) drafts: u32,
}

impl Usage {
    fn speculation(&self) -> Option<String> {
        (self.drafts > 0).then(|| speculation::metrics(self.completion, self.drafts))
    }

    fn counts(&self) -> String {
        let Usage { prompt, completion, .. } = self;
        let total = prompt.saturating_add(*completion);
        format!(r#""prompt_tokens":{prompt},"total_tokens":{total},"completion_tokens":{completion}"#)
    }

    fn reasoning_details(&self) -> Option<String> {
        (self.reasoning > 0)
            .then(|| format!(r#","completion_tokens_details":{{"reasoning_tokens":{}}}"#, self.reasoning))
    }
}

/// What an event says of one choice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) choice: u32,
    pub(crate) text: &'a str,
    pub(crate) reasoning: bool,
    pub(crate) finish: Option<Finish>,
    /// `usage` beside the text, for `continuous_usage_stats`.
    pub(crate) usage: Option<Usage>,
}

/// The events of one answer. Every method appends one event, framed as the answer is.
pub(crate) struct Events {
    frame: fn(&mut Vec<u8>, &[&[u8]]),
    shape: &'static Shape,
    /// From `data: {"id"` to `"choices":[`.
    opening: Vec<u8>,
}

impl Events {
    pub(crate) fn new(
        endpoint: Endpoint,
        number: u64,
        created: u64,
        model: &str,
        frame: fn(&mut Vec<u8>, &[&[u8]]),
    ) -> Self {
        let shape = if endpoint == Endpoint::Completions { &COMPLETIONS } else { &CHAT };
        let opening = format!(
            r#"data: {{"id":"{}{}","object":"{}","created":{created},"model":{},"choices":["#,
            shape.id,
            answer_id(number),
            shape.object,
            json_string(model)
        );
        Events { frame, shape, opening: opening.into_bytes() }
    }

    /// The event that opens a choice, where the endpoint has one.
    pub(crate) fn write_role(&self, out: &mut Vec<u8>, choice: u32, usage: Option<Usage>) -> bool {
        let Some((head, tail)) = self.shape.role else { return false };
        let mut index = itoa::Buffer::new();
        let parts: [&[u8]; 7] = [
            &self.opening,
            br#"{"index":"#,
            index.format(choice).as_bytes(),
            head.as_bytes(),
            &continuous_usage(usage),
            tail.as_bytes(),
            b"}\n\n",
        ];
        (self.frame)(out, &parts);
        true
    }

    /// Text, reasoning, or the end of a choice.
    pub(crate) fn write_piece(&self, out: &mut Vec<u8>, piece: Piece<'_>) {
        let mut index = itoa::Buffer::new();
        let before = if piece.reasoning { self.shape.reasoning } else { self.shape.text };
        let after = match piece.finish {
            None => self.shape.more,
            Some(Finish::Length) => self.shape.length,
            Some(Finish::Stop) => self.shape.stop,
        };
        let parts: [&[u8]; 8] = [
            &self.opening,
            br#"{"index":"#,
            index.format(piece.choice).as_bytes(),
            before.as_bytes(),
            piece.text.as_bytes(),
            after.as_bytes(),
            &continuous_usage(piece.usage),
            b"}\n\n",
        ];
        (self.frame)(out, &parts);
    }

    /// The event that tells the token counts of the whole answer.
    pub(crate) fn write_usage(&self, out: &mut Vec<u8>, usage: Usage) {
        let metrics = usage.speculation().map(|metrics| format!(r#","metrics":{metrics}"#)).unwrap_or_default();
        let text = format!(
            r#"],"usage":{{{}{}{}}},"system_fingerprint":"{FINGERPRINT}"{metrics}}}"#,
            usage.counts(),
            self.shape.prompt_details,
            usage.reasoning_details().unwrap_or_default()
        );
        (self.frame)(out, &[&self.opening, text.as_bytes(), b"\n\n"]);
    }

    /// An event that breaks off within its JSON.
    pub(crate) fn write_broken_json(&self, out: &mut Vec<u8>) {
        (self.frame)(out, &[&self.opening, br#"{"index":0,"delta":{"con"#, b"\n\n"]);
    }

    /// A line that is no event.
    pub(crate) fn write_broken_sse(&self, out: &mut Vec<u8>) {
        (self.frame)(out, &[b"{\"this line has no field name\n\n"]);
    }

    /// An error inside a stream that began well: as an event of its own type, or as data.
    pub(crate) fn write_error(&self, out: &mut Vec<u8>, typed: bool) {
        let error = ApiError::of_status(crate::http::Status(500));
        let event: &[u8] = if typed { b"event: error\n" } else { b"" };
        (self.frame)(out, &[event, b"data: ", error.body().as_bytes(), b"\n\n"]);
    }

    /// `[DONE]`.
    pub(crate) fn write_done(&self, out: &mut Vec<u8>) {
        (self.frame)(out, &[b"data: [DONE]\n\n"]);
    }
}

fn continuous_usage(usage: Option<Usage>) -> Vec<u8> {
    let Some(usage) = usage else { return Vec::new() };
    let details = usage.reasoning_details().unwrap_or_else(|| r#","completion_tokens_details":null"#.to_owned());
    format!(r#","usage":{{{}{details}}}"#, usage.counts()).into_bytes()
}

/// One finished choice of a whole answer.
pub(crate) struct Choice {
    pub(crate) text: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) finish: Finish,
}

/// The body of an answer that is not streamed.
pub(crate) fn whole(
    endpoint: Endpoint,
    number: u64,
    created: u64,
    model: &str,
    choices: &[Choice],
    usage: Usage,
) -> Vec<u8> {
    let (shape, object, choice, tail) = match endpoint {
        Endpoint::Completions => (&COMPLETIONS, "text_completion", completions_choice as fn(_, _) -> _, ""),
        _ => (
            &CHAT,
            "chat.completion",
            chat_choice as fn(_, _) -> _,
            r#","prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null"#,
        ),
    };
    let choices: Vec<String> = choices.iter().enumerate().map(|(index, text)| choice(index, text)).collect();
    let details = usage.reasoning_details().unwrap_or_else(|| r#","completion_tokens_details":null"#.to_owned());
    format!(
        r#"{{"id":"{}{}","object":"{object}","created":{created},"model":{},"choices":[{}],"service_tier":null,"system_fingerprint":"{FINGERPRINT}","usage":{{{}{}{details}}}{tail},"kv_transfer_params":null,"ec_transfer_params":null,"metrics":{}}}"#,
        shape.id,
        answer_id(number),
        json_string(model),
        choices.join(","),
        usage.counts(),
        shape.whole_prompt_details,
        usage.speculation().as_deref().unwrap_or("null"),
    )
    .into_bytes()
}

fn chat_choice(index: usize, choice: &Choice) -> String {
    let (text, finish) = (&choice.text, choice.finish.name());
    let reasoning = match &choice.reasoning {
        Some(text) => format!(r#""reasoning_content":"{text}""#),
        None => r#""reasoning":null"#.to_owned(),
    };
    format!(
        r#"{{"index":{index},"message":{{"role":"assistant","content":"{text}","refusal":null,"annotations":null,"audio":null,"function_call":null,{reasoning}}},"logprobs":null,"finish_reason":"{finish}","stop_reason":null,"token_ids":null,"routed_experts":null}}"#
    )
}

fn completions_choice(index: usize, choice: &Choice) -> String {
    let (text, finish) = (&choice.text, choice.finish.name());
    format!(
        r#"{{"index":{index},"text":"{text}","logprobs":null,"finish_reason":"{finish}","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}}"#
    )
}

/// The body of an embeddings answer: `count` unit vectors.
pub(crate) fn embeddings(number: u64, created: u64, model: &str, count: u32, dimension: u32, prompt: u32) -> Vec<u8> {
    let data: Vec<String> = (0..count)
        .map(|index| {
            let hot = (number as u32).wrapping_add(index) % dimension;
            let vector: Vec<&str> = (0..dimension).map(|place| if place == hot { "1.0" } else { "0.0" }).collect();
            format!(r#"{{"index":{index},"object":"embedding","embedding":[{}]}}"#, vector.join(","))
        })
        .collect();
    format!(
        r#"{{"id":"embd-{}","object":"list","created":{created},"model":{},"data":[{}],"usage":{{"prompt_tokens":{prompt},"total_tokens":{prompt},"completion_tokens":0,"prompt_tokens_details":null}}}}"#,
        answer_id(number),
        json_string(model),
        data.join(",")
    )
    .into_bytes()
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

/// Sixteen hexadecimal digits that look random and never repeat.
fn answer_id(number: u64) -> String {
    // The finaliser of splitmix64: one to one, so distinct numbers stay distinct.
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", mixed ^ (mixed >> 31))
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
