//! What can go wrong when conversations are made.

/// A dataset that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DatasetError {
    /// Nothing to say.
    #[error("a dataset of 0 entries has nothing to send\n  try: --num-dataset-entries 1 or more")]
    NoEntries,
    /// An input length below one token.
    #[error(
        "an input length of {mean} tokens makes an empty prompt\n  a prompt has at least one token\n  try: --isl 1 or more"
    )]
    InputTooShort {
        /// The mean asked for.
        mean: f64,
    },
    /// A length that is no number of tokens.
    #[error("{what} needs a finite mean and deviation of at least 0, got {mean} and {stddev}")]
    NotALength {
        /// Which length.
        what: &'static str,
        /// As given.
        mean: f64,
        /// As given.
        stddev: f64,
    },
    /// No text has that many tokens under the tokenizer.
    #[error(
        "no text of exactly {tokens} tokens found for tokenizer '{tokenizer}'\n  its vocabulary may be incomplete\n  try: \
         --tokenizer builtin, or another length"
    )]
    LengthOutOfReach {
        /// The tokenizer.
        tokenizer: String,
        /// The length.
        tokens: usize,
    },
}
