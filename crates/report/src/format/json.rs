//! JSON text, byte by byte: used for every JSON file here.
//!
//! Floats have the shortest round-trip form and keep their decimal point, so that a reader recognises them as floats.
//! NaN and infinities become `null`. Non-ASCII text stays as it is.

use aiperf_types::Stats;
use serde_json::Value;

/// Names of the statistics of a metric in the order of JSON files; `count` and `sum` follow.
pub(crate) fn before_count() -> impl Iterator<Item = &'static str> {
    std::iter::once("avg").chain(Stats::PERCENTILE_NAMES).chain(["min", "max", "std"])
}

/// Appends a float: `15.0`, `0.1`, `1e-06`, or `null` when it is not finite.
#[inline]
pub(crate) fn push_f64(out: &mut Vec<u8>, value: f64) {
    let magnitude = value.abs();
    if (1e-4..1e16).contains(&magnitude) || value == 0.0 {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        push_extreme(out, value);
    }
}

/// Below this, whole numbers have all their digits: nanoseconds since 1970 are about 1.8e18.
const LONGEST_PLAIN: f64 = 1e21;

/// Very small and very large numbers carry an exponent with a sign and at least two digits.
#[cold]
fn push_extreme(out: &mut Vec<u8>, value: f64) {
    if !value.is_finite() {
        out.extend_from_slice(b"null");
        return;
    }
    if (1.0..LONGEST_PLAIN).contains(&value.abs()) {
        out.extend_from_slice(format!("{value}.0").as_bytes());
        return;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    out.extend_from_slice(format!("{digits}e{sign}{exponent:0>2}").as_bytes());
}

#[inline]
pub(crate) fn push_int(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the name of a member that follows another.
pub(crate) fn push_key(out: &mut Vec<u8>, key: &str) {
    out.push(b',');
    push_str(out, key);
    out.push(b':');
}

/// The same with a number.
pub(crate) fn push_number(out: &mut Vec<u8>, key: &str, value: u64) {
    push_key(out, key);
    push_int(out, value);
}

/// The same with a text.
pub(crate) fn push_text(out: &mut Vec<u8>, key: &str, text: &str) {
    push_key(out, key);
    push_str(out, text);
}

/// Appends a string with its quotes.
#[inline]
pub(crate) fn push_str(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Appends an object of texts.
pub(crate) fn push_texts(out: &mut Vec<u8>, members: &[(String, String)]) {
    out.push(b'{');
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_str(out, key);
        out.push(b':');
        push_str(out, value);
    }
    out.push(b'}');
}

/// A document, written from the top down: indented by two spaces per level, or compact; nothing follows the last brace.
#[derive(Default)]
pub(crate) struct Pretty {
    out: Vec<u8>,
    /// For each open object or list, whether it has items already.
    open: Vec<bool>,
    after_key: bool,
    /// Everything on one line, without spaces.
    compact: bool,
}

impl Pretty {
    /// The same document on one line.
    pub(crate) fn compact() -> Self {
        Self { compact: true, ..Self::default() }
    }

    pub(crate) fn begin_object(&mut self) {
        self.begin(b'{');
    }

    pub(crate) fn begin_list(&mut self) {
        self.begin(b'[');
    }

    fn begin(&mut self, bracket: u8) {
        self.place();
        self.out.push(bracket);
        self.open.push(false);
    }

    /// Closes the innermost object.
    pub(crate) fn end_object(&mut self) {
        self.end(b'}');
    }

    /// Closes the innermost list.
    pub(crate) fn end_list(&mut self) {
        self.end(b']');
    }

    fn end(&mut self, bracket: u8) {
        if self.open.pop() == Some(true) {
            self.new_line();
        }
        self.out.push(bracket);
    }

    /// Starts a member of the innermost object.
    pub(crate) fn key(&mut self, key: &str) {
        self.place();
        push_str(&mut self.out, key);
        self.out.extend_from_slice(if self.compact { b":" } else { b": " });
        self.after_key = true;
    }

    pub(crate) fn str(&mut self, text: &str) {
        self.place();
        push_str(&mut self.out, text);
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.place();
        push_f64(&mut self.out, value);
    }

    pub(crate) fn int(&mut self, value: impl itoa::Integer) {
        self.place();
        push_int(&mut self.out, value);
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.raw(if value { b"true" } else { b"false" });
    }

    /// A member that is a text.
    pub(crate) fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.str(text);
    }

    /// A number, or null if there is none.
    pub(crate) fn number(&mut self, key: &str, value: Option<f64>) {
        self.key(key);
        self.f64(value.unwrap_or(f64::NAN));
    }

    /// Text that is already JSON.
    fn raw(&mut self, text: &[u8]) {
        self.place();
        self.out.extend_from_slice(text);
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.raw(b"null"),
            Value::Bool(value) => self.bool(*value),
            Value::Number(number) => match number.as_f64() {
                Some(value) if number.is_f64() => self.f64(value),
                _ => self.raw(number.to_string().as_bytes()),
            },
            Value::String(text) => self.str(text),
            Value::Array(items) => {
                self.begin_list();
                items.iter().for_each(|item| self.value(item));
                self.end_list();
            }
            Value::Object(members) => {
                self.begin_object();
                for (key, member) in members {
                    self.key(key);
                    self.value(member);
                }
                self.end_object();
            }
        }
    }

    /// The text since the last call; what follows continues it.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// The whole text, or the rest of it.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }

    /// Writes the comma, line break and indentation before the next item.
    fn place(&mut self) {
        if std::mem::take(&mut self.after_key) {
            return;
        }
        let Some(filled) = self.open.last_mut() else { return };
        if std::mem::replace(filled, true) {
            self.out.push(b',');
        }
        self.new_line();
    }

    fn new_line(&mut self) {
        if !self.compact {
            push_new_line(&mut self.out, self.open.len());
        }
    }
}

/// A line break and the indentation of a level.
pub(crate) fn push_new_line(out: &mut Vec<u8>, level: usize) {
    out.push(b'\n');
    out.resize(out.len() + 2 * level, b' ');
}

/// A document in the form of a file.
pub fn document_text(document: &Value) -> Vec<u8> {
    let mut json = Pretty::default();
    json.value(document);
    json.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float(value: f64) -> String {
        let mut out = Vec::new();
        push_f64(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_short_and_keep_their_point() {
        for (value, text) in [
            (15.0, "15.0"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (2.2099089999999997, "2.2099089999999997"),
            (1e-6, "1e-06"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (0.00012, "0.00012"),
            (0.00001, "1e-05"),
            (-1e-300, "-1e-300"),
            (1e15, "1000000000000000.0"),
            (9007199254740993.0, "9007199254740992.0"),
            (1e16, "10000000000000000.0"),
            (1.7946961612848643e18, "1794696161284864300.0"),
            (-1.7946961612848643e18, "-1794696161284864300.0"),
            (1e21, "1e+21"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn nan_and_infinity_are_null() {
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(float), ["null", "null", "null"]);
    }

    #[test]
    fn an_empty_object_stays_on_one_line() {
        let mut json = Pretty::default();
        json.value(&serde_json::json!({"a": {}, "b": [], "c": [1, {"d": 2.0}]}));
        let text = String::from_utf8(json.finish()).unwrap();
        assert_eq!(text, "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": 2.0\n    }\n  ]\n}");
    }

    proptest! {
        #[test]
        fn any_float_reads_back_the_same(bits: u64) {
            let value = f64::from_bits(bits);
            let read: Option<f64> = serde_json::from_str(&float(value)).unwrap();
            prop_assert_eq!(read, value.is_finite().then_some(value));
        }

        #[test]
        fn any_string_is_written_as_serde_json_does(text: String) {
            let mut out = Vec::new();
            push_str(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
