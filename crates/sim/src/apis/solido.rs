//! `/rag/api/prompt` of SOLIDO: a response and its sources; as events where the client accepts them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::fastapi;
use super::text::Text;
use super::{
    Api, ApiError, Ask, Example, InferenceRequest, Output, Pen, PlannedResponse, Reading, Span, Statuses, Streams,
    WholeBody, Wording,
};
use crate::truth::Payload;

pub(super) const API: Api = Api {
    name: "solido_rag",
    method: "POST",
    paths: &["/rag/api/prompt"],
    streams: Streams::ByAccept,
    output: Output::Text { reasoning: false },
    read,
    error: fastapi,
    statuses: Statuses::FASTAPI,
    example: Example::json(r#"{"query":["word"],"filters":{},"inference_model":"sim"}"#),
};

#[derive(Deserialize)]
struct Body {
    query: Option<Text>,
    filters: Option<Value>,
    inference_model: Option<String>,
}

fn read(ask: &Ask<'_>) -> Result<Reading, ApiError> {
    let body: Body = ask.json()?;
    let query = body.query.ok_or_else(|| ask.missing("query"))?;
    let filters = body.filters.ok_or_else(|| ask.missing("filters"))?;
    let model = body.inference_model.ok_or_else(|| ask.missing("inference_model"))?;
    let request = InferenceRequest {
        model: Some(model),
        stream: ask.accepts_events(),
        prompt_tokens: query.tokens,
        ..InferenceRequest::default()
    };
    Ok((request, Box::new(Reply { filters })))
}

struct Reply {
    filters: Value,
}

impl Reply {
    fn sources(&self, planned: &PlannedResponse) -> Value {
        let source = |index: u64| {
            json!({"id": format!("doc-{}", (planned.number + index) % 100), "title": format!("Document {index}"),
                "filters": self.filters})
        };
        json!([source(0), source(1)])
    }
}

impl Wording for Reply {
    fn tokens(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse, span: Span) {
        let text = planned.text(0, span.from, span.to);
        pen.event(&[b"data: {\"content\":\"", text.as_bytes(), b"\"}\n\n"], span.payload());
    }

    fn close(&mut self, pen: &mut Pen<'_, '_>, planned: &PlannedResponse) {
        let event = json!({"content": "", "sources": self.sources(planned)}).to_string();
        pen.last_event(&[b"data: ", event.as_bytes(), b"\n\n"], Payload::Nothing);
    }

    fn whole(&mut self, planned: &PlannedResponse) -> WholeBody {
        let content = planned.text(0, 0, planned.length.tokens);
        WholeBody::json(json!({"content": content, "sources": self.sources(planned)}).to_string())
    }
}
