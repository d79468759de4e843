//! The user's template for bodies, in Jinja.

mod python_json;

use aiperf_template::{MOST, charge_json, explained, guarded, hold};
use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Template};
use std::cell::Cell;

/// The name that the template has in its environment.
const NAME: &str = "payload";

/// A template, parsed once for all requests.
pub struct PayloadTemplate {
    environment: Environment<'static>,
    /// The variables that its text names: the others are not made. The engine's own list of variables misses those that
    /// are only sliced.
    variables: Vec<&'static str>,
}

impl PayloadTemplate {
    /// From a template's text and the variables it may name; fails with the line and the reason where it is none.
    pub fn new(source: &str, variables: impl Iterator<Item = &'static str>) -> Result<Self, String> {
        let guarded = guarded(source).map_err(|refusal| refusal.to_string())?;
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        minijinja_contrib::add_to_environment(&mut environment);
        hold(&mut environment);
        environment.add_filter("tojson", to_json);
        environment.add_template_owned(NAME, guarded).map_err(|error| explained(&error))?;
        let template = environment.get_template(NAME).map_err(|error| explained(&error))?;
        // Names of filters and tests are looked up when they are used: an empty request checks those that it reaches.
        if let Err(error) = rendered(&template, &Value::from(()))
            && matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest)
        {
            return Err(explained(&error));
        }
        let variables = variables.filter(|name| source.contains(name)).collect();
        Ok(Self { environment, variables })
    }

    /// Whether it uses earlier turns.
    pub(crate) fn looks_back(&self) -> bool {
        self.variables.iter().any(|name| matches!(*name, "turns" | "request_info"))
    }

    /// Whether its text names a variable.
    pub(crate) fn names(&self, variable: &str) -> bool {
        self.variables.contains(&variable)
    }

    pub(crate) fn render(&self, variables: impl Iterator<Item = (&'static str, Value)>) -> Result<String, Error> {
        rendered(&self.environment.get_template(NAME)?, &Value::from_pairs(variables))
    }
}

fn rendered(template: &Template<'_, '_>, context: &Value) -> Result<String, Error> {
    aiperf_template::render(template, context, &Cell::new(MOST))
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
    charge_json(&value, indent)?;
    let value = serde_json::to_value(&value)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("this has no JSON: {error}")))?;
    Ok(Value::from_safe_string(python_json::dump(&value, indent)))
}
