//! Where a name may be found on disk: a path, or an entry of the Hugging Face hub cache.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::TokenizeError;

/// The revision where none is named.
pub const MAIN: &str = "main";

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// The hub cache folder; `None` when there is no home to hold one.
    pub hub_cache: Option<PathBuf>,
    /// The branch, tag or commit whose snapshot is taken from it; `None`: [`MAIN`].
    pub revision: Option<String>,
}

impl Lookup {
    /// From the environment of the process.
    pub fn from_env() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { hub_cache: hub_cache(folder), revision: None }
    }

    /// The same, for a revision.
    #[must_use]
    pub fn at(mut self, revision: Option<&str>) -> Self {
        self.revision = revision.map(str::to_owned);
        self
    }

    /// What is taken from the hub cache.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(MAIN)
    }

    /// The directory or file that holds a tokenizer.
    pub(crate) fn find(&self, name: &str) -> Result<PathBuf, TokenizeError> {
        let path = Path::new(name);
        if path.exists() {
            return Ok(path.to_owned());
        }
        let name = name.to_owned();
        if is_path_like(&name) {
            return Err(TokenizeError::NoSuchPath { name });
        }
        let cache = match &self.hub_cache {
            Some(cache) => {
                if let Some(snapshot) = self.find_cached(cache, &name)? {
                    return Ok(snapshot);
                }
                format!("hub cache {}", cache.display())
            }
            None => "hub cache (none: set HF_HUB_CACHE or HF_HOME)".to_owned(),
        };
        let searched = format!("path {}, {cache}", path.display());
        Err(TokenizeError::NotFound { name, revision: self.revision().to_owned(), searched })
    }

    fn find_cached(&self, cache: &Path, name: &str) -> Result<Option<PathBuf>, TokenizeError> {
        let exact = cache.join(format!("models--{}", name.replace('/', "--")));
        if let Some(snapshot) = self.snapshot(&exact) {
            return Ok(Some(snapshot));
        }
        if name.contains('/') {
            return Ok(None);
        }
        let matches = entries_of_short_name(cache, name);
        match matches.as_slice() {
            [] => Ok(None),
            [only] => Ok(self.snapshot(&cache.join(only))),
            [first, ..] => Err(TokenizeError::Ambiguous {
                name: name.to_owned(),
                cache: cache.to_owned(),
                candidates: matches.iter().map(|entry| repo_id(entry)).collect::<Vec<_>>().join(", "),
                first: repo_id(first),
            }),
        }
    }

    fn snapshot(&self, entry: &Path) -> Option<PathBuf> {
        snapshot(entry, self.revision())
    }
}

/// The folder that Hugging Face's tools keep all that is theirs in, by the variables that name folders: `HF_HOME`, else
/// `huggingface` in `XDG_CACHE_HOME`, else in `~/.cache`.
pub fn hub_home(folder: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    folder("HF_HOME")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache").join("huggingface")))
}

/// The hub cache: `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `hub` in [`hub_home`].
pub fn hub_cache(folder: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    folder("HF_HUB_CACHE")
        .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| hub_home(folder).map(|home| home.join("hub")))
}

/// The snapshot folder of an entry of the hub cache: of the commit that a revision points at, else one named as the
/// revision.
pub fn snapshot(entry: &Path, revision: &str) -> Option<PathBuf> {
    let commit = fs::read_to_string(entry.join("refs").join(revision)).ok();
    let candidates = commit.as_deref().map(str::trim).into_iter().chain([revision]).filter(|name| is_below(name));
    candidates.map(|commit| entry.join("snapshots").join(commit)).find(|folder| folder.is_dir())
}

/// Whether a path stays below the folder that it is joined to.
pub fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some()
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && !path.contains(['\\', '\0'])
        && !path.ends_with('/')
}

/// Whether a name can only be meant as a path.
fn is_path_like(name: &str) -> bool {
    Path::new(name).is_absolute()
        || name.starts_with(['.', '~'])
        || [".json", ".model", ".tiktoken"].iter().any(|ending| name.ends_with(ending))
        || name.contains('\\')
}

/// Folder names in the cache that end with a short name, ignoring case, in order.
fn entries_of_short_name(cache: &Path, name: &str) -> Vec<String> {
    let suffix = format!("--{}", name.to_lowercase());
    let mut matches: Vec<String> = fs::read_dir(cache)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|folder| folder.starts_with("models--") && folder.to_lowercase().ends_with(&suffix))
        .collect();
    matches.sort();
    matches
}

/// `models--org--name` -> `org/name`.
fn repo_id(entry: &str) -> String {
    entry.strip_prefix("models--").unwrap_or(entry).replacen("--", "/", 1)
}
