//! Reads metrics pages: Prometheus text 0.0.4 and OpenMetrics, by one tolerant grammar.
//!
//! A bad line costs that line and a warning; a page is refused only when it has lines and not one sample among them.
//! Nothing here looks at the content type: both ways of naming counters are understood wherever they appear.
//!
//! # Layout
//! - `line`: one line
//! - [`document`]: a page's lines as declared families with borrowed samples; any reader of such pages can use it
//! - `kept`: which of them are kept, under which name, as [`Family`]
//! - `strings`: texts that many samples and pages share

pub mod document;
mod kept;
pub mod line;
mod strings;

use crate::scrape::Family;
use aiperf_plan::redact::Redactor;
use aiperf_types::{LogLevel, acts_on_terminal};
use std::fmt;
use std::sync::Arc;

pub use document::{DeclaredFamily, Document, Sample};
pub use line::{DeclaredKind, Label, Part};

/// A page that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// In the order in which the page names them first; no two of one name and kind. None where a page is empty, or
    /// nothing on it is kept.
    pub families: Vec<Family>,
    pub warnings: Vec<PageWarning>,
}

/// Something on a page that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageWarning {
    /// The same for the same cause on a later page: a cause is logged once an endpoint.
    pub cause: WarningCause,
    pub level: LogLevel,
    pub text: String,
}

/// Why something was left out, with the family's name where each family is named.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarningCause {
    BadLine,
    NotFinite(Arc<str>),
    BadBound(Arc<str>),
    Summary(Arc<str>),
    GaugeHistogram(Arc<str>),
    TooManyGpus,
}

/// A page that has lines and not one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incompatible {
    /// What is wrong with the first bad line, and how the page begins.
    pub reason: String,
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Incompatible {}

/// Reads the pages of an endpoint one after another. Names and label values from an earlier page are shared and not
/// allocated again.
#[derive(Debug, Default)]
pub struct Reader {
    strings: strings::Strings,
}

impl Reader {
    pub fn read(&mut self, text: &str) -> Result<Page, Incompatible> {
        self.read_hiding(text, &Redactor::default())
    }

    /// The same for a page that may hold secrets: no message shows them.
    pub fn read_hiding(&mut self, text: &str, redactor: &Redactor) -> Result<Page, Incompatible> {
        let document = readable(document::parse(text), text, redactor)?;
        self.strings.forget_if_many();
        Ok(kept::keep(document, &mut self.strings, redactor))
    }
}

/// A page, unless it has lines and not one sample.
pub(crate) fn readable<'a>(
    document: Document<'a>,
    text: &str,
    redactor: &Redactor,
) -> Result<Document<'a>, Incompatible> {
    match &document.bad_lines {
        Some(bad) if document.sample_count == 0 => {
            let beginning = shown(text, BEGINNING_SHOWN, redactor);
            let reason = format!("{}; the page begins: {beginning}", bad.describe(redactor));
            Err(Incompatible { reason })
        }
        _ => Ok(document),
    }
}

/// Reads one page on its own.
pub fn read(text: &str) -> Result<Page, Incompatible> {
    Reader::default().read(text)
}

const BEGINNING_SHOWN: usize = 200;

/// The first characters of a text, fit for a line of a log.
fn shown(text: &str, most: usize, redactor: &Redactor) -> String {
    let beginning = redactor.hide_in_beginning(text, most);
    beginning.chars().map(|c| if acts_on_terminal(c) { ' ' } else { c }).collect()
}
