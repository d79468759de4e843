//! Bodies as forms of several parts (RFC 7578).

use crate::request::DialectError;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use memchr::memmem;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The member that makes an object a file.
const FILE_DATA: &str = "b64_data";
const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

/// Between parts, with a number of so many digits that makes it one that no part has in it.
const BOUNDARY: &str = "aiperf-form-boundary-";
const DIGITS: usize = 8;

/// With its padding, and nothing but what the alphabet has. Bits after the last byte do not matter.
const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// An encoded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    pub pieces: Vec<Bytes>,
    /// With the boundary between its parts.
    pub content_type: String,
}

/// A file as a member of a payload.
pub(crate) fn file(data: &str, name: &str, content_type: &str) -> Value {
    serde_json::json!({FILE_DATA: data, "filename": name, "content_type": content_type})
}

/// Puts the members of a payload into a form. Null is left out, an object with data in base64 is a file, and everything
/// else is text: lists and objects as JSON.
pub fn encode(members: &Map<String, Value>) -> Result<Form, DialectError> {
    let parts: Vec<Part<'_>> =
        members.iter().filter_map(|(name, value)| Part::new(name, value).transpose()).collect::<Result<_, _>>()?;
    let boundary = boundary(&parts);
    let mut pieces = Vec::new();
    let mut out = Vec::new();
    for part in parts {
        out.extend_from_slice(format!("--{boundary}\r\n{}\r\n\r\n", part.head).as_bytes());
        match part.data {
            Content::Text(text) => out.extend_from_slice(text.as_bytes()),
            Content::File(data) => {
                pieces.push(std::mem::take(&mut out).into());
                pieces.push(data.into());
            }
        }
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    pieces.push(out.into());
    Ok(Form { pieces, content_type: format!("multipart/form-data; boundary={boundary}") })
}

struct Part<'a> {
    head: String,
    data: Content<'a>,
}

enum Content<'a> {
    Text(Cow<'a, str>),
    File(Vec<u8>),
}

impl<'a> Part<'a> {
    fn new(name: &str, value: &'a Value) -> Result<Option<Self>, DialectError> {
        if let Value::Object(members) = value
            && let Some(Value::String(data)) = members.get(FILE_DATA)
        {
            return Self::file(name, data, members).map(Some);
        }
        let text = match value {
            Value::Null => return Ok(None),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(other.to_string()),
        };
        Ok(Some(Self { head: head(TEXT, name, None), data: Content::Text(text) }))
    }

    fn file(name: &str, data: &str, members: &Map<String, Value>) -> Result<Self, DialectError> {
        let member = |key: &str| members.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let bad = |why: String| DialectError::Malformed(format!("field '{name}': {why}"));
        let way_out = "try: the data in base64, without line breaks, or the name of a file";
        let broken = |error| bad(format!("'{FILE_DATA}' is not valid base64: {error}\n  {way_out}"));
        let data = BASE64.decode(data).map_err(broken)?;
        let content_type = member("content_type").unwrap_or(BYTES);
        // Nothing in it could be escaped.
        if content_type.chars().any(char::is_control) {
            return Err(bad(format!("{content_type:?} is no content type")));
        }
        let file_name = member("filename").unwrap_or(name);
        Ok(Self { head: head(content_type, name, Some(file_name)), data: Content::File(data) })
    }

    fn bytes(&self) -> &[u8] {
        match &self.data {
            Content::Text(text) => text.as_bytes(),
            Content::File(data) => data,
        }
    }
}

fn head(content_type: &str, name: &str, file: Option<&str>) -> String {
    let file = file.map(|file| format!("; filename=\"{}\"", quoted(file))).unwrap_or_default();
    format!("Content-Type: {content_type}\r\nContent-Disposition: form-data; name=\"{}\"{file}", quoted(name))
}

/// As browsers write names, so that none ends its quotes or its line.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A boundary that no part has in it: the same parts always get the same one.
fn boundary(parts: &[Part<'_>]) -> String {
    let finder = memmem::Finder::new(BOUNDARY);
    let mut taken = BTreeSet::new();
    for text in parts.iter().flat_map(|part| [part.head.as_bytes(), part.bytes()]) {
        for at in finder.find_iter(text) {
            let digits = text.get(at + BOUNDARY.len()..at + BOUNDARY.len() + DIGITS);
            taken.extend(digits.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok()));
        }
    }
    let free = (0..).find(|number| !taken.contains(number)).unwrap_or_default();
    format!("{BOUNDARY}{free:0DIGITS$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn encoded(payload: Value) -> String {
        String::from_utf8(encode(payload.as_object().unwrap()).unwrap().pieces.concat()).unwrap()
    }

    #[test]
    fn values_are_text_and_null_is_left_out() {
        let form = encoded(json!({"a": "x", "b": true, "c": null, "d": 3.5, "e": 4, "f": [1, "y"], "g": {"k": 1}}));
        let text = |name: &str, value: &str| {
            format!(
                "--{BOUNDARY}00000000\r\nContent-Type: text/plain; charset=utf-8\r\n\
                 Content-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            )
        };
        let parts = [("a", "x"), ("b", "true"), ("d", "3.5"), ("e", "4"), ("f", "[1,\"y\"]"), ("g", "{\"k\":1}")];
        let parts: String = parts.iter().map(|(name, value)| text(name, value)).collect();
        assert_eq!(form, format!("{parts}--{BOUNDARY}00000000--\r\n"));
    }

    #[test]
    fn an_object_with_data_is_a_file() {
        let form = encoded(json!({"f": {"b64_data": "aGk="}, "g": file("aGk=", "a.wav", "audio/wav")}));
        assert!(form.contains(
            "application/octet-stream\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nhi\r\n"
        ));
        assert!(
            form.contains(
                "Content-Type: audio/wav\r\nContent-Disposition: form-data; name=\"g\"; filename=\"a.wav\"\r\n"
            )
        );
    }

    #[test]
    fn a_file_that_is_no_base64_or_has_no_type_names_its_field() {
        for data in ["@@@", "aGk", "aGk=\n", "aG k="] {
            let error = encode(json!({"image": {"b64_data": data}}).as_object().unwrap()).unwrap_err();
            assert!(error.to_string().starts_with("field 'image': 'b64_data' is not valid base64"), "{error}");
        }
        let odd = json!({"image": file("", "", "a/b\r\nX: y")});
        assert!(encode(odd.as_object().unwrap()).unwrap_err().to_string().starts_with("field 'image'"));
    }

    #[test]
    fn bytes_of_files_are_pieces_of_their_own() {
        let form = encode(json!({"a": 1, "f": {"b64_data": "aGk="}, "b": 2}).as_object().unwrap()).unwrap();
        assert_eq!((form.pieces.len(), &form.pieces[1][..]), (3, &b"hi"[..]));
    }

    #[test]
    fn a_value_that_has_the_boundary_in_it_gets_another() {
        let mine = format!("{BOUNDARY}00000000 --{BOUNDARY}00000001--");
        let form = encode(json!({"a": mine}).as_object().unwrap()).unwrap();
        assert_eq!(form.content_type, format!("multipart/form-data; boundary={BOUNDARY}00000002"));
    }

    /// The parts of a form: head lines, then bytes. Whatever is not as the standard has it is an error.
    fn parts(form: &Form) -> Option<Vec<(Vec<String>, Vec<u8>)>> {
        let boundary = form.content_type.strip_prefix("multipart/form-data; boundary=")?;
        let body = form.pieces.concat();
        let mut rest = body.strip_prefix(format!("--{boundary}").as_bytes())?;
        let delimiter = format!("\r\n--{boundary}");
        let mut parts = Vec::new();
        while let Some(part) = rest.strip_prefix(b"\r\n") {
            let end = memmem::find(part, delimiter.as_bytes())?;
            let head = memmem::find(part, b"\r\n\r\n").filter(|head| *head < end)?;
            let lines = std::str::from_utf8(&part[..head]).ok()?.split("\r\n").map(str::to_owned).collect();
            parts.push((lines, part[head + 4..end].to_vec()));
            rest = &part[end + delimiter.len()..];
        }
        (rest == b"--\r\n").then_some(parts)
    }

    const NAME: &str = "(?s).{1,8}|[\"\r\n\\\\]{1,4}";
    const TEXTS: &str = "(?s).{0,20}|(\r\n|--|aiperf-form-boundary-0000000[0-2]){0,6}";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn a_strict_reader_finds_what_was_put_in(
            texts in prop::collection::btree_map(NAME, TEXTS, 0..4),
            files in prop::collection::vec((NAME, prop::collection::vec(any::<u8>(), 0..40)), 0..3),
        ) {
            let texts = texts.iter().map(|(name, text)| (name.clone(), json!(text)));
            let mut members: Map<String, Value> = texts.collect();
            for (at, (name, data)) in files.iter().enumerate() {
                members.insert(format!("file {at}"), file(&BASE64.encode(data), name, "audio/wav"));
            }
            let mut wanted: Vec<(Vec<String>, Vec<u8>)> = Vec::new();
            for (name, value) in &members {
                let (kind, disposition, data) = match value.as_str() {
                    Some(text) => (TEXT, format!("name=\"{}\"", quoted(name)), text.as_bytes().to_vec()),
                    None => {
                        let (file, data) = &files[name[5..].parse::<usize>().unwrap()];
                        ("audio/wav", format!("name=\"{name}\"; filename=\"{}\"", quoted(file)), data.clone())
                    }
                };
                let disposition = format!("Content-Disposition: form-data; {disposition}");
                wanted.push((vec![format!("Content-Type: {kind}"), disposition], data));
            }
            let form = encode(&members).unwrap();
            if members.is_empty() {
                prop_assert_eq!(form.pieces.concat(), format!("--{BOUNDARY}00000000--\r\n").into_bytes());
            } else {
                prop_assert_eq!(parts(&form), Some(wanted));
            }
        }
    }
}
