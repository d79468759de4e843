//! The trait of every kind of dataset.

use std::borrow::Cow;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use aiperf_plan::redact::RowSecrets;
use aiperf_plan::{Additions, Draws};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Shapes};
use serde_json::Value;

use crate::error::DatasetError;
use crate::in_order::cores;

/// Conversations by index: stored, generated from a seed, or read again from a file. Threads call it at the same time,
/// in any order.
pub(crate) trait Source: Debug + Send + Sync {
    /// The shapes of all conversations, for the schedule.
    fn shapes(&self) -> &Arc<Shapes>;

    /// One conversation; the same on every call.
    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError>;

    fn session_id(&self, index: usize) -> Result<Cow<'_, str>, DatasetError> {
        Ok(match self.conversation(index)? {
            Cow::Borrowed(conversation) => Cow::Borrowed(&conversation.session_id),
            Cow::Owned(conversation) => Cow::Owned(conversation.session_id),
        })
    }

    /// The source of a turn, as `<file>:<line>`; `None` for a synthetic one.
    fn place(&self, _index: usize, _turn: usize) -> Option<String> {
        None
    }

    /// Notes about the data for the user, one line each.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Secrets in the rows, if they were searched for when the rows were checked.
    fn secrets(&self) -> Option<&RowSecrets> {
        None
    }
}

/// Bytes of the largest row, and of the largest media file: each is one request, which is built in memory.
pub const LARGEST_REQUEST: u64 = 256_000_000;

/// Receives each file: its number, and its bytes or the error. Returns whether to continue.
pub type Fetched<'a> = &'a mut dyn FnMut(usize, Result<Vec<u8>, String>) -> bool;

/// Fetches files by URL: this crate opens no socket.
pub trait FetchMedia: Sync {
    /// Fetches each URL, in any order, until `fetched` returns false.
    fn each(&self, urls: &[&str], fetched: Fetched<'_>);
}

/// Downloads published files. An error has the reason and a way out.
pub trait Downloads: Sync {
    /// The content of a dataset repository on the hub.
    fn list(&self, repo: &str, revision: &str) -> Result<Repository, String>;

    fn file(&self, repo: &str, revision: &str, path: &str) -> Result<PathBuf, String>;

    /// Downloads a URL and stores it under a name.
    fn url(&self, url: &str, name: &str) -> Result<PathBuf, String>;
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repository {
    /// The commit of the revision, to request files by.
    pub commit: String,
    pub files: Vec<String>,
    /// What its card lists of subsets and their files; null if it lists nothing.
    pub configs: Value,
}

/// Downloads nothing, for datasets without files.
struct NoDownloads;

impl Downloads for NoDownloads {
    fn list(&self, repo: &str, _: &str) -> Result<Repository, String> {
        Err(format!("dataset '{repo}' is not fetched here"))
    }

    fn file(&self, repo: &str, _: &str, path: &str) -> Result<PathBuf, String> {
        Err(format!("{path} of dataset '{repo}' is not fetched here"))
    }

    fn url(&self, url: &str, _: &str) -> Result<PathBuf, String> {
        Err(format!("{url} is not fetched here"))
    }
}

/// What a dataset is made with.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    pub draws: &'a Draws,
    pub tokenizer: &'a Tokenizer,
    /// Bytes of memory that files and their media may take; `None` is no limit.
    pub room: Option<u64>,
    /// Threads that make conversations at the same time.
    pub threads: usize,
    /// Additions to all conversations.
    pub additions: &'a Additions,
    /// The server puts prompts into a chat template, so synthetic prompts reserve tokens for it.
    pub chat_template: bool,
    /// Called for each conversation made, or row read.
    pub progress: &'a (dyn Fn() + Sync),
    /// Downloads the files of public datasets.
    pub public_files: &'a dyn Downloads,
    /// Fetches media that rows name by URL; `None` refuses such rows if URLs cannot be sent.
    pub media: Option<&'a dyn FetchMedia>,
}

impl<'a> Making<'a> {
    /// With no limits and no progress callback.
    pub fn new(draws: &'a Draws, tokenizer: &'a Tokenizer) -> Self {
        Self {
            draws,
            tokenizer,
            room: None,
            threads: cores(),
            additions: Additions::NONE,
            chat_template: false,
            progress: &|| (),
            public_files: &NoDownloads,
            media: None,
        }
    }
}
