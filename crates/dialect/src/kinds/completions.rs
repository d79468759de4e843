//! OpenAI completions.

use super::{Data, Dialect, DialectError, Piece, Request, error_of, usage_of};
use aiperf_types::EndpointKind;
use serde_json::{Map, Value};

/// Completions.
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

fn parse(json: &[u8]) -> Option<Piece<'_>> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let object = value.as_object()?;
    let known = object.get("object").is_none_or(|name| name == "text_completion" || name == "completion");
    let text = object.get("choices").and_then(|choices| choices.get(0)?.get("text")?.as_str());
    let data = text.filter(|text| known && !text.is_empty()).map(|text| Data::Text(text.to_owned().into()));
    Some(Piece { data, usage: usage_of(object), error: error_of(object) })
}
