//! What can go wrong with a tokenizer, and the way out.

use std::path::PathBuf;

/// A tokenizer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizeError {
    /// Neither built in, nor a path, nor in the hub cache.
    #[error(
        "tokenizer '{name}' (revision 'main') is not on this machine\n  looked for: {searched}\n  try: \
         --tokenizer builtin, --tokenizer <directory>, or fetch it once with `hf download {name}`"
    )]
    NotFound { name: String, searched: String },
    /// A short name that several entries of the hub cache end with.
    #[error("tokenizer '{name}' is ambiguous in {cache}\n  it could be: {candidates}\n  try: --tokenizer {first}")]
    Ambiguous { name: String, cache: PathBuf, candidates: String, first: String },
    /// A tiktoken encoding whose vocabulary is not part of this binary.
    #[error(
        "tokenizer '{name}' is a tiktoken encoding this build does not carry\n  built in: {built_in}\n  try: --tokenizer \
         builtin, or a directory with a tokenizer.json of the same vocabulary"
    )]
    EncodingNotBuiltIn {
        name: String,
        /// What is built in, joined.
        built_in: String,
    },
    /// A directory without a `tokenizer.json`.
    #[error("{}: no tokenizer.json\n  {hint}", directory.display())]
    NoTokenizerFile {
        directory: PathBuf,
        /// What was found instead and what to do.
        hint: String,
    },
    /// A file that exists but cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A file that was read but makes no tokenizer.
    #[error("{}: not a tokenizer this program can use: {reason}\n  try: --tokenizer builtin", path.display())]
    Malformed {
        path: PathBuf,
        /// The parser's words.
        reason: String,
    },
    /// A chat template that does not render.
    #[error("chat template of tokenizer '{name}' failed: {reason}")]
    Template {
        name: String,
        /// The template engine's words.
        reason: String,
    },
}
