//! Rankings of NIM.

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
    ..Dialect::new(EndpointKind::NimRankings, frame, |_| {
        Box::new(Stateless(|json, _| rankings::read(json, |response| rankings::objects(response.get("rankings")))))
    })
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
