//! How the file writes bytes: each as one visible character, so that any token is a string.

/// Bytes that represent themselves.
const fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// Byte of each character below 324: the visible ones, and from 256 on the others in order.
static BYTES: [Option<u8>; 324] = {
    let mut bytes = [None; 324];
    let mut byte = 0_u8;
    let mut invisible = 256;
    loop {
        if is_visible(byte) {
            bytes[byte as usize] = Some(byte);
        } else {
            bytes[invisible] = Some(byte);
            invisible += 1;
        }
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    bytes
};

/// Appends the bytes that a token represents; a token with any other character represents its own text, and gives
/// `false`.
pub(super) fn push_bytes(token: &str, bytes: &mut Vec<u8>) -> bool {
    let begin = bytes.len();
    for character in token.chars() {
        match BYTES.get(character as usize).copied().flatten() {
            Some(byte) => bytes.push(byte),
            None => {
                bytes.truncate(begin);
                bytes.extend_from_slice(token.as_bytes());
                return false;
            }
        }
    }
    true
}
