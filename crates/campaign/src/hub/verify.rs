//! Whether a file matches its entity tag: the SHA-256 of its bytes if the hub stores it separately, else the id of its
//! git object.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// The kind of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Sha256,
    GitBlob,
    /// A mirror's own tag: only the length can be checked.
    Unknown,
}

impl Tag {
    pub(super) fn of(tag: &str) -> Self {
        let is_hex = tag.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match tag.len() {
            64 if is_hex => Self::Sha256,
            40 if is_hex => Self::GitBlob,
            _ => Self::Unknown,
        }
    }
}

/// Why a file does not match its tag; `None` if it does.
pub(super) fn fault(file: &mut File, tag: &str, size: Option<u64>) -> io::Result<Option<String>> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    if let Some(size) = size.filter(|size| *size != length) {
        return Ok(Some(format!("it has {length} bytes instead of {size}")));
    }
    let mut context = match Tag::of(tag) {
        Tag::Unknown => return Ok(None),
        Tag::Sha256 => Context::new(&SHA256),
        Tag::GitBlob => {
            let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
            context.update(format!("blob {length}\0").as_bytes());
            context
        }
    };
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => break,
            read => context.update(&block[..read]),
        }
    }
    let found = hex(context.finish().as_ref());
    Ok((found != tag).then(|| format!("its hash is {found} instead of {tag}")))
}

/// A file name for a tag that is no valid name itself.
pub(super) fn file_name(tag: &str) -> String {
    let is_name = !tag.is_empty()
        && tag.len() <= 128
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_name {
        tag.to_owned()
    } else {
        format!("tag-{}", hex(ring::digest::digest(&SHA256, tag.as_bytes()).as_ref()))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn fault_of(bytes: &[u8], tag: &str, size: Option<u64>) -> Option<String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        fault(&mut file, tag, size).unwrap()
    }

    #[test]
    fn a_file_must_match_its_tag_and_its_length() {
        // `printf hello | sha256sum`, `printf hello | git hash-object --stdin`
        let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let git = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0";
        for tag in [sha256, git] {
            assert_eq!(fault_of(b"hello", tag, Some(5)), None);
            assert!(fault_of(b"hallo", tag, None).unwrap().contains("its hash is"));
            assert_eq!(fault_of(b"hell", tag, Some(5)).unwrap(), "it has 4 bytes instead of 5");
        }
        assert_eq!(fault_of(b"hello", "mirror-1", None), None);
    }

    #[test]
    fn every_tag_gives_a_file_name() {
        assert_eq!(file_name("0a-b_C"), "0a-b_C");
        for tag in ["", "../x", "a/b", "a.lock", "\u{e9}"] {
            assert!(file_name(tag).starts_with("tag-"), "{tag}");
        }
    }
}
