//! SOLIDO: answers from documents, with their sources.

use super::{Carries, Dialect};
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Piece, Stateless, error_of};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    inputs: inputs::of_query,
    ..Dialect::new(EndpointKind::SolidoRag, frame, |_| Box::new(Stateless(|json, _| read(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut frame = Frame::default();
    frame.set("query", request.texts().map(Value::from).collect::<Vec<_>>());
    frame.set("filters", json!({"family": "Solido", "tool": "SDE"}));
    frame.set("inference_model", request.model());
    frame.extend(request.extras());
    Ok(frame)
}

#[derive(Deserialize)]
struct RagResponse<'a> {
    #[serde(default, borrow)]
    content: Cow<'a, str>,
    #[serde(default)]
    sources: Option<Value>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

fn read(json: &str) -> Option<Piece<'_>> {
    match json::object::<RagResponse<'_>>(json) {
        Some(RagResponse { content, sources, error: None }) => Some(piece(content, sources)),
        _ => read_tree(json),
    }
}

fn read_tree(json: &str) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object()?;
    let content = object.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
    let piece = piece(content.into(), object.get("sources").filter(|sources| !sources.is_null()).cloned());
    Some(Piece { error: error_of(object), ..piece })
}

/// Sources of a response without content are those of nothing.
fn piece(content: Cow<'_, str>, sources: Option<Value>) -> Piece<'_> {
    if content.is_empty() {
        return Piece::default();
    }
    Piece { data: Some(Data::Text(content)), sources, ..Piece::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_its_content_with_sources_as_they_are() {
        let piece = read(r#"{"content":"a \"b\"","sources":{"d":1}}"#).unwrap();
        assert_eq!((piece.data, piece.sources), (Some(Data::Text("a \"b\"".into())), Some(json!({"d": 1}))));
        for json in [r#"{"content":"","sources":[1]}"#, r#"{"content":5}"#, r#"{"sources":[1]}"#] {
            assert_eq!(read(json), Some(Piece::default()), "{json}");
        }
    }

    #[test]
    fn the_short_way_and_the_tree_read_the_same() {
        for json in [r#"{"content":"a","sources":[1]}"#, r#"{"content":"a\n","sources":null}"#, r#"{"content":"a"}"#] {
            assert_eq!(read(json), read_tree(json), "{json}");
        }
    }
}
