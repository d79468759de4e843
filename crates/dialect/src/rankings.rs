//! A query and passages to be put in order: what the types that rank share.

use crate::reader::{Data, Piece, error_of, usage_of};
use crate::request::{DialectError, Request};
use aiperf_types::Turn;
use serde_json::{Map, Value};

/// What a turn asks to be ranked.
pub(crate) struct Asked<'a> {
    pub(crate) query: &'a str,
    pub(crate) passages: Vec<&'a str>,
}

/// The query and the passages of a request, by the names of its texts.
pub(crate) fn asked<'a>(request: &'a Request<'_>) -> Result<Asked<'a>, DialectError> {
    let kind = request.api.dialect.kind.name();
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

/// Reads an answer with the rankings that `find` finds in it.
pub(crate) fn read(json: &str, find: fn(&Value) -> Option<Vec<Value>>) -> Option<Piece<'static>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let data = find(&value).filter(|rankings| !rankings.is_empty()).map(Data::Rankings);
    let empty = Map::new();
    let object = match &value {
        Value::Object(object) => object,
        Value::Array(_) => &empty,
        _ => return None,
    };
    let error = if data.is_none() { error_of(object) } else { None };
    Some(Piece { data, usage: usage_of(object), error, ..Piece::default() })
}

/// The objects of a list.
pub(crate) fn objects(list: Option<&Value>) -> Option<Vec<Value>> {
    Some(list?.as_array()?.iter().filter(|item| item.is_object()).cloned().collect())
}
