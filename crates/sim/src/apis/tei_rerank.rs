//! `/rerank` of the text embeddings server of Hugging Face: a bare list.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::axum;
use super::ranking::scores;
use super::text::prompt_tokens;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, PlannedResponse, Reading, Statuses, Streams, WholeBody,
    Wording,
};

pub(super) const API: Api = Api {
    name: "tei_rerank",
    method: "POST",
    paths: &["/rerank"],
    streams: Streams::Never,
    output: Output::Result,
    read,
    error: |error| axum(error, "Backend"),
    statuses: Statuses::AXUM,
    example: Example::json(r#"{"query":"word","texts":["word"]}"#),
};

#[derive(Deserialize)]
struct Body {
    query: Option<String>,
    texts: Option<Vec<String>>,
    return_text: Option<bool>,
    raw_scores: Option<bool>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let query = body.query.ok_or_else(|| ask.missing("query"))?;
    let texts = body.texts.ok_or_else(|| ask.missing("texts"))?;
    if texts.is_empty() {
        return Err(ApiError { kind: "Empty", ..ApiError::bad_request("`texts` cannot be empty".to_owned(), "texts") });
    }
    let pairs = texts.len() as u32;
    let tokens = texts.iter().map(|text| prompt_tokens(text));
    let read = tokens.fold(prompt_tokens(&query).saturating_mul(pairs), u32::saturating_add);
    let request = InferenceRequest { prompt_tokens: read, ..InferenceRequest::default() };
    let (return_text, raw_scores) = (body.return_text.unwrap_or(false), body.raw_scores.unwrap_or(false));
    Ok((request, Box::new(Ranks { texts, return_text, raw_scores })))
}

struct Ranks {
    texts: Vec<String>,
    return_text: bool,
    raw_scores: bool,
}

impl Wording for Ranks {
    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let rank = |(index, score): (usize, f64)| {
            let score = if self.raw_scores { logit(score) } else { score };
            match self.return_text {
                true => json!({"index": index, "text": self.texts[index], "score": score}),
                false => json!({"index": index, "score": score}),
            }
        };
        let ranks: Vec<Value> = scores(planned, self.texts.len()).into_iter().map(rank).collect();
        WholeBody::json(Value::from(ranks).to_string())
    }
}

/// What a score was before it was scaled between 0 and 1.
pub(super) fn logit(score: f64) -> f64 {
    let inside = score.clamp(1e-9, 1.0 - 1e-9);
    (inside / (1.0 - inside)).ln()
}
