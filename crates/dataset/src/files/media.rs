//! Images, audio and video of rows: already encoded, by URL, or in files, which are read once and kept encoded.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::row::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MediaKind {
    Text,
    Image,
    Audio,
    Video,
}

impl MediaKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }
}

/// Media files that rows name, encoded.
#[derive(Debug)]
pub(super) struct MediaFiles {
    /// Where the dataset's file lies.
    folder: PathBuf,
    encoded: HashMap<(MediaKind, String), String>,
}

impl MediaFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, encoded: HashMap::new() }
    }

    /// Checks a content, and reads the file that it names.
    pub(super) fn admit(&mut self, kind: MediaKind, content: String) -> Result<String, Fault> {
        if is_sent_as_it_is(kind, &content)? {
            return Ok(content);
        }
        let key = (kind, content);
        if !self.encoded.contains_key(&key) {
            let encoded = self.read(kind, &key.1)?;
            self.encoded.insert(key, encoded);
        }
        Ok(String::new())
    }

    /// The content as it is sent.
    pub(super) fn encoded(&self, kind: MediaKind, content: String) -> Result<String, Fault> {
        if is_sent_as_it_is(kind, &content)? {
            return Ok(content);
        }
        self.encoded.get(&(kind, content)).cloned().ok_or_else(|| Fault("a file was not read".into()))
    }

    fn read(&self, kind: MediaKind, name: &str) -> Result<String, Fault> {
        let what = kind.name();
        let shown: String = name.chars().take(200).collect();
        let fault = |why: String| Fault(format!("{what} '{shown}' {why}"));
        if name.is_empty() {
            return Err(Fault(format!("an {what} is empty\n  try: a data URI, a URL, or the name of a file")));
        }
        // A path that the system cannot even look up (too long, or with a NUL) is none.
        let path = [Path::new(name).to_owned(), self.folder.join(name)].into_iter().find(|path| path.exists());
        let path = path
            .ok_or_else(|| fault("is no file\n  try: a data URI, a URL, or the name of a file that exists".into()))?;
        if !path.is_file() {
            return Err(fault("is not a file".into()));
        }
        let bytes = std::fs::read(&path).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let head = match (kind, ending.as_str()) {
            (MediaKind::Image, _) if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => "data:image/png;base64,",
            (MediaKind::Image, _) if bytes.starts_with(b"\xff\xd8\xff") => "data:image/jpeg;base64,",
            (MediaKind::Audio, "wav") => "wav,",
            (MediaKind::Audio, "mp3") => "mp3,",
            (MediaKind::Video, "mp4") => "data:video/mp4;base64,",
            (MediaKind::Video, "webm") => "data:video/webm;base64,",
            (MediaKind::Image, _) => return Err(fault("is neither PNG nor JPEG\n  try: a data URI".into())),
            (MediaKind::Audio, _) => return Err(fault("is neither .wav nor .mp3".into())),
            (MediaKind::Video, _) => return Err(fault("is neither .mp4 nor .webm\n  try: a data URI".into())),
            (MediaKind::Text, _) => return Err(fault("is text, which is not read from files".into())),
        };
        let mut encoded = String::with_capacity(head.len() + bytes.len().div_ceil(3) * 4);
        encoded.push_str(head);
        STANDARD.encode_string(&bytes, &mut encoded);
        Ok(encoded)
    }
}

/// Whether a content is encoded already or is a URL, and so names no file here.
fn is_sent_as_it_is(kind: MediaKind, content: &str) -> Result<bool, Fault> {
    let starts = |head: &str| content.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head));
    if kind == MediaKind::Text || starts("data:") {
        return Ok(true);
    }
    if let Some((scheme, rest)) = content.split_once("://") {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        if is_scheme && !host.is_empty() {
            return Ok(true);
        }
        let shown: String = content.chars().take(200).collect();
        return Err(Fault(format!("{} '{shown}' is a URL without a scheme or a host", kind.name())));
    }
    Ok(kind == MediaKind::Audio && (starts("wav,") || starts("mp3,")))
}
