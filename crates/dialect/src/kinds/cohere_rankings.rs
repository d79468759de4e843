//! Rankings as Cohere has them; vLLM and others too.

use super::Dialect;
use crate::kinds::shared::rankings;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

pub const DIALECT: Dialect = Dialect {
    inputs: inputs::of_query,
    ignores_max_tokens: true,
    ..Dialect::new(EndpointKind::CohereRankings, frame, |_| {
        Box::new(Stateless(|json, _| rankings::read(json, results)))
    })
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let asked = rankings::asked(request)?;
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.set("query", asked.query);
    frame.set("documents", asked.passages);
    frame.extend(request.extras());
    Ok(frame)
}

fn results(response: &Value) -> Option<Vec<Value>> {
    let results = response.get("results")?.as_array()?.iter().filter_map(Value::as_object);
    Some(results.map(|result| json!({"index": result.get("index"), "score": result.get("relevance_score")})).collect())
}
