//! The binary form of values that travel between machines: CBOR.
//!
//! CBOR describes itself: every member has its name and every value its type. Plans need that, since they have tagged
//! enums, maps and members that are left out. A form begins with its name and version, so that a program of another
//! version refuses it before it reads anything else. Integers have up to 128 bits, and floats keep every bit.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a form is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryForm {
    pub name: &'static str,
    /// Grows with every change that older programs would misread.
    pub version: u32,
}

/// The first item of a form.
#[derive(Serialize, Deserialize)]
struct Header {
    form: String,
    version: u32,
}

/// Why a value has no form, or bytes are not the form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormError {
    /// A value that the form cannot hold, such as a path that is no text.
    Unwritable(String),
    /// The form of something else.
    Other {
        expected: &'static str,
        found: String,
    },
    Version {
        name: &'static str,
        expected: u32,
        found: u32,
    },
    /// Bytes that are cut off, damaged or no form at all.
    Unreadable(String),
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritable(reason) => write!(f, "cannot be written: {reason}"),
            Self::Other { expected, found } => write!(f, "expected {expected}, found {found:?}"),
            Self::Version { name, expected, found } => {
                write!(f, "{name} has version {found}, this program reads version {expected}")
            }
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}"),
        }
    }
}

impl std::error::Error for FormError {}

impl BinaryForm {
    pub fn write<T: Serialize>(self, value: &T) -> Result<Vec<u8>, FormError> {
        let mut bytes = Vec::new();
        let header = Header { form: self.name.to_owned(), version: self.version };
        ciborium::into_writer(&header, &mut bytes)
            .and_then(|()| ciborium::into_writer(value, &mut bytes))
            .map_err(|error| FormError::Unwritable(error.to_string()))?;
        Ok(bytes)
    }

    pub fn read<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, FormError> {
        let mut rest = bytes;
        let Header { form, version } = next(&mut rest)?;
        if form != self.name {
            return Err(FormError::Other { expected: self.name, found: form });
        }
        if version != self.version {
            return Err(FormError::Version { name: self.name, expected: self.version, found: version });
        }
        let value = next(&mut rest)?;
        match rest.len() {
            0 => Ok(value),
            left => Err(FormError::Unreadable(format!("{left} bytes follow its end"))),
        }
    }
}

fn next<T: DeserializeOwned>(rest: &mut &[u8]) -> Result<T, FormError> {
    ciborium::from_reader(rest).map_err(|error| FormError::Unreadable(error.to_string()))
}

/// Members that are bytes: written as one string of bytes, where a list would have a number for each.
pub mod bytes {
    use serde::de::{Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::Serializer;
    use std::fmt;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[u8]>, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Box<[u8]>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            Ok(bytes.into())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Self::Value, E> {
            Ok(bytes.into_boxed_slice())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes.into_boxed_slice())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const FORM: BinaryForm = BinaryForm { name: "test value", version: 2 };

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Tagged {
        Known { rate: f64, by_number: BTreeMap<String, u64> },
        Unknown,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Sample {
        tagged: Vec<Tagged>,
        wide: u128,
        counts: BTreeMap<u32, u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<String>,
        #[serde(with = "bytes")]
        packed: Box<[u8]>,
        float: f64,
    }

    fn sample() -> Sample {
        Sample {
            tagged: vec![
                Tagged::Known { rate: f64::INFINITY, by_number: [("a".to_owned(), u64::MAX)].into() },
                Tagged::Unknown,
            ],
            wide: u128::MAX - 7,
            counts: [(3, 4), (u32::MAX, 5)].into(),
            absent: None,
            packed: [0, 255, 7].into(),
            float: 0.1 + 0.2,
        }
    }

    #[test]
    fn a_value_is_the_same_after_its_way_through_bytes() {
        let bytes = FORM.write(&sample()).unwrap();
        assert_eq!(FORM.read::<Sample>(&bytes), Ok(sample()));
    }

    #[test]
    fn another_form_or_version_is_refused_by_name() {
        let bytes = FORM.write(&sample()).unwrap();
        let other = BinaryForm { name: "other value", ..FORM }.read::<Sample>(&bytes).unwrap_err();
        assert_eq!(other, FormError::Other { expected: "other value", found: "test value".into() });
        let newer = BinaryForm { version: 3, ..FORM }.read::<Sample>(&bytes).unwrap_err();
        assert_eq!(newer.to_string(), "test value has version 2, this program reads version 3");
    }

    #[test]
    fn bytes_that_are_cut_off_or_too_many_are_refused() {
        let bytes = FORM.write(&sample()).unwrap();
        for end in 0..bytes.len() {
            assert!(matches!(FORM.read::<Sample>(&bytes[..end]), Err(FormError::Unreadable(_))), "{end}");
        }
        let more = [&bytes[..], &[0]].concat();
        assert_eq!(FORM.read::<Sample>(&more), Err(FormError::Unreadable("1 bytes follow its end".into())));
    }
}
