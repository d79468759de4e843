//! What can go wrong with the hub, and the fix.

use super::repo::{NoRepoName, RepoName};
use super::settings::EndpointError;
use aiperf_plan::redact::Redactor;
use aiperf_transport::DownloadError;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Why a file of the hub is not available.
#[derive(Debug, Error)]
pub enum HubError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error(transparent)]
    Name(#[from] NoRepoName),
    #[error("'{0}' is no revision: a branch, a tag or a commit")]
    RevisionName(String),
    #[error("'{0}' is no path in a repository")]
    Path(String),
    #[error("there is no folder for the hub's cache\n  try: HF_HUB_CACHE=<folder> or HF_HOME=<folder>")]
    NoCache,
    #[error(
        "{repo} (revision '{revision}') is not present in the HuggingFace cache {}, and {variable} forbids \
         requests\n  run online once to populate the cache, or unset HF_HUB_OFFLINE/TRANSFORMERS_OFFLINE\n  try: \
         `hf download {}` on a machine that is online",
        cache.display(), repo.for_hf()
    )]
    Offline { repo: RepoName, revision: String, cache: PathBuf, variable: &'static str },
    #[error(
        "{repo} was not found on {endpoint}\n  it does not exist, or is private and this token may not see it\n  try: \
         its full id, <owner>/<name>; HF_TOKEN=<token> for a private one"
    )]
    RepoNotFound { repo: RepoName, endpoint: String },
    #[error(
        "{repo} is a gated repository: {endpoint} wants its terms accepted\n  {message}\n  try: accept them at \
         {endpoint}/{}, then HF_TOKEN=<token> or `hf auth login`",
        repo.web_path()
    )]
    Gated { repo: RepoName, endpoint: String, message: String },
    #[error("{repo} has no revision '{revision}'\n  try: a branch, a tag or a commit that it has; main always exists")]
    RevisionNotFound { repo: RepoName, revision: String },
    #[error("{repo} (revision '{revision}') has no file '{path}'")]
    EntryNotFound { repo: RepoName, revision: String, path: String },
    #[error("{endpoint} refused the token\n  try: another HF_TOKEN, or unset it for what is public")]
    Token { endpoint: String },
    #[error(
        "{endpoint} cannot be reached: {reason}\n  try: check the network, HF_ENDPOINT=<mirror>, a local path, or \
         HF_HUB_OFFLINE=1 for what is cached"
    )]
    Network { endpoint: String, reason: String },
    #[error(
        "{endpoint} did not respond within {} s{}\n  try: check the network, or a local path",
        after.as_secs_f64(), if *is_kept { "\n  the part that was fetched is kept, and the next attempt resumes it" } else { "" }
    )]
    TimedOut {
        endpoint: String,
        after: Duration,
        /// The fetched part of the file is kept, and the next attempt resumes it.
        is_kept: bool,
    },
    #[error("{endpoint} returned {status}{message}\n  try: again later, or a local path")]
    Status { endpoint: String, status: u16, message: String },
    #[error(
        "{endpoint} returned a response that is not the hub's: {reason}\n  try: another HF_ENDPOINT, or a local path"
    )]
    Response { endpoint: String, reason: String },
    #[error("{path} of {repo} is not what it should be: {reason}\n  it was fetched twice, and nothing of it is kept")]
    Corrupt { repo: RepoName, path: String, reason: String },
    #[error("{path} of {repo} is larger than {limit} bytes")]
    TooLarge { repo: RepoName, path: String, limit: u64 },
    #[error(
        "the hub's cache cannot be written: {}: {source}\n  try: fix its permissions, or HF_HUB_CACHE=<another folder>",
        path.display()
    )]
    Cache { path: PathBuf, source: io::Error },
    #[error("'{0}' is no http:// or https:// URL")]
    NoUrl(String),
    #[error("it is not here, and {variable} forbids requests")]
    UrlOffline { variable: &'static str },
    #[error("{url} was not fetched: {reason}\n  or fetch it by other means, and put it at {}", file.display())]
    Url { url: String, file: PathBuf, reason: Box<HubError> },
    /// Several repositories end with a short name.
    #[error(
        "'{name}' is ambiguous: {} repositories match it\n  the most downloaded: {}\n  try: {}",
        candidates.len(), listed(candidates), candidates.first().map_or("", |candidate| &candidate.id)
    )]
    Ambiguous { name: String, candidates: Vec<Candidate> },
    /// A stop request.
    #[error("stopped")]
    Stopped,
}

/// A repository that the name may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: String,
    pub downloads: u64,
}

/// How many are suggested.
const SUGGESTED: usize = 5;

fn listed(candidates: &[Candidate]) -> String {
    let named = candidates.iter().take(SUGGESTED).map(|it| format!("{} ({} downloads)", it.id, short(it.downloads)));
    named.collect::<Vec<_>>().join(", ")
}

/// A count in few letters: 1.2M, 3.4K.
fn short(count: u64) -> String {
    match count {
        1_000_000.. => format!("{:.1}M", count as f64 / 1e6),
        1_000.. => format!("{:.1}K", count as f64 / 1e3),
        _ => count.to_string(),
    }
}

impl HubError {
    /// The title of the failure in AIPerf's panels.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Ambiguous { .. } => "Ambiguous Tokenizer Name",
            Self::Gated { .. } => "Gated Repository",
            Self::RevisionNotFound { .. } | Self::RevisionName(_) => "Invalid Git Revision",
            Self::EntryNotFound { .. } => "Missing Tokenizer Files",
            Self::Offline { .. } => "Offline - Files Not Cached",
            Self::RepoNotFound { .. } | Self::Name(_) => "Repository Not Found",
            Self::TimedOut { .. } => "Network Timeout",
            Self::Cache { .. } | Self::NoCache => "Cache Permission Error",
            Self::Network { .. }
            | Self::Status { .. }
            | Self::Response { .. }
            | Self::Token { .. }
            | Self::Endpoint(_) => "HuggingFace Hub Error",
            Self::NoUrl(_) | Self::UrlOffline { .. } | Self::Url { .. } => "Download Error",
            Self::Path(_) | Self::Corrupt { .. } | Self::TooLarge { .. } | Self::Stopped => "Tokenizer Load Error",
        }
    }

    /// The same without secrets that a hub echoes.
    pub(super) fn hiding(self, redactor: &Redactor) -> Self {
        let hide = |text: String| redactor.hide(&text).into_owned();
        match self {
            Self::Network { endpoint, reason } => Self::Network { endpoint, reason: hide(reason) },
            Self::Status { endpoint, status, message } => Self::Status { endpoint, status, message: hide(message) },
            Self::Response { endpoint, reason } => Self::Response { endpoint, reason: hide(reason) },
            Self::Ambiguous { name, candidates } => {
                let shown = |it: Candidate| Candidate { id: hide(it.id), downloads: it.downloads };
                Self::Ambiguous { name, candidates: candidates.into_iter().map(shown).collect() }
            }
            other => other,
        }
    }

    /// The same, for a file whose fetched part is kept.
    pub(super) fn with_part_kept(self) -> Self {
        match self {
            Self::TimedOut { endpoint, after, .. } => Self::TimedOut { endpoint, after, is_kept: true },
            other => other,
        }
    }

    /// The error for a failed download, as far as the file system and the network are concerned.
    pub(super) fn of_download(error: DownloadError, endpoint: &str, path: PathBuf) -> Self {
        use aiperf_transport::FetchError;
        let endpoint = endpoint.to_owned();
        match error {
            DownloadError::File(source) => Self::Cache { path, source },
            DownloadError::Fetch(FetchError::Stopped) => Self::Stopped,
            DownloadError::Fetch(FetchError::Silent(after) | FetchError::TimedOut(after)) => {
                Self::TimedOut { endpoint, after, is_kept: false }
            }
            DownloadError::Fetch(error) => Self::Network { endpoint, reason: error.to_string() },
            DownloadError::Status { status, reason } => {
                Self::Status { endpoint, status, message: format!(" {reason}") }
            }
            DownloadError::Response(reason) => Self::Response { endpoint, reason },
            // The caller, who knows the file, has a better message.
            DownloadError::TooLarge { limit } => {
                Self::Response { endpoint, reason: format!("a file of more than {limit} bytes") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguous_name_offers_five_with_their_downloads() {
        let of = |(id, downloads): (&str, u64)| Candidate { id: id.to_owned(), downloads };
        let all = [("a/x", 1_234_567), ("b/x", 3_400), ("c/x", 12), ("d/x", 9), ("e/x", 1), ("f/x", 0)];
        let error = HubError::Ambiguous { name: "x".into(), candidates: all.map(of).to_vec() };
        assert_eq!(
            error.to_string(),
            "'x' is ambiguous: 6 repositories match it\n  the most downloaded: a/x (1.2M downloads), b/x (3.4K \
             downloads), c/x (12 downloads), d/x (9 downloads), e/x (1 downloads)\n  try: a/x"
        );
        assert_eq!(error.title(), "Ambiguous Tokenizer Name");
    }
}
