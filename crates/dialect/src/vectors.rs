//! Vectors in answers: what the types that give embeddings share.

use serde_json::{Map, Value};

/// The vectors of an answer, however it names them: entries of `data` that are embeddings, or a list `embeddings` or
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

/// What entries that are vectors say they are.
const EMBEDDING: &str = "embedding";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn vectors_are_found_under_every_name() {
        for (answer, wanted) in [
            (json!({"data": [{"object": "embedding", "embedding": [1]}, {"embedding": "AAAA"}]}), json!([[1], "AAAA"])),
            (json!({"embeddings": [[1.0]], "embedding": [2.0]}), json!([[1.0]])),
            (json!({"embedding": [1, 2]}), json!([[1, 2]])),
            (json!({"data": [], "embedding": [[3]]}), json!([[3]])),
            (json!({"data": [{"object": "other", "embedding": [1]}]}), Value::Null),
            (json!({"embeddings": [], "embedding": "AAAA"}), Value::Null),
        ] {
            assert_eq!(json!(embeddings_in(answer.as_object().unwrap())), wanted, "{answer}");
        }
    }
}
