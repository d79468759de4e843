//! Contents that rows refer to: files, and images that are fetched because the endpoint takes no URLs.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::fault::Fault;
use super::media::{MediaFiles, MediaKind, shown};
use super::room::Room;
use crate::error::DatasetError;
use crate::image_file::ImageFile;
use crate::source::FetchMedia;

/// Files and images, by the names that rows use for them.
#[derive(Debug)]
pub(super) struct Contents {
    files: MediaFiles,
    /// Whether images by URL are fetched.
    inlines: bool,
    /// URLs in order, each with the location of the first row that names it.
    wanted: Vec<(String, String)>,
    /// Images by URL: `None` while they are in `wanted`, then encoded.
    by_url: HashMap<String, Option<String>>,
}

impl Contents {
    pub(super) fn new(folder: PathBuf, inlines: bool) -> Self {
        Self { files: MediaFiles::new(folder), inlines, wanted: Vec::new(), by_url: HashMap::new() }
    }

    /// Checks a content, reads the file that it names, and returns how many bytes this adds to a request.
    pub(super) fn admit(
        &mut self,
        kind: MediaKind,
        content: String,
        place: &dyn Fn() -> String,
        room: &mut Room,
    ) -> Result<u64, Fault> {
        if !self.is_fetched(kind, &content) {
            return self.files.admit(kind, content, room);
        }
        if !self.by_url.contains_key(&content) {
            self.wanted.push((content.clone(), place()));
            self.by_url.insert(content, None);
        }
        Ok(0)
    }

    /// The content in the form it is sent.
    pub(super) fn encoded(&self, kind: MediaKind, content: String) -> Result<String, Fault> {
        if !self.is_fetched(kind, &content) {
            return self.files.encoded(kind, content);
        }
        let fetched = self.by_url.get(&content).and_then(Option::as_ref);
        fetched.cloned().ok_or_else(|| Fault("an image was not fetched".into()))
    }

    fn is_fetched(&self, kind: MediaKind, content: &str) -> bool {
        self.inlines && kind == MediaKind::Image && is_web(content)
    }

    /// Fetches every image that rows name by URL, once each.
    pub(super) fn fetch(&mut self, media: Option<&dyn FetchMedia>, room: &mut Room) -> Result<(), DatasetError> {
        let wanted = std::mem::take(&mut self.wanted);
        let Some(first) = wanted.first() else { return Ok(()) };
        let fault = |(url, place): &(String, String), why: &str| {
            let way_out = "\n  the endpoint takes images alone, so they are fetched before the run\n  try: a data URI, or the \
                           name of a file";
            DatasetError::of_file(place, format!("image '{}' {why}{way_out}", shown(url)))
        };
        let Some(media) = media else { return Err(fault(first, "is a URL, and nothing is downloaded here")) };
        let urls: Vec<&str> = wanted.iter().map(|(url, _)| url.as_str()).collect();
        let mut failed = None;
        media.each(&urls, &mut |at, fetched| {
            let encoded = fetched.and_then(|bytes| {
                let head = ImageFile::of(&bytes).ok_or_else(|| "is neither PNG nor JPEG".to_owned())?.head;
                let taken = head.len() as u64 + bytes.len().div_ceil(3) as u64 * 4;
                room.take(taken, "it", "fewer or smaller images").map_err(|fault| fault.0)?;
                Ok(format!("{head}{}", STANDARD.encode(bytes)))
            });
            match encoded {
                Ok(encoded) => drop(self.by_url.insert(wanted[at].0.clone(), Some(encoded))),
                Err(why) => drop(failed.get_or_insert_with(|| fault(&wanted[at], &why))),
            }
            failed.is_none()
        });
        let missing = || wanted.iter().find(|(url, _)| self.by_url.get(url).is_none_or(Option::is_none));
        match failed.or_else(|| missing().map(|one| fault(one, "was not fetched"))) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

pub(super) fn is_web(content: &str) -> bool {
    let starts = |head: &str| content.get(..head.len()).is_some_and(|start| start.eq_ignore_ascii_case(head));
    starts("http://") || starts("https://")
}
