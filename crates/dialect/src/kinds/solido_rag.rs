//! SOLIDO: answers from documents, with their sources.

use super::{Carries, Dialect};
use crate::capture::TextCapture;
use crate::reader::{Data, Piece, Stateless, error_of};
use crate::request::{DialectError, Frame, Request};
use crate::{inputs, json};
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::SolidoRag,
    carries: Carries::LastTurn,
    frame,
    reader: |_| Box::new(Stateless(|json, _| read(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_query,
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
struct Said<'a> {
    #[serde(default, borrow)]
    content: Cow<'a, str>,
    #[serde(default)]
    sources: Option<Value>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

fn read(json: &str) -> Option<Piece<'_>> {
    match json::object::<Said<'_>>(json) {
        Some(Said { content, sources, .. }) if !content.is_empty() => {
            Some(Piece { data: Some(Data::Text(content)), sources, ..Piece::default() })
        }
        Some(Said { error: None, .. }) => Some(Piece::default()),
        _ => {
            let value: Value = serde_json::from_str(json).ok()?;
            Some(Piece { error: error_of(value.as_object()?), ..Piece::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_content_with_sources_as_they_are() {
        let piece = read(r#"{"content":"a \"b\"","sources":{"d":1}}"#).unwrap();
        assert_eq!((piece.data, piece.sources), (Some(Data::Text("a \"b\"".into())), Some(json!({"d": 1}))));
        for json in [r#"{"content":"","sources":[1]}"#, r#"{"content":5}"#, r#"{"sources":[1]}"#] {
            assert_eq!(read(json), Some(Piece::default()), "{json}");
        }
    }
}
