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
    /// As the environment of the process says: `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`.
    pub fn from_env() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self::from_folders(folder("HF_HUB_CACHE"), folder("HF_HOME"), folder("XDG_CACHE_HOME"), folder("HOME"))
    }

    /// The hub cache from its possible homes, first given wins.
    pub fn from_folders(
        hub_cache: Option<PathBuf>,
        hf_home: Option<PathBuf>,
        cache_home: Option<PathBuf>,
        home: Option<PathBuf>,
    ) -> Self {
        let hub_cache = hub_cache
            .or_else(|| hf_home.map(|folder| folder.join("hub")))
            .or_else(|| cache_home.map(|folder| folder.join("huggingface").join("hub")))
            .or_else(|| home.map(|folder| folder.join(".cache").join("huggingface").join("hub")));
        Self { hub_cache, revision: None }
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
        let mut searched = vec![format!("path {}", path.display())];
        if !is_path_like(name) {
            match &self.hub_cache {
                Some(cache) => {
                    if let Some(snapshot) = self.find_cached(cache, name)? {
                        return Ok(snapshot);
                    }
                    searched.push(format!("hub cache {}", cache.display()));
                }
                None => searched.push("hub cache (none: set HF_HUB_CACHE or HF_HOME)".to_owned()),
            }
        }
        let (name, revision) = (name.to_owned(), self.revision().to_owned());
        Err(TokenizeError::NotFound { name, revision, searched: searched.join(", ") })
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

    /// The snapshot folder of a cache entry: of the commit that the revision points at, else one named as the revision.
    fn snapshot(&self, entry: &Path) -> Option<PathBuf> {
        let revision = self.revision();
        let commit = fs::read_to_string(entry.join("refs").join(revision)).ok();
        let candidates = commit.as_deref().map(str::trim).into_iter().chain([revision]).filter(|name| is_below(name));
        candidates.map(|commit| entry.join("snapshots").join(commit)).find(|folder| folder.is_dir())
    }
}

/// Whether a path stays below the folder that it is joined to.
fn is_below(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Whether a name can only be meant as a path.
pub fn is_path_like(name: &str) -> bool {
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
