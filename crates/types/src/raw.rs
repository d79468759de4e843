//! What went over the connection of one request, as those want it who keep all of it.

use crate::MonoNs;

/// One request and its response as they were, for those who ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawExchange {
    /// As they were sent, each name once; `None` where there was no request.
    pub request_headers: Option<Vec<(String, String)>>,
    pub response: RawResponse,
}

/// What a server answered with a status of success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RawResponse {
    /// Nothing, or a part of a body that is no stream.
    #[default]
    None,
    /// The messages of a stream, also of one that broke off.
    Events(RawEvents),
    /// Any other body.
    Body {
        /// When all of it was there.
        at: MonoNs,
        /// The media type without its parameters.
        content_type: String,
        body: RawBody,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawBody {
    Text(String),
    Bytes(Vec<u8>),
}

/// The messages of an event stream, each with its fields and the instant of the read that completed it. There may be
/// thousands, so that all of them share three allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawEvents {
    /// Names and values, one after the other.
    texts: String,
    fields: Vec<FieldEnds>,
    /// When each message came, and how many fields there are up to its end.
    messages: Vec<(MonoNs, usize)>,
    /// Whether more came than these.
    pub is_cut: bool,
}

/// Where the texts of a field end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FieldEnds {
    name: usize,
    /// `None` of a field that is nothing but its name.
    value: Option<usize>,
}

impl RawEvents {
    /// Of a stream of about so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        Self { texts: String::with_capacity(bytes), ..Self::default() }
    }

    /// Begins a message.
    pub fn begin(&mut self, at: MonoNs) {
        self.messages.push((at, self.fields.len()));
    }

    /// Adds a field to the message begun last.
    pub fn push(&mut self, name: &str, value: Option<&str>) {
        self.texts.push_str(name);
        let name = self.texts.len();
        self.texts.push_str(value.unwrap_or_default());
        self.fields.push(FieldEnds { name, value: value.map(|_| self.texts.len()) });
        if let Some((_, end)) = self.messages.last_mut() {
            *end = self.fields.len();
        }
    }

    /// The messages in order.
    pub fn iter(&self) -> impl Iterator<Item = (MonoNs, impl Iterator<Item = (&str, Option<&str>)>)> {
        let mut from = 0;
        self.messages.iter().map(move |&(at, end)| {
            let first = std::mem::replace(&mut from, end);
            (at, (first..end).map(|index| self.field(index)))
        })
    }

    fn field(&self, index: usize) -> (&str, Option<&str>) {
        let start = index.checked_sub(1).map_or(0, |before| {
            let FieldEnds { name, value } = self.fields[before];
            value.unwrap_or(name)
        });
        let FieldEnds { name, value } = self.fields[index];
        (&self.texts[start..name], value.map(|value| &self.texts[name..value]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_with_their_fields() {
        let mut events = RawEvents::with_room(8);
        events.begin(MonoNs(3));
        events.push("event", Some("x"));
        events.push("data", None);
        events.push("data", Some(""));
        events.begin(MonoNs(4));
        events.begin(MonoNs(5));
        events.push("comment", Some("\u{e9}"));
        let read: Vec<(MonoNs, Vec<_>)> = events.iter().map(|(at, fields)| (at, fields.collect())).collect();
        let first = vec![("event", Some("x")), ("data", None), ("data", Some(""))];
        let wanted = [(MonoNs(3), first), (MonoNs(4), Vec::new()), (MonoNs(5), vec![("comment", Some("\u{e9}"))])];
        assert_eq!(read, wanted);
    }
}
