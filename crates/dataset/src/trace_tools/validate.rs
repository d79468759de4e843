//! Whether the rows of a file are rows of a mooncake trace.

use super::lines::{Lines, kind, members, number, shown, whole};
use crate::error::DatasetError;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

/// What a row may say what is asked in. It has one of them.
const WAYS: [&str; 4] = ["input_length", "text_input", "messages", "payload"];
const NAME: &str = "mooncake_trace";

/// What was found in a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    pub rows: u64,
    /// The first of them.
    pub faults: Vec<RowFault>,
    /// How many there are.
    pub fault_count: u64,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFault {
    pub line: u64,
    /// What, and in which field.
    pub what: String,
}

impl Validation {
    /// Faults that are told one by one.
    pub const TOLD: usize = 10;

    /// Of a file; one without a row is refused.
    pub fn read(path: &Path) -> Result<Self, DatasetError> {
        Self::of(Lines::open(path)?)
    }

    /// Of what is called so.
    pub fn read_from(place: &str, from: impl BufRead + 'static) -> Result<Self, DatasetError> {
        Self::of(Lines::of(place.to_owned(), from)?)
    }

    fn of(mut lines: Lines) -> Result<Self, DatasetError> {
        let mut found = Self::default();
        let mut sessions = HashMap::new();
        while let Some((line, text)) = lines.next()? {
            found.rows += 1;
            let faults = match members(text) {
                Ok(row) => {
                    let mut faults = row_faults(&row);
                    if faults.is_empty() {
                        faults.extend(mixed(&row, line, &mut sessions));
                    }
                    faults
                }
                Err(fault) => vec![fault],
            };
            found.fault_count += faults.len() as u64;
            let room = Self::TOLD - found.faults.len();
            found.faults.extend(faults.into_iter().take(room).map(|what| RowFault { line, what }));
        }
        if found.rows == 0 { Err(lines.empty()) } else { Ok(found) }
    }
}

/// Everything that is wrong with a row on its own.
fn row_faults(row: &Map<String, Value>) -> Vec<String> {
    let there = |name: &str| row.get(name).filter(|value| !value.is_null());
    let mut faults = Vec::new();
    let mut check = |name: &str, wanted: &str, holds: fn(&Value) -> bool| {
        if let Some(value) = there(name).filter(|value| !holds(value)) {
            faults.push(format!("{name} must be {wanted}, not {}", shown(value)));
        }
    };
    check("type", "mooncake_trace, or left out", |value| value == NAME);
    check("input_length", "a whole number", |value| whole(value).is_some());
    check("output_length", "a whole number", |value| whole(value).is_some());
    check("text_input", "a text", Value::is_string);
    check("session_id", "a text", Value::is_string);
    check("timestamp", "a number", |value| number(value).is_some());
    check("delay", "a number", |value| number(value).is_some());
    check("extra", "an object", Value::is_object);
    check("payload", "an object with something in it", |value| value.as_object().is_some_and(|map| !map.is_empty()));
    check("messages", "a list of messages with one at least", |value| {
        value.as_array().is_some_and(|all| !all.is_empty())
    });
    check("tools", "a list of tools with one at least", |value| value.as_array().is_some_and(|all| !all.is_empty()));
    check("hash_ids", "a list of whole numbers", Value::is_array);
    let ids = there("hash_ids").and_then(Value::as_array).into_iter().flatten().enumerate();
    if let Some((at, id)) = ids.into_iter().find(|(_, id)| whole(id).is_none()) {
        faults.push(format!("hash_ids[{at}] must be a whole number, not {}", shown(id)));
    }
    for (at, message) in there("messages").and_then(Value::as_array).into_iter().flatten().enumerate() {
        match message {
            Value::Object(message) if message.contains_key("role") => {}
            Value::Object(_) => faults.push(format!("messages[{at}] has no role")),
            other => faults.push(format!("messages[{at}] must be an object, not {}", kind(other))),
        }
    }
    if let Some((at, tool)) = first_other(there("tools")) {
        faults.push(format!("tools[{at}] must be an object, not {}", kind(tool)));
    }
    match WAYS.iter().filter(|way| there(way).is_some()).collect::<Vec<_>>()[..] {
        [_] => {}
        [] => faults.push(format!("has none of {}, and a row has one of them", WAYS.join(", "))),
        [first, second, ..] => {
            faults.push(format!("has both {first} and {second}, and a row has one of {}", WAYS.join(", ")));
        }
    }
    for (name, needs) in [("hash_ids", "input_length"), ("tools", "messages")] {
        if there(name).is_some() && there(needs).is_none() {
            faults.push(format!("{name} stands without {needs}, which it belongs to"));
        }
    }
    faults
}

fn first_other(list: Option<&Value>) -> Option<(usize, &Value)> {
    list.and_then(Value::as_array)?.iter().enumerate().find(|(_, item)| !item.is_object())
}

/// What the rows of a session are made of: the first says it for all.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Text,
    Messages,
    Payload,
}

fn mixed(row: &Map<String, Value>, line: u64, sessions: &mut HashMap<String, (Made, u64)>) -> Option<String> {
    let session = row.get("session_id")?.as_str()?;
    let there = |name: &str| row.get(name).is_some_and(|value| !value.is_null());
    let made = match () {
        () if there("messages") => Made::Messages,
        () if there("payload") => Made::Payload,
        () => Made::Text,
    };
    let name = |made: Made| match made {
        Made::Text => "text",
        Made::Messages => "messages",
        Made::Payload => "payload",
    };
    match sessions.get(session) {
        None => drop(sessions.insert(session.to_owned(), (made, line))),
        Some((first, at)) if *first != made => {
            return Some(format!(
                "session_id {} is of rows with {} since line {at}, and this one has {}",
                shown(&Value::from(session)),
                name(*first),
                name(made)
            ));
        }
        Some(_) => {}
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use aiperf_golden::{Area, Shape, has};
    use proptest::prelude::*;
    use std::io::Cursor;

    fn found(text: &str) -> Validation {
        Validation::read_from("t", Cursor::new(text.to_owned())).unwrap()
    }

    fn faults(text: &str) -> Vec<String> {
        found(text).faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.what)).collect()
    }

    const FILES: Shape = |case| has(case, "files") && has(case, "format");

    fn skip(case: &Value) -> Option<String> {
        let floors = |error: &Value| error["message"].as_str().is_some_and(|text| text.contains("max_tokens"));
        if case["format"] != NAME {
            return Some("is of another format".into());
        }
        floors(&case["error"]).then(|| "a length of 0 is a length".into())
    }

    #[test]
    fn golden_traces_are_right_where_they_are_read() {
        Area::of(env!("CARGO_MANIFEST_DIR"), "datasets").run_cases("golden validations", FILES, skip, |case| {
            let text = case["files"][case["input"].as_str().unwrap()].as_str().unwrap().to_owned();
            let is_right = Validation::read_from("t", Cursor::new(text)).is_ok_and(|found| found.fault_count == 0);
            assert_eq!(is_right, case["conversations"].as_array().is_some_and(|all| !all.is_empty()), "{case}");
        });
    }

    #[test]
    fn rows_of_every_kind_are_right() {
        let text = "\u{feff}{\"input_length\": 5, \"output_length\": \"7\", \"hash_ids\": [1, \"2\"], \"timestamp\": 1.5}\n\n\
                    {\"text_input\": \"a\", \"session_id\": \"s\", \"delay\": 3, \"more\": 1}\n\
                    {\"messages\": [{\"role\": \"user\"}], \"tools\": [{}], \"type\": \"mooncake_trace\"}\n\
                    {\"payload\": {\"a\": 1}, \"extra\": {}}";
        assert_eq!(found(text), Validation { rows: 4, ..Validation::default() });
    }

    #[test]
    fn every_fault_names_its_line_and_field() {
        let text = "{\"input_length\": 5.5}\n{\"input_length\": 5, \"text_input\": \"x\"}\n[1]\n{\"output_length\": true}\n\
                    {\"text_input\": \"a\", \"hash_ids\": [1, null]}\n{\"messages\": [{\"content\": 1}], \"tools\": []}\nx";
        let wanted = [
            "1: input_length must be a whole number, not 5.5",
            "2: has both input_length and text_input, and a row has one of input_length, text_input, messages, payload",
            "3: is a list, and a row is a JSON object",
            "4: output_length must be a whole number, not true",
            "4: has none of input_length, text_input, messages, payload, and a row has one of them",
            "5: hash_ids[1] must be a whole number, not null",
            "5: hash_ids stands without input_length, which it belongs to",
            "6: tools must be a list of tools with one at least, not []",
            "6: messages[0] has no role",
            "7: is not JSON: expected value at column 1",
        ];
        assert_eq!(faults(text), wanted);
    }

    #[test]
    fn all_faults_are_counted_and_the_first_told() {
        let found = found(&"{}\n".repeat(30));
        assert_eq!((found.fault_count, found.faults.len()), (30, 10));
    }

    #[test]
    fn a_session_is_of_one_kind_of_rows() {
        let text = "{\"session_id\": \"s\", \"input_length\": 1}\n{\"session_id\": \"s\", \"text_input\": \"a\"}\n\
                    {\"session_id\": \"s\", \"messages\": [{\"role\": \"user\"}]}";
        assert_eq!(faults(text), ["3: session_id \"s\" is of rows with text since line 1, and this one has messages"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_right_or_wrong(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Validation::read_from("any", Cursor::new(bytes));
        }

        #[test]
        fn a_row_that_is_cut_is_wrong(cut in 1_usize..60) {
            let row = "{\"input_length\": 5, \"hash_ids\": [1, 2], \"session_id\": \"\u{e9}\"}";
            let cut = (0..=cut.min(row.len() - 1)).rev().find(|at| row.is_char_boundary(*at)).unwrap_or(0);
            prop_assume!(cut > 0);
            prop_assert_eq!(found(&row[..cut]).fault_count, 1);
        }
    }
}
