//! A page from its text to a scrape: the work that nobody waits for.

use crate::exposition::{PageWarning, Reader};
use crate::scrape::{Scrape, ScrapeTimes};
use aiperf_types::PhaseId;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// A page as it was fetched.
#[derive(Debug)]
pub(super) struct FetchedPage {
    /// Number of its endpoint.
    pub(super) endpoint: usize,
    pub(super) url: Arc<str>,
    pub(super) text: String,
    pub(super) times: ScrapeTimes,
    pub(super) phase: Option<Arc<PhaseId>>,
    /// Somebody waits for it.
    pub(super) is_urgent: bool,
}

/// A page, read.
#[derive(Debug)]
pub(super) struct ReadPage {
    /// `None` where the page had nothing to keep; the reason where it is no page of metrics.
    pub(super) scrape: Result<Option<Scrape>, String>,
    pub(super) warnings: Vec<PageWarning>,
    /// The scrape as a line of a file, where one is written.
    pub(super) line: Vec<u8>,
    /// Equal for equal texts.
    pub(super) fingerprint: u64,
}

/// Puts a scrape into a line, appended.
pub type EncodeLine = fn(&mut Vec<u8>, &Scrape);

/// Reads a page. Whether it is a duplicate is for whoever knows the one before.
pub(super) fn read(reader: &mut Reader, page: &FetchedPage, encode: Option<EncodeLine>) -> ReadPage {
    let mut hasher = DefaultHasher::new();
    hasher.write(page.text.as_bytes());
    let fingerprint = hasher.finish();
    match reader.read(&page.text) {
        Err(incompatible) => {
            ReadPage { scrape: Err(incompatible.reason), warnings: Vec::new(), line: Vec::new(), fingerprint }
        }
        Ok(read) => {
            let mut line = Vec::new();
            let scrape = (!read.families.is_empty()).then(|| Scrape {
                endpoint_url: page.url.clone(),
                times: page.times,
                phase: page.phase.clone(),
                is_duplicate: false,
                families: read.families,
            });
            if let (Some(encode), Some(scrape)) = (encode, &scrape) {
                encode(&mut line, scrape);
            }
            ReadPage { scrape: Ok(scrape), warnings: read.warnings, line, fingerprint }
        }
    }
}
