//! The interface of a kind of page: how one is read, what is kept of all, and how messages name them.

use crate::exposition::PageWarning;
use crate::scrape::ScrapeTimes;
use aiperf_types::{PhaseId, RunEvent, SourceKind, WallNs};
use std::sync::Arc;

/// A page as it was fetched.
#[derive(Debug)]
pub struct FetchedPage {
    /// The number of its endpoint.
    pub endpoint: usize,
    pub url: Arc<str>,
    pub text: String,
    pub times: ScrapeTimes,
    pub phase: Option<Arc<PhaseId>>,
    /// A caller waits for it.
    pub is_urgent: bool,
    /// Totals are the same without it.
    pub is_between_boundaries: bool,
}

/// The result of reading a page.
#[derive(Debug)]
pub struct ReadPage<C> {
    /// `None` if the page had nothing to keep; the reason if it is no page of metrics.
    pub content: Result<Option<C>, String>,
    pub warnings: Vec<PageWarning>,
    /// Its content as lines of a file, if one is written.
    pub line: Vec<u8>,
}

impl<C> Default for ReadPage<C> {
    fn default() -> Self {
        Self { content: Ok(None), warnings: Vec::new(), line: Vec::new() }
    }
}

pub trait PageKind: Send + Sync + 'static {
    /// The content of one page.
    type Content: Send + 'static;
    /// The state that a reading thread keeps between pages.
    type Reader: Default;
    /// The store of all pages.
    type Store: Send + 'static;

    const WORDS: &'static Words;
    /// Whether another path is tried if there is no page.
    const LOOKS_ELSEWHERE: bool;

    /// Reads a page: the work that no thread waits for.
    fn read(&self, reader: &mut Self::Reader, page: &FetchedPage) -> ReadPage<Self::Content>;

    /// An empty store.
    fn store(&self) -> Self::Store;

    /// Stores the content of a page; returns warnings about what could not be stored. A duplicate has the text of the
    /// page before.
    fn keep(store: &mut Self::Store, page: &FetchedPage, content: Self::Content, is_duplicate: bool) -> Vec<String>;

    /// The event for live consumers; `profiling` is the start of the current profiling phase.
    fn live(store: &mut Self::Store, profiling: Option<WallNs>) -> Option<RunEvent>;
}

/// The words of messages about a kind.
#[derive(Debug)]
pub struct Words {
    pub subject: SourceKind,
    /// The same at the beginning of a sentence.
    pub title: &'static str,
    /// The flag that turns it off.
    pub off: &'static str,
    /// The word for its endpoints.
    pub sources: &'static str,
    /// Names of the threads that fetch, keep and read.
    pub threads: [&'static str; 3],
    /// The variable that limits the wait for a page at a boundary.
    pub wait_limit: &'static str,
    /// The variable that sets when the last pages are fetched.
    pub flush: &'static str,
    /// The consequence of a missing last page.
    pub last_failed: &'static str,
    /// The message if no endpoint responds, given which and why.
    pub none_reached: fn(&str) -> String,
}
