//! `/v1/chat/completions`.

use super::choices::{self, Choice, Shape};
use super::{Api, ApiError, Example, Output, Statuses, Streams};

pub(super) const API: Api = Api {
    name: "chat_completions",
    method: "POST",
    paths: &["/v1/chat/completions"],
    streams: Streams::ByMember,
    output: Output::Text { reasoning: true },
    read: |ask| choices::read_chat(ask, &SHAPE),
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"messages":[{"role":"user","content":"word"}]}"#),
};

static SHAPE: Shape = Shape {
    id: "chatcmpl-",
    object: "chat.completion.chunk",
    whole_object: "chat.completion",
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
    choice,
    tail: r#","prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null"#,
};

fn choice(index: usize, choice: &Choice) -> String {
    let (text, finish) = (&choice.text, choice.finish);
    let reasoning = match &choice.reasoning {
        Some(text) => format!(r#""reasoning_content":"{text}""#),
        None => r#""reasoning":null"#.to_owned(),
    };
    format!(
        r#"{{"index":{index},"message":{{"role":"assistant","content":"{text}","refusal":null,"annotations":null,"audio":null,"function_call":null,{reasoning}}},"logprobs":null,"finish_reason":"{finish}","stop_reason":null,"token_ids":null,"routed_experts":null}}"#
    )
}
