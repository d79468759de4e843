//! Files of images: how they begin, and what stands before their bytes in a data URL.

/// A kind of image that is made, and read from files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ImageFile {
    pub(crate) start: &'static [u8],
    /// What stands before the base64.
    pub(crate) head: &'static str,
}

pub(crate) const PNG: ImageFile = ImageFile { start: b"\x89PNG\r\n\x1a\n", head: "data:image/png;base64," };
pub(crate) const JPEG: ImageFile = ImageFile { start: b"\xff\xd8\xff", head: "data:image/jpeg;base64," };

impl ImageFile {
    pub(crate) fn begins(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(self.start)
    }

    /// What an image is, by its beginning.
    pub(crate) fn of(bytes: &[u8]) -> Option<&'static Self> {
        [&PNG, &JPEG].into_iter().find(|known| known.begins(bytes))
    }
}
