//! OpenAI completions.

use super::{
    Data, Dialect, DialectError, First, Piece, Request, Text, error_of, spec_decode_from, spec_decode_of, usage_from,
    usage_of,
};
use aiperf_types::EndpointKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub const DIALECT: Dialect = Dialect { kind: EndpointKind::Completions, body, parse };

fn body(request: &Request<'_>) -> Result<Map<String, Value>, DialectError> {
    if request.conversation.turns.len() > 1 {
        return Err(DialectError::OneTurnOnly("completions"));
    }
    let turn = request.turn()?;
    let texts = turn.texts.iter().flat_map(|media| &media.contents).filter(|text| !text.is_empty());
    let mut prompts: Vec<Value> = texts.map(|text| text.as_str().into()).collect();
    let prompt = if prompts.len() == 1 { prompts.remove(0) } else { Value::Array(prompts) };
    let mut body = Map::new();
    body.insert("prompt".into(), prompt);
    body.insert("model".into(), request.model()?);
    body.insert("stream".into(), request.endpoint.streaming.into());
    if let Some(max) = turn.max_tokens {
        body.insert("max_tokens".into(), max.into());
    }
    request.merge_extra(&mut body);
    request.ask_for_usage(&mut body, false);
    Ok(body)
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
            Some(Piece { data, usage: chunk.usage.and_then(usage_from), spec_decode, error: None })
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
    Some(Piece { data, usage: usage_of(object), spec_decode: spec_decode_of(object), error: error_of(object) })
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
