//! Embeddings of chat messages.

use super::{Carries, Dialect, chat};
use crate::capture::TextCapture;
use crate::inputs;
use crate::json;
use crate::reader::{Data, Piece, Stateless, error_of, usage_of};
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::ChatEmbeddings,
    carries: Carries::History(&chat::HISTORY),
    frame: chat::frame,
    reader: |_| Box::new(Stateless(|json, _| parse(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
};

fn parse(json: &str) -> Option<Piece<'_>> {
    let object: Map<String, Value> = json::read(json)?;
    let data = embeddings_of(&object).map(|vectors| Data::Embeddings(vectors.into()));
    Some(Piece { data, usage: usage_of(&object), error: error_of(&object), ..Piece::default() })
}

/// Vectors as a list of objects, or alone.
pub(crate) fn embeddings_of(object: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(Value::Array(list)) = object.get("data")
        && list.first().and_then(|first| first.get("object")).and_then(Value::as_str) == Some("embedding")
    {
        return Some(list.iter().filter_map(|entry| entry.get("embedding").cloned()).collect());
    }
    ["embeddings", "embedding"].iter().find_map(|member| match object.get(*member)?.as_array()?.as_slice() {
        vector @ [Value::Number(_), ..] => Some(vec![Value::Array(vector.to_vec())]),
        vectors @ [Value::Array(_), ..] => Some(vectors.to_vec()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn vectors_are_found_in_every_form() {
        for (body, vectors) in [
            (json!({"data": [{"object": "embedding", "embedding": [1]}, {"object": "embedding"}]}), json!([[1]])),
            (json!({"embedding": [1, 2]}), json!([[1, 2]])),
            (json!({"embeddings": [], "embedding": [[1], [2]]}), json!([[1], [2]])),
            (json!({"data": [{"object": "other"}]}), json!(null)),
            (json!({"embedding": "AAAA"}), json!(null)),
        ] {
            assert_eq!(json!(body.as_object().and_then(embeddings_of)), vectors, "{body}");
        }
    }
}
