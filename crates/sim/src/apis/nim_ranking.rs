//! `/v1/ranking` of NVIDIA NIM.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::nim;
use super::ranking::scores;
use super::tei_rerank::logit;
use super::text::prompt_tokens;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording,
};

pub(super) const API: Api = Api {
    name: "nim_ranking",
    method: "POST",
    paths: &["/v1/ranking"],
    streams: Streams::Never,
    output: Output::Result,
    read,
    error: nim,
    statuses: Statuses::FASTAPI,
    example: Example::json(r#"{"query":{"text":"word"},"passages":[{"text":"word"}]}"#),
};

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    query: Option<Passage>,
    passages: Option<Vec<Passage>>,
}

#[derive(Deserialize)]
struct Passage {
    text: String,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let query = body.query.ok_or_else(|| ask.missing("query"))?;
    let passages = body.passages.ok_or_else(|| ask.missing("passages"))?;
    let pairs = passages.len() as u32;
    let tokens = passages.iter().map(|passage| prompt_tokens(&passage.text));
    let read = tokens.fold(prompt_tokens(&query.text).saturating_mul(pairs), u32::saturating_add);
    let request = InferenceRequest { model: body.model, prompt_tokens: read, ..InferenceRequest::default() };
    Ok((request, Box::new(Rankings { passages: passages.len() })))
}

struct Rankings {
    passages: usize,
}

impl Wording for Rankings {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let rankings: Vec<Value> = scores(planned, self.passages)
            .into_iter()
            .map(|(index, score)| json!({"index": index, "logit": logit(score)}))
            .collect();
        let prompt = planned.request.prompt_tokens;
        let body = json!({"rankings": rankings, "usage": {"prompt_tokens": prompt, "total_tokens": prompt}});
        WholeBody::json(body.to_string())
    }
}
