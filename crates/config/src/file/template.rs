//! `{{ }}` and `{% %}` in the values of a file, by minijinja.

use crate::error::Problem;
use crate::file::substitute::coerce;
use crate::nearest::nearest;
use crate::setting::join;
use crate::tree::{Datum, Node, Places};
use aiperf_plan::redact::{is_secret_name, secrets_in_members};
use aiperf_template::{FileBudget, guarded, hold};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The most variables of a file.
const VARIABLES: usize = 1000;

/// Keys whose templates are rendered later.
const LATER: &[&str] = &["template", "body", "payload_template"];

/// Renders every template of a configuration: variables first, in the order of their dependencies.
pub(crate) fn render(envelope: &mut Node, places: &Places) -> Result<(), Problem> {
    rendered(envelope, places, None)
}

/// The secrets of a configuration whose templates are not yet rendered: those that it holds by name, and what templates
/// make of them, as far as they can be rendered.
pub(crate) fn secrets(raw: &Node, places: &Places) -> Vec<String> {
    let mut envelope = raw.clone();
    let made = RefCell::default();
    // A template that fails is reported elsewhere.
    let _ = rendered(&mut envelope, places, Some(&made));
    let named = |node: &Node| match node.to_json() {
        serde_json::Value::Object(members) => secrets_in_members(&members),
        _ => Vec::new(),
    };
    let mut named = [named(raw), named(&envelope)].concat();
    // The name of a file that holds the key is no secret.
    let key = raw.find("benchmark.endpoint.api_key").and_then(Node::text).filter(|key| key.starts_with('@'));
    named.retain(|secret| Some(secret.as_str()) != key);
    // Where the secret itself is in a value, the rest of it may be shown.
    let mut made = made.into_inner();
    made.retain(|value: &String| !named.iter().any(|secret| !secret.is_empty() && value.contains(secret.as_str())));
    [named, made].concat()
}

/// Renders every template. `made` receives what templates make of secrets.
fn rendered(envelope: &mut Node, places: &Places, made: Option<&RefCell<Vec<String>>>) -> Result<(), Problem> {
    if !any_template(envelope) {
        return Ok(());
    }
    let engine = engine();
    let mut context: BTreeMap<String, Value> = BTreeMap::new();
    for (key, value) in envelope.entries() {
        context.insert(key.clone(), addressable(value));
    }
    for (key, value) in envelope.get("benchmark").map_or(&[][..], Node::entries) {
        context.insert(key.clone(), addressable(value));
    }
    let names = "variables, settings of the file, and settings of benchmark";
    let mut job = Job {
        engine: &engine,
        places,
        budget: FileBudget::new(&known(&context)),
        later: LATER,
        names,
        is_shown: true,
        read: coerce,
        secret: BTreeSet::new(),
        made,
    };
    if let Some(variables) = envelope.get_mut("variables") {
        if made.is_some() {
            job.secret = job.made_of_secrets(variables);
        }
        job.variables(variables, &mut context)?;
    }
    let context = known(&context);
    match &mut envelope.datum {
        Datum::Map(entries) => entries
            .iter_mut()
            .filter(|(key, _)| key != "variables")
            .try_for_each(|(key, value)| job.node(value, key, key, &context)),
        _ => Ok(()),
    }
}

/// How a rendered text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// As the value that it looks like.
    Value,
    /// As text.
    Text,
}

/// Renders the content of a user file, with the names of a map. It is rendered only when the run is known.
pub(crate) fn render_content(
    content: &mut Node,
    path: &str,
    context: &Node,
    made: Made,
    places: &Places,
) -> Result<(), Problem> {
    if !any_template(content) {
        return Ok(());
    }
    let mut engine = engine();
    // The namespace of a pod is a value, not a function.
    engine.remove_global("namespace");
    let names: Vec<&str> = context.entries().iter().map(|(name, _)| name.as_str()).collect();
    let read = match made {
        Made::Value => coerce,
        Made::Text => |text: &str| Datum::Text(text.to_owned()),
    };
    let (context, names) = (addressable(context), names.join(", "));
    let (budget, secret) = (FileBudget::new(&context), BTreeSet::new());
    let job =
        Job { engine: &engine, places, budget, later: &[], names: &names, is_shown: false, read, secret, made: None };
    job.node(content, "", path, &context)
}

fn engine() -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    if let Ok(syntax) = SyntaxConfig::builder().keep_trailing_newline(true).build() {
        engine.set_syntax(syntax);
    }
    hold(&mut engine);
    engine.set_fuel(Some(FileBudget::FUEL));
    engine
}

struct Job<'a> {
    engine: &'a Environment<'a>,
    places: &'a Places,
    /// What templates may still use: variables that double each other would fill the memory.
    budget: FileBudget,
    /// Keys whose templates are rendered later.
    later: &'a [&'a str],
    /// The names that templates may use, for messages.
    names: &'a str,
    /// Whether messages show the template: the content may be long, and secret.
    is_shown: bool,
    read: fn(&str) -> Datum,
    /// Variables that are made of secrets.
    secret: BTreeSet<String>,
    /// Receives what templates make of secrets, if wanted.
    made: Option<&'a RefCell<Vec<String>>>,
}

impl Job<'_> {
    fn variables(&self, variables: &mut Node, context: &mut BTreeMap<String, Value>) -> Result<(), Problem> {
        let names: Vec<String> = variables.entries().iter().map(|(name, _)| name.clone()).collect();
        if names.len() > VARIABLES {
            let what = format!("{}there are {} variables", self.places.prefix(&variables.origin), names.len());
            return Err(Problem::new(what).because(format!("a file has at most {VARIABLES}")).at("variables"));
        }
        let needed: BTreeMap<String, Vec<String>> =
            variables.entries().iter().map(|(name, node)| (name.clone(), self.needed(node, false))).collect();
        let mut waiting = names.clone();
        for name in &names {
            context.remove(name);
        }
        while !waiting.is_empty() {
            let open: BTreeSet<&String> = waiting.iter().collect();
            let ready = waiting
                .iter()
                .position(|name| needed.get(name).is_none_or(|needed| !needed.iter().any(|n| open.contains(n))));
            let Some(ready) = ready else {
                return Err(Problem::new(format!("the variables {} depend on each other", waiting.join(", ")))
                    .because("none can be resolved first")
                    .at("variables"));
            };
            let name = waiting.remove(ready);
            let current = known(context);
            if let Some(node) = variables.get_mut(&name) {
                self.node(node, &name, &join("variables", &name), &current)?;
                context.insert(name, addressable(node));
            }
        }
        Ok(())
    }

    /// The variables whose templates use a secret, or a variable that does.
    fn made_of_secrets(&self, variables: &Node) -> BTreeSet<String> {
        let mut made = BTreeSet::new();
        loop {
            let uses = |(_, node): &&(String, Node)| self.needed(node, true).iter().any(|name| is_secret(name, &made));
            let found: BTreeSet<String> =
                variables.entries().iter().filter(uses).map(|(name, _)| name.clone()).collect();
            if found.len() == made.len() {
                return made;
            }
            made = found;
        }
    }

    /// Names that a template uses and that have no value.
    fn unset(&self, text: &str, context: &Value) -> Vec<String> {
        // The shortest part of a name with dots that has no value.
        let first_unset = |name: String| {
            let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().map(|end| &name[..end]).find(|part| value_of(part, context).is_none()).map(str::to_owned)
        };
        let is_function = |name: &String| self.engine.globals().any(|(global, _)| global == name);
        let missing: BTreeSet<String> =
            self.used(text, true).into_iter().filter_map(first_unset).filter(|name| !is_function(name)).collect();
        missing.into_iter().collect()
    }

    /// Why a template cannot be rendered. Names without a value come first if the error is about one of them: a
    /// template may also have a default for such a name, and fail elsewhere.
    fn fault(&self, problem: Problem, text: &str, context: &Value, error: &minijinja::Error) -> Problem {
        let names = format!("names: {}", self.names);
        let detail = error.detail().filter(|_| error.kind() != ErrorKind::UndefinedError);
        let is_undefined =
            error.kind() == ErrorKind::UndefinedError || error.detail().is_some_and(|why| why.contains("undefined"));
        let unset = if is_undefined { self.unset(text, context) } else { Vec::new() };
        if unset.is_empty() {
            return problem.because(error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)).hint(names);
        }
        let verb = if unset.len() > 1 { "are" } else { "is" };
        let problem = problem.because(format!("{} {verb} not set", unset.join(", ")));
        let problem = match detail {
            Some(detail) => problem.because(detail),
            None => problem,
        };
        match unset.as_slice() {
            [one] => problem.hint(near(one, context).unwrap_or(names)),
            _ => problem.hint(names),
        }
    }

    /// The names that a template uses, with or without their members; none if it cannot be parsed.
    fn used(&self, text: &str, members: bool) -> Vec<String> {
        // The engine parses by recursion: a template that is too deep is refused before.
        // The engine also joins literals that have no checks between them.
        let Ok(text) = guarded(text) else { return Vec::new() };
        let names = self.engine.template_from_str(&text).map(|template| template.undeclared_variables(members));
        // The checks have a function of their own.
        names.into_iter().flatten().filter(|name| !name.starts_with("__")).collect()
    }

    /// Names that templates below a node use, with their members or without.
    fn needed(&self, node: &Node, members: bool) -> Vec<String> {
        match &node.datum {
            Datum::Text(text) if is_template(text) => self.used(text, members),
            Datum::List(items) => items.iter().flat_map(|item| self.needed(item, members)).collect(),
            Datum::Map(entries) => entries.iter().flat_map(|(_, value)| self.needed(value, members)).collect(),
            _ => Vec::new(),
        }
    }

    fn render(&self, text: &str, context: &Value) -> Result<String, minijinja::Error> {
        let guarded =
            guarded(text).map_err(|refusal| minijinja::Error::new(ErrorKind::InvalidOperation, refusal.why))?;
        let template = self.engine.template_from_str(&guarded)?;
        self.budget.render(&template, context)
    }

    fn node(&self, node: &mut Node, key: &str, path: &str, context: &Value) -> Result<(), Problem> {
        if self.later.contains(&key) || path.ends_with("artifacts.user_files") {
            return Ok(());
        }
        match &mut node.datum {
            Datum::Text(text) if is_template(text) => {
                let rendered = self.render(text, context).map_err(|error| {
                    let template = if self.is_shown { format!(" '{text}'") } else { String::new() };
                    let what = format!("{}{path}{template} cannot be rendered", self.places.prefix(&node.origin));
                    self.fault(Problem::new(what).at(path), text, context, &error)
                })?;
                if let Some(made) =
                    self.made.filter(|_| self.used(text, true).iter().any(|name| is_secret(name, &self.secret)))
                {
                    made.borrow_mut().push(rendered.clone());
                }
                node.datum = (self.read)(&rendered);
                Ok(())
            }
            Datum::List(items) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| self.node(item, "", &join(path, &index.to_string()), context)),
            Datum::Map(entries) => {
                entries.iter_mut().try_for_each(|(key, value)| self.node(value, key, &join(path, key), context))
            }
            _ => Ok(()),
        }
    }
}

/// Whether what a template names is a secret, or one of these variables, which are made of secrets.
fn is_secret(name: &str, made: &BTreeSet<String>) -> bool {
    name.split('.').any(is_secret_name)
        || made.contains(name.trim_start_matches("variables.").split('.').next().unwrap_or_default())
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

fn any_template(node: &Node) -> bool {
    match &node.datum {
        Datum::Text(text) => is_template(text),
        Datum::List(items) => items.iter().any(any_template),
        Datum::Map(entries) => entries.iter().any(|(_, value)| any_template(value)),
        _ => false,
    }
}

/// A value for templates: items of a named list can be addressed by name and by number.
fn addressable(node: &Node) -> Value {
    match &node.datum {
        Datum::List(items) if !items.is_empty() && items.iter().all(|item| item.get("name").is_some()) => {
            let by_number = items.iter().enumerate().map(|(index, item)| (Value::from(index), addressable(item)));
            let by_name = items.iter().map(|item| {
                (Value::from(item.get("name").and_then(Node::text).unwrap_or_default()), addressable(item))
            });
            Value::from_pairs(by_number.chain(by_name))
        }
        Datum::List(items) => items.iter().map(addressable).collect(),
        Datum::Map(entries) => Value::from_pairs(entries.iter().map(|(key, value)| (key.as_str(), addressable(value)))),
        Datum::Null => Value::from(()),
        Datum::Bool(on) => Value::from(*on),
        Datum::Int(n) => Value::from(*n),
        Datum::Float(n) => Value::from(*n),
        Datum::Text(text) => Value::from(text.as_str()),
    }
}

/// The value of a name with dots.
fn value_of(name: &str, context: &Value) -> Option<Value> {
    name.split('.').try_fold(context.clone(), |at, part| at.get_attr(part).ok().filter(|value| !value.is_undefined()))
}

/// The nearest name to a mistyped one, in the same map of the context.
fn near(name: &str, context: &Value) -> Option<String> {
    let (above, last) = match name.rsplit_once('.') {
        Some((above, last)) => (Some(above), last),
        None => (None, name),
    };
    let among = above.map_or_else(|| Some(context.clone()), |above| value_of(above, context))?;
    let keys: Vec<String> = among.try_iter().ok()?.map(|key| key.to_string()).collect();
    let found = nearest(last, keys.iter().map(String::as_str))?;
    Some(above.map_or_else(|| found.to_owned(), |above| join(above, found)))
}

fn known(context: &BTreeMap<String, Value>) -> Value {
    Value::from_pairs(context.iter().map(|(name, value)| (name.as_str(), value.clone())))
}
