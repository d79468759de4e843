//! What a template may not do: grow without bound. Output is counted while it is written, but a text that is put together
//! inside a template is not, and thirty doublings fill any memory. So what carries a text from one step to the next
//! (macros, namespaces, blocks that are kept) is refused, what joins texts is counted, and what multiplies them is held
//! to a size.

use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

/// Bytes of a text that a filter or method makes.
const MADE: usize = 64 << 20;
/// Operators in one template that join two texts; each may double one.
const JOINED: usize = 10;

/// Statements and functions that carry a text from one step to the next.
const CARRIERS: &[&str] = &["macro", "call", "endset", "endfilter", "namespace"];

/// Why a template is not rendered, by its text.
pub(super) fn refusal(text: &str) -> Option<String> {
    let inside: Vec<&str> = text.split('{').filter(|piece| piece.starts_with(['{', '%'])).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = text.split(|c: char| !is_word(c));
    let tagged = text.contains("{%") || text.contains("namespace");
    if let Some(carrier) = words.find(|word| tagged && CARRIERS.contains(word)) {
        return Some(format!("'{carrier}' is not known in the templates of a file"));
    }
    let joined = inside.iter().map(|piece| piece.matches(['~', '+']).count()).sum::<usize>();
    (joined > JOINED).then(|| format!("a template joins texts at most {JOINED} times"))
}

/// Filters that make more of a text, each with the one it stands for.
pub(super) fn hold(engine: &mut Environment<'_>) {
    engine.add_filter("replace_held", filters::replace);
    engine.add_filter("join_held", filters::join);
    engine.add_filter("indent_held", filters::indent);
    engine.add_filter("replace", |state: &mut State, args: Rest<Value>| held(state, "replace_held", &args));
    engine.add_filter("join", |state: &mut State, args: Rest<Value>| held(state, "join_held", &args));
    engine.add_filter("indent", |state: &mut State, args: Rest<Value>| held(state, "indent_held", &args));
    engine.set_unknown_method_callback(|state, value, method, args| {
        if ["replace", "join", "format"].contains(&method) {
            small_enough(std::iter::once(value).chain(args))?;
        }
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)
    });
}

fn held(state: &mut State, filter: &str, args: &[Value]) -> Result<Value, Error> {
    small_enough(args.iter())?;
    state.apply_filter(filter, args)
}

/// What is made of some values is at most their product: of lengths, and of numbers that are widths.
fn small_enough<'v>(values: impl Iterator<Item = &'v Value>) -> Result<(), Error> {
    let size = |value: &Value| {
        let length = value.as_str().map(str::len).or_else(|| value.len()).or_else(|| value.as_usize());
        length.unwrap_or(1).max(1)
    };
    let product = values.fold(1usize, |product, value| product.saturating_mul(size(value)));
    if product <= MADE {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("a template makes texts of at most {MADE} bytes")))
}
