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
    pub downloads: &'a dyn Downloads,
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
            downloads: &NoDownloads,
        }
    }
}
