//! OpenAI embeddings.

use super::Dialect;
use crate::kinds::shared::vectors;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

pub const DIALECT: Dialect = Dialect {
    ignores_max_tokens: true,
    embeds_each_input: true,
    smallest_request: Some(|model| json!({"input": "Lo", "model": model})),
    ..Dialect::new(EndpointKind::Embeddings, frame, |_| Box::new(Stateless(|json, _| vectors::read(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.set("input", request.texts().map(Value::from).collect::<Vec<_>>());
    frame.extend(request.extras());
    Ok(frame)
}
