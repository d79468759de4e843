//! OpenAI completions.

use super::{Carries, Dialect};
use crate::request::inputs;
use crate::request::{DialectError, Frame, Request};
use crate::response::capture::TextCapture;
use crate::response::reader::{Data, Piece, Stateless, error_in, spec_decode_from, usage_from};
use crate::text::json;
use crate::text::lenient::{Index, List, Str};
use crate::text::strict::{Only, Text};
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::Completions,
    carries: Carries::OneTurn,
    frame,
    reader: |_| Box::new(Stateless(|json, _| parse(json))),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
    is_free: false,
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

/// A chunk of a stream, or a whole completion.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    object: Str<'a>,
    #[serde(default, borrow)]
    choices: List<Choice<'a>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    text: Str<'a>,
}

/// The shape that nearly every chunk has.
#[derive(Deserialize)]
struct UsualChunk<'a> {
    #[serde(default, borrow)]
    object: Option<Text<'a>>,
    #[serde(borrow)]
    choices: Only<UsualChoice<'a>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct UsualChoice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
}

impl<'a> UsualChunk<'a> {
    /// What it says; `None` where that needs a closer look.
    fn piece(self) -> Option<Piece<'a>> {
        if self.error.is_some() || !is_known(Text::said(self.object).as_deref()) {
            return None;
        }
        let (index, text) = self.choices.0.map_or((None, None), |choice| (choice.index, Text::said(choice.text)));
        let choice = if text.is_some() { index.unwrap_or_default() } else { 0 };
        let (usage, spec_decode) = (self.usage.and_then(usage_from), self.metrics.and_then(spec_decode_from));
        Some(Piece { choice, data: text.map(Data::Text), usage, spec_decode, ..Piece::default() })
    }
}

fn is_known(object: Option<&str>) -> bool {
    object.is_none_or(|object| matches!(object, "text_completion" | "completion"))
}

fn parse(json: &str) -> Option<Piece<'_>> {
    let usual: Option<UsualChunk<'_>> = json::object(json);
    usual.and_then(UsualChunk::piece).or_else(|| parse_any(json))
}

fn parse_any(json: &str) -> Option<Piece<'_>> {
    let chunk: Chunk<'_> = json::object(json)?;
    let is_known = is_known(chunk.object.0.as_deref());
    let said = chunk
        .choices
        .objects()
        .map(|(at, choice)| (choice.index.0.unwrap_or(at as u32), choice.text.0.filter(|_| is_known).map(Data::Text)));
    Some(Piece {
        usage: chunk.usage.and_then(usage_from),
        spec_decode: chunk.metrics.and_then(spec_decode_from),
        error: error_in(chunk.error),
        ..Piece::of_choices(said)
    })
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
    fn answers_of_another_kind_say_nothing() {
        for json in [r#"{"object":"other","choices":[{"text":"x"}]}"#, r#"{"choices":[{"text":""}],"usage":null}"#] {
            assert_eq!(parse(json), Some(Piece::default()), "{json}");
        }
        assert!(parse(r#"{"choices":[{"text":"x"}]}"#).is_some_and(|piece| piece.data.is_some()));
    }
}
