//! Members and columns of a trace that look like misspelt known ones. Traces contain many members that are not used, so
//! a note is made only if a name is similar to a known member that its row does not have.

use std::fmt;

use aiperf_plan::nearest::nearest;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::Format;
use super::row_file::{RowFile, RowPosition};
use crate::error::DatasetError;

/// Rows to check: the rows of a trace are alike, and reading a long trace twice would take too long.
const LOOKED_AT: usize = 1000;
/// Names to note.
const MOST: usize = 8;

/// A note about members that look like known ones.
pub(super) fn note(
    file: &RowFile,
    format: &Format,
    unread: &[String],
    places: &[RowPosition],
) -> Result<Option<String>, DatasetError> {
    let mut found: Vec<(String, &str)> = Vec::new();
    let mut first = None;
    for place in places.iter().take(LOOKED_AT) {
        let text = file.row(*place)?;
        let Ok(Names(names)) = serde_json::from_str(&text) else { continue };
        let is_missing = |member: &&str| !names.iter().any(|name| name == member);
        for name in names.iter().chain(unread).filter(|name| !format.members.contains(&name.as_str())) {
            if found.iter().any(|(known, _)| known == name) {
                continue;
            }
            if let Some(meant) = nearest(name, format.members.iter().copied().filter(is_missing)) {
                first.get_or_insert(place.offset);
                found.push((name.clone(), meant));
            }
        }
    }
    let Some(first) = first else { return Ok(None) };
    let more = if found.len() > MOST { " and others" } else { "" };
    let shown: Vec<String> =
        found.iter().take(MOST).map(|(name, meant)| format!("{name} (is {meant} meant?)")).collect();
    Ok(Some(format!("{}: members that mean nothing here are ignored: {}{more}", file.at(first), shown.join(", "))))
}

struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}
