//! What can go wrong when conversations are made or read.

use std::path::Path;

/// A dataset that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DatasetError {
    #[error("a dataset of 0 entries has nothing to send\n  try: --num-dataset-entries 1 or more")]
    NoEntries,
    /// An input length below one token.
    #[error(
        "an input length of {mean} tokens makes an empty prompt\n  a prompt has at least one token\n  try: --isl 1 or more"
    )]
    InputTooShort { mean: f64 },
    /// A length that is no number of tokens.
    #[error("{what} needs a finite mean and deviation of at least 0, got a mean of {mean} and up to {largest}")]
    NotALength {
        /// Which length.
        what: &'static str,
        mean: f64,
        largest: f64,
    },
    /// More turns than are kept track of.
    #[error(
        "{entries} conversations of some {mean} turns have more than {most} turns together, which is the most a dataset \
         may have\n  try: fewer conversations (--num-conversations N), or fewer turns (--conversation-turn-mean N)"
    )]
    TooManyTurns { entries: u32, mean: f64, most: u64 },
    /// No text has that many tokens under the tokenizer.
    #[error(
        "no text of exactly {tokens} tokens found for tokenizer '{tokenizer}'\n  its vocabulary may be incomplete\n  try: \
         --tokenizer builtin, or another length"
    )]
    LengthOutOfReach { tokenizer: String, tokens: usize },
    /// Media that ffmpeg makes, without it.
    #[error(
        "{what} needs ffmpeg, and there is no ffmpeg on the PATH\n  videos and mp3 are encoded by it; images and wav need \
         nothing\n  try: apt install ffmpeg, dnf install ffmpeg or brew install ffmpeg"
    )]
    NoFfmpeg { what: &'static str },
    /// Media that cannot be encoded.
    #[error("{what} cannot be made: {why}")]
    MediaUnmade { what: String, why: String },
    /// A file that cannot be used, or a row of it.
    #[error("{place}: {fault}")]
    File {
        /// The file, and the line where one is to blame.
        place: String,
        fault: String,
    },
}

impl DatasetError {
    /// What is wrong, without the place of a file.
    pub fn fault(&self) -> String {
        match self {
            Self::File { fault, .. } => fault.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn of_file(place: &(impl AsRef<Path> + ?Sized), fault: String) -> Self {
        Self::File { place: place.as_ref().display().to_string(), fault }
    }
}
