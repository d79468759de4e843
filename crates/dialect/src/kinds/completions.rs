//! OpenAI completions.

use super::{Carries, Dialect};
use crate::capture::TextCapture;
use crate::inputs;
use crate::reader::{
    Data, First, Piece, Stateless, Text, error_of, spec_decode_from, spec_decode_of, usage_from, usage_of,
};
use crate::request::{DialectError, Frame, Request};
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

/// The shape nearly every chunk has, read without building a tree.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, borrow)]
    object: Option<Text<'a>>,
    #[serde(default, borrow)]
    choices: Option<First<Choice<'a>>>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, borrow)]
    text: Option<Text<'a>>,
}

fn parse(json: &str) -> Option<Piece<'_>> {
    match serde_json::from_str::<Chunk<'_>>(json) {
        Ok(chunk) if chunk.error.is_none() => {
            let known = is_known(chunk.object.as_ref().map(|name| &*name.0));
            let text = chunk.choices.and_then(|first| first.0).and_then(|choice| choice.text).map(|text| text.0);
            let data = text.filter(|text| known && !text.is_empty()).map(Data::Text);
            let spec_decode = chunk.metrics.and_then(spec_decode_from);
            Some(Piece { data, usage: chunk.usage.and_then(usage_from), spec_decode, ..Piece::default() })
        }
        _ => parse_tree(json),
    }
}

fn parse_tree(json: &str) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_str(json).ok()?;
    let object = value.as_object()?;
    let known = is_known(object.get("object").and_then(Value::as_str));
    let text = object.get("choices").and_then(|choices| choices.get(0)?.get("text")?.as_str());
    let data = text.filter(|text| known && !text.is_empty()).map(|text| Data::Text(text.to_owned().into()));
    let (usage, spec_decode) = (usage_of(object), spec_decode_of(object));
    Some(Piece { data, usage, spec_decode, error: error_of(object), ..Piece::default() })
}

fn is_known(object: Option<&str>) -> bool {
    object.is_none_or(|name| matches!(name, "text_completion" | "completion"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_the_tree_read_the_same() {
        for json in [
            r#"{"object":"text_completion","choices":[{"text":"a\n\"b"}]}"#,
            r#"{"choices":[{"text":""}],"usage":null}"#,
            r#"{"object":"other","choices":[{"text":"x"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        ] {
            assert_eq!(parse(json), parse_tree(json), "{json}");
        }
    }
}
