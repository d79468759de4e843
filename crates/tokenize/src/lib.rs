//! Token counts: the vocabularies built into the binary, and Hugging Face tokenizers from disk.
//!
//! Everything is offline: a tokenizer is part of the binary, a local directory, or an entry of the hub cache that
//! another program filled. Nothing here opens a socket, runs repository code or starts a thread. A [`Tokenizer`] is a
//! handle: cheap to clone, usable from any thread.
//!
//! # Layout
//! - [`tokenizer`]: [`Tokenizer`], the type that others use
//! - `by_model`: those of several models
//! - [`choice`]: which tokenizer a model gets when none is named
//! - [`lookup`]: where a name may be found on disk
//! - [`builtin`]: byte-pair vocabularies inside the binary, by name
//! - `bpe`: how text becomes tokens of such a vocabulary
//! - [`huggingface`]: a directory with a `tokenizer.json` and the files beside it
//! - `engine`: what turns text into tokens for it
//! - `byte_level`: our own reader for the most common kind; `rank_file`: vocabularies in tiktoken's format
//! - `library`: the Hugging Face library, for all other kinds
//! - `expansion`: whether a `tokenizer.json` makes texts too long; `charsmap`: rules of its normalizer, checked
//! - `interrupt`: counting that can be given up
//! - [`template`]: chat templates
//! - `clock`: the date, for templates that print it
//! - [`error`]: what can go wrong, and the way out
//!
//! # Invariants
//! - The crate opens no socket and runs no code of a repository.
//! - Counting can be interrupted (`interrupt`): it checks for a stop request every few milliseconds. The Hugging Face
//!   library cannot be interrupted, so it counts no text of a record that is longer than 2 MiB.
//! - No panic of the library leaves the crate. A text of a record that it cannot count is given up
//!   ([`GivenUp::Uncountable`]); a prompt that it cannot make shows in [`Tokenizer::check`].
//! - Text that cannot be split is merged in windows (`bpe/merge.rs`). Time grows linearly with its length; memory does
//!   not grow.

mod bpe;
pub mod builtin;
mod by_model;
mod byte_level;
mod charsmap;
pub mod choice;
mod clock;
mod engine;
pub mod error;
mod expansion;
pub mod huggingface;
mod interrupt;
mod library;
pub mod lookup;
mod rank_file;
pub mod template;
pub mod tokenizer;

pub use by_model::Tokenizers;
pub use choice::{Choice, is_placeholder};
pub use error::TokenizeError;
pub use interrupt::{GivenUp, IsOver, interruptible, is_interrupted};
pub use lookup::Lookup;
pub use template::{Message, TemplateCost};
pub use tokenizer::Tokenizer;
