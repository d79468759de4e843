//! Images, audio and video of rows: encoded in the row, by URL, or in files, which are read once and stored encoded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use aiperf_plan::redact;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::read::DecoderReader;
use base64::write::EncoderStringWriter;

use super::fault::Fault;
use super::room::{Room, size};
use crate::image_file::{JPEG, PNG};
use crate::source::LARGEST_REQUEST;

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

    /// The singular with its article.
    const fn one(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Image => "an image",
            Self::Audio => "an audio",
            Self::Video => "a video",
        }
    }
}

/// A type of media file: how to recognise it, and what precedes its base64.
struct FileType {
    kind: MediaKind,
    /// The first bytes of the file; if empty, `ending` decides.
    starts: &'static [u8],
    ending: &'static str,
    head: &'static str,
}

const FILE_TYPES: &[FileType] = &[
    FileType { kind: MediaKind::Image, starts: PNG.start, ending: "", head: PNG.head },
    FileType { kind: MediaKind::Image, starts: JPEG.start, ending: "", head: JPEG.head },
    FileType { kind: MediaKind::Audio, starts: b"", ending: "wav", head: "wav," },
    FileType { kind: MediaKind::Audio, starts: b"", ending: "mp3", head: "mp3," },
    FileType { kind: MediaKind::Video, starts: b"", ending: "mp4", head: "data:video/mp4;base64," },
    FileType { kind: MediaKind::Video, starts: b"", ending: "webm", head: "data:video/webm;base64," },
];

#[derive(Debug)]
pub(super) struct MediaFiles {
    /// The folder of the dataset file.
    folder: PathBuf,
    encoded: HashMap<(MediaKind, String), String>,
}

impl MediaFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, encoded: HashMap::new() }
    }

    /// Checks a content, reads the file that it names, and returns how many bytes this adds to a request.
    pub(super) fn admit(&mut self, kind: MediaKind, content: String, room: &mut Room) -> Result<u64, Fault> {
        if is_sent_as_it_is(kind, &content)? {
            check_encoded(kind, &content)?;
            return Ok(0);
        }
        let key = (kind, content);
        if let Some(encoded) = self.encoded.get(&key) {
            return Ok(encoded.len() as u64);
        }
        let encoded = self.read(kind, &key.1, room)?;
        let bytes = encoded.len() as u64;
        self.encoded.insert(key, encoded);
        Ok(bytes)
    }

    /// The content in the form it is sent.
    pub(super) fn encoded(&self, kind: MediaKind, content: String) -> Result<String, Fault> {
        if is_sent_as_it_is(kind, &content)? {
            return Ok(content);
        }
        self.encoded.get(&(kind, content)).cloned().ok_or_else(|| Fault("a file was not read".into()))
    }

    fn read(&self, kind: MediaKind, name: &str, room: &mut Room) -> Result<String, Fault> {
        let what = kind.name();
        let fault = |why: String| Fault(format!("{what} '{}' {why}", shown(name)));
        if name.is_empty() {
            let one = kind.one();
            return Err(Fault(format!("{one} is empty\n  try: a data URI, a URL, or the name of a file")));
        }
        // A path that the system cannot look up (too long, or with a NUL) does not exist.
        let path = [Path::new(name).to_owned(), self.folder.join(name)].into_iter().find(|path| path.exists());
        let path = path
            .ok_or_else(|| fault("is no file\n  try: a data URI, a URL, or the name of a file that exists".into()))?;
        if !path.is_file() {
            return Err(fault("is not a file".into()));
        }
        let unread = |error: std::io::Error| fault(format!("cannot be read: {error}"));
        let mut file = File::open(&path).map_err(unread)?;
        // Check type and size before reading the file.
        let mut beginning = Vec::new();
        file.by_ref().take(16).read_to_end(&mut beginning).map_err(unread)?;
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let is_known = |known: &&FileType| {
            known.kind == kind
                && beginning.starts_with(known.starts)
                && (known.ending.is_empty() || known.ending == ending)
        };
        let head = FILE_TYPES.iter().find(is_known).map(|known| known.head).ok_or_else(|| {
            fault(match kind {
                MediaKind::Image => "is neither PNG nor JPEG\n  try: a data URI".into(),
                MediaKind::Audio => "is neither .wav nor .mp3\n  try: wav,BASE64 or mp3,BASE64".into(),
                MediaKind::Video => "is neither .mp4 nor .webm\n  try: a data URI".into(),
                MediaKind::Text => "is text, which is not read from files".into(),
            })
        })?;
        let bytes = file.metadata().map_err(unread)?.len();
        if bytes > LARGEST_REQUEST {
            let (has, may) = (size(bytes), size(LARGEST_REQUEST));
            return Err(fault(format!("has {has}, and one may have {may}\n  try: a smaller one, or its URL")));
        }
        let taken = head.len() as u64 + bytes.div_ceil(3) * 4;
        room.take(taken, &format!("{what} '{}'", shown(name)), "fewer or smaller media")?;
        let mut encoded = String::with_capacity(taken as usize);
        encoded.push_str(head);
        let mut encoder = EncoderStringWriter::from_consumer(&mut encoded, &STANDARD);
        // If the file grows in the meantime, the rest is ignored.
        std::io::copy(&mut beginning.as_slice().chain(file).take(bytes), &mut encoder).map_err(unread)?;
        encoder.into_inner();
        Ok(encoded)
    }
}

/// Base64 as servers accept it: padding required, any trailing bits.
const READ_BY_SERVERS: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Refuses a content whose base64 does not decode. The server decides whether it is an image or a sound.
fn check_encoded(kind: MediaKind, content: &str) -> Result<(), Fault> {
    let is_data_uri = starts_with(content, "data:");
    let is_url = !is_data_uri && content.contains("://");
    if kind == MediaKind::Text || is_url {
        return Ok(());
    }
    let what = kind.name();
    let Some((head, data)) = content.split_once(',') else {
        let shown = shown(content);
        return Err(Fault(format!("{what} '{shown}' has no data\n  try: data:TYPE;base64,DATA")));
    };
    if is_data_uri && !head.to_ascii_lowercase().ends_with(";base64") {
        return Ok(());
    }
    let fault = |why: String| {
        let way_out = "try: what base64 -w0 FILE prints, or the name of the file";
        Fault(format!("{what} '{},...' is not base64: {why}\n  {way_out}", shown(head)))
    };
    let data = plain_base64(data);
    if data.is_empty() {
        return Err(fault("it is empty".into()));
    }
    let mut decoder = DecoderReader::new(data.as_bytes(), &READ_BY_SERVERS);
    std::io::copy(&mut decoder, &mut std::io::sink())
        .map(drop)
        .map_err(|error| fault(error.to_string().trim_end_matches('.').to_owned()))
}

/// Removes blanks between the characters, and maps the URL-safe alphabet to the standard one.
fn plain_base64(data: &str) -> Cow<'_, str> {
    if !data.contains(|c: char| c == '%' || c.is_ascii_whitespace()) {
        return Cow::Borrowed(data);
    }
    let mut plain: String = data.split_ascii_whitespace().collect();
    for (escaped, character) in [("%3D", "="), ("%3d", "="), ("%2B", "+"), ("%2b", "+"), ("%2F", "/"), ("%2f", "/")] {
        plain = plain.replace(escaped, character);
    }
    Cow::Owned(plain)
}

fn starts_with(content: &str, head: &str) -> bool {
    content.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head))
}

/// The beginning of a content for a message, without secrets.
pub(crate) fn shown(content: &str) -> String {
    redact::url(&content.chars().take(200).collect::<String>())
}

/// Whether a content is already encoded or is a URL, so that it names no file here.
fn is_sent_as_it_is(kind: MediaKind, content: &str) -> Result<bool, Fault> {
    let starts = |head: &str| starts_with(content, head);
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
        let (what, shown) = (kind.name(), shown(content));
        return Err(Fault(format!(
            "{what} '{shown}' is a URL without a scheme or a host\n  try: a URL as in https://example.com/file"
        )));
    }
    Ok(kind == MediaKind::Audio && (starts("wav,") || starts("mp3,")))
}
