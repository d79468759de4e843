//! What a kind of pages must give: how one is read, what is kept of all, and how messages name them.

use crate::exposition::PageWarning;
use crate::scrape::ScrapeTimes;
use aiperf_types::{PhaseId, RunEvent, SourceKind, WallNs};
use std::sync::Arc;

/// A page as it was fetched.
#[derive(Debug)]
pub struct FetchedPage {
    /// Number of its endpoint.
    pub endpoint: usize,
    pub url: Arc<str>,
    pub text: String,
    pub times: ScrapeTimes,
    pub phase: Option<Arc<PhaseId>>,
    /// A caller waits for it.
    pub is_urgent: bool,
    /// Without it totals are the same.
    pub is_between_boundaries: bool,
}

/// A page, read.
#[derive(Debug)]
pub struct ReadPage<C> {
    /// `None` where the page had nothing to keep; the reason where it is no page of metrics.
    pub content: Result<Option<C>, String>,
    pub warnings: Vec<PageWarning>,
    /// Its content as lines of a file, where one is written.
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
    /// What a thread that reads pages keeps from one to the next.
    type Reader: Default;
    /// What is kept of all.
    type Store: Send + 'static;

    const WORDS: &'static Words;
    /// Whether a page that is none is looked for at another path.
    const LOOKS_ELSEWHERE: bool;

    /// Reads a page: the work that no thread waits for.
    fn read(&self, reader: &mut Self::Reader, page: &FetchedPage) -> ReadPage<Self::Content>;

    /// Where nothing is kept yet.
    fn store(&self) -> Self::Store;

    /// Keeps the content of a page; returns warnings about what could not be kept. A duplicate has the text of the page
    /// before.
    fn keep(store: &mut Self::Store, page: &FetchedPage, content: Self::Content, is_duplicate: bool) -> Vec<String>;

    /// The event for consumers now; `profiling` is when the profiling phase began that is on.
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
    /// What its endpoints are called.
    pub sources: &'static str,
    /// Names of the threads that fetch, keep and read.
    pub threads: [&'static str; 3],
    /// The variable that sets how long a page at a boundary may take.
    pub wait_limit: &'static str,
    /// The variable that sets when the last pages are fetched.
    pub flush: &'static str,
    /// What follows where the last page is missing.
    pub last_failed: &'static str,
    /// The message where no endpoint answers, given which and why.
    pub none_reached: fn(&str) -> String,
}
