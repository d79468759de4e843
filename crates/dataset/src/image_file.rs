//! Image files: their first bytes, and what precedes their base64 in a data URL.

/// An image format that is written, and read from files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImageFile {
    pub(crate) start: &'static [u8],
    /// What precedes the base64.
    pub(crate) head: &'static str,
}

pub(crate) const PNG: ImageFile = ImageFile { start: b"\x89PNG\r\n\x1a\n", head: "data:image/png;base64," };
pub(crate) const JPEG: ImageFile = ImageFile { start: b"\xff\xd8\xff", head: "data:image/jpeg;base64," };

impl ImageFile {
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.start)
    }

    /// The format of an image, by its first bytes.
    pub(crate) fn of(bytes: &[u8]) -> Option<&'static Self> {
        [&PNG, &JPEG].into_iter().find(|known| known.begins(bytes))
    }
}
