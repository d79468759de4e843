//! `/v1/embeddings`: unit vectors, for texts, lists of texts, token ids, and (in `messages`) conversations.

use serde::Deserialize;

use super::text::Text;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording, json_string,
};

pub(super) const API: Api = Api {
    name: "embeddings",
    method: "POST",
    paths: &["/v1/embeddings"],
    streams: Streams::Never,
    output: Output::Result,
    read,
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"input":"word"}"#),
};

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    input: Option<Text>,
    messages: Option<Text>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    // A conversation is embedded as one text.
    let conversation = body.messages.map(Text::as_one);
    let input = body.input.or(conversation).ok_or_else(|| ask.missing("input"))?;
    let request = InferenceRequest { model: body.model, prompt_tokens: input.tokens, ..InferenceRequest::default() };
    Ok((request, Box::new(Vectors { count: input.items, dimension: ask.script.config.embedding_dim.get() })))
}

struct Vectors {
    count: u32,
    dimension: u32,
}

impl Wording for Vectors {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let Vectors { count, dimension } = *self;
        let data: Vec<String> = (0..count)
            .map(|index| {
                let hot = (planned.number as u32).wrapping_add(index) % dimension;
                let vector: Vec<&str> = (0..dimension).map(|place| if place == hot { "1.0" } else { "0.0" }).collect();
                format!(r#"{{"index":{index},"object":"embedding","embedding":[{}]}}"#, vector.join(","))
            })
            .collect();
        let prompt = planned.request.prompt_tokens;
        WholeBody::json(format!(
            r#"{{"id":"embd-{}","object":"list","created":{},"model":{},"data":[{}],"usage":{{"prompt_tokens":{prompt},"total_tokens":{prompt},"completion_tokens":0,"prompt_tokens_details":null}}}}"#,
            planned.id(),
            planned.created,
            json_string(&planned.model),
            data.join(",")
        ))
    }
}
