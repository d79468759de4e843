//! The configuration file: YAML, environment references, templates, shorthands.
//!
//! A file becomes the same tree that flags make. [`Source`] is the file as read. [`Source::envelope`] renders its
//! templates and expands its shorthands; it can be called again with other variables.

mod shorthand;
pub(crate) mod substitute;
pub(crate) mod template;
pub(crate) mod yaml;

use crate::context::Context;
use crate::error::Problem;
use crate::names::shorthands;
use crate::sections::envelope::Envelope;
use crate::setting::{Setting, unknown_key};
use crate::tree::{Node, Places};
use crate::{os_text, small_file};
use aiperf_plan::redact::secrets_in_members;
use serde_json::{Map, Value};

pub(crate) use shorthand::{body as spell_out, snake_keys};

/// A configuration file as read: references to the environment resolved, templates not yet rendered.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    raw: Node,
    pub places: Places,
    /// Notes for the user about the file.
    pub notes: Vec<String>,
    /// The environment variables that the file refers to.
    environment: Map<String, Value>,
}

impl Source {
    pub(crate) fn read(file: &str, ctx: &Context<'_>) -> Result<Self, Problem> {
        let path = ctx.cwd.join(os_text::path(file));
        let file = os_text::shown(file);
        let text = small_file::text(&path, small_file::SETTINGS)
            .map_err(|rule| Problem::new(format!("--config {file}: {rule}")).hint("--config FILE.yaml"))?;
        Self::parse(&text, &file, ctx)
    }

    /// A document without a file, for flags alone.
    pub(crate) fn of(document: Node) -> Self {
        Self { raw: document, places: Places::default(), notes: Vec::new(), environment: Map::new() }
    }

    /// Reads the text of a file.
    pub(crate) fn parse(text: &str, file: &str, ctx: &Context<'_>) -> Result<Self, Problem> {
        let places = Places { file: Some(file.to_owned()) };
        let mut raw = yaml::load(text, &places)?;
        if !raw.is_map() {
            let what = format!("{file} must hold settings, not {}", raw.kind());
            return Err(Problem::new(what).hint("aiperf config init --template minimal"));
        }
        snake_keys(&mut raw, "");
        let mut notes = Vec::new();
        shorthand::nest(&mut raw, &places, &mut notes);
        let mut environment = Map::new();
        substitute::resolve(&mut raw, "", ctx.env, &places, &mut environment)?;
        Ok(Self { raw, places, notes, environment })
    }

    /// The configuration, with these variables in place of the file's.
    pub(crate) fn envelope(&self, variables: &[(String, Value)]) -> Result<Node, Vec<Problem>> {
        let mut envelope = self.raw.clone();
        if envelope.get("benchmark").is_none() {
            return Err(self.without_benchmark(&envelope));
        }
        for (path, value) in variables {
            let origin = envelope.find(path).map_or(crate::tree::Origin::Rule, |node| node.origin.clone());
            envelope.place(path, Node::from_json(value, &origin));
        }
        template::render(&mut envelope, &self.places).map_err(|problem| vec![problem])?;
        let mut problems = Vec::new();
        if let Some(benchmark) = envelope.get_mut("benchmark") {
            shorthand::body(benchmark, &self.places, &mut problems);
        }
        if let Some(version) = envelope.get("schema_version")
            && version.text() != Some("2.0")
            && version.as_f64() != Some(2.0)
        {
            problems.push(self.places.refuse(version, "schema_version", "is not known").hint("\"2.0\""));
        }
        if problems.is_empty() { Ok(envelope) } else { Err(problems) }
    }

    /// The text of a setting as the file has it.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.raw.find(path)?.text()
    }

    /// The secrets that the file holds by name, what its templates make of them, and those of the environment.
    pub(crate) fn secrets(&self) -> Vec<String> {
        [template::secrets(&self.raw, &self.places), self.secrets_of_environment()].concat()
    }

    /// The secrets in the environment variables that the file refers to.
    pub(crate) fn secrets_of_environment(&self) -> Vec<String> {
        secrets_in_members(&self.environment)
    }

    /// What is wrong with a file that has no benchmark: the keys that are none, one of which may be meant as it.
    fn without_benchmark(&self, envelope: &Node) -> Vec<Problem> {
        let known: Vec<&str> = Envelope::FIELDS.iter().map(|field| field.name).chain(shorthands("")).collect();
        let unknown = envelope.entries().iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let problems: Vec<Problem> =
            unknown.map(|(key, value)| unknown_key(&self.places, value, "", key, &known)).collect();
        if !problems.is_empty() {
            return problems;
        }
        let file = self.places.file.as_deref().unwrap_or_default();
        let problem = Problem::new(format!("{file} has nothing to run")).because("it has no benchmark");
        vec![problem.hint("benchmark: {model: NAME, ...}").at("benchmark")]
    }
}
