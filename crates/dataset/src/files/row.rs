//! A row and its members, each taken with the type it must have.

use serde_json::{Map, Value};

use super::Format;
use super::fault::Fault;
use super::media::MediaKind;
use crate::json_kind::kind;

/// Bytes of a session's id: servers refuse heads of more than some thousands.
const LONGEST_ID: usize = 1024;
/// The largest count that a row may contain.
const MOST: u32 = u32::MAX;

/// Maps a content of a kind to what is sent: a file name becomes the encoded file.
pub(super) type Encode<'a> = &'a mut dyn FnMut(MediaKind, String) -> Result<String, Fault>;

/// The members of a row that have not been taken yet.
#[derive(Debug)]
pub(super) struct Row(Map<String, Value>);

impl Row {
    pub(super) fn read(text: &str, format: &Format) -> Result<Self, Fault> {
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            Ok(other) => {
                let (found, name) = (kind(&other), format.name);
                let way_out = way_out(text, format);
                Err(Fault(format!("is {found}, and a row of {name} is a JSON object\n  try: {way_out}")))
            }
            Err(error) => Err(Fault(not_json(text, &error, format))),
        }
    }

    /// An object inside a row.
    pub(super) fn of(value: Value, what: &str) -> Result<Self, Fault> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            other => Err(Fault(format!("is {}, and {what} is a JSON object", kind(&other)))),
        }
    }

    /// Refuses a row whose `type` is another format.
    pub(super) fn check_type(&mut self, name: &str) -> Result<(), Fault> {
        match self.take("type").filter(|found| found != name) {
            None => Ok(()),
            Some(other) => Err(Fault(format!(
                "type {other} is not that of a row of {name}\n  try: --custom-dataset-type with the type of its rows"
            ))),
        }
    }

    /// The id of its conversation.
    pub(super) fn session_id(&mut self) -> Result<Option<String>, Fault> {
        let id = self.string("session_id")?.filter(|id| !id.is_empty());
        match &id {
            Some(id) if id.len() > LONGEST_ID => Err(Fault(format!(
                "session_id has {} bytes, and one may have {LONGEST_ID}\n  a fixed schedule sends it in a header field\n  \
                 try: a shorter id",
                id.len()
            ))),
            _ => Ok(id),
        }
    }

    pub(super) fn into_members(self) -> Map<String, Value> {
        self.0
    }

    /// The names of the members that were not taken.
    pub(super) fn rest(self) -> Vec<String> {
        self.0.into_iter().map(|(name, _)| name).collect()
    }

    /// The same, without an end of the row.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Takes a member that is present and not null.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn string(&mut self, name: &str) -> Result<Option<String>, Fault> {
        self.take(name)
            .map(|value| match value {
                Value::String(text) => Ok(text),
                other => Err(wrong(name, "a text", &other)),
            })
            .transpose()
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Fault> {
        self.take(name)
            .map(|value| match value {
                Value::Object(map) => Ok(map),
                other => Err(wrong(name, "an object", &other)),
            })
            .transpose()
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, Fault> {
        self.take(name)
            .map(|value| match value {
                Value::Array(items) => Ok(items),
                other => Err(wrong(name, "a list", &other)),
            })
            .transpose()
    }

    /// A number; a text that contains a number is accepted too.
    pub(super) fn number(&mut self, name: &str) -> Result<Option<f64>, Fault> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        number.filter(|number| number.is_finite()).map(Some).ok_or_else(|| wrong(name, "a number", &value))
    }

    /// A count, at least one.
    pub(super) fn count(&mut self, name: &str) -> Result<Option<u32>, Fault> {
        let Some(number) = self.number(name)? else { return Ok(None) };
        if number.fract() != 0.0 || !(1.0..=f64::from(MOST)).contains(&number) {
            let (shown, rule) = if number > f64::from(MOST) {
                (format!("{number:e}"), format!("at most {MOST}"))
            } else {
                (number.to_string(), "a whole number of at least 1".to_owned())
            };
            return Err(Fault(format!(
                "{name} {shown} must be {rule}\n  try: leave it out, for no limit or that of --osl"
            )));
        }
        Ok(Some(number as u32))
    }
}

/// The fault of a member of the wrong type.
pub(super) fn wrong(name: &str, wanted: &str, found: &Value) -> Fault {
    Fault(format!("{name} must be {wanted}, not {}", kind(found)))
}

/// The fault of a row that is not JSON, and the way out.
fn not_json(text: &str, error: &serde_json::Error, format: &Format) -> String {
    let what = located(error);
    if what.contains("surrogate") || what.contains("hex escape") {
        return format!(
            "has half a character at column {}: \\ud800 to \\udfff stand for one in pairs alone\n  try: both halves of \
             the pair, or the character itself",
            error.column()
        );
    }
    // A document of several lines ends too early in its first line.
    if error.is_eof() && text.starts_with(['[', '{']) {
        let way_out = way_out(text, format);
        return format!("is not JSON: {what}\n  each line must be a whole JSON object\n  try: {way_out}");
    }
    format!("is not JSON: {what}\n  try: {}", way_out(text, format))
}

fn way_out(text: &str, format: &Format) -> String {
    match text.bytes().next() {
        Some(b'[') => "one JSON object a line: jq -c '.[]' FILE > rows.jsonl".to_owned(),
        Some(b'{') => format!("one JSON object a line, as in {}: jq -c . FILE > rows.jsonl", format.example),
        _ => format!("one JSON object a line, as in {}", format.example),
    }
}

/// A JSON error without its line number, which the location already has.
fn located(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("{what} at column {}", error.column()),
        None => text,
    }
}
