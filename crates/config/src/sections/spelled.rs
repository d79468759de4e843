//! Lists of what a file writes as maps and the command line as texts.

use crate::error::Problem;
use crate::setting::{Field, List, Reader, Setting, join};
use crate::tree::{Datum, Node};
use serde_json::{Value, json};

/// What a text may stand for in a list.
pub(crate) trait Spelled: Setting {
    /// An example for messages.
    const EXAMPLE: &str;
    /// What a value other than a list is refused with, after "must be a list".
    const LIST: &str;
    /// What a map without a required member is refused with, the members it needs, and an example.
    const NOT_WHOLE: [&str; 3];
    /// The map of a text.
    fn parse(text: &str) -> Result<Value, Refusal>;
    /// Whether a map has all required members.
    fn is_whole(&self) -> bool;
}

/// Why a text is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub what: String,
    /// [`Spelled::EXAMPLE`] if there is nothing closer.
    pub way_out: Option<String>,
}

impl From<String> for Refusal {
    fn from(what: String) -> Self {
        Self { what, way_out: None }
    }
}

/// A list of which each item is a map or a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpelledList<T>(pub List<T>);

impl<T: Spelled> Setting for SpelledList<T> {
    const FIELDS: &'static [Field] = T::FIELDS;
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        let Datum::List(items) = &node.datum else {
            reader.refuse(node, path, format!("must be a list{}, not {}", T::LIST, node.kind()));
            return None;
        };
        let numbered = items.iter().enumerate();
        let read = numbered.filter_map(|(index, node)| item(node, &join(path, &index.to_string()), reader));
        Some(Self(List(read.collect())))
    }
    fn write(&self) -> Value {
        self.0.write()
    }
    fn full(&self) -> Value {
        self.0.full()
    }
    fn schema() -> Value {
        json!({"type": "array", "items": {"anyOf": [{"type": "string"}, T::schema()]}})
    }
}

fn item<T: Spelled>(node: &Node, path: &str, reader: &mut Reader) -> Option<T> {
    let map = match node.text().map(T::parse) {
        None => node.clone(),
        Some(Ok(map)) => Node::from_json(&map, &node.origin),
        Some(Err(Refusal { what, way_out })) => {
            let problem = reader.places.refuse(node, path, what);
            reader.problems.push(problem.hint(way_out.unwrap_or_else(|| T::EXAMPLE.to_owned())));
            return None;
        }
    };
    let faults = reader.problems.len();
    let read = T::read(&map, path, reader)?;
    // A member that is refused is missing too.
    if !read.is_whole() && reader.problems.len() == faults {
        let [what, needs, example] = T::NOT_WHOLE;
        let problem = Problem::new(format!("{} {what}", reader.places.subject_key(node, path)));
        reader.problems.push(problem.because(needs).hint(example).at(path));
    }
    Some(read)
}
