//! Rankings of NIM.

use super::{Carries, Dialect};
use crate::kinds::shared::rankings;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::TextCapture;
use crate::response::reader::Stateless;
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::NimRankings,
    carries: Carries::OneTurn,
    frame,
    reader: |_| Box::new(Stateless(|json, _| rankings::read(json, |answer| rankings::objects(answer.get("rankings"))))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_query,
    is_free: false,
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let asked = rankings::asked(request)?;
    let passages: Vec<Value> = asked.passages.iter().map(|passage| json!({"text": passage})).collect();
    let mut frame = Frame::default();
    frame.set("model", request.model());
    frame.set("query", json!({"text": asked.query}));
    frame.set("passages", passages);
    frame.extend(request.extras());
    Ok(frame)
}
