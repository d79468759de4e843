//! Every vendor's names for token counts, looked up once over the folded usage objects.

use aiperf_types::Usage;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Folds a later usage object into the earlier ones: key by key, inside details objects too, the last value that is
/// not null wins.
pub fn fold(into: &mut Map<String, Value>, later: Map<String, Value>) {
    for (key, value) in later {
        match (into.get_mut(&key), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::Object(known)), Value::Object(value)) => fold(known, value),
            (Some(known), value) => *known = value,
            (None, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Reads the fields out of a folded usage object.
pub fn read(object: &Map<String, Value>) -> Usage {
    let flat = flatten(object);
    let prompt = ["prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count"];
    let completion =
        ["completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "generated_token_count"];
    let in_prompt = |key| nested(&flat, &["prompt_tokens_details", "input_tokens_details"], key);
    let in_completion = |key| nested(&flat, &["completion_tokens_details", "output_tokens_details"], key);
    let cached = [
        "cache_read_input_tokens",
        "prompt_cache_hit_tokens",
        "cachedContentTokenCount",
        "cacheReadInputTokens",
        "cached_tokens",
    ];
    Usage {
        prompt_tokens: prompt_tokens(&flat, &prompt),
        completion_tokens: first(&flat, &completion).and_then(count),
        total_tokens: first(&flat, &["total_tokens", "totalTokenCount", "totalTokens"]).and_then(count),
        reasoning_tokens: in_completion("reasoning_tokens")
            .or_else(|| first(&flat, &["thoughtsTokenCount"]).and_then(count)),
        prompt_cache_read_tokens: in_prompt("cached_tokens").or_else(|| first(&flat, &cached).and_then(count)),
        prompt_cache_write_tokens: first(&flat, &["cache_creation_input_tokens", "cacheWriteInputTokens"])
            .and_then(count),
        prompt_cache_miss_tokens: first(&flat, &["prompt_cache_miss_tokens"]).and_then(count),
        prompt_audio_tokens: in_prompt("audio_tokens"),
        completion_audio_tokens: in_completion("audio_tokens"),
        accepted_prediction_tokens: in_completion("accepted_prediction_tokens"),
        rejected_prediction_tokens: in_completion("rejected_prediction_tokens"),
        tool_use_prompt_tokens: first(&flat, &["toolUsePromptTokenCount"]).and_then(count),
        prompt_audio_seconds: flat.get("prompt_audio_seconds").and_then(Value::as_f64),
    }
}

/// Prompt tokens of the uncached input that a vendor reports, where the cached ones stand apart.
pub fn uncached_prompt_tokens(object: &Map<String, Value>) -> Option<u64> {
    let flat = flatten(object);
    let key = ["prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count"]
        .into_iter()
        .find(|key| flat.contains_key(*key))?;
    let apart = DISJOINT.iter().any(|key| flat.contains_key(*key));
    (matches!(key, "input_tokens" | "inputTokens") && apart).then(|| flat.get(key).and_then(count)).flatten()
}

/// Cache counts that are not part of `input_tokens`.
const DISJOINT: [&str; 4] =
    ["cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens"];

fn prompt_tokens(flat: &Map<String, Value>, keys: &[&str]) -> Option<u64> {
    let key = keys.iter().find(|key| flat.contains_key(**key))?;
    let value = flat.get(*key).and_then(count)?;
    if !matches!(*key, "input_tokens" | "inputTokens") || !flat.get(*key).is_some_and(Value::is_u64) {
        return Some(value);
    }
    Some(value + DISJOINT.iter().filter_map(|key| flat.get(*key).and_then(Value::as_u64)).sum::<u64>())
}

/// Lifts vendors' nested objects to the top without overwriting what is there.
fn flatten(object: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    if !["usageMetadata", "meta", "tokens"].iter().any(|key| object.contains_key(*key)) {
        return Cow::Borrowed(object);
    }
    let mut flat = object.clone();
    let mut lift = |from: Option<&Value>| {
        if let Some(Value::Object(inner)) = from {
            for (key, value) in inner {
                flat.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    };
    lift(object.get("usageMetadata"));
    if let Some(meta) = object.get("meta") {
        lift(meta.get("tokens"));
        if let Some(cached) = meta.get("cached_tokens") {
            lift(Some(&Value::Object(Map::from_iter([("cached_tokens".to_owned(), cached.clone())]))));
        }
    }
    lift(object.get("tokens"));
    Cow::Owned(flat)
}

/// The first key that exists decides, even when its value is null.
fn first<'a>(flat: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| flat.get(*key))
}

fn nested(flat: &Map<String, Value>, details: &[&str], key: &str) -> Option<u64> {
    details.iter().filter_map(|name| flat.get(*name)?.as_object()?.get(key)).next().and_then(count)
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|v| v.fract() == 0.0 && *v >= 0.0).map(|v| v as u64))
}
