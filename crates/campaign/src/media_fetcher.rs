//! Fetches media that rows name by URL, for endpoints that take no URLs: before the run, by the route of its requests.

use aiperf_dataset::source::LARGEST_REQUEST;
use aiperf_dataset::{FetchMedia, Fetched};
use aiperf_engine::Stop;
use aiperf_plan::{MediaFetching, Plan};
use aiperf_transport::from_plan::{self, TlsError};
use aiperf_transport::{Fetcher, fetch};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

/// Fetches several files at once.
pub(crate) struct MediaFetcher {
    fetcher: Fetcher,
    settings: MediaFetching,
    stop: Stop,
}

impl MediaFetcher {
    pub(crate) fn new(plan: &Plan, settings: MediaFetching, stop: Stop) -> Result<Self, TlsError> {
        Ok(Self { fetcher: from_plan::fetcher(plan)?, settings, stop })
    }

    fn fetch(&self, url: &str, is_over: impl Fn() -> bool) -> Result<Vec<u8>, String> {
        let timeout = Duration::from_nanos(self.settings.timeout.0);
        let call = fetch::Call::to("GET", url, timeout).ok_or("is no URL of the web")?;
        let call = fetch::Call { size_limit: LARGEST_REQUEST as usize, ..call };
        let response = self.fetcher.call(&call, is_over).map_err(|error| format!("cannot be fetched: {error}"))?;
        match response.status {
            200 => Ok(response.body),
            status => Err(format!("cannot be fetched: the server returned {status} {}", response.reason)),
        }
    }
}

impl FetchMedia for MediaFetcher {
    fn each(&self, urls: &[&str], fetched: Fetched<'_>) {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let is_over = || is_over.load(Relaxed) || self.stop.is_stopped();
        let (send, receive) = mpsc::sync_channel(0);
        std::thread::scope(|scope| {
            for _ in 0..urls.len().min(self.settings.at_once.max(1) as usize) {
                let (send, next, is_over) = (send.clone(), &next, &is_over);
                scope.spawn(move || {
                    while let Some((at, url)) =
                        Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, urls.get(at)?)))
                    {
                        if is_over() || send.send((at, self.fetch(url, is_over))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(send);
            // A thread that still fetches cannot send its file, and ends.
            for (at, file) in receive {
                if !fetched(at, file) {
                    return;
                }
            }
        });
    }
}
