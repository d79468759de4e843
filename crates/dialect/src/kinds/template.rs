//! Payloads made from a template of the user's, in Jinja.

mod python_json;

use super::{Carries, Dialect};
use crate::capture::TextCapture;
use crate::detect::AnyReader;
use crate::inputs;
use crate::request::{DialectError, Frame, Request};
use aiperf_types::{EndpointKind, Media};
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

pub const DIALECT: Dialect = Dialect {
    kind: EndpointKind::Template,
    carries: Carries::LastTurn,
    frame,
    reader: |api| Box::new(AnyReader { field: api.response_field.clone() }),
    capture: |_| Box::new(TextCapture::default()),
    inputs: inputs::of_messages,
};

/// Templates that go by a name.
const NAMED: &[(&str, &str)] = &[("nv-embedqa", r#"{"text": {{ texts|tojson }}}"#)];

/// What one rendering may do, in instructions: a template that never ends does end.
const FUEL: u64 = 10_000_000;
/// How much of what a template made an error shows, in characters.
const SHOWN: usize = 100;

/// The name that the template has in its environment: without an ending, so that nothing is escaped.
const NAME: &str = "payload";

/// A template, read once for all requests.
pub struct PayloadTemplate {
    environment: Environment<'static>,
    /// The variables that it looks at: only they are made.
    used: HashSet<String>,
}

impl PayloadTemplate {
    /// From a template's text or its name; fails with the line and the reason where it is none.
    pub fn new(source: &str) -> Result<Self, String> {
        let source = NAMED.iter().find(|(name, _)| *name == source.trim()).map_or(source, |(_, text)| text);
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.set_fuel(Some(FUEL));
        environment.add_filter("tojson", to_json);
        environment.add_template_owned(NAME, source.to_owned()).map_err(|error| explained(&error))?;
        let used = environment.get_template(NAME).map_err(|error| explained(&error))?.undeclared_variables(false);
        Ok(Self { environment, used })
    }

    fn render(&self, request: &Request<'_>) -> Result<String, Error> {
        let used = VARIABLES.iter().filter(|(name, _)| self.used.contains(*name));
        let variables = Value::from_pairs(used.map(|(name, value)| (*name, value(request))));
        self.environment.get_template(NAME)?.render(variables)
    }
}

/// What is wrong with a template, and where.
fn explained(error: &Error) -> String {
    let reason = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    match error.line() {
        Some(line) => format!("line {line}: {reason}"),
        None => reason,
    }
}

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let template = request.api.template.as_ref().ok_or(DialectError::Missing("template", "a payload template"))?;
    let cannot =
        |error: Error| DialectError::Malformed(format!("the template cannot be filled in: {}", explained(&error)));
    let rendered = template.render(request).map_err(cannot)?;
    let value: Json = serde_json::from_str(&rendered).map_err(|error| {
        let shown: String = rendered.chars().take(SHOWN).collect();
        DialectError::Malformed(format!("Template did not render valid JSON ({error}): {shown}"))
    })?;
    match value {
        Json::Object(members) => {
            let mut frame = Frame::default();
            frame.extend(&members);
            frame.extend(request.extras());
            Ok(frame)
        }
        other => match request.extras().next() {
            None => Ok(Frame::whole(other)),
            Some((member, _)) => Err(DialectError::Malformed(format!(
                "the template renders no JSON object, so that there is no place for the extra input '{member}'"
            ))),
        },
    }
}

type Variable = fn(&Request<'_>) -> Value;

/// What a template may look at.
const VARIABLES: &[(&str, Variable)] = &[
    ("text", |request| first(&request.turn.texts)),
    ("texts", |request| all(&request.turn.texts)),
    ("texts_by_name", |request| by_name(&request.turn.texts)),
    ("image", |request| first(&request.turn.images)),
    ("images", |request| all(&request.turn.images)),
    ("images_by_name", |request| by_name(&request.turn.images)),
    ("audio", |request| first(&request.turn.audios)),
    ("audios", |request| all(&request.turn.audios)),
    ("audios_by_name", |request| by_name(&request.turn.audios)),
    ("video", |request| first(&request.turn.videos)),
    ("videos", |request| all(&request.turn.videos)),
    ("videos_by_name", |request| by_name(&request.turn.videos)),
    ("query", |request| queries(request).first().copied().into()),
    ("queries", |request| queries(request).into_iter().collect()),
    ("passage", |request| passages(request).first().copied().into()),
    ("passages", |request| passages(request).into_iter().collect()),
    ("model", |request| Serde(request.model()).into()),
    ("max_tokens", |request| request.turn.max_tokens.into()),
    ("role", |request| request.turn.role.as_deref().into()),
    ("stream", |request| Value::from(request.streaming())),
    ("turn", |request| Serde(request.turn).into()),
    ("turns", turns),
    ("request_info", request_info),
];

fn contents(media: &[Media]) -> impl Iterator<Item = &String> {
    media.iter().flat_map(|media| &media.contents)
}

fn all(media: &[Media]) -> Value {
    contents(media).map(String::as_str).collect()
}

fn first(media: &[Media]) -> Value {
    contents(media).next().map(String::as_str).into()
}

fn by_name(media: &[Media]) -> Value {
    let mut named: Map<String, Json> = Map::new();
    for media in media.iter().filter(|media| !media.name.is_empty()) {
        let contents = named.entry(media.name.as_str()).or_insert_with(|| Json::Array(Vec::new()));
        if let Json::Array(contents) = contents {
            contents.extend(media.contents.iter().map(|content| Json::from(content.as_str())));
        }
    }
    Serde(named).into()
}

/// Texts of a name.
fn named<'a>(request: &'a Request<'_>, name: &str) -> Vec<&'a str> {
    let media = request.turn.texts.iter().filter(|media| media.name == name);
    media.flat_map(|media| &media.contents).map(String::as_str).collect()
}

fn queries<'a>(request: &'a Request<'_>) -> Vec<&'a str> {
    named(request, "query")
}

fn passages<'a>(request: &'a Request<'_>) -> Vec<&'a str> {
    let passages = named(request, "passages");
    if passages.is_empty() { named(request, "passage") } else { passages }
}

fn turns(request: &Request<'_>) -> Value {
    request.turns().map(|turn| Value::from(Serde(turn))).collect()
}

/// Everything that a request is made from.
fn request_info(request: &Request<'_>) -> Value {
    #[derive(Serialize)]
    struct Info<'a> {
        turns: Value,
        system_message: &'a Option<String>,
        user_context_message: &'a Option<String>,
        previous_response_id: Option<&'a str>,
        conversation_id: &'a str,
    }
    let conversation = request.conversation;
    Value::from(Serde(Info {
        turns: turns(request),
        system_message: &conversation.system_message,
        user_context_message: &conversation.user_context_message,
        previous_response_id: request.previous_response_id,
        conversation_id: &conversation.session_id,
    }))
}

/// The filter `tojson`, as Jinja has it.
fn to_json(value: Value, indent: Option<usize>, options: Kwargs) -> Result<Value, Error> {
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<usize>>("indent")?,
    };
    options.assert_all_used()?;
    if value.is_undefined() {
        return Err(Error::new(ErrorKind::UndefinedError, "an undefined value has no JSON"));
    }
    let value = serde_json::to_value(&value)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("this has no JSON: {error}")))?;
    Ok(Value::from_safe_string(python_json::dump(&value, indent)))
}
