//! `/v1/rerank` and `/v2/rerank`: the API of Cohere as vLLM 0.32 answers it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::ranking::scores;
use super::text::tokens_of;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording,
};

pub(super) const API: Api = Api {
    name: "rerank",
    method: "POST",
    paths: &["/v2/rerank", "/v1/rerank"],
    streams: Streams::Never,
    output: Output::Result,
    read,
    error: ApiError::openai,
    statuses: Statuses::VLLM,
    example: Example::json(r#"{"query":"word","documents":["word"]}"#),
};

#[derive(Deserialize)]
struct Body {
    model: Option<String>,
    query: Option<Value>,
    documents: Option<Vec<Value>>,
    top_n: Option<usize>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let query = body.query.ok_or_else(|| ask.missing("query"))?;
    let documents = body.documents.ok_or_else(|| ask.missing("documents"))?;
    // The query is read again with every document.
    let pairs = documents.len() as u32;
    let read = documents.iter().map(tokens_of).fold(tokens_of(&query).saturating_mul(pairs), u32::saturating_add);
    let request = InferenceRequest { model: body.model, prompt_tokens: read, ..InferenceRequest::default() };
    let top_n = body.top_n.filter(|count| *count > 0).unwrap_or(documents.len());
    Ok((request, Box::new(Ranked { documents, top_n })))
}

struct Ranked {
    documents: Vec<Value>,
    top_n: usize,
}

impl Wording for Ranked {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let document = |index: usize| match &self.documents[index] {
            Value::String(text) => json!({"text": text, "multi_modal": null}),
            given => json!({"text": given["text"], "multi_modal": null}),
        };
        let results: Vec<Value> = scores(planned, self.documents.len())
            .into_iter()
            .take(self.top_n)
            .map(|(index, score)| json!({"index": index, "document": document(index), "relevance_score": score}))
            .collect();
        let prompt = planned.request.prompt_tokens;
        let body = json!({
            "id": format!("rerank-{}", planned.id()), "model": planned.model,
            "usage": {"prompt_tokens": prompt, "total_tokens": prompt}, "results": results,
        });
        WholeBody::json(body.to_string())
    }
}
