//! Files of public datasets: from caches, else from the hub or their URL.

use crate::hub::{Hub, HubError, RepoKind};
use aiperf_dataset::{Downloads, Repository};
use aiperf_plan::{DatasetPlan, Plan};
use aiperf_types::LogLevel;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Where AIPerf keeps files that it fetched by URL, below its working directory. Files found there are used.
const BESIDE: &str = ".cache/aiperf/datasets";
/// The site that mirrors of the hub replace.
const SITE: &str = "https://huggingface.co/";

/// Logs a message.
type Say<'a> = dyn Fn(LogLevel, String) + Sync + 'a;

/// Finds or fetches files for a run. The hub is made with the first file: most runs need none.
pub(crate) struct PublicFiles<'a> {
    make: &'a (dyn Fn() -> Result<Hub, HubError> + Sync),
    hub: OnceLock<Hub>,
    /// The commits of revisions that were looked up.
    commits: Mutex<Vec<Listed>>,
    /// The time for all files together.
    limit: Duration,
    say: &'a Say<'a>,
    /// Called when a file is there.
    fetched: &'a (dyn Fn() + Sync),
}

struct Listed {
    repo: String,
    revision: String,
    commit: String,
}

impl<'a> PublicFiles<'a> {
    pub(crate) fn of(
        plan: &Plan,
        make: &'a (dyn Fn() -> Result<Hub, HubError> + Sync),
        say: &'a Say<'a>,
        fetched: &'a (dyn Fn() + Sync),
    ) -> Self {
        let limit = if let DatasetPlan::Public(public) = &plan.dataset { public.timeout.0 } else { u64::MAX };
        Self { make, hub: OnceLock::new(), commits: Mutex::default(), limit: Duration::from_nanos(limit), say, fetched }
    }

    fn hub(&self) -> Result<&Hub, String> {
        if self.hub.get().is_none() {
            let hub = (self.make)().map_err(|error| error.to_string())?;
            let _ = self.hub.set(hub.within(self.limit));
        }
        self.hub.get().ok_or_else(|| "the hub is gone".to_owned())
    }

    fn commits(&self) -> MutexGuard<'_, Vec<Listed>> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Downloads for PublicFiles<'_> {
    fn list(&self, repo: &str, revision: &str) -> Result<Repository, String> {
        let hub = self.hub()?;
        let error = match hub.list(RepoKind::Dataset, repo, revision) {
            Ok(listing) => {
                let (repo, revision) = (repo.to_owned(), revision.to_owned());
                self.commits().push(Listed { repo, revision, commit: listing.commit.clone() });
                return Ok(Repository { commit: listing.commit, files: listing.files, configs: listing.configs });
            }
            Err(error) => error,
        };
        // Files in the cache do not need the hub.
        let cached = hub.cached_folder(RepoKind::Dataset, repo, revision);
        let files = cached.map(|folder| files_below(&folder)).filter(|files| !files.is_empty());
        let Some(files) = files else { return Err(not_fetched(&error, repo, revision, hub)) };
        if hub.settings().offline.is_none() {
            (self.say)(LogLevel::Warning, format!("dataset '{repo}' is used as it is in the cache: {error}"));
        }
        for (name, (there, all)) in shards(&files).into_iter().filter(|(_, (there, all))| there < all) {
            let text =
                format!("dataset '{repo}': {there} of {all} files of {name} are in the cache, and only they are used");
            (self.say)(LogLevel::Warning, text);
        }
        Ok(Repository { commit: revision.to_owned(), files, configs: Value::Null })
    }

    fn file(&self, repo: &str, revision: &str, path: &str) -> Result<PathBuf, String> {
        let hub = self.hub()?;
        let file = hub.file(RepoKind::Dataset, repo, revision, path);
        let file = file.map_err(|error| not_fetched(&error, repo, revision, hub))?;
        for listed in self.commits().iter().filter(|listed| listed.repo == repo && listed.commit == revision) {
            // The file is usable without the note.
            let _ = hub.note(RepoKind::Dataset, repo, &listed.revision, &listed.commit);
        }
        (self.fetched)();
        Ok(file)
    }

    fn url(&self, url: &str, name: &str) -> Result<PathBuf, String> {
        let beside = Path::new(BESIDE).join(name);
        if beside.is_file() {
            return Ok(beside);
        }
        let hub = self.hub()?;
        let folder = cache_folder().ok_or("there is no folder for it\n  try: XDG_CACHE_HOME=<folder>")?;
        std::fs::create_dir_all(&folder).map_err(|error| {
            format!("{} cannot be made: {error}\n  try: XDG_CACHE_HOME=<another folder>", folder.display())
        })?;
        let url = match url.strip_prefix(SITE) {
            Some(path) => format!("{}/{path}", hub.settings().endpoint),
            None => url.to_owned(),
        };
        let file = hub.url(&url, &folder.join(name)).map_err(|error| error.to_string())?;
        (self.fetched)();
        Ok(file)
    }
}

/// The message for a dataset that was not fetched, with the way to get it without a network.
fn not_fetched(error: &HubError, repo: &str, revision: &str, hub: &Hub) -> String {
    let cache =
        hub.settings().cache.as_ref().map_or_else(String::new, |cache| format!(" (HF_HUB_CACHE={})", cache.display()));
    let revision = if revision == "main" { String::new() } else { format!(" --revision {revision}") };
    format!(
        "Failed to load HuggingFace dataset '{repo}': {error}\n  without a network: `hf download --repo-type dataset {repo}{revision}` on a \
         machine that has one, and its cache folder here{cache}"
    )
}

/// The user's own cache.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("aiperf").join("datasets"))
}

/// Every file below a folder, as a path relative to it.
fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(&next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str).filter(|_| path.is_file())
            {
                files.push(name.to_owned());
            }
        }
    }
    files.sort();
    files
}

/// For files in shards (`train-00000-of-00005`): how many there are and how many there should be, by their common name.
fn shards(files: &[String]) -> BTreeMap<&str, (usize, usize)> {
    let mut shards = BTreeMap::new();
    for file in files {
        let Some((name, rest)) = file.split_once("-of-") else { continue };
        let Some((name, number)) = name.rsplit_once('-') else { continue };
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        if let (Some(_), Some(all)) = (digits(number), digits(rest)) {
            shards.entry(name).or_insert((0, all)).0 += 1;
        }
    }
    shards
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_shards_are_counted() {
        let files = ["data/train-00000-of-00002.parquet", "data/test-00000-of-00001.parquet", "README.md"];
        let files = files.map(str::to_owned);
        let wanted = BTreeMap::from([("data/test", (1, 1)), ("data/train", (1, 2))]);
        assert_eq!(shards(&files), wanted);
    }
}
