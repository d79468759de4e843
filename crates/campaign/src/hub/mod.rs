//! Files of the Hugging Face hub: from its cache on disk, else fetched into it.
//!
//! The cache is that of Hugging Face's own tools, and is shared with them and with other processes. A file that is
//! there at the wanted revision is used without a request. Others are fetched, resumed after an interruption, and
//! checked against their hash. They appear under their name only when complete.
//!
//! # Layout
//! - [`settings`]: the settings of the environment
//! - `cache`: the folders and files on disk
//! - `api`: requests to the hub, and the meaning of responses
//! - `repo`: names of repositories
//! - `verify`: hashes
//! - `url`: files that are in no repository
//! - [`error`]: what can go wrong, and the fix

mod api;
mod cache;
pub mod error;
mod repo;
pub mod settings;
mod url;
mod verify;

pub use api::Listing;
pub use error::{Candidate, HubError};
pub use repo::{NoRepoName, RepoKind, RepoName};
pub use settings::HubSettings;

use aiperf_engine::Stop;
use aiperf_plan::Plan;
use aiperf_plan::redact::Redactor;
use aiperf_tokenize::lookup::is_below;
use aiperf_transport::{Call, Download, DownloadError, FetchError, Fetched, Fetcher, from_plan};
use api::{Asked, FileHeaders, Resolved};
use bytes::Bytes;
use cache::Entry;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most redirects on the same server.
const MOST_LEADS: usize = 5;
/// The longest response that is not a file.
const RESPONSE_LIMIT: usize = 64 << 20;
const FILE_LIMIT: u64 = 256 << 30;
/// How often the URL of a file is requested again after it expired.
const MOST_PLACES: u32 = 3;
/// How often a pause checks whether it is over.
const LOOK_WHETHER_OVER: Duration = Duration::from_millis(20);

/// The hub, accessed through its cache.
#[derive(Clone)]
pub struct Hub {
    settings: HubSettings,
    /// Hides the token, which a hub may echo.
    redactor: Arc<Redactor>,
    fetcher: Fetcher,
    is_stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    /// The deadline for everything, and the time limit it came from.
    until: Option<(Instant, Duration)>,
    progress: Arc<Progress>,
}

/// Called with the name of a file, the bytes fetched so far, and its length if known.
pub type Progress = dyn Fn(&str, u64, Option<u64>) + Send + Sync;

impl Hub {
    pub fn new(settings: HubSettings, fetcher: Fetcher) -> Self {
        let redactor = Arc::new(Redactor::new(settings.secrets()));
        let (is_stopped, progress) = (Arc::new(|| false), Arc::new(|_: &str, _, _| {}));
        Self { settings, redactor, fetcher, is_stopped, until: None, progress }
    }

    /// The hub of a run: with the settings of the environment, the run's proxies and certificates, until the run is
    /// stopped. It always verifies certificates, whatever the run does with its servers, because it sends the user's
    /// token.
    pub fn for_run(plan: &Plan, stop: Stop) -> Result<Self, HubError> {
        let settings = HubSettings::from_vars(|name| std::env::var(name).ok())?;
        let mut travelling = plan.clone();
        travelling.endpoint.http.verify_certificates = true;
        travelling.endpoint.http.proxies = settings.proxies.clone();
        let fetcher = from_plan::fetcher(&travelling)
            .map_err(|error| HubError::Network { endpoint: settings.endpoint.clone(), reason: error.to_string() })?;
        Ok(Self::new(settings, fetcher).stopped_by(move || stop.is_stopped()))
    }

    /// The same, with a stop condition.
    #[must_use]
    pub fn stopped_by(mut self, is_stopped: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_stopped = Arc::new(is_stopped);
        self
    }

    /// The same, with a time limit from now on. The part of a repository's file that was fetched by then is kept and
    /// resumed.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.until = Instant::now().checked_add(limit).map(|until| (until, limit));
        self
    }

    /// The same, with reports of the progress of files.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Fn(&str, u64, Option<u64>) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    pub fn settings(&self) -> &HubSettings {
        &self.settings
    }

    /// A file of a repository at a revision: the one in the cache, else fetched into it.
    pub fn file(&self, kind: RepoKind, repo: &str, revision: &str, path: &str) -> Result<PathBuf, HubError> {
        let repo = RepoName::new(kind, repo)?;
        let revision = checked(revision)?;
        if !is_below(path) {
            return Err(HubError::Path(path.to_owned()));
        }
        let entry = self.entry(&repo)?;
        if let Some(found) = entry.file(revision, path) {
            return Ok(found);
        }
        self.check_online(&repo, revision)?;
        self.fetch_file(&repo, &entry, revision, path)
    }

    /// The files of a repository at a revision, from the hub.
    pub fn list(&self, kind: RepoKind, repo: &str, revision: &str) -> Result<Listing, HubError> {
        let repo = RepoName::new(kind, repo)?;
        let revision = checked(revision)?;
        self.check_online(&repo, revision)?;
        let response = self.ask(&api::listing_path(&repo, revision))?;
        if response.status != 200 {
            return Err(self.asked(&repo, revision, None).refused(&response));
        }
        api::listing(&response.body).map_err(|reason| self.strange(reason))
    }

    /// The folder of a revision, if something of it is in the cache. Sends no request.
    pub fn cached_folder(&self, kind: RepoKind, repo: &str, revision: &str) -> Option<PathBuf> {
        self.entry(&RepoName::new(kind, repo).ok()?).ok()?.snapshot(checked(revision).ok()?)
    }

    /// Records the commit of a revision once its files are in the cache, so that they are found there by that name.
    pub fn note(&self, kind: RepoKind, repo: &str, revision: &str, commit: &str) -> Result<(), HubError> {
        self.entry(&RepoName::new(kind, repo)?)?.note(checked(revision)?, checked(commit)?)
    }

    /// Files of a revision, all of the same commit. Files that the repository lacks are left out. The revision is
    /// recorded as cached when all others are there.
    pub fn files(
        &self,
        kind: RepoKind,
        repo: &str,
        revision: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<PathBuf>, HubError> {
        let Listing { commit, files, .. } = self.list(kind, repo, revision)?;
        let wanted = files.iter().filter(|path| is_wanted(path));
        let brought = wanted.map(|path| self.file(kind, repo, &commit, path)).collect::<Result<Vec<_>, _>>()?;
        if !brought.is_empty() {
            self.entry(&RepoName::new(kind, repo)?)?.note(revision, &commit)?;
        }
        Ok(brought)
    }

    /// The id of the model with this name: the name itself if it exists, else the result of a search.
    pub fn find_model(&self, name: &str) -> Result<String, HubError> {
        let repo = RepoName::new(RepoKind::Model, name)?;
        self.check_online(&repo, "main")?;
        let response = self.ask(&api::model_path(&repo))?;
        match response.status {
            200 => return Ok(name.to_owned()),
            500.. => return Err(self.asked(&repo, "main", None).refused(&response)),
            _ => {}
        }
        let found = self.ask(&api::search_path(name))?;
        if found.status != 200 {
            return Ok(name.to_owned());
        }
        match api::meant(name, &found.body) {
            Ok(meant) => Ok(meant.unwrap_or_else(|| name.to_owned())),
            Err(candidates) => Err(HubError::Ambiguous { name: name.to_owned(), candidates }.hiding(&self.redactor)),
        }
    }

    fn entry(&self, repo: &RepoName) -> Result<Entry, HubError> {
        Ok(Entry::new(self.settings.cache.as_ref().ok_or(HubError::NoCache)?, repo))
    }

    fn check_online(&self, repo: &RepoName, revision: &str) -> Result<(), HubError> {
        let Some(variable) = self.settings.offline else { return Ok(()) };
        let cache = self.settings.cache.clone().unwrap_or_default();
        Err(HubError::Offline { repo: repo.clone(), revision: revision.to_owned(), cache, variable })
    }

    /// Whether it was stopped or its time is up.
    fn is_over(&self) -> bool {
        (self.is_stopped)() || self.until.is_some_and(|(until, _)| Instant::now() >= until)
    }

    fn why_over(&self, from: &str) -> HubError {
        match self.until {
            Some((_, after)) if !(self.is_stopped)() => {
                HubError::TimedOut { endpoint: from.to_owned(), after, is_kept: false }
            }
            _ => HubError::Stopped,
        }
    }

    /// The error for a failed download.
    fn download_failed(&self, error: DownloadError, from: &str, path: &Path) -> HubError {
        match error {
            DownloadError::Fetch(FetchError::Stopped) => self.why_over(from),
            error => HubError::of_download(error, from, path.to_owned()).hiding(&self.redactor),
        }
    }

    /// Fetches a file into the cache.
    fn fetch_file(&self, repo: &RepoName, entry: &Entry, revision: &str, path: &str) -> Result<PathBuf, HubError> {
        let (mut places, mut was_wrong) = (0, false);
        loop {
            let resolved = self.resolve(repo, revision, path)?;
            let name = verify::file_name(&resolved.tag);
            let Some(_lock) = entry.lock(&name, &|| self.is_over())? else {
                return Err(self.why_over(&self.settings.endpoint));
            };
            if !entry.blob(&name).is_file() {
                let incomplete = entry.incomplete(&name);
                let unwritten = |source| HubError::Cache { path: incomplete.clone(), source };
                let mut file = entry.open_incomplete(&name)?;
                // Without a usable tag, the partial file may be of another file.
                let is_checked = verify::Tag::of(&resolved.tag) != verify::Tag::Unknown;
                let there = file.metadata().map_err(unwritten)?.len();
                if !is_checked || resolved.size.is_some_and(|size| there > size) {
                    file.set_len(0).map_err(unwritten)?;
                }
                let progress = |done, total: Option<u64>| (self.progress)(path, done, total.or(resolved.size));
                let wanted = self.download(&resolved);
                match self.fetcher.download(&wanted, &mut file, progress, || self.is_over()) {
                    Ok(()) => {}
                    // The URL of a file on another server is signed for an hour.
                    Err(DownloadError::Status { status: 401 | 403 | 410, .. })
                        if resolved.origin != self.settings.origin && places < MOST_PLACES =>
                    {
                        places += 1;
                        continue;
                    }
                    Err(DownloadError::TooLarge { limit }) => {
                        return Err(HubError::TooLarge { repo: repo.clone(), path: path.to_owned(), limit });
                    }
                    Err(error) => {
                        let failed = self.download_failed(error, &self.settings.endpoint, &incomplete);
                        return Err(if is_checked { failed.with_part_kept() } else { failed });
                    }
                }
                if let Some(reason) = verify::fault(&mut file, &resolved.tag, resolved.size).map_err(unwritten)? {
                    let _ = fs::remove_file(&incomplete);
                    if was_wrong {
                        return Err(HubError::Corrupt { repo: repo.clone(), path: path.to_owned(), reason });
                    }
                    was_wrong = true;
                    continue;
                }
                entry.complete(&name, &file)?;
            }
            let file = entry.link(&resolved.commit, path, &name)?;
            entry.note(revision, &resolved.commit)?;
            return Ok(file);
        }
    }

    fn download(&self, resolved: &Resolved) -> Download {
        let is_elsewhere = resolved.origin != self.settings.origin;
        Download {
            origin: resolved.origin.clone(),
            path: resolved.path.clone(),
            headers: self.headers(!is_elsewhere),
            size_limit: FILE_LIMIT,
            patience: self.settings.patience,
        }
    }

    /// Asks for the location and the expected content of a file.
    fn resolve(&self, repo: &RepoName, revision: &str, path: &str) -> Result<Resolved, HubError> {
        let mut file = FileHeaders::default();
        let mut at = format!("{}{}", self.settings.base, api::resolve_path(repo, revision, path));
        for _ in 0..MOST_LEADS {
            let mut call = self.call(at.clone(), false);
            // Only the headers matter; the range keeps the body small.
            call.headers.push(("Range".to_owned(), "bytes=0-0".to_owned()));
            call.headers.push(("Accept-Encoding".to_owned(), "identity".to_owned()));
            let response = self.make(&call)?;
            file.read(&response);
            match api::led_to(&self.settings.origin, &response) {
                Some((origin, path, true)) => return file.resolved(origin, path).map_err(|why| self.strange(why)),
                Some((_, path, false)) => at = path,
                // An empty file has no first byte.
                None if matches!(response.status, 200 | 206 | 416) => {
                    return file.resolved(self.settings.origin.clone(), at).map_err(|why| self.strange(why));
                }
                None => return Err(self.asked(repo, revision, Some(path)).refused(&response)),
            }
        }
        Err(self.strange("it redirects too often"))
    }

    fn asked<'a>(&'a self, repo: &'a RepoName, revision: &'a str, path: Option<&'a str>) -> Asked<'a> {
        let HubSettings { endpoint, token, .. } = &self.settings;
        Asked { endpoint, repo, revision, path, has_token: token.is_some(), redactor: &self.redactor }
    }

    fn strange(&self, reason: impl Into<String>) -> HubError {
        HubError::Response { endpoint: self.settings.endpoint.clone(), reason: reason.into() }
    }

    fn headers(&self, is_endpoint: bool) -> Vec<(String, String)> {
        let agent = concat!("aiperf/", env!("CARGO_PKG_VERSION"));
        let mut headers = vec![("User-Agent".to_owned(), agent.to_owned())];
        let token = self.settings.token.as_ref().filter(|_| is_endpoint);
        headers.extend(token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
        headers
    }

    fn call(&self, path: String, follows_redirects: bool) -> Call {
        Call {
            method: "GET",
            origin: self.settings.origin.clone(),
            path,
            headers: self.headers(true),
            body: Bytes::new(),
            timeout: self.settings.response_timeout,
            size_limit: RESPONSE_LIMIT,
            follows_redirects,
        }
    }

    /// Calls the hub's API.
    fn ask(&self, path: &str) -> Result<Fetched, HubError> {
        self.make(&self.call(format!("{}{path}", self.settings.base), true))
    }

    fn pause(&self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end && !self.is_over() {
            std::thread::sleep(LOOK_WHETHER_OVER.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Makes a call, with a few retries if a retry may succeed.
    fn make(&self, call: &Call) -> Result<Fetched, HubError> {
        let patience = self.settings.patience;
        let mut failed = 0;
        loop {
            let outcome = self.fetcher.call(call, || self.is_over());
            let may_pass = match &outcome {
                Ok(response) => matches!(response.status, 429 | 500..),
                // A server that does not respond in all that time would be waited for again and again.
                Err(FetchError::TimedOut(_)) => false,
                Err(error) => error.may_pass(),
            };
            if may_pass && failed < patience.retries && !self.is_over() {
                self.pause(patience.pause * 2_u32.saturating_pow(failed));
                failed += 1;
                continue;
            }
            let endpoint = || self.settings.endpoint.clone();
            return outcome.map_err(|error| match error {
                FetchError::Stopped => self.why_over(&self.settings.endpoint),
                FetchError::TimedOut(after) | FetchError::Silent(after) => {
                    HubError::TimedOut { endpoint: endpoint(), after, is_kept: false }
                }
                error => HubError::Network { endpoint: endpoint(), reason: error.to_string() }.hiding(&self.redactor),
            });
        }
    }
}

/// A revision that can be a part of a path.
fn checked(revision: &str) -> Result<&str, HubError> {
    let is_name = is_below(revision) && revision.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name { Ok(revision) } else { Err(HubError::RevisionName(revision.to_owned())) }
}
