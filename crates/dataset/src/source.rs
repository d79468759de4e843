//! What every kind of dataset gives.

use std::borrow::Cow;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use aiperf_plan::{Additions, Draws};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Shapes};
use serde_json::Value;

use crate::error::DatasetError;
use crate::in_order::cores;

/// Conversations by index: kept, made from a seed, or read again from a file. Threads ask at the same time, in any order.
pub(crate) trait Source: Debug + Send + Sync {
    /// The conversations as a schedule sees them, all of them.
    fn shapes(&self) -> &Arc<Shapes>;

    /// One conversation, the same whenever it is asked for.
    fn conversation(&self, index: usize) -> Result<Cow<'_, Conversation>, DatasetError>;

    /// The name of a conversation.
    fn session_id(&self, index: usize) -> Result<Cow<'_, str>, DatasetError> {
        Ok(match self.conversation(index)? {
            Cow::Borrowed(conversation) => Cow::Borrowed(&conversation.session_id),
            Cow::Owned(conversation) => Cow::Owned(conversation.session_id),
        })
    }

    /// Where a turn came from, as `<file>:<line>`; `None` of what was made.
    fn place(&self, _index: usize, _turn: usize) -> Option<String> {
        None
    }

    /// What a user should know about the data, a line each.
    fn notes(&self) -> &[String] {
        &[]
    }
}

/// Bytes of the largest row, and of the largest media file: it is one request, which is put together in memory.
pub const LARGEST_REQUEST: u64 = 256_000_000;

/// Told of each file that was fetched: which it is, and what it holds or why there is none.
pub type Fetched<'a> = &'a mut dyn FnMut(usize, Result<Vec<u8>, String>) -> bool;

/// Fetches files by their URL: no socket is opened here.
pub trait FetchMedia: Sync {
    /// Fetches each, in any order, until `fetched` wants no more.
    fn each(&self, urls: &[&str], fetched: Fetched<'_>);
}

/// Whoever brings files that are published, or says why there are none and what to do about it.
pub trait Downloads: Sync {
    /// What a dataset repository of the hub holds.
    fn list(&self, repo: &str, revision: &str) -> Result<Repository, String>;

    /// A file of a repository.
    fn file(&self, repo: &str, revision: &str, path: &str) -> Result<PathBuf, String>;

    /// A file by its URL, kept under a name.
    fn url(&self, url: &str, name: &str) -> Result<PathBuf, String>;
}

/// What a dataset repository holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Repository {
    /// The commit that the revision is, to ask for files by.
    pub commit: String,
    pub files: Vec<String>,
    /// What its card says of subsets and their files; null where it says nothing.
    pub configs: Value,
}

/// Nobody, for what needs no files.
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
    /// Bytes of memory that files and what they name may take; `None` bounds nothing.
    pub room: Option<u64>,
    /// Threads that make conversations at the same time.
    pub threads: usize,
    /// What is put into its conversations, whatever they are.
    pub additions: &'a Additions,
    /// The server puts prompts into a chat template, for which made-up ones leave room.
    pub chat_template: bool,
    /// Told of each conversation that was made, or row that was read.
    pub progress: &'a (dyn Fn() + Sync),
    /// Brings files of public datasets.
    pub public_files: &'a dyn Downloads,
    /// Fetches what rows name by URL; `None` refuses such rows where URLs cannot be sent.
    pub media: Option<&'a dyn FetchMedia>,
}

impl<'a> Making<'a> {
    /// Without bounds, telling nobody.
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
