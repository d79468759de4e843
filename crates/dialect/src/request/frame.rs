//! A body's members, and the place of the turns among them.

use super::error::DialectError;
use bytes::Bytes;
use serde_json::{Map, Value};

/// The members of a body in order. One of them may be the list that every turn adds to: it is here by its name
/// alone, and what is in it is encoded turn by turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    members: Map<String, Value>,
    /// Members that are there in bytes; among the others they are null.
    encoded: Vec<(&'static str, Bytes)>,
    items: Option<&'static str>,
    last_turn_only: bool,
    whole: Option<Value>,
}

impl Frame {
    /// A body that has no members, because it is no object.
    pub fn whole(body: Value) -> Self {
        Self { whole: Some(body), ..Self::default() }
    }

    /// The list of turns goes here.
    pub fn items(&mut self, member: &'static str) {
        self.members.insert(member.into(), Value::Null);
        self.items = Some(member);
    }

    /// Of the list, only what the last turn added: the server knows the rest.
    pub fn items_of_last_turn(&mut self, member: &'static str) {
        self.items(member);
        self.last_turn_only = true;
    }

    /// Sets a member to JSON that is encoded: what requests share is not encoded for each of them.
    pub fn set_encoded(&mut self, member: &'static str, json: Bytes) {
        self.set(member, Value::Null);
        self.encoded.push((member, json));
    }

    /// Sets a member: a known one keeps its place.
    pub fn set(&mut self, member: &str, value: impl Into<Value>) {
        if self.items == Some(member) {
            self.items = None;
        }
        self.encoded.retain(|(encoded, _)| *encoded != member);
        self.members.insert(member.to_owned(), value.into());
    }

    pub fn extend<'a>(&mut self, members: impl IntoIterator<Item = (&'a String, &'a Value)>) {
        members.into_iter().for_each(|(member, value)| self.set(member, value.clone()));
    }

    /// A member that is not encoded.
    pub fn get(&self, member: &str) -> Option<&Value> {
        self.members.get(member)
    }

    pub(crate) fn has_items(&self) -> bool {
        self.items.is_some()
    }

    pub(crate) fn is_of_last_turn(&self) -> bool {
        self.last_turn_only
    }

    pub(crate) fn into_members(mut self) -> Result<Map<String, Value>, DialectError> {
        for (member, json) in self.encoded {
            let value = serde_json::from_slice(&json).map_err(|error| DialectError::Encode(error.to_string()))?;
            self.members.insert(member.to_owned(), value);
        }
        Ok(self.members)
    }

    /// The bytes before the items and after them, in pieces; nothing after where there are none.
    pub(crate) fn encode(&self) -> Result<(Vec<Bytes>, Vec<Bytes>), DialectError> {
        let encode = |error: serde_json::Error| DialectError::Encode(error.to_string());
        if let Some(body) = &self.whole {
            return Ok((vec![serde_json::to_vec(body).map_err(encode)?.into()], Vec::new()));
        }
        let mut before = Vec::new();
        let mut pieces = Vec::new();
        let mut out = vec![b'{'];
        for (at, (member, value)) in self.members.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            serde_json::to_writer(&mut out, member).map_err(encode)?;
            out.push(b':');
            if self.items == Some(member) {
                out.push(b'[');
                pieces.push(std::mem::replace(&mut out, vec![b']']).into());
                before = std::mem::take(&mut pieces);
            } else if let Some((_, json)) = self.encoded.iter().find(|(encoded, _)| encoded == member) {
                pieces.push(std::mem::take(&mut out).into());
                pieces.push(json.clone());
            } else {
                serde_json::to_writer(&mut out, value).map_err(encode)?;
            }
        }
        out.push(b'}');
        pieces.push(out.into());
        Ok(if self.items.is_some() { (before, pieces) } else { (pieces, Vec::new()) })
    }
}
