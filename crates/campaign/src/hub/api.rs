//! Requests to the hub, and the meaning of its responses.

use super::error::{Candidate, HubError};
use super::repo::{RepoKind, RepoName};
use aiperf_plan::redact::Redactor;
use aiperf_plan::redact::percent::percent_encoded;
use aiperf_transport::redirect::split_url;
use aiperf_transport::{Fetched, Origin};
use serde_json::Value;

/// The most results of a search.
const SEARCH_LIMIT: usize = 50;

/// The content of a repository at a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The commit of the revision.
    pub commit: String,
    /// Paths of the files.
    pub files: Vec<String>,
    /// The subsets in a dataset's card; null if it lists none.
    pub configs: Value,
}

/// The location of a file, and its expected content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    pub(super) commit: String,
    /// Identifies its bytes.
    pub(super) tag: String,
    pub(super) size: Option<u64>,
    pub(super) origin: Origin,
    pub(super) path: String,
}

pub(super) fn resolve_path(repo: &RepoName, revision: &str, path: &str) -> String {
    let path = path.split('/').map(percent_encoded).collect::<Vec<_>>().join("/");
    format!("/{}/resolve/{}/{path}", repo.web_path(), percent_encoded(revision))
}

pub(super) fn listing_path(repo: &RepoName, revision: &str) -> String {
    format!("/api/{}/{}/revision/{}", repo.kind.plural(), repo.id(), percent_encoded(revision))
}

pub(super) fn model_path(repo: &RepoName) -> String {
    format!("/api/{}/{}", RepoKind::Model.plural(), repo.id())
}

pub(super) fn search_path(name: &str) -> String {
    format!("/api/models?search={}&limit={SEARCH_LIMIT}", percent_encoded(name))
}

/// What the headers of responses contain about a file: of redirects on the same server, and of the last response.
#[derive(Debug, Default)]
pub(super) struct FileHeaders {
    commit: Option<String>,
    linked_tag: Option<String>,
    linked_size: Option<u64>,
    tag: Option<String>,
    size: Option<u64>,
}

impl FileHeaders {
    pub(super) fn read(&mut self, response: &Fetched) {
        let text = |name: &str| response.header(name).map(|value| plain_tag(value).to_owned());
        let number = |name: &str| response.header(name).and_then(|value| value.parse().ok());
        self.commit = self.commit.take().or_else(|| text("x-repo-commit"));
        self.linked_tag = self.linked_tag.take().or_else(|| text("x-linked-etag"));
        self.linked_size = self.linked_size.or_else(|| number("x-linked-size"));
        self.tag = text("etag").or(self.tag.take());
        self.size = match response.status {
            200 => Some(response.body.len() as u64),
            206 => response.header("content-range").and_then(|range| range.rsplit_once('/')?.1.parse().ok()),
            _ => None,
        };
    }

    pub(super) fn resolved(self, origin: Origin, path: String) -> Result<Resolved, &'static str> {
        let is_commit = |commit: &String| !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_alphanumeric());
        Ok(Resolved {
            commit: self.commit.filter(is_commit).ok_or("it names no commit (X-Repo-Commit)")?,
            tag: self.linked_tag.or(self.tag).filter(|tag| !tag.is_empty()).ok_or("it names no entity tag (ETag)")?,
            size: self.linked_size.or(self.size),
            origin,
            path,
        })
    }
}

/// A tag without quotes and without the mark of a weak one.
fn plain_tag(tag: &str) -> &str {
    tag.trim().trim_start_matches("W/").trim_matches('"')
}

/// The target of a redirect: a server, a path, and whether it is another server.
pub(super) fn led_to(origin: &Origin, response: &Fetched) -> Option<(Origin, String, bool)> {
    if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.header("location")?;
    if location.starts_with('/') && !location.starts_with("//") {
        return Some((origin.clone(), location.to_owned(), false));
    }
    let absolute = if location.starts_with("//") { format!("https:{location}") } else { location.to_owned() };
    let (to, path) = split_url(&absolute)?;
    let is_elsewhere = to != *origin;
    Some((to, path, is_elsewhere))
}

/// A request, for the message about its failure.
pub(super) struct Asked<'a> {
    pub(super) endpoint: &'a str,
    pub(super) repo: &'a RepoName,
    pub(super) revision: &'a str,
    /// `None` if the request was about the repository.
    pub(super) path: Option<&'a str>,
    pub(super) has_token: bool,
    pub(super) redactor: &'a Redactor,
}

impl Asked<'_> {
    /// The error for an unsuccessful response.
    pub(super) fn refused(&self, response: &Fetched) -> HubError {
        let (endpoint, repo, revision) = (self.endpoint.to_owned(), self.repo.clone(), self.revision.to_owned());
        let message = self.redactor.hide(response.header("x-error-message").unwrap_or_default().trim());
        match (response.header("x-error-code").unwrap_or_default(), response.status, self.path) {
            ("GatedRepo", ..) => {
                let message = if message.is_empty() { "access to it is restricted" } else { &message }.to_owned();
                HubError::Gated { repo, endpoint, message }
            }
            ("RevisionNotFound", ..) => HubError::RevisionNotFound { repo, revision },
            ("EntryNotFound", _, Some(path)) => HubError::EntryNotFound { repo, revision, path: path.to_owned() },
            ("RepoNotFound", ..) => HubError::RepoNotFound { repo, endpoint },
            (_, 401, _) if self.has_token && message.contains("credentials") => HubError::Token { endpoint },
            // Without a token, the hub does not reveal whether a repository is missing or private.
            (_, 401, _) => HubError::RepoNotFound { repo, endpoint },
            (_, 404, Some(path)) => HubError::EntryNotFound { repo, revision, path: path.to_owned() },
            (_, 404, None) => HubError::RepoNotFound { repo, endpoint },
            (_, status, _) => {
                let message = if message.is_empty() { String::new() } else { format!(": {message}") };
                HubError::Status { endpoint, status, message }
            }
        }
    }
}

/// The content of a repository, from the hub's response.
pub(super) fn listing(body: &[u8]) -> Result<Listing, String> {
    let json: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let commit = json["sha"].as_str().ok_or("no 'sha'")?.to_owned();
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("'sha' is no commit".to_owned());
    }
    let files = json["siblings"].as_array().ok_or("no 'siblings'")?;
    let files = files.iter().filter_map(|file| Some(file["rfilename"].as_str()?.to_owned())).collect();
    Ok(Listing { commit, files, configs: json["cardData"]["configs"].clone() })
}

/// The repository that a name means among the results of a search; `None` if there are none.
pub(super) fn meant(name: &str, body: &[u8]) -> Result<Option<String>, Vec<Candidate>> {
    let found: Vec<Value> = serde_json::from_slice(body).unwrap_or_default();
    let mut found: Vec<Candidate> = found
        .iter()
        .filter_map(|model| {
            let id = model["id"].as_str().or_else(|| model["modelId"].as_str())?.to_owned();
            Some(Candidate { id, downloads: model["downloads"].as_u64().unwrap_or(0) })
        })
        .collect();
    // A stable sort keeps the hub's order among equals.
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.downloads));
    let ending = format!("/{}", name.to_lowercase());
    let equal = found.iter().find(|candidate| candidate.id.eq_ignore_ascii_case(name));
    let ends = || found.iter().find(|candidate| candidate.id.to_lowercase().ends_with(&ending));
    match equal.or_else(ends) {
        Some(candidate) => Ok(Some(candidate.id.clone())),
        None if found.is_empty() => Ok(None),
        None => Err(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(ids: &[(&str, u64)]) -> Vec<u8> {
        let models: Vec<Value> =
            ids.iter().map(|(id, downloads)| serde_json::json!({"id": id, "downloads": downloads})).collect();
        serde_json::to_vec(&models).unwrap()
    }

    #[test]
    fn a_name_means_an_exact_match_then_the_most_downloaded_that_ends_with_it() {
        let found = search(&[("a/Tiny", 1), ("b/tiny", 9), ("c/tiny-chat", 99)]);
        assert_eq!(meant("tiny", &found).unwrap().as_deref(), Some("b/tiny"));
        assert_eq!(meant("A/TINY", &found).unwrap().as_deref(), Some("a/Tiny"));
        let others = meant("ti", &found).unwrap_err();
        assert_eq!(others.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["c/tiny-chat", "b/tiny", "a/Tiny"]);
        assert_eq!(meant("tiny", b"[]"), Ok(None));
    }

    #[test]
    fn paths_are_escaped_and_datasets_have_their_own() {
        let model = RepoName::new(RepoKind::Model, "org/m").unwrap();
        assert_eq!(resolve_path(&model, "refs/pr/1", "a b/c.json"), "/org/m/resolve/refs%2Fpr%2F1/a%20b/c.json");
        let dataset = RepoName::new(RepoKind::Dataset, "org/d").unwrap();
        assert_eq!(resolve_path(&dataset, "main", "d.jsonl"), "/datasets/org/d/resolve/main/d.jsonl");
        assert_eq!(listing_path(&dataset, "main"), "/api/datasets/org/d/revision/main");
        assert_eq!(search_path("a b&c"), "/api/models?search=a%20b%26c&limit=50");
    }

    proptest! {
        #[test]
        fn no_response_makes_the_parser_panic(body in proptest::collection::vec(any::<u8>(), 0..200), name in ".{0,20}") {
            let _ = listing(&body);
            let _ = meant(&name, &body);
        }
    }
}
