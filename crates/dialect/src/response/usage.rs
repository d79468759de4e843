//! Every vendor's names for token counts, looked up once over the folded usage objects.

use aiperf_types::Usage;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::Cell;

/// Folds a later usage object into the earlier ones: key by key, inside details objects too, the last value that is
/// not null wins.
pub fn fold(into: &mut Map<String, Value>, later: Map<String, Value>) {
    if into.is_empty() {
        *into = later;
        return;
    }
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

/// More tokens than any request could have; a hundred times the longest contexts there are.
pub(crate) const MOST_TOKENS: u64 = 1_000_000_000;
/// More audio than this in one request is a mistake: a day of it.
const MOST_AUDIO_SECONDS: f64 = 86_400.0;

/// Reads the fields out of a folded usage object.
pub fn read(object: &Map<String, Value>) -> Usage {
    read_checked(object).0
}

/// The same, and whether a value was left out because it is no valid count of tokens.
pub(crate) fn read_checked(object: &Map<String, Value>) -> (Usage, bool) {
    let flat = Fields { flat: flatten(object), refused: Cell::new(false) };
    let in_prompt = |key| flat.nested(&["prompt_tokens_details", "input_tokens_details"], key);
    let in_completion = |key| flat.nested(&["completion_tokens_details", "output_tokens_details"], key);
    let completion =
        ["completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "generated_token_count"];
    let cached = [
        "cache_read_input_tokens",
        "prompt_cache_hit_tokens",
        "cachedContentTokenCount",
        "cacheReadInputTokens",
        "cached_tokens",
    ];
    let usage = Usage {
        prompt_tokens: flat.prompt_tokens(),
        completion_tokens: flat.first(&completion),
        total_tokens: flat.first(&["total_tokens", "totalTokenCount", "totalTokens"]),
        reasoning_tokens: in_completion("reasoning_tokens").or_else(|| flat.first(&["thoughtsTokenCount"])),
        prompt_cache_read_tokens: in_prompt("cached_tokens").or_else(|| flat.first(&cached)),
        prompt_cache_write_tokens: flat.first(&["cache_creation_input_tokens", "cacheWriteInputTokens"]),
        prompt_cache_miss_tokens: flat.first(&["prompt_cache_miss_tokens"]),
        prompt_audio_tokens: in_prompt("audio_tokens"),
        completion_audio_tokens: in_completion("audio_tokens"),
        accepted_prediction_tokens: in_completion("accepted_prediction_tokens"),
        rejected_prediction_tokens: in_completion("rejected_prediction_tokens"),
        tool_use_prompt_tokens: flat.first(&["toolUsePromptTokenCount"]),
        prompt_audio_seconds: flat.seconds("prompt_audio_seconds"),
    };
    (usage, flat.refused.get())
}

/// A member of a small object: forty names are looked up, and comparing three members with each is cheaper than
/// hashing.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    object.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Prompt tokens of the uncached input that a vendor reports, where it reports the cached ones separately.
pub fn uncached_prompt_tokens(object: &Map<String, Value>) -> Option<u64> {
    let flat = flatten(object);
    let key = PROMPT.iter().find(|key| member(&flat, key).is_some())?;
    let apart = DISJOINT.iter().any(|key| member(&flat, key).is_some());
    (matches!(*key, "input_tokens" | "inputTokens") && apart).then(|| member(&flat, key).and_then(count)).flatten()
}

/// Names of the prompt's tokens.
const PROMPT: [&str; 5] = ["prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count"];

/// Cache counts that are not part of `input_tokens`.
const DISJOINT: [&str; 4] =
    ["cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens"];

/// Lifts vendors' nested objects to the top without overwriting what is there.
fn flatten(object: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    if !["usageMetadata", "meta", "tokens"].iter().any(|key| member(object, key).is_some()) {
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

/// A usage object, and whether a value of it was refused.
struct Fields<'a> {
    flat: Cow<'a, Map<String, Value>>,
    refused: Cell<bool>,
}

impl Fields<'_> {
    /// The first key that exists decides, even when its value is null.
    fn first(&self, keys: &[&str]) -> Option<u64> {
        self.checked(keys.iter().find_map(|key| member(&self.flat, key))?)
    }

    fn nested(&self, details: &[&str], key: &str) -> Option<u64> {
        self.checked(details.iter().find_map(|name| member(member(&self.flat, name)?.as_object()?, key))?)
    }

    fn prompt_tokens(&self) -> Option<u64> {
        let key = PROMPT.iter().find(|key| member(&self.flat, key).is_some())?;
        let value = member(&self.flat, key)?;
        let prompt = self.checked(value)?;
        if !matches!(*key, "input_tokens" | "inputTokens") || !value.is_u64() {
            return Some(prompt);
        }
        let apart = DISJOINT.iter().filter_map(|key| member(&self.flat, key)).filter(|value| value.is_u64());
        Some(prompt + apart.filter_map(count).sum::<u64>())
    }

    fn seconds(&self, key: &str) -> Option<f64> {
        let value = member(&self.flat, key).filter(|value| !value.is_null())?;
        let seconds = value.as_f64().filter(|seconds| (0.0..=MOST_AUDIO_SECONDS).contains(seconds));
        self.refused.set(self.refused.get() || seconds.is_none());
        seconds
    }

    fn checked(&self, value: &Value) -> Option<u64> {
        let count = count(value);
        self.refused.set(self.refused.get() || (count.is_none() && !value.is_null()));
        count
    }
}

fn count(value: &Value) -> Option<u64> {
    let whole = || value.as_f64().filter(|v| v.fract() == 0.0 && *v >= 0.0).map(|v| v as u64);
    value.as_u64().or_else(whole).filter(|count| *count <= MOST_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_count_of_tokens_is_left_out_and_noted() {
        for (value, read_as) in [
            (json!(12), (Some(12), false)),
            (json!(12.0), (Some(12), false)),
            (json!(null), (None, false)),
            (json!(-1), (None, true)),
            (json!(1.5), (None, true)),
            (json!("12"), (None, true)),
            (json!(true), (None, true)),
            (json!(1e20), (None, true)),
            (json!(u64::MAX), (None, true)),
            (json!(MOST_TOKENS), (Some(MOST_TOKENS), false)),
        ] {
            let object = Map::from_iter([("completion_tokens".to_owned(), value.clone())]);
            let (usage, refused) = read_checked(&object);
            assert_eq!((usage.completion_tokens, refused), read_as, "{value}");
        }
    }

    #[test]
    fn audio_of_more_than_a_day_is_left_out_and_noted() {
        for (seconds, read_as) in [
            (json!(86_400), (Some(86_400.0), false)),
            (json!(0.5), (Some(0.5), false)),
            (json!(86_401), (None, true)),
            (json!(-1), (None, true)),
        ] {
            let object = Map::from_iter([("prompt_audio_seconds".to_owned(), seconds.clone())]);
            let (usage, refused) = read_checked(&object);
            assert_eq!((usage.prompt_audio_seconds, refused), read_as, "{seconds}");
        }
    }

    #[test]
    fn counts_that_stand_apart_do_not_overflow() {
        let object = json!({"input_tokens": 3, "cache_read_input_tokens": u64::MAX, "cacheWriteInputTokens": u64::MAX});
        let (usage, refused) = read_checked(object.as_object().unwrap_or(&Map::new()));
        assert_eq!((usage.prompt_tokens, usage.prompt_cache_read_tokens, refused), (Some(3), None, true));
    }
}
