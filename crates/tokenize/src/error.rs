//! What can go wrong with a tokenizer, and the way out.

use std::path::PathBuf;

/// A tokenizer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenizeError {
    /// A path at which there is nothing.
    #[error(
        "tokenizer '{name}': no such file or directory\n  try: the directory that holds tokenizer.json, or --tokenizer builtin"
    )]
    NoSuchPath { name: String },
    /// Neither built in, nor a path, nor in the hub cache.
    #[error(
        "tokenizer '{name}' (revision '{revision}') is not on this machine\n  looked for: {searched}\n  try: \
         --tokenizer builtin, --tokenizer <directory>, or fetch it once with `hf download {name}`"
    )]
    NotFound { name: String, revision: String, searched: String },
    /// A short name that several entries of the hub cache end with.
    #[error("tokenizer '{name}' is ambiguous in {cache}\n  it could be: {candidates}\n  try: --tokenizer {first}")]
    Ambiguous { name: String, cache: PathBuf, candidates: String, first: String },
    /// A directory without anything of a tokenizer.
    #[error(
        "{}: no tokenizer.json\n  try: the directory that holds it, the id of the model that it was made from, or \
         --tokenizer builtin",
        directory.display()
    )]
    NoTokenizerFile { directory: PathBuf },
    /// A directory with a vocabulary that nothing here reads.
    #[error(
        "{}: no tokenizer.json\n  it holds {file} ({format}), which needs converting: \
         AutoTokenizer.from_pretrained(...).save_pretrained(...) of transformers writes a tokenizer.json\n  try: \
         --tokenizer builtin",
        directory.display()
    )]
    OtherFormat { directory: PathBuf, file: &'static str, format: &'static str },
    /// A directory whose tokenizer is a program.
    #[error(
        "{}: no tokenizer.json\n  its tokenizer is code of the repository ({class}), and no such code is ever run, with \
         --tokenizer-trust-remote-code neither\n  try: write a tokenizer.json with \
         AutoTokenizer.from_pretrained(..., trust_remote_code=True).save_pretrained(...) of transformers, --tokenizer \
         <a model with the same vocabulary>, or --tokenizer builtin",
        directory.display()
    )]
    NeedsCode {
        directory: PathBuf,
        /// As the configuration names it.
        class: String,
    },
    /// A file that exists but cannot be read.
    #[error(
        "{}: {source}\n  try: the directory that holds a readable tokenizer.json, or --tokenizer builtin",
        path.display()
    )]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A file that was read but makes no tokenizer.
    #[error("{}: not a tokenizer this program can use: {reason}\n  try: --tokenizer builtin", path.display())]
    Malformed {
        path: PathBuf,
        /// The parser's words.
        reason: String,
    },
    /// A chat template that does not render.
    #[error(
        "{}: the chat template cannot be applied: {reason}\n  without it, the tokens of prompts would be counted wrong\n  \
         try: correct the template, another --tokenizer, or leave --apply-chat-template out",
        path.display()
    )]
    Template {
        path: PathBuf,
        /// The line in the template, and the template engine's words.
        reason: String,
    },
}

impl TokenizeError {
    /// What the failure is called, as the reference's panels call it.
    pub fn title(&self) -> &'static str {
        match self {
            Self::NoSuchPath { .. } => "Tokenizer Not Found",
            Self::NotFound { .. } => "Repository Not Found",
            Self::Ambiguous { .. } => "Ambiguous Tokenizer Name",
            Self::NoTokenizerFile { .. } => "Missing Tokenizer Files",
            Self::OtherFormat { .. } => "No Standard Tokenizer",
            Self::NeedsCode { .. } => "Custom Tokenizer Code",
            Self::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "Cache Permission Error"
            }
            Self::Unreadable { .. } => "Tokenizer Load Error",
            Self::Malformed { .. } | Self::Template { .. } => "Tokenizer Configuration Error",
        }
    }
}
