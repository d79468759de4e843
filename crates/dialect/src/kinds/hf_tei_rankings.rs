//! Rankings of Hugging Face text embeddings inference.

use super::Dialect;
use crate::kinds::shared::rankings;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;
use serde_json::Value;

pub const DIALECT: Dialect = Dialect {
    inputs: inputs::of_query,
    ignores_max_tokens: true,
    ..Dialect::new(EndpointKind::HfTeiRankings, frame, |_| Box::new(Stateless(|json, _| rankings::read(json, ranked))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let asked = rankings::asked(request)?;
    let mut frame = Frame::default();
    frame.set("query", asked.query);
    frame.set("texts", asked.passages);
    frame.extend(request.extras());
    Ok(frame)
}

fn ranked(response: &Value) -> Option<Vec<Value>> {
    rankings::objects(if response.is_array() { Some(response) } else { response.get("results") })
}
