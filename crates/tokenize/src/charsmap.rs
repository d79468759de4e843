//! The rules of a `Precompiled` normalizer, checked before the library reads them: it trusts every length and index in
//! them, reserves memory for a length before it looks for the data, and panics at an index that is out of range.
//!
//! Layout: the trie's size in bytes (`u32`, little-endian), the trie (`u32`s, a double array), and the texts that it
//! points into, each ended by a NUL.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The longest run of bytes that the library looks up: a grapheme of fewer than six bytes.
const LONGEST_KEY: usize = 5;
/// The highest byte of a UTF-8 text.
const HIGHEST_BYTE: usize = 0xf4;

/// How many times as long the rules make a text at most, or what is wrong with them.
pub(crate) fn expansion(base64: &str) -> Result<usize, String> {
    let blob = STANDARD.decode(base64).map_err(|error| format!("it is not base64: {error}"))?;
    let (size, rest) = blob.split_first_chunk::<4>().ok_or("it has no size of a trie")?;
    let size = u32::from_le_bytes(*size) as usize;
    if size == 0 || !size.is_multiple_of(4) {
        return Err(format!("a trie has no {size} bytes"));
    }
    let (trie, texts) = rest
        .split_at_checked(size)
        .ok_or_else(|| format!("its trie should have {size} bytes, and {} are there", rest.len()))?;
    let texts = std::str::from_utf8(texts).map_err(|error| format!("its texts are not UTF-8: {error}"))?;
    let units: Vec<usize> = trie.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit) as usize).collect();
    longest_of(&units, texts).ok_or_else(|| "its trie points outside of itself or of its texts".to_owned())
}

/// Visits every unit that a text can lead to; `None` where one is missing.
fn longest_of(units: &[usize], texts: &str) -> Option<usize> {
    let mut most = 1;
    let mut seen = BTreeSet::new();
    let mut bases = vec![offset(*units.first()?)];
    for key in 1..=LONGEST_KEY {
        let mut next = Vec::new();
        for base in bases {
            for byte in 1..=HIGHEST_BYTE {
                let at = base ^ byte;
                let unit = *units.get(at)?;
                if unit & ((1 << 31) | 0xff) != byte || !seen.insert(at) {
                    continue;
                }
                let base = at ^ offset(unit);
                if (unit >> 8) & 1 == 1 {
                    let text = texts.get(*units.get(base)? & ((1 << 31) - 1)..)?;
                    let length = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
                    most = most.max(length.div_ceil(key));
                }
                next.push(base);
            }
        }
        bases = next;
    }
    Some(most)
}

fn offset(unit: usize) -> usize {
    (unit >> 10) << ((unit & (1 << 9)) >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trie that puts a text in place of `a`.
    fn rules(value: u32, text: &[u8]) -> String {
        let mut units = vec![0u32; 512];
        units[0] = 256 << 10;
        // `a` is found at 256 ^ 97; its leaf is at 256.
        units[256 ^ 97] = (97 << 10) | (1 << 8) | 97;
        units[256] = value | (1 << 31);
        let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(text);
        STANDARD.encode(blob)
    }

    #[test]
    fn rules_give_how_much_longer_they_make_a_text() {
        assert_eq!(expansion(&rules(0, b"bcd\0")), Ok(3));
        assert_eq!(expansion(&rules(2, "bcü\0".as_bytes())), Ok(2));
        assert_eq!(expansion(&rules(4, b"bcd\0")), Ok(1), "nothing in place of it");
    }

    #[test]
    fn rules_that_the_library_would_panic_at_are_refused() {
        for (rules, why) in [
            ("%", "base64"),
            ("", "no size"),
            ("AAAA", "no size"),
            ("AAAAAA==", "no 0 bytes"),
            ("AAEAAA==", "should have 256 bytes, and 0"),
            ("/////w==", "no 4294967295 bytes"),
            ("/P///w==", "should have 4294967292 bytes"),
            ("////fw==", "no 2147483647 bytes"),
            ("/wAAAAA=", "no 255 bytes"),
            ("AAAAEA==", "should have 268435456 bytes"),
            ("BAAAAAAAAAA=", "outside"),
            (&rules(5, b"bcd\0"), "outside"),
            (&rules(1, "ü\0".as_bytes()), "outside"),
            (&rules(0, b"\xff\0"), "UTF-8"),
        ] {
            let error = expansion(rules).unwrap_err();
            assert!(error.contains(why), "{rules}: {error}");
        }
    }
}
