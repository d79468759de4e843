//! OpenAI embeddings.

use super::{Carries, Dialect};
use crate::kinds::shared::vectors;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::TextCapture;
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;
use serde_json::Value;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::Embeddings,
    carries: Carries::OneTurn,
    frame,
    reader: |_| Box::new(Stateless(|json, _| vectors::read(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
    is_free: false,
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.set("input", request.texts().map(Value::from).collect::<Vec<_>>());
    frame.extend(request.extras());
    Ok(frame)
}
