//! Members of a response that are what nearly every server sends. Reading them this way takes some 0.6 us a
//! chunk, where reading what may be anything takes 0.9 (`cargo bench -p aiperf-dialect --bench parse`); whatever does
//! not fit is an error, for another way of reading to take up.

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A string that borrows when it holds no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Text<'a> {
    /// The text, if it is not empty.
    pub(crate) fn filled(text: Option<Self>) -> Option<Cow<'a, str>> {
        text.map(|text| text.0).filter(|text| !text.is_empty())
    }
}

/// The element of a list of at most one.
pub(crate) struct Only<T>(pub(crate) Option<T>);

impl<T> Default for Only<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Only<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Lists<T> {
            type Value = Only<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of at most one")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Only<T>, A::Error> {
                let only = seq.next_element()?;
                match seq.next_element::<T>()? {
                    None => Ok(Only(only)),
                    Some(_) => Err(A::Error::custom("more than one")),
                }
            }
        }
        deserializer.deserialize_seq(Lists(PhantomData))
    }
}
