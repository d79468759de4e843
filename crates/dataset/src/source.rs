//! What every kind of dataset gives.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use aiperf_plan::{Additions, Draws};
use aiperf_tokenize::Tokenizer;
use aiperf_types::{Conversation, Shapes};

use crate::error::DatasetError;
use crate::in_order::cores;
use crate::public::{Downloads, NoDownloads};

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

/// Told of each file that was fetched: which it is, and what it holds or why there is none.
pub type Fetched<'a> = &'a mut dyn FnMut(usize, Result<Vec<u8>, String>) -> bool;

/// Fetches files by their URL: no socket is opened here.
pub trait FetchMedia: Sync {
    /// Fetches each, in any order, until `fetched` wants no more.
    fn each(&self, urls: &[&str], fetched: Fetched<'_>);
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
