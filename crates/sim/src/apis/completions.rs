//! `/v1/completions`.

use super::choices::{self, Choice, Shape};
use super::{Api, ApiError, Example, Output, Statuses, Streams};

pub(super) const API: Api = Api {
    name: "completions",
    method: "POST",
    paths: &["/v1/completions"],
    streams: Streams::ByMember,
    output: Output::Text { reasoning: false },
    read: |ask| choices::read_completions(ask, &SHAPE),
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"prompt":"word"}"#),
};

static SHAPE: Shape = Shape {
    id: "cmpl-",
    object: "text_completion",
    whole_object: "text_completion",
    role: None,
    text: r#","text":""#,
    reasoning: r#","text":""#,
    more: r#"","logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    length: r#"","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    stop: r#"","logprobs":null,"finish_reason":"stop","stop_reason":null,"prompt_token_ids":null,"token_ids":null}]"#,
    prompt_details: r#","prompt_tokens_details":{"cached_tokens":0}"#,
    whole_prompt_details: r#","prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":null,"multimodal_tokens":null}"#,
    choice,
    tail: "",
};

fn choice(index: usize, choice: &Choice) -> String {
    let (text, finish) = (&choice.text, choice.finish);
    format!(
        r#"{{"index":{index},"text":"{text}","logprobs":null,"finish_reason":"{finish}","stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}}"#
    )
}
