//! Vectors in responses: shared by the types that return embeddings.

use crate::response::reader::{Data, Piece, ResponseError, error_of, usage_from, usage_of};
use crate::response::vectors::Vectors;
use crate::text::json;
use crate::text::lenient::Object;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The vectors of a response, under any of its names: entries of `data` that are embeddings, or a list `embeddings` or
/// `embedding` of vectors or of the numbers of one.
pub fn embeddings_in(object: &Map<String, Value>) -> Option<Vec<Value>> {
    if let Some(Value::Array(entries)) = object.get("data")
        && entries.first().and_then(|entry| entry.get("object")?.as_str()) == Some(EMBEDDING)
    {
        return Some(entries.iter().filter_map(|entry| entry.get("embedding")).cloned().collect());
    }
    ["embeddings", "embedding"].iter().find_map(|member| match object.get(*member)? {
        Value::Array(list) => match list.first()? {
            Value::Number(_) => Some(vec![Value::Array(list.clone())]),
            Value::Array(_) => Some(list.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// The type that entries with vectors declare.
const EMBEDDING: &str = "embedding";

/// The usual body of servers, read without building a tree.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default, borrow)]
    data: Option<Vec<Object<Entry<'a>>>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    object: Cow<'a, str>,
    #[serde(default, borrow)]
    embedding: Option<&'a RawValue>,
}

/// Reads a response whose `data` is embeddings and nothing else.
pub(crate) fn read(json: &str) -> Option<Piece<'_>> {
    let is_embedding = |entry: &Object<Entry<'_>>| entry.0.as_ref().is_some_and(|entry| entry.object == EMBEDDING);
    match json::object::<Body<'_>>(json) {
        Some(Body { data, usage, error: None }) if data.iter().flatten().all(is_embedding) => {
            let vectors = data.into_iter().flatten().filter_map(|entry| entry.0?.embedding);
            let vectors = Vectors(vectors.map(|vector| vector.get().into()).collect());
            let data = (!vectors.is_empty()).then_some(Data::Embeddings(vectors));
            Some(Piece { data, usage: usage.and_then(usage_from), ..Piece::default() })
        }
        _ => read_tree(json),
    }
}

fn read_tree(json: &str) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object()?;
    let list = || {
        let message = format!("Received invalid list in response: {}", json::shown(json));
        ResponseError::Invalid { kind: "ValueError", message }
    };
    let is_embedding = |entry: &Value| entry.get("object").and_then(Value::as_str) == Some(EMBEDDING);
    let (vectors, fault) = match object.get("data") {
        Some(Value::Array(entries)) if entries.iter().all(is_embedding) => {
            let vectors = entries.iter().filter_map(|entry| entry.get("embedding")).filter(|vector| !vector.is_null());
            (Vectors::from(vectors.cloned().collect::<Vec<_>>()), None)
        }
        Some(Value::Array(_)) => (Vectors::default(), Some(list())),
        Some(Value::Object(members)) if !members.is_empty() => (Vectors::default(), Some(list())),
        Some(Value::String(text)) if !text.is_empty() => (Vectors::default(), Some(list())),
        _ => (Vectors::default(), None),
    };
    let error = error_of(object).or(fault);
    let data = (!vectors.is_empty()).then_some(Data::Embeddings(vectors));
    Some(Piece { data, usage: usage_of(object), error, ..Piece::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_in_place_of_an_entry_is_no_embedding() {
        for json in [r#"{"data":[["embedding"]]}"#, r#"{"data":[["embedding",[1]]]}"#] {
            let piece = read(json).unwrap();
            assert!(piece.data.is_none() && piece.error.is_some(), "{json}");
        }
    }

    #[test]
    fn vectors_are_found_under_every_name() {
        for (response, wanted) in [
            (json!({"data": [{"object": "embedding", "embedding": [1]}, {"embedding": "AAAA"}]}), json!([[1], "AAAA"])),
            (json!({"embeddings": [[1.0]], "embedding": [2.0]}), json!([[1.0]])),
            (json!({"embedding": [1, 2]}), json!([[1, 2]])),
            (json!({"data": [], "embedding": [[3]]}), json!([[3]])),
            (json!({"data": [{"object": "other", "embedding": [1]}]}), Value::Null),
            (json!({"embeddings": [], "embedding": "AAAA"}), Value::Null),
        ] {
            assert_eq!(json!(embeddings_in(response.as_object().unwrap())), wanted, "{response}");
        }
    }

    #[test]
    fn the_short_way_and_the_tree_read_the_same() {
        for json in [
            r#"{"data":[{"object":"embedding","embedding":[0.5,1]},{"object":"embedding","embedding":null}]}"#,
            r#"{"data":[{"object":"embedding","embedding":"AAAA"}],"usage":{"prompt_tokens":4}}"#,
            r#"{"data":[{"object":"embedding"}],"usage":null,"error":null}"#,
            r#"{"data":[],"usage":{}}"#,
            r#"{"data":null}"#,
            "{}",
        ] {
            assert_eq!(read(json), read_tree(json), "{json}");
        }
    }

    #[test]
    fn entries_that_are_no_embeddings_fail_the_response() {
        for json in [r#"{"data":[{"object":"other"}]}"#, r#"{"data":[1]}"#, r#"{"data":{"a":1}}"#, r#"{"data":"x"}"#] {
            let Some(ResponseError::Invalid { kind, message }) = read(json).unwrap().error else { panic!("{json}") };
            assert_eq!((kind, message.contains(json)), ("ValueError", true), "{message}");
        }
    }

    #[test]
    fn the_error_of_the_server_comes_before_what_is_wrong_with_its_list() {
        let reported = ResponseError::Reported { code: None, message: "too long".into() };
        assert_eq!(read(r#"{"error":{"message":"too long"},"data":"x"}"#).unwrap().error, Some(reported));
    }
}
