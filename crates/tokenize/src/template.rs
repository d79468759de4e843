//! Chat templates: Jinja as Hugging Face tokenizers carry it, and what one costs in tokens.

use std::cell::Cell;
use std::fmt;

use aiperf_template::{MOST, charge_json, explained, guarded, hold};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde::Serialize;

use crate::clock;

const NAME: &str = "chat";

/// A message of plain text. Any other serialisable shape a template understands will do as well.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Message<'a> {
    /// `user`, `assistant`, `system`, ...
    pub role: &'a str,
    pub content: &'a str,
}

impl<'a> Message<'a> {
    pub fn user(content: &'a str) -> Self {
        Self { role: "user", content }
    }

    pub fn assistant(content: &'a str) -> Self {
        Self { role: "assistant", content }
    }
}

/// A parsed template with the special tokens it may name.
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTemplate").finish_non_exhaustive()
    }
}

impl ChatTemplate {
    /// Parses a template; special tokens are pairs such as (`bos_token`, `<s>`).
    pub fn new(source: String, special_tokens: &[(String, String)]) -> Result<Self, String> {
        let mut environment = Environment::new();
        // What transformers sets, and templates are written against.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| explained(&error))?);
        hold(&mut environment);
        environment.add_filter("tojson", python_json);
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        // Of nothing, the engine iterates over no items; templates ask in this way whether there are tools.
        // Of a text, it would make a list of letters.
        environment.add_test("iterable", |value: &Value| {
            value.as_str().is_some() || (!value.is_none() && value.try_iter().is_ok())
        });
        environment.add_function("strftime_now", |format: String| clock::format_now(&format));
        for (name, text) in special_tokens {
            environment.add_global(name.clone(), Value::from(text.clone()));
        }
        let guarded = guarded(&without_generation_marks(&source)).map_err(|refusal| refusal.to_string())?;
        environment.add_template_owned(NAME, guarded).map_err(|error| explained(&error))?;
        Ok(Self { environment })
    }

    /// The text a model sees for messages.
    pub fn render(&self, messages: impl Serialize, add_generation_prompt: bool) -> Result<String, String> {
        let template = self.environment.get_template(NAME).map_err(|error| explained(&error))?;
        let context = context! {
            messages => Value::from(Serde(messages)),
            tools => Value::from(()),
            documents => Value::from(()),
            add_generation_prompt,
        };
        aiperf_template::render(&template, &context, &Cell::new(MOST)).map_err(|error| explained(&error))
    }
}

/// `{% generation %}` only marks the output of the model, for training; it prints nothing, and Jinja does not know it.
fn without_generation_marks(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(open) = rest.find("{%") {
        let (before, tag) = rest.split_at(open);
        let Some(close) = tag.find("%}") else { break };
        let (tag, after) = tag.split_at(close + 2);
        let word = tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']).trim();
        result.push_str(before);
        match word {
            "generation" => result.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => result.push_str(&tag.replace("endgeneration", "endif")),
            _ => result.push_str(tag),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// `tojson` as transformers defines it: Python's `json.dumps`, nothing escaped for HTML.
fn python_json(value: Value, arguments: Kwargs) -> Result<Value, Error> {
    let failed = |error: serde_json::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
    let indent: Option<usize> = arguments.get("indent")?;
    charge_json(&value, indent)?;
    let mut text = Vec::new();
    match indent {
        Some(width) => {
            let indent = vec![b' '; width];
            let formatter = serde_json::ser::PrettyFormatter::with_indent(&indent);
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, formatter)).map_err(failed)?;
        }
        None => {
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Spaced)).map_err(failed)?;
        }
    }
    Ok(Value::from_safe_string(String::from_utf8_lossy(&text).into_owned()))
}

/// Python's default separators: `", "` and `": "`.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

/// What a chat template adds, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateCost {
    /// Once a conversation.
    pub fixed: usize,
    pub per_message: usize,
}
