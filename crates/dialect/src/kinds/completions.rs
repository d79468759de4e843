//! OpenAI completions.

use super::{Dialect, Ending};
use crate::kinds::shared::chunk::{Chunk, Finish};
use crate::request::{DialectError, Frame, Request};
use crate::response::reader::{Data, Piece, Stateless};
use crate::text::json;
use crate::text::lenient::{Index, List, Str};
use crate::text::strict::{Only, Text};
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub const DIALECT: Dialect = Dialect {
    ending: Ending::Done,
    smallest_request: Some(|model| json!({"prompt": "Lo", "max_tokens": 1, "model": model})),
    ..Dialect::new(EndpointKind::Completions, frame, |_| Box::new(Stateless(|json, _| parse(json))))
};

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let mut prompts: Vec<Value> = request.texts().map(Value::from).collect();
    let prompt = if prompts.len() == 1 { prompts.remove(0) } else { Value::Array(prompts) };
    let mut frame = Frame::default();
    frame.set("prompt", prompt);
    frame.set("model", request.model());
    frame.set("stream", request.streaming());
    if let Some(max) = request.turn.max_tokens {
        frame.set("max_tokens", max);
    }
    frame.extend(request.extras());
    request.ask_for_usage(&mut frame, false);
    Ok(frame)
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    text: Str<'a>,
    #[serde(default, borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// The one choice that nearly every chunk has.
#[derive(Deserialize)]
struct UsualChoice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
    #[serde(default, borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    native_finish_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// The content of a chunk of the usual form; `None` if it needs the general parser.
fn parse_usual(json: &str) -> Option<Piece<'_>> {
    let chunk: Chunk<'_, Only<UsualChoice<'_>>> = json::object(json)?;
    if chunk.has_error() || !is_known(chunk.object.0.as_deref()) {
        return None;
    }
    let piece = chunk.beside_choices();
    let Some(UsualChoice { index, text, finish_reason, native_finish_reason, stop_reason, error }) = chunk.choices.0
    else {
        return Some(piece);
    };
    let mut finish = Finish::default();
    finish.take(finish_reason, error);
    finish.take_native(native_finish_reason);
    finish.take_stop(stop_reason, finish_reason);
    Some(finish.of(piece.with_choice(index, Text::filled(text).map(Data::Text))))
}

fn is_known(object: Option<&str>) -> bool {
    object.is_none_or(|object| matches!(object, "text_completion" | "completion"))
}

fn parse(json: &str) -> Option<Piece<'_>> {
    parse_usual(json).or_else(|| parse_any(json))
}

fn parse_any(json: &str) -> Option<Piece<'_>> {
    let chunk: Chunk<'_, List<Choice<'_>>> = json::object(json)?;
    let (beside, is_known) = (chunk.beside_choices(), is_known(chunk.object.0.as_deref()));
    let mut finish = Finish::default();
    let texts = chunk.choices.objects().map(|(at, choice)| {
        finish.take(choice.finish_reason, choice.error);
        finish.take_native(choice.native_finish_reason);
        finish.take_stop(choice.stop_reason, choice.finish_reason);
        (choice.index.0.unwrap_or(at as u32), choice.text.0.filter(|_| is_known).map(Data::Text))
    });
    let piece = beside.of_choices(texts);
    Some(finish.of(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_way_and_the_other_read_the_same() {
        for json in [
            r#"{"object":"text_completion","choices":[{"index":2,"text":"a\n\"b"}]}"#,
            r#"{"choices":[{"index":1,"text":""}],"usage":null}"#,
            r#"{"object":null,"choices":[{"text":"a"}],"usage":{"prompt_tokens":1}}"#,
            r#"{"object":"other","choices":[{"text":"x"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        ] {
            assert_eq!(parse(json), parse_any(json), "{json}");
        }
    }

    #[test]
    fn prompts_of_one_request_are_answered_apart() {
        let json = r#"{"object":"text_completion","choices":[{"index":0,"text":"a"},{"index":1,"text":"b\n"}]}"#;
        let piece = parse(json).unwrap();
        assert_eq!((piece.choice, piece.data), (0, Some(Data::Text("a".into()))));
        assert_eq!(piece.others, [(1, Data::Text("b\n".into()))]);
    }

    #[test]
    fn responses_of_another_kind_have_no_content() {
        for json in [r#"{"object":"other","choices":[{"text":"x"}]}"#, r#"{"choices":[{"text":""}],"usage":null}"#] {
            assert_eq!(parse(json), Some(Piece::default()), "{json}");
        }
        assert!(parse(r#"{"choices":[{"text":"x"}]}"#).is_some_and(|piece| piece.data.is_some()));
    }
}
