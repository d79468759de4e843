//! A query and passages to rank: shared by the types that rank.

use crate::request::{DialectError, Request};
use crate::response::reader::{Data, Piece, error_in_list, error_of, usage_of};
use aiperf_types::Turn;
use serde_json::{Map, Value};

/// The query and passages of a turn.
pub(crate) struct Asked<'a> {
    pub(crate) query: &'a str,
    pub(crate) passages: Vec<&'a str>,
}

/// The query and the passages of a request, by the names of its texts.
pub(crate) fn asked<'a>(request: &'a Request<'_>) -> Result<Asked<'a>, DialectError> {
    let kind = request.api.endpoint.kind.name();
    let query = named(request.turn, is_query).next().ok_or(DialectError::Missing(kind, "a text named 'query'"))?;
    Ok(Asked { query, passages: named(request.turn, is_passages).collect() })
}

pub(crate) fn is_query(name: &str) -> bool {
    matches!(name, "query" | "queries")
}

pub(crate) fn is_passages(name: &str) -> bool {
    name == "passages"
}

/// Contents of texts with such a name: an empty passage is ranked as well.
pub(crate) fn named(turn: &Turn, is_wanted: fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let media = turn.texts.iter().filter(move |media| is_wanted(&media.name));
    media.flat_map(|media| &media.contents).map(String::as_str)
}

/// Reads a response with the rankings that `find` finds in it.
pub(crate) fn read(json: &str, find: fn(&Value) -> Option<Vec<Value>>) -> Option<Piece<'static>> {
    let value: Value = serde_json::from_str(json).ok()?;
    if let error @ Some(_) = error_in_list(&value) {
        return Some(Piece { error, ..Piece::default() });
    }
    let data = find(&value).filter(|rankings| !rankings.is_empty()).map(Data::Rankings);
    let empty = Map::new();
    let object = match &value {
        Value::Object(object) => object,
        Value::Array(_) => &empty,
        _ => return None,
    };
    Some(Piece { data, usage: usage_of(object), error: error_of(object), ..Piece::default() })
}

/// The objects of a list.
pub(crate) fn objects(list: Option<&Value>) -> Option<Vec<Value>> {
    Some(list?.as_array()?.iter().filter(|item| item.is_object()).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::reader::{Delivery, ResponseError};
    use crate::testing::api;
    use aiperf_types::EndpointKind;
    use serde_json::json;

    fn read(kind: EndpointKind, body: &str) -> Piece<'_> {
        let api = api(kind);
        (api.dialect.reader)(&api).read(body, Delivery::Body).unwrap_or_default()
    }

    #[test]
    fn responses_of_servers_are_read_with_their_usage() {
        let result = json!({"index": 1, "document": {"text": "a"}, "relevance_score": 0.9});
        let vllm =
            json!({"id": "rerank-1", "model": "m", "usage": {"total_tokens": 9}, "results": [result]}).to_string();
        let piece = read(EndpointKind::CohereRankings, &vllm);
        assert_eq!(piece.data, Some(Data::Rankings(vec![json!({"index": 1, "score": 0.9})])));
        assert_eq!(json!(piece.usage), json!({"total_tokens": 9}));

        let ranked = vec![json!({"index": 0, "score": 0.5})];
        assert_eq!(
            read(EndpointKind::HfTeiRankings, &json!(ranked).to_string()).data,
            Some(Data::Rankings(ranked.clone()))
        );

        let nim = json!({"rankings": [{"index": 0, "logit": 1.5}], "usage": {"prompt_tokens": 4, "total_tokens": 4}})
            .to_string();
        let piece = read(EndpointKind::NimRankings, &nim);
        assert_eq!(piece.data, Some(Data::Rankings(vec![json!({"index": 0, "logit": 1.5})])));
        assert_eq!(piece.usage.unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_list_of_objects_ranks_nothing() {
        for results in [json!(null), json!([]), json!([1]), json!({"a": 1}), json!("x")] {
            let body = json!({"results": results, "rankings": results, "id": 1}).to_string();
            for kind in [EndpointKind::CohereRankings, EndpointKind::HfTeiRankings, EndpointKind::NimRankings] {
                assert_eq!(read(kind, &body), Piece::default(), "{body}");
            }
        }
    }

    #[test]
    fn an_error_in_place_of_rankings_is_an_error() {
        let tei =
            json!({"error": "batch size 64 > maximum allowed batch size 32", "error_type": "Validation"}).to_string();
        let error = read(EndpointKind::HfTeiRankings, &tei).error;
        assert!(matches!(error, Some(ResponseError::Reported { .. })), "{error:?}");
    }
}
