//! Errors while conversations are made or read.

use std::path::Path;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DatasetError {
    #[error("a dataset of 0 entries has nothing to send\n  try: --num-dataset-entries 1 or more")]
    NoEntries,
    /// An input length below one token.
    #[error(
        "an input length of {mean} tokens makes an empty prompt\n  a prompt has at least one token\n  try: --isl 1 or more"
    )]
    InputTooShort { mean: f64 },
    /// A length that is not a number of tokens.
    #[error("{what} needs a finite mean and deviation of at least 0, got a mean of {mean} and up to {largest}")]
    NotALength {
        /// Which length.
        what: &'static str,
        mean: f64,
        largest: f64,
    },
    /// More turns than can be stored.
    #[error(
        "{entries} conversations of some {mean} turns have more than {most} turns together, which is the most a dataset \
         may have\n  try: fewer conversations (--num-conversations N), or fewer turns (--conversation-turn-mean N)"
    )]
    TooManyTurns { entries: u32, mean: f64, most: u64 },
    /// No text has this number of tokens with the tokenizer.
    #[error(
        "no text of exactly {tokens} tokens found for tokenizer '{tokenizer}'\n  its vocabulary may be incomplete\n  try: \
         --tokenizer builtin, or another length"
    )]
    LengthOutOfReach { tokenizer: String, tokens: usize },
    /// A tokenizer that broke down while it made a prompt.
    #[error("{0}")]
    Tokenizer(String),
    /// Media that need ffmpeg, which is missing.
    #[error(
        "{what} needs ffmpeg, and there is no ffmpeg on the PATH\n  videos and mp3 are encoded by it; images and wav need \
         nothing\n  try: apt install ffmpeg, dnf install ffmpeg or brew install ffmpeg"
    )]
    NoFfmpeg { what: &'static str },
    /// Media that cannot be encoded.
    #[error("{what} cannot be made: {why}")]
    MediaUnmade { what: String, why: String },
    /// A file, or a row of it, that cannot be used.
    #[error("{place}: {fault}")]
    File {
        /// The file, and the line if one line is at fault.
        place: String,
        fault: String,
    },
}

impl DatasetError {
    /// The fault, without the location.
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
