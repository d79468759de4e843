//! Repositories of the hub, and their names.

use std::fmt;
use thiserror::Error;

/// What a repository holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepoKind {
    Model,
    Dataset,
}

impl RepoKind {
    /// The name in paths of the hub's API and its cache.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
        }
    }
}

/// A repository, its name checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoName {
    pub kind: RepoKind,
    id: String,
}

impl RepoName {
    pub fn new(kind: RepoKind, id: &str) -> Result<Self, NoRepoName> {
        let is_part = |part: &str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !part.is_empty() && part.bytes().all(is_letter) && !part.starts_with('.') && !part.contains("--")
        };
        let is_name = id.len() <= 96 && id.split('/').count() <= 2 && id.split('/').all(is_part) && !id.contains("..");
        is_name.then(|| Self { kind, id: id.to_owned() }).ok_or_else(|| NoRepoName(id.to_owned()))
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a URL of the site has: the id, after `datasets/` for those.
    pub(super) fn web_path(&self) -> String {
        match self.kind {
            RepoKind::Model => self.id.clone(),
            RepoKind::Dataset => format!("datasets/{}", self.id),
        }
    }

    /// As an argument of `hf download`.
    pub(super) fn for_hf(&self) -> String {
        match self.kind {
            RepoKind::Model => self.id.clone(),
            RepoKind::Dataset => format!("--repo-type dataset {}", self.id),
        }
    }

    /// As the cache names its folder.
    pub(super) fn folder(&self) -> String {
        format!("{}--{}", self.kind.plural(), self.id.replace('/', "--"))
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind == RepoKind::Model { "model" } else { "dataset" };
        write!(f, "{kind} '{}'", self.id)
    }
}

/// A text that names no repository.
#[derive(Debug, Error)]
#[error("'{0}' is no name of a repository: <owner>/<name>, of letters, digits, '-', '_' and '.'")]
pub struct NoRepoName(String);
