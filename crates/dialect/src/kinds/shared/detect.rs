//! The content of a response of unknown form: found by the user's expression, or by names that many servers use.

use crate::kinds::shared::expression::ResponseField;
use crate::kinds::shared::vectors::embeddings_in;
use crate::response::reader::{Data, Delivery, Piece, Reader, ResponseError, error_in_list, error_of, given_up_in};
use crate::text::json::{self, is_truthy};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The error type for a response without a valid result.
const INVALID: &str = "InvalidInferenceResultError";
/// Members in which servers put their text, in the order of the search.
const TEXTS: [&str; 5] = ["text", "content", "response", "output", "result"];

/// Reads responses of no known shape.
pub(crate) struct AnyReader {
    /// `None` detects it.
    pub(crate) field: Option<ResponseField>,
}

impl Reader for AnyReader {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        // A body that is not JSON, or empty JSON, is its own text.
        let Some(value) = json::read::<Value>(text).filter(|value| is_truthy(Some(value))) else {
            let data = (!text.is_empty()).then_some(Data::Text(Cow::Borrowed(text)));
            return Some(Piece { data, ..Piece::default() });
        };
        if let error @ Some(_) = error_in_list(&value) {
            return Some(Piece { error, ..Piece::default() });
        }
        let error = value.as_object().and_then(error_of).or_else(|| given_up_in(&value));
        let data = match &self.field {
            Some(field) => field.find(&value).and_then(convert),
            None => detect(value),
        };
        Some(match (data, error) {
            (data @ Some(_), error) | (data, error @ Some(_)) => Piece { data, error, ..Piece::default() },
            (None, None) => match &self.field {
                Some(field) => unmatched(field, text, delivery),
                None => nothing_in(text, delivery),
            },
        })
    }
}

/// A response without content. A whole body is the whole response; after an event there may be others.
fn nothing_in(text: &str, delivery: Delivery) -> Piece<'static> {
    invalid(delivery, || format!("no content in the response: {}", json::shown(text)))
}

fn unmatched(field: &ResponseField, text: &str, delivery: Delivery) -> Piece<'static> {
    let expression = json::shown(field.as_str());
    invalid(delivery, || {
        format!("response_field '{expression}' matches no content in the response: {}", json::shown(text))
    })
}

fn invalid(delivery: Delivery, why: impl FnOnce() -> String) -> Piece<'static> {
    let error = (delivery == Delivery::Body)
        .then(|| ResponseError::Invalid { kind: INVALID, message: format!("Invalid inference result: {}", why()) });
    Piece { error, ..Piece::default() }
}

/// The content of a response, by the names that many servers use.
fn detect(value: Value) -> Option<Data<'static>> {
    let Value::Object(object) = value else { return convert(value) };
    if let Some(vectors) = embeddings_in(&object) {
        return Some(Data::Embeddings(vectors.into()));
    }
    if let Some(rankings) = ["rankings", "results"].iter().find_map(|member| object.get(*member)?.as_array()) {
        return Some(Data::Rankings(rankings.clone()));
    }
    text_of(&object).map(text)
}

/// The text of an object: an empty one, where others might follow, ends the search.
fn text_of(object: &Map<String, Value>) -> Option<String> {
    for member in TEXTS {
        match object.get(member) {
            Some(Value::String(text)) => return Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Value::Array(texts)) if !texts.is_empty() && texts.iter().all(Value::is_string) => {
                return Some(texts.iter().filter_map(Value::as_str).collect());
            }
            _ => {}
        }
    }
    let choice = object.get("choices")?.get(0)?;
    let found = [
        choice.get("text"),
        choice.get("message").and_then(|message| message.get("content")),
        choice.get("delta").and_then(|delta| delta.get("content")),
    ];
    let text = match found.into_iter().flatten().find(|found| is_truthy(Some(found)))? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn text(text: String) -> Data<'static> {
    Data::Text(Cow::Owned(text))
}

/// The content of a value by its form alone.
fn convert(value: Value) -> Option<Data<'static>> {
    let is_number = |value: &Value| value.is_number() || value.is_boolean();
    match value {
        Value::String(found) if !found.is_empty() => Some(text(found)),
        Value::Array(items) => match items.first()? {
            Value::Array(vector) if !vector.is_empty() && vector.iter().all(is_number) => {
                Some(Data::Embeddings(items.into()))
            }
            first if is_number(first) => Some(Data::Embeddings(vec![Value::Array(items)].into())),
            Value::Object(_) => Some(Data::Rankings(items)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_field_that_matches_nothing_is_named_with_the_body() {
        let mut reader = AnyReader { field: Some(ResponseField::new("a.b").unwrap()) };
        let piece = reader.read("{\"text\": \"x\"}", Delivery::Body).unwrap();
        let Some(ResponseError::Invalid { message, .. }) = piece.error else { panic!("{piece:?}") };
        assert!(message.ends_with("response_field 'a.b' matches no content in the response: {\"text\": \"x\"}"));
        assert_eq!(reader.read("{\"text\": \"x\"}", Delivery::Event), Some(Piece::default()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_response_is_read_the_same_every_time(
            text in "(\\{|\\}|\\[|\\]|:|,|\"text\"|\"data\"|\"choices\"|\"x\"|null|1|NaN|é){0,12}",
            field in prop::sample::select(vec!["text", "data[0]", "length(@)", "keys(@)", "*"]),
            is_event in any::<bool>(),
        ) {
            let delivery = if is_event { Delivery::Event } else { Delivery::Body };
            for field in [None, Some(ResponseField::new(field).unwrap())] {
                let mut reader = AnyReader { field };
                let first = reader.read(&text, delivery);
                // A response without content ends only a whole body.
                prop_assert!(first.as_ref().is_some_and(|piece| !is_event || piece.error.is_none()));
                prop_assert_eq!(first, reader.read(&text, delivery));
            }
        }
    }
}
