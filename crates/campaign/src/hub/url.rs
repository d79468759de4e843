//! A file by its URL, stored under its own name: for files that are in no repository of the hub.

use super::cache;
use super::error::HubError;
use super::{FILE_LIMIT, Hub};
use aiperf_transport::Download;
use aiperf_transport::redirect::split_url;
use std::fs;
use std::path::{Path, PathBuf};

impl Hub {
    /// A file by its URL: the existing `file`, else the download to it. It appears under that name only when it is
    /// complete. If another process is fetching it, this one waits.
    pub fn url(&self, url: &str, file: &Path) -> Result<PathBuf, HubError> {
        if file.is_file() {
            return Ok(file.to_owned());
        }
        let fetched = self.fetch_url(url, file);
        fetched.map(|()| file.to_owned()).map_err(|error| match error {
            HubError::Stopped => HubError::Stopped,
            error => HubError::Url { url: url.to_owned(), file: file.to_owned(), reason: Box::new(error) },
        })
    }

    fn fetch_url(&self, url: &str, file: &Path) -> Result<(), HubError> {
        let (origin, path) = split_url(url).ok_or_else(|| HubError::NoUrl(url.to_owned()))?;
        if let Some(variable) = self.settings.offline {
            return Err(HubError::UrlOffline { variable });
        }
        let beside = |ending: &str| {
            let mut name = file.file_name().unwrap_or_default().to_owned();
            name.push(ending);
            file.with_file_name(name)
        };
        let (lock, incomplete) = (beside(".lock"), beside(".incomplete"));
        let Some(_lock) = cache::lock(&lock, &|| self.is_over())? else { return Err(self.why_over(url)) };
        if file.is_file() {
            return Ok(());
        }
        let failed = |source| HubError::Cache { path: incomplete.clone(), source };
        // A partial file of another process may be outdated: without a tag it cannot be checked.
        let mut begun = fs::File::create(&incomplete).map_err(failed)?;
        let wanted = Download {
            headers: self.headers(origin == self.settings.origin),
            origin,
            path,
            size_limit: FILE_LIMIT,
            patience: self.settings.patience,
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let progress = |done, total| (self.progress)(&name, done, total);
        let downloaded = self.fetcher.download(&wanted, &mut begun, progress, || self.is_over());
        let downloaded = downloaded.map_err(|error| self.download_failed(error, url, &incomplete));
        let done = downloaded.and_then(|()| cache::complete(&begun, &incomplete, file).map_err(failed));
        let _ = fs::remove_file(if done.is_ok() { &lock } else { &incomplete });
        done
    }
}
