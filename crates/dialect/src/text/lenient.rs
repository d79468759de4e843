//! Members of a response that may have another type than expected: such a member counts as absent, and does not affect
//! the others. No tree is built, and texts without escapes are borrowed.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What a visitor makes of the kinds of values that it has no use for.
macro_rules! absent {
    ($value:expr; $($kind:ident)*) => { $(absent!(@$kind $value);)* };
    (@scalars $value:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@unsigned $value:expr) => {
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@string $value:expr) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
    };
    (@list $value:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
    (@object $value:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

/// A string that is not empty, or nothing.
#[derive(Debug, Default)]
pub(crate) struct Str<'a>(pub(crate) Option<Cow<'a, str>>);

impl Str<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.0.as_deref() == Some(text)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Strings;
        impl<'de> Visitor<'de> for Strings {
            type Value = Str<'de>;
            absent!(Str(None); scalars unsigned list object);
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Str<'de>, E> {
                Ok(Str((!text.is_empty()).then_some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Str<'de>, E> {
                Ok(Str((!text.is_empty()).then(|| Cow::Owned(text.to_owned()))))
            }
        }
        deserializer.deserialize_any(Strings)
    }
}

/// A small whole number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Index(pub(crate) Option<u32>);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Index;
            absent!(Index(None); scalars string list object);
            fn visit_u64<E: Error>(self, number: u64) -> Result<Index, E> {
                Ok(Index(u32::try_from(number).ok()))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

/// An object, or nothing.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Objects<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Objects<T> {
            type Value = Object<T>;
            absent!(Object(None); scalars unsigned string list);
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|object| Object(Some(object)))
            }
        }
        deserializer.deserialize_any(Objects(PhantomData))
    }
}

/// A list of objects. Nearly all have one element: it is kept in place.
#[derive(Debug)]
pub(crate) struct List<T> {
    pub(crate) first: Object<T>,
    pub(crate) rest: Vec<Object<T>>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { first: Object(None), rest: Vec::new() }
    }
}

impl<T> List<T> {
    /// Its objects, each with its place in the list.
    pub(crate) fn objects(self) -> impl Iterator<Item = (usize, T)> {
        let all = std::iter::once(self.first).chain(self.rest);
        all.enumerate().filter_map(|(at, object)| Some((at, object.0?)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Lists<T> {
            type Value = List<T>;
            absent!(List::default(); scalars unsigned string object);
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<T>, A::Error> {
                let first = seq.next_element()?.unwrap_or_default();
                let mut rest = Vec::new();
                while let Some(object) = seq.next_element()? {
                    rest.push(object);
                }
                Ok(List { first, rest })
            }
        }
        deserializer.deserialize_any(Lists(PhantomData))
    }
}

/// A text: a string, or the texts of a list of parts. Some parts may be reasoning: `{"type": "thinking", "thinking":
/// [{"type": "text", "text": ...}]}`.
#[derive(Debug, Default)]
pub(crate) struct Content<'a> {
    pub(crate) text: Option<Cow<'a, str>>,
    pub(crate) thought: Option<Cow<'a, str>>,
}

impl<'a> Content<'a> {
    fn filled(text: Cow<'a, str>) -> Self {
        Self { text: Some(text).filter(|text| !text.is_empty()), thought: None }
    }

    /// All of it.
    pub(crate) fn whole(self) -> Option<Cow<'a, str>> {
        joined_texts([self.thought, self.text])
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(default, borrow)]
    text: Str<'a>,
    #[serde(default, borrow)]
    thinking: Thoughts<'a>,
}

/// A string, or the texts of a list of objects.
#[derive(Debug, Default)]
struct Thoughts<'a>(Option<Cow<'a, str>>);

#[derive(Deserialize)]
struct Thought<'a> {
    #[serde(default, borrow)]
    text: Str<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Thoughts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visited;
        impl<'de> Visitor<'de> for Visited {
            type Value = Thoughts<'de>;
            absent!(Thoughts(None); scalars unsigned object);
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Thoughts<'de>, E> {
                Ok(Thoughts((!text.is_empty()).then_some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Thoughts<'de>, E> {
                Ok(Thoughts((!text.is_empty()).then(|| Cow::Owned(text.to_owned()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Thoughts<'de>, A::Error> {
                let mut joined = None;
                while let Some(thought) = seq.next_element::<Object<Thought<'de>>>()? {
                    joined = joined_texts([joined, thought.0.and_then(|thought| thought.text.0)]);
                }
                Ok(Thoughts(joined))
            }
        }
        deserializer.deserialize_any(Visited)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Contents;
        impl<'de> Visitor<'de> for Contents {
            type Value = Content<'de>;
            absent!(Content::default(); scalars unsigned object);
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::filled(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::filled(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content<'de>, A::Error> {
                let mut content = Content::default();
                while let Some(part) = seq.next_element::<Object<Part<'de>>>()? {
                    let Some(Part { text, thinking }) = part.0 else { continue };
                    content.text = joined_texts([content.text, text.0]);
                    content.thought = joined_texts([content.thought, thinking.0]);
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(Contents)
    }
}

/// Texts one after the other; `None` where all are empty. One alone stays as it is.
pub(crate) fn joined_texts<'a>(texts: impl IntoIterator<Item = Option<Cow<'a, str>>>) -> Option<Cow<'a, str>> {
    let mut texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
    let mut joined = texts.next()?;
    for text in texts {
        joined.to_mut().push_str(&text);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Odd<'a> {
        #[serde(default, borrow)]
        text: Str<'a>,
        #[serde(default)]
        index: Index,
        #[serde(default, borrow)]
        object: Object<Part<'a>>,
        #[serde(default, borrow)]
        list: List<Part<'a>>,
        #[serde(default, borrow)]
        content: Content<'a>,
    }

    #[test]
    fn an_odd_member_is_absent_and_costs_no_other() {
        for odd in ["null", "true", "-1", "1.5", "7", "\"\"", "[]", "{}", "[[1],{\"a\":2}]", "{\"text\":{\"a\":[]}}"] {
            let json =
                format!(r#"{{"text":{odd},"index":{odd},"object":{odd},"list":{odd},"content":{odd},"else":{odd}}}"#);
            let read: Odd<'_> = serde_json::from_str(&json).unwrap();
            let has_text = read.list.objects().any(|(_, part)| part.text.0.is_some());
            assert!(!has_text && read.text.0.is_none() && read.content.whole().is_none(), "{odd}");
            assert!(read.object.0.is_none_or(|part| part.text.0.is_none()), "{odd}");
            assert_eq!(read.index.0, (odd == "7").then_some(7));
        }
    }

    #[test]
    fn texts_without_escapes_are_borrowed() {
        for (json, is_borrowed, text) in [
            (r#"{"content":"a b"}"#, true, "a b"),
            (r#"{"content":"a\nb"}"#, false, "a\nb"),
            (r#"{"content":[{"type":"text","text":"a"}]}"#, true, "a"),
            (r#"{"content":[{"text":"a"},null,{"image":1},{"text":"b"}]}"#, false, "ab"),
        ] {
            let read: Odd<'_> = serde_json::from_str(json).unwrap();
            let content = read.content.text.unwrap();
            assert_eq!((matches!(content, Cow::Borrowed(_)), &*content), (is_borrowed, text));
        }
    }
}
