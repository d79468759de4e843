//! Hugging Face text generation inference.

use super::Dialect;
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Delivery, Piece, Stateless, error_of, given_up_in};
use crate::text::json;
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

pub const DIALECT: Dialect = Dialect::new(EndpointKind::HuggingfaceGenerate, frame, |_| Box::new(Stateless(read)));

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut parameters = Map::new();
    if let Some(max) = request.turn.max_tokens {
        parameters.insert("max_new_tokens".into(), max.into());
    }
    // Extras of the plan are for the model; those of the turn are for the body.
    parameters.extend(request.api.endpoint.extra.clone());
    let mut frame = Frame::default();
    frame.set("inputs", request.texts().collect::<Vec<_>>().join(" "));
    frame.set("parameters", parameters);
    frame.extend(request.turn.extra_body.iter().flatten());
    Ok(frame)
}

/// The form of nearly every event, read without building a tree.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(default, borrow)]
    token: Option<Token<'a>>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    details: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Token<'a> {
    #[serde(default, borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    generated_text: Cow<'a, str>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    details: Option<&'a RawValue>,
}

fn read(json: &str, delivery: Delivery) -> Option<Piece<'_>> {
    let text = match delivery {
        // Special tokens count too: a server that ends with `</s>` produced that token.
        Delivery::Event => match json::object::<Event<'_>>(json) {
            Some(Event { token, error: None, details: None }) => token.map(|token| token.text),
            _ => return read_tree(json, delivery),
        },
        Delivery::Body => match json::object::<Whole<'_>>(json) {
            Some(Whole { generated_text, error: None, details: None }) => Some(generated_text),
            _ => return read_tree(json, delivery),
        },
    };
    Some(piece(text))
}

/// A list of responses, of which the first counts; a response with details, as in the last event; an error; or nothing.
fn read_tree(json: &str, delivery: Delivery) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let text = match delivery {
        Delivery::Event => value.get("token").and_then(|token| token.get("text")),
        Delivery::Body => value.get(0).unwrap_or(&value).get("generated_text"),
    };
    let piece = piece(text.and_then(Value::as_str).map(|text| Cow::Owned(text.to_owned())));
    let error = value.as_object().and_then(error_of).or_else(|| given_up_in(&value));
    Some(Piece { error, ..piece })
}

fn piece(text: Option<Cow<'_, str>>) -> Piece<'_> {
    Piece { data: text.filter(|text| !text.is_empty()).map(Data::Text), ..Piece::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_the_tree_read_the_same() {
        use Delivery::{Body, Event};
        for (json, delivery) in [
            (
                r#"{"index":1,"token":{"id":5,"text":" a\n","logprob":-1.5,"special":false},"generated_text":null}"#,
                Event,
            ),
            (r#"{"token":{"id":2,"text":"</s>","special":true},"generated_text":" a","details":{}}"#, Event),
            (r#"{"token":null}"#, Event),
            (r#"{"token":{"text":""}}"#, Event),
            (r#"{"generated_text":"out","details":{"generated_tokens":3}}"#, Body),
            (r#"[{"generated_text":"out"},{"generated_text":"b"}]"#, Body),
            (r#"{"generated_text":""}"#, Body),
            ("[]", Body),
            (r#"["out"]"#, Body),
            (r#"[{"text":"a"}]"#, Event),
        ] {
            assert_eq!(read(json, delivery), read_tree(json, delivery), "{json}");
        }
    }

    #[test]
    fn an_error_inside_the_stream_is_an_error() {
        let piece = read(r#"{"error":"Request failed during generation","error_type":"generation"}"#, Delivery::Event);
        assert!(piece.unwrap().error.is_some());
    }

    #[test]
    fn the_whole_text_at_the_end_of_a_stream_is_not_counted_again() {
        let piece = read(r#"{"token":{"text":""},"generated_text":"all of it"}"#, Delivery::Event).unwrap();
        assert_eq!(piece.data, None);
    }
}
