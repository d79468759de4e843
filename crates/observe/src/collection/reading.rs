//! A page from its text to a scrape: the work that nobody waits for.

use crate::exposition::{PageWarning, Reader};
use crate::scrape::{Family, Labels, Samples, Scrape, ScrapeTimes};
use aiperf_plan::redact::Redactor;
use aiperf_types::PhaseId;
use std::borrow::Cow;
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
    /// Without it totals are the same.
    pub(super) is_between_boundaries: bool,
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

/// How pages are read.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) encode: Option<EncodeLine>,
    /// What a server may say back and nobody may read.
    pub(super) redactor: Arc<Redactor>,
}

/// Reads a page. Whether it is a duplicate is for whoever knows the one before.
pub(super) fn read(reader: &mut Reader, page: &FetchedPage, reading: &Reading) -> ReadPage {
    let mut hasher = DefaultHasher::new();
    hasher.write(page.text.as_bytes());
    let fingerprint = hasher.finish();
    match reader.read(&page.text) {
        Err(incompatible) => {
            ReadPage { scrape: Err(incompatible.reason), warnings: Vec::new(), line: Vec::new(), fingerprint }
        }
        Ok(mut read) => {
            hide_secrets(&mut read.families, &reading.redactor);
            let mut line = Vec::new();
            let scrape = (!read.families.is_empty()).then(|| Scrape {
                endpoint_url: page.url.clone(),
                times: page.times,
                phase: page.phase.clone(),
                is_duplicate: false,
                families: read.families,
            });
            if let (Some(encode), Some(scrape)) = (reading.encode, &scrape) {
                encode(&mut line, scrape);
            }
            ReadPage { scrape: Ok(scrape), warnings: read.warnings, line, fingerprint }
        }
    }
}

/// A server that echoes a request in a help text or a label says its secrets too.
fn hide_secrets(families: &mut [Family], redactor: &Redactor) {
    let hide = |text: &mut Arc<str>| {
        if let Cow::Owned(hidden) = redactor.hide(text) {
            *text = hidden.into();
        }
    };
    for family in families {
        hide(&mut family.description);
        let labels: Box<dyn Iterator<Item = &mut Labels>> = match &mut family.samples {
            Samples::Scalars(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
            Samples::Histograms(samples) => Box::new(samples.iter_mut().map(|sample| &mut sample.labels)),
        };
        labels.flatten().for_each(|(_, value)| hide(value));
    }
}
