//! What an answer of no known shape says: found by an expression of the user, or by names that many servers use.

use crate::kinds::shared::vectors::embeddings_in;
use crate::request::is_truthy;
use crate::response::reader::{Data, Delivery, Piece, Reader, ResponseError, error_of};
use crate::text::json;
use jmespath::Expression;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// How records name an answer that is none.
const INVALID: &str = "InvalidInferenceResultError";
/// Members that servers put their text in, in the order in which they are looked at.
const TEXTS: [&str; 5] = ["text", "content", "response", "output", "result"];

/// Where an answer has what it says, in JMESPath.
#[derive(Clone)]
pub struct ResponseField(Arc<Expression<'static>>);

/// The parser goes as deep as an expression is nested and has no limit of its own: this one keeps it on its stack.
const LONGEST: usize = 1000;

impl ResponseField {
    /// Fails with the reason where it is no expression.
    pub fn new(expression: &str) -> Result<Self, String> {
        if expression.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let compiled = jmespath::compile(expression).or_else(|error| match with_quoted_literals(expression) {
            Some(quoted) => jmespath::compile(&quoted).map_err(|_| error),
            None => Err(error),
        });
        Ok(Self(Arc::new(compiled.map_err(|error| {
            let column = error.column + 1;
            let text = error.to_string();
            format!("{} at column {column}", text.lines().next().unwrap_or_default())
        })?)))
    }

    /// What it finds: `None` where it matches nothing or cannot be applied.
    fn find(&self, value: &Value) -> Option<Value> {
        let found = self.0.search(value).ok()?;
        // An expression that was not applied to anything says nothing.
        let found = Some(found).filter(|found| !found.is_expref())?;
        serde_json::to_value(&*found).ok().filter(|found| !found.is_null())
    }
}

/// Literals between backticks that are no JSON are strings for many implementations, Python's among them: these with
/// quotes around them. `None` where there are none.
fn with_quoted_literals(expression: &str) -> Option<String> {
    let mut out = String::new();
    let mut is_changed = false;
    for (at, part) in expression.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        let is_literal = at % 2 == 1;
        if is_literal && serde_json::from_str::<Value>(part).is_err() {
            out.push_str(&Value::String(part.trim_start().to_owned()).to_string());
            is_changed = true;
        } else {
            out.push_str(part);
        }
    }
    is_changed.then_some(out)
}

/// Reads answers of no known shape.
pub(crate) struct AnyReader {
    /// `None` finds it out.
    pub(crate) field: Option<ResponseField>,
}

impl Reader for AnyReader {
    fn read<'a>(&mut self, text: &'a str, delivery: Delivery) -> Option<Piece<'a>> {
        // What is no JSON, or JSON of nothing, is its own text.
        let Some(value) = json::read::<Value>(text).filter(|value| is_truthy(Some(value))) else {
            let data = (!text.is_empty()).then_some(Data::Text(Cow::Borrowed(text)));
            return Some(Piece { data, ..Piece::default() });
        };
        let error = value.as_object().and_then(error_of);
        let data = match &self.field {
            Some(field) => field.find(&value).and_then(convert),
            None => detect(value),
        };
        Some(match (data, error) {
            (data @ Some(_), error) | (data, error @ Some(_)) => Piece { data, error, ..Piece::default() },
            (None, None) => match &self.field {
                Some(field) => unmatched(field, text, delivery),
                None => nothing_in(text, delivery),
            },
        })
    }
}

/// A response that says nothing. A whole body is the whole answer; after an event there may be others.
fn nothing_in(text: &str, delivery: Delivery) -> Piece<'static> {
    invalid(delivery, || format!("no content in the response: {}", json::shown(text)))
}

fn unmatched(field: &ResponseField, text: &str, delivery: Delivery) -> Piece<'static> {
    let expression = field.0.as_str();
    invalid(delivery, || {
        format!("response_field '{expression}' matches no content in the response: {}", json::shown(text))
    })
}

fn invalid(delivery: Delivery, why: impl FnOnce() -> String) -> Piece<'static> {
    let error = (delivery == Delivery::Body)
        .then(|| ResponseError::Invalid { kind: INVALID, message: format!("Invalid inference result: {}", why()) });
    Piece { error, ..Piece::default() }
}

/// What an answer says, by the names that many servers use.
fn detect(value: Value) -> Option<Data<'static>> {
    let Value::Object(object) = value else { return convert(value) };
    if let Some(vectors) = embeddings_in(&object) {
        return Some(Data::Embeddings(vectors.into()));
    }
    if let Some(rankings) = ["rankings", "results"].iter().find_map(|member| object.get(*member)?.as_array()) {
        return Some(Data::Rankings(rankings.clone()));
    }
    text_of(&object).map(text)
}

/// The text of an object: an empty one where others might be ends the search.
fn text_of(object: &Map<String, Value>) -> Option<String> {
    for member in TEXTS {
        match object.get(member) {
            Some(Value::String(text)) => return Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Value::Array(texts)) if !texts.is_empty() && texts.iter().all(Value::is_string) => {
                return Some(texts.iter().filter_map(Value::as_str).collect());
            }
            _ => {}
        }
    }
    let choice = object.get("choices")?.get(0)?;
    let said = [
        choice.get("text"),
        choice.get("message").and_then(|message| message.get("content")),
        choice.get("delta").and_then(|delta| delta.get("content")),
    ];
    let text = match said.into_iter().flatten().find(|said| is_truthy(Some(said)))? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

fn text(text: String) -> Data<'static> {
    Data::Text(Cow::Owned(text))
}

/// What a value is by its shape alone.
fn convert(value: Value) -> Option<Data<'static>> {
    let is_number = |value: &Value| value.is_number() || value.is_boolean();
    match value {
        Value::String(said) if !said.is_empty() => Some(text(said)),
        Value::Array(items) => match items.first()? {
            Value::Array(vector) if !vector.is_empty() && vector.iter().all(is_number) => {
                Some(Data::Embeddings(items.into()))
            }
            first if is_number(first) => Some(Data::Embeddings(vec![Value::Array(items)].into())),
            Value::Object(_) => Some(Data::Rankings(items)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(expression: &str, value: &Value) -> Option<Value> {
        ResponseField::new(expression).unwrap().find(value)
    }

    #[test]
    fn every_standard_function_is_there() {
        let value = json!({"n": [3, 1, 2], "o": [{"k": "b"}, {"k": "a"}], "s": "abc", "m": {"x": 1}, "f": -1.5});
        for (expression, wanted) in [
            ("abs(f)", json!(1.5)),
            ("avg(n)", json!(2.0)),
            ("ceil(f)", json!(-1.0)),
            ("contains(s, 'b')", json!(true)),
            ("ends_with(s, 'c')", json!(true)),
            ("floor(f)", json!(-2.0)),
            ("join('-', o[*].k)", json!("b-a")),
            ("keys(m)", json!(["x"])),
            ("length(s)", json!(3)),
            ("map(&k, o)", json!(["b", "a"])),
            ("max(n)", json!(3)),
            ("max_by(o, &k).k", json!("b")),
            ("merge(m, `{\"y\":2}`)", json!({"x": 1, "y": 2})),
            ("min(n)", json!(1)),
            ("min_by(o, &k).k", json!("a")),
            ("not_null(nope, s)", json!("abc")),
            ("reverse(n)", json!([2, 1, 3])),
            ("sort(n)", json!([1, 2, 3])),
            ("sort_by(o, &k)[0].k", json!("a")),
            ("starts_with(s, 'a')", json!(true)),
            ("sum(n)", json!(6)),
            ("to_array(s)", json!(["abc"])),
            ("to_number('7')", json!(7)),
            ("to_string(m)", json!("{\"x\":1}")),
            ("type(s)", json!("string")),
            ("values(m)", json!([1])),
        ] {
            let got = found(expression, &value).unwrap_or_default();
            let same = got == wanted || got.as_f64().is_some_and(|got| Some(got) == wanted.as_f64());
            assert!(same, "{expression}: {got} is not {wanted}");
        }
    }

    #[test]
    fn paths_filters_slices_and_projections_are_understood() {
        let value = json!({"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "b": [[1, 2], [3]], "c d": {"e": "f"}});
        for (expression, wanted) in [
            ("a[?k=='y'].v | [0]", json!(2)),
            ("a[?v>`1` && k!='x'].k", json!(["y"])),
            ("a[?k==`y`].v | [0]", json!(2)),
            ("b[]", json!([1, 2, 3])),
            ("b[-1][0]", json!(3)),
            ("a[::-1].v", json!([2, 1])),
            ("\"c d\".e", json!("f")),
            ("a[0].{n: k, all: @}.n", json!("x")),
            ("nope || a[0].k", json!("x")),
            ("*.e", json!(["f"])),
            ("a[*].[k, v]", json!([["x", 1], ["y", 2]])),
        ] {
            assert_eq!(found(expression, &value), Some(wanted), "{expression}");
        }
    }

    #[test]
    fn an_expression_that_is_none_says_why() {
        for expression in ["a[", "", "a..b", "foo(", "a b"] {
            assert!(ResponseField::new(expression).is_err(), "{expression}");
        }
        assert!(ResponseField::new(&"(".repeat(LONGEST)).is_err());
        assert!(ResponseField::new(&"!".repeat(LONGEST + 1)).is_err_and(|reason| reason.contains("longer")));
        for part in ["!", "[", "a.", "a||", "(", "a[?", "{a:", "f("] {
            let _ = ResponseField::new(&part.repeat(LONGEST / part.len()));
            let deep = format!("{}a", part.repeat((LONGEST - 1) / part.len()));
            let _ = ResponseField::new(&deep).map(|field| field.find(&json!({"a": 1})));
        }
    }

    #[test]
    fn a_field_that_matches_nothing_is_named_with_the_body() {
        let mut reader = AnyReader { field: Some(ResponseField::new("a.b").unwrap()) };
        let piece = reader.read("{\"text\": \"x\"}", Delivery::Body).unwrap();
        let Some(ResponseError::Invalid { message, .. }) = piece.error else { panic!("{piece:?}") };
        assert!(message.ends_with("response_field 'a.b' matches no content in the response: {\"text\": \"x\"}"));
        assert_eq!(reader.read("{\"text\": \"x\"}", Delivery::Event), Some(Piece::default()));
    }

    /// What expressions are made of.
    const TOKENS: &[&str] = &[
        "a",
        "b",
        ".",
        "*",
        "[",
        "]",
        "[]",
        "[?",
        "==",
        "<",
        "(",
        ")",
        "@",
        "&",
        "|",
        "||",
        "`1`",
        "`x`",
        "'s'",
        "-1",
        "0",
        "99999999999",
        "::",
        ":",
        "{",
        "}",
        ",",
        "!",
        "length(",
        "sort_by(",
        "sum(",
        "join(",
        "map(",
        "to_number(",
        "avg(",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_expression_is_too_odd(
            tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..12),
        ) {
            let value = json!({"a": [1, {"b": "x", "a": [[2.5]]}], "b": {"a": null, "b": "s"}});
            if let Ok(field) = ResponseField::new(&tokens.concat()) {
                let _ = field.find(&value).and_then(convert);
            }
        }

        #[test]
        fn a_response_is_read_the_same_every_time(
            text in "(\\{|\\}|\\[|\\]|:|,|\"text\"|\"data\"|\"choices\"|\"x\"|null|1|NaN|é){0,12}",
            field in prop::sample::select(vec!["text", "data[0]", "length(@)", "keys(@)", "*"]),
            is_event in any::<bool>(),
        ) {
            let delivery = if is_event { Delivery::Event } else { Delivery::Body };
            for field in [None, Some(ResponseField::new(field).unwrap())] {
                let mut reader = AnyReader { field };
                let first = reader.read(&text, delivery);
                // What says nothing ends an answer only where there is no more of it.
                prop_assert!(first.as_ref().is_some_and(|piece| !is_event || piece.error.is_none()));
                prop_assert_eq!(first, reader.read(&text, delivery));
            }
        }

        #[test]
        fn no_text_is_too_odd_for_an_expression(expression in any::<String>()) {
            let _ = ResponseField::new(&expression);
        }
    }
}
