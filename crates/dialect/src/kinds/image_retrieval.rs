//! What is found in images: object detection and OCR of NIM.

use super::Dialect;
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Piece, Stateless, error_of};
use crate::text::json::is_truthy;
use aiperf_types::EndpointKind;
use serde_json::{Value, json};

pub const DIALECT: Dialect = Dialect {
    inputs: inputs::of_images,
    ignores_max_tokens: true,
    ..Dialect::new(EndpointKind::ImageRetrieval, frame, |_| Box::new(Stateless(|json, _| read(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let input: Vec<Value> = request.images().map(|url| json!({"type": "image_url", "url": url})).collect();
    if input.is_empty() {
        return Err(DialectError::Missing(request.api.endpoint.kind.name(), "an image"));
    }
    let mut frame = Frame::default();
    frame.set("input", input);
    frame.extend(request.extras());
    Ok(frame)
}

fn read(json: &str) -> Option<Piece<'_>> {
    let mut value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object_mut()?;
    let found = object.get_mut("data").map(Value::take).filter(|found| is_truthy(Some(found)));
    Some(Piece { data: found.map(Data::ImageRetrieval), error: error_of(object), ..Piece::default() })
}
