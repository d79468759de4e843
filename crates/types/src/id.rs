//! Ids as text.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_become_a_version_four_uuid() {
        assert_eq!(&uuid_text(u128::MAX), b"ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(&uuid_text(0), b"00000000-0000-4000-8000-000000000000");
    }
}
