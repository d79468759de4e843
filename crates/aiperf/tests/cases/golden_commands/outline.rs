//! What JSON documents look like: their members in order, and the kinds of their values.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The form of one document, or of several of a kind laid over each other.
#[derive(Default)]
pub(crate) struct Outline {
    /// Kinds of values, by place. Places in lists are one.
    values: BTreeMap<String, BTreeSet<String>>,
    /// Members in their order, by the place of their object.
    members: BTreeMap<String, Vec<String>>,
}

/// How two outlines differ at a place.
pub(crate) struct Difference {
    pub(crate) place: String,
    pub(crate) what: What,
}

pub(crate) enum What {
    Missing,
    Added,
    Values { ours: BTreeSet<String>, theirs: BTreeSet<String> },
    Order { ours: Vec<String>, theirs: Vec<String> },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match &self.what {
            What::Missing => write!(f, "missing"),
            What::Added => write!(f, "added"),
            What::Values { ours, theirs } => write!(f, "{ours:?}, not {theirs:?}"),
            What::Order { ours, theirs } => write!(f, "members {ours:?}, not {theirs:?}"),
        }
    }
}

impl Outline {
    /// The outline of documents. At places for which `varies` holds, only the kind of text counts, not the text.
    pub(crate) fn of<'a>(documents: impl IntoIterator<Item = &'a Value>, varies: fn(&str) -> bool) -> Self {
        let mut outline = Self::default();
        documents.into_iter().for_each(|document| outline.add("", document, varies));
        outline
    }

    fn add(&mut self, place: &str, value: &Value, varies: fn(&str) -> bool) {
        let kind = match value {
            Value::Object(members) => return self.add_members(place, members, varies),
            Value::Array(items) if !items.is_empty() => {
                return items.iter().for_each(|item| self.add(&format!("{place}[]"), item, varies));
            }
            Value::String(_) if varies(place) => "text".to_owned(),
            Value::Number(number) if number.is_f64() => "float".to_owned(),
            Value::Number(_) => "integer".to_owned(),
            other => other.to_string(),
        };
        self.values.entry(place.to_owned()).or_default().insert(kind);
    }

    fn add_members(&mut self, place: &str, members: &Map<String, Value>, varies: fn(&str) -> bool) {
        let known = self.members.entry(place.to_owned()).or_default();
        let mut next = 0;
        for key in members.keys() {
            next = match known.iter().position(|other| other == key) {
                Some(at) => at + 1,
                None => {
                    known.insert(next, key.clone());
                    next + 1
                }
            };
        }
        let dot = if place.is_empty() { "" } else { "." };
        members.iter().for_each(|(key, member)| self.add(&format!("{place}{dot}{key}"), member, varies));
    }

    /// How this one differs from another.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Difference> {
        let at = |place: &String, what: What| Difference { place: place.clone(), what };
        let mut found = Vec::new();
        for (place, ours) in &self.values {
            match other.values.get(place) {
                None => found.push(at(place, What::Added)),
                Some(theirs) if ours != theirs => {
                    found.push(at(place, What::Values { ours: ours.clone(), theirs: theirs.clone() }));
                }
                Some(_) => {}
            }
        }
        let missing = other.values.keys().filter(|place| !self.values.contains_key(*place));
        found.extend(missing.map(|place| at(place, What::Missing)));
        let missing = other.members.keys().filter(|place| !self.members.contains_key(*place));
        found.extend(missing.map(|place| at(place, What::Missing)));
        for (place, ours) in &self.members {
            let Some(theirs) = other.members.get(place) else { continue };
            let common = |keys: &[String], others: &[String]| -> Vec<String> {
                keys.iter().filter(|key| others.contains(key)).cloned().collect()
            };
            let (ours, theirs) = (common(ours, theirs), common(theirs, ours));
            if ours != theirs {
                found.push(at(place, What::Order { ours, theirs }));
            }
        }
        found
    }
}
