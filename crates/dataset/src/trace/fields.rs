//! Members of a row, each taken with the type it must have. Values are parsed only if they are needed: most members of
//! millions of rows are not.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::entry::HashId;
use crate::turn_shape::{FARTHEST_MS, LONGEST_MS};

/// Bytes of a session id: servers refuse request heads of more than a few thousand bytes.
const LONGEST_ID: usize = 1024;

/// A member that may be missing, or null.
pub(super) type Member<'a> = Option<&'a RawValue>;

/// Parses a row; the error shows an example.
pub(super) fn row<'a, T: Deserialize<'a>>(text: &'a str, example: &str) -> Result<T, String> {
    if !text.starts_with('{') {
        return Err(format!("is no JSON object\n  try: one a line, as in {example}"));
    }
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        format!("is not JSON: {what} at column {}\n  try: one object a line, as in {example}", error.column())
    })
}

pub(super) fn whole(name: &str, member: Member<'_>) -> Result<Option<i128>, String> {
    let Some(member) = member else { return Ok(None) };
    let text = member.get().trim_matches('"').trim();
    let fraction = || text.parse().ok().filter(|number: &f64| number.fract() == 0.0).map(|number| number as i128);
    let number = text.parse().ok().or_else(fraction);
    number.map(Some).ok_or_else(|| format!("{name} must be a whole number, not {}", shown(member)))
}

/// The most tokens of a row: more than any model takes, and few enough to generate.
pub(crate) const MOST_TOKENS_IN_ROW: u32 = 10_000_000;

/// A number of tokens; 0 is allowed.
pub(super) fn tokens(name: &str, member: Member<'_>) -> Result<Option<u32>, String> {
    let Some(number) = whole(name, member)? else { return Ok(None) };
    let tokens = u32::try_from(number).ok().filter(|tokens| *tokens <= MOST_TOKENS_IN_ROW);
    tokens.map(Some).ok_or_else(|| {
        format!(
            "{name} {number} is no number of tokens: 0 to {MOST_TOKENS_IN_ROW}\n  try: a row with what one request has"
        )
    })
}

pub(super) fn number(name: &str, member: Member<'_>) -> Result<Option<f64>, String> {
    let Some(member) = member else { return Ok(None) };
    let number = member.get().trim_matches('"').trim().parse().ok();
    let number = number.filter(|number: &f64| number.is_finite());
    number.map(Some).ok_or_else(|| format!("{name} must be a number, not {}", shown(member)))
}

/// A time, in units of `unit_ms` milliseconds.
pub(super) fn timestamp_ms(name: &str, member: Member<'_>, unit_ms: f64) -> Result<Option<f64>, String> {
    let Some(time) = number(name, member)?.map(|time| time * unit_ms) else { return Ok(None) };
    if time.abs() > FARTHEST_MS {
        return Err(format!(
            "{name} is no time: it is {time:e} milliseconds, and one is at most {FARTHEST_MS:e} and at least \
             -{FARTHEST_MS:e}\n  try: times from any zero"
        ));
    }
    Ok(Some(time))
}

pub(super) fn delay_ms(member: Member<'_>) -> Result<Option<f64>, String> {
    let Some(delay) = number("delay", member)? else { return Ok(None) };
    if delay < 0.0 {
        return Err(format!(
            "delay {delay} is below 0\n  a turn is sent so many milliseconds after the response to the one before\n  try: 0, or \
             leave it out, to send it at once"
        ));
    }
    if delay > LONGEST_MS {
        return Err(format!(
            "delay {delay:e} is too long: one is at most {LONGEST_MS:e}, thirty years\n  try: milliseconds"
        ));
    }
    Ok(Some(delay))
}

pub(super) fn text<'a>(name: &str, member: Member<'a>) -> Result<Option<Cow<'a, str>>, String> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let Some(member) = member else { return Ok(None) };
    let text = serde_json::from_str(member.get()).map(|Text(text)| Some(text));
    text.map_err(|_| match member.get().starts_with('"') {
        true => format!("{name} has half a character, as \\ud800\n  try: both halves, or the character itself"),
        false => format!("{name} must be a text, not {}", shown(member)),
    })
}

/// A session id: a text, or a number.
pub(super) fn session<'a>(name: &str, member: Member<'a>) -> Result<Option<Cow<'a, str>>, String> {
    let is_number = member.is_some_and(|member| member.get().starts_with(|c: char| c == '-' || c.is_ascii_digit()));
    let id = if is_number { member.map(|member| Cow::Borrowed(member.get())) } else { text(name, member)? };
    match id.filter(|id| !id.is_empty()) {
        Some(id) if id.len() > LONGEST_ID => Err(format!(
            "{name} has {} bytes, and one may have {LONGEST_ID}\n  a fixed schedule sends it in a header field\n  try: a \
             shorter id",
            id.len()
        )),
        id => Ok(id),
    }
}

pub(super) fn ids(name: &str, member: Member<'_>) -> Result<Vec<HashId>, String> {
    let Some(member) = member else { return Ok(Vec::new()) };
    let ids: Result<Vec<Id>, _> = serde_json::from_str(member.get());
    let ids = ids.map_err(|_| format!("{name} must be a list of whole numbers, not {}", shown(member)))?;
    Ok(ids.into_iter().map(|Id(id)| id).collect())
}

pub(super) fn object(name: &str, member: &RawValue) -> Result<Map<String, Value>, String> {
    serde_json::from_str(member.get()).map_err(|_| format!("{name} must be an object, not {}", shown(member)))
}

pub(super) fn list(name: &str, member: &RawValue) -> Result<Vec<Value>, String> {
    serde_json::from_str(member.get()).map_err(|_| format!("{name} must be a list, not {}", shown(member)))
}

pub(super) fn is_filled_object(member: &RawValue) -> bool {
    member.get().strip_prefix('{').is_some_and(|rest| !rest.trim_start().starts_with('}'))
}

pub(super) fn is_filled_list(member: &RawValue) -> bool {
    member.get().strip_prefix('[').is_some_and(|rest| !rest.trim_start().starts_with(']'))
}

/// A description of a member for a message.
pub(super) fn shown(member: &RawValue) -> &'static str {
    match member.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list of something else",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        _ => "a number of another kind",
    }
}

/// A whole number of any size that the formats contain.
struct Id(HashId);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Id;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E>(self, id: i64) -> Result<Id, E> {
                Ok(Id(id.into()))
            }
            fn visit_u64<E>(self, id: u64) -> Result<Id, E> {
                Ok(Id(id.into()))
            }
            fn visit_f64<E: Error>(self, id: f64) -> Result<Id, E> {
                if id.fract() == 0.0 { Ok(Id(id as HashId)) } else { Err(E::custom("a fraction")) }
            }
            fn visit_str<E: Error>(self, id: &str) -> Result<Id, E> {
                id.trim().parse().map(Id).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Whole)
    }
}
