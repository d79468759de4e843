//! `inputs.json`: the requests of each session, before they are sent.
//!
//! Bodies arrive compact, as they are sent, and are written indented. Each session is a text of its own, which any
//! thread may make. One is in memory at a time, so a dataset of any size needs no second copy.

use crate::format::json::{push_new_line, push_str};
use serde::de::IgnoredAny;
use std::io::{self, Write};

/// Level of a body: inside the document, `data`, the session and `payloads`.
const BODY_LEVEL: usize = 4;

/// A session in the document: its id, and one body per turn.
#[derive(Debug)]
pub struct InputsEntry(Vec<u8>);

impl InputsEntry {
    pub fn new(session: &str, bodies: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let mut text = Vec::new();
        text.extend_from_slice(b"\n    {\n      \"session_id\": ");
        push_str(&mut text, session);
        text.extend_from_slice(b",\n      \"payloads\": [");
        let mut first = true;
        for body in bodies {
            text.extend_from_slice(if std::mem::take(&mut first) { b"" } else { b"," });
            // A little more than the body: it grows by its indents.
            text.reserve(body.as_ref().len() / 8 * 9 + (1 << 10));
            push_new_line(&mut text, BODY_LEVEL);
            push_body(&mut text, body.as_ref());
        }
        text.extend_from_slice(if first { b"]\n    }" } else { b"\n      ]\n    }" });
        Self(text)
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

/// Writes the whole document. `fill` adds its sessions, in their order.
pub fn write_inputs<W: Write + ?Sized>(
    out: &mut W,
    fill: impl FnOnce(&mut dyn FnMut(&InputsEntry) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"{\n  \"data\": [")?;
    let mut is_empty = true;
    fill(&mut |InputsEntry(text)| {
        out.write_all(if std::mem::take(&mut is_empty) { b"" } else { b"," })?;
        out.write_all(text)
    })?;
    out.write_all(if is_empty { b"]\n}" } else { b"\n  ]\n}" })
}

/// A JSON body indented; anything else (a multipart form) as a string.
fn push_body(out: &mut Vec<u8>, body: &[u8]) {
    if serde_json::from_slice::<IgnoredAny>(body).is_ok() {
        indent(out, body, BODY_LEVEL);
    } else {
        push_str(out, &String::from_utf8_lossy(body));
    }
}

/// An open object or list during indentation.
struct Open {
    is_object: bool,
    /// Whether it has items already.
    filled: bool,
    /// The start of the current member, with its comma and line break; members that are null are removed again.
    member_at: usize,
}

/// Indents valid JSON. Members that are null are left out, because they do not change a request.
fn indent(out: &mut Vec<u8>, json: &[u8], level: usize) {
    let mut open: Vec<Open> = Vec::new();
    let mut expects_key = false;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'{' | b'[' => {
                place(out, &mut open, expects_key, level);
                out.push(byte);
                open.push(Open { is_object: byte == b'{', filled: false, member_at: out.len() });
                expects_key = byte == b'{';
                at += 1;
            }
            b'}' | b']' => {
                if open.pop().is_some_and(|closed| closed.filled) {
                    push_new_line(out, level + open.len());
                }
                out.push(byte);
                expects_key = false;
                at += 1;
            }
            b',' => {
                expects_key = open.last().is_some_and(|innermost| innermost.is_object);
                at += 1;
            }
            b':' => {
                out.extend_from_slice(b": ");
                at += 1;
            }
            _ => {
                let end = at + scalar_len(&json[at..]);
                let scalar = &json[at..end];
                at = end;
                if let Some(innermost) = open.last().filter(|innermost| innermost.is_object && !expects_key) {
                    if scalar == b"null" {
                        let (start, first) = (innermost.member_at, out[innermost.member_at] != b',');
                        out.truncate(start);
                        if let (Some(innermost), true) = (open.last_mut(), first) {
                            innermost.filled = false;
                        }
                        continue;
                    }
                    out.extend_from_slice(scalar);
                    continue;
                }
                place(out, &mut open, expects_key, level);
                out.extend_from_slice(scalar);
                expects_key = false;
            }
        }
    }
}

/// Writes the comma, line break and indentation before a key or a list item; a member's value follows its colon.
fn place(out: &mut Vec<u8>, open: &mut [Open], is_key: bool, level: usize) {
    let depth = level + open.len();
    let Some(innermost) = open.last_mut() else { return };
    if innermost.is_object && !is_key {
        return;
    }
    innermost.member_at = out.len();
    if std::mem::replace(&mut innermost.filled, true) {
        out.push(b',');
    }
    push_new_line(out, depth);
}

/// The length of the string, number or word that starts here.
fn scalar_len(json: &[u8]) -> usize {
    if json[0] != b'"' {
        return json.iter().position(|byte| b",:]} \t\r\n".contains(byte)).unwrap_or(json.len());
    }
    let mut at = 1;
    while at < json.len() && json[at] != b'"' {
        at += if json[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(json.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn indented(json: &str) -> String {
        let mut out = Vec::new();
        indent(&mut out, json.as_bytes(), 0);
        String::from_utf8(out).unwrap()
    }

    fn document(sessions: &[(&str, &[&str])]) -> String {
        let mut out = Vec::new();
        write_inputs(&mut out, |add| sessions.iter().try_for_each(|(id, bodies)| add(&InputsEntry::new(id, *bodies))))
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn null_members_are_left_out_everywhere() {
        for (json, kept) in [
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":null,"b":1}"#, "{\n  \"b\": 1\n}"),
            (r#"{"a":1,"b":null}"#, "{\n  \"a\": 1\n}"),
            (r#"{"a":1,"b":null,"c":2}"#, "{\n  \"a\": 1,\n  \"c\": 2\n}"),
            (r#"{"a":null,"b":null,"c":[null]}"#, "{\n  \"c\": [\n    null\n  ]\n}"),
            (r#"{"a":{"b":null}}"#, "{\n  \"a\": {}\n}"),
        ] {
            assert_eq!(indented(json), kept, "{json}");
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_shown_as_text() {
        let text = document(&[("s", &["--boundary\r\n"])]);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["data"][0]["payloads"][0], "--boundary\r\n");
    }

    #[test]
    fn no_sessions_give_an_empty_list() {
        assert_eq!(document(&[]), "{\n  \"data\": []\n}");
        assert_eq!(
            document(&[("a", &[])]),
            "{\n  \"data\": [\n    {\n      \"session_id\": \"a\",\n      \"payloads\": []\n    }\n  ]\n}"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9f64).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn indenting_is_what_serde_json_does(value in any_json()) {
            let compact = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(indented(&compact), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
