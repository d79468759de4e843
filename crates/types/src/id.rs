//! Ids as text.

use std::fmt;
use std::sync::Arc;

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Bits that every version 4 UUID shares: which they are, and their values.
const FIXED: (u128, u128) = (0xf << 76 | 0x3 << 62, 4 << 76 | 2 << 62);

/// Random bits as the text of a version 4 UUID.
pub fn uuid_text(bits: u128) -> [u8; 36] {
    let bytes = (bits & !FIXED.0 | FIXED.1).to_be_bytes();
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in bytes.into_iter().enumerate() {
        at += usize::from(matches!(index, 4 | 6 | 8 | 10));
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    text
}

/// The id of a session as requests and records carry it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CorrelationId {
    /// Random bits, as the text of a UUID.
    Uuid(u128),
    Text(Arc<str>),
}

impl CorrelationId {
    /// Appends its text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uuid(bits) => out.extend_from_slice(&uuid_text(*bits)),
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

impl Default for CorrelationId {
    fn default() -> Self {
        Self::Uuid(0)
    }
}

impl fmt::Display for CorrelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bits) => f.write_str(std::str::from_utf8(&uuid_text(*bits)).unwrap_or_default()),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_become_a_version_four_uuid() {
        assert_eq!(&uuid_text(u128::MAX), b"ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(&uuid_text(0), b"00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn the_id_of_a_session_is_written_as_it_is_shown() {
        for id in [CorrelationId::Uuid(7), CorrelationId::Text("fixed-schedule-a".into())] {
            let mut written = Vec::new();
            id.write(&mut written);
            assert_eq!(written, id.to_string().into_bytes());
        }
    }
}
