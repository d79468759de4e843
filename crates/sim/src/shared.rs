//! The common state of all serving threads, and the pages that are not inference.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::apis::{self, ApiError, Jobs, Route};
use crate::clock::wall_ns;
use crate::http::Status;
use crate::metrics::Metrics;
use crate::pages::{MadePage, PageRequest, Pages, Show, Shown};
use crate::script::{Purpose, Script};
use crate::truth::TruthSender;

/// The longest request of a server that refuses none, as `/v1/models` shows it.
const LISTED_MAX_MODEL_LEN: u32 = 131_072;
const JSON: &str = "application/json";
/// Paths that trigger an action of a server; there is nothing to do here.
const HOOKS: [&str; 3] = ["/reset_prefix_cache", "/start_profile", "/stop_profile"];

/// One server, seen from its threads.
pub(crate) struct Shared {
    pub(crate) script: Script,
    /// Each thread counts for itself.
    pub(crate) metrics: Vec<Mutex<Metrics>>,
    pub(crate) pages: Pages,
    pub(crate) requests: AtomicU64,
    /// Polls of jobs: they are counted separately, because their number depends on timing.
    pub(crate) lookups: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) jobs: Arc<Jobs>,
    /// How often each hook was asked.
    pub(crate) hooks: Mutex<HashMap<&'static str, u32>>,
    /// What TCP connections are encrypted with.
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    /// Scheme and address, as redirects name this server.
    pub(crate) origin: String,
    pub(crate) truth: Option<TruthSender>,
}

/// The response to a request that is not inference, and how it is counted.
pub(crate) struct Page {
    pub(crate) handler: &'static str,
    pub(crate) method: &'static str,
    pub(crate) status: Status,
    pub(crate) fault: Option<&'static str>,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

impl Shared {
    pub(crate) fn metrics(&self, thread: usize) -> MutexGuard<'_, Metrics> {
        self.metrics[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn page(&self, method: &str, path: &str) -> Page {
        let page = self.usual_page(method, path);
        if page.status != Status::OK {
            return page;
        }
        match self.hook_status(page.handler) {
            None => page,
            Some(status) => {
                let body = ApiError::of_status(status).openai().bytes;
                Page { status, fault: Some("hook-status"), content_type: JSON, body, ..page }
            }
        }
    }

    /// The status with which a hook fails, where a fault asks for it.
    pub(crate) fn hook_status(&self, handler: &'static str) -> Option<Status> {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = hooks.entry(handler).or_default();
        let status = self.script.faults.draw_hook(*asked, &mut self.script.random(Purpose::Hook, u64::from(*asked)));
        *asked += 1;
        status.map(Status)
    }

    fn usual_page(&self, method: &str, path: &str) -> Page {
        let answered = |handler, method, content_type, body| Page {
            handler,
            method,
            status: Status::OK,
            fault: None,
            content_type,
            body,
        };
        let found = |handler, content_type, body| answered(handler, "GET", content_type, body);
        if let Some(hook) = HOOKS.into_iter().find(|hook| *hook == path) {
            return match method {
                "POST" => answered(hook, "POST", JSON, Vec::new()),
                _ => refused(method, Status::METHOD_NOT_ALLOWED),
            };
        }
        match (method, path) {
            ("GET", "/health") => found("/health", JSON, Vec::new()),
            ("GET", "/v1/models") => found("/v1/models", JSON, self.models()),
            (_, "/health" | "/v1/models") => refused(method, Status::METHOD_NOT_ALLOWED),
            (_, path) if Show::at(&self.script.config, path).is_some() => refused(method, Status::METHOD_NOT_ALLOWED),
            (_, path) if Route::at(path).is_some() => refused(method, Status::METHOD_NOT_ALLOWED),
            _ => refused(method, Status::NOT_FOUND),
        }
    }

    fn models(&self) -> Vec<u8> {
        let config = &self.script.config;
        let longest = config.max_model_len.map_or(LISTED_MAX_MODEL_LEN, |limit| limit.get());
        apis::models(config.listed_model(), wall_ns() / 1_000_000_000, longest)
    }

    pub(crate) fn metrics_page(&self, request: PageRequest) -> MadePage {
        let counted = || self.counted();
        let server = Shown { config: &self.script.config, origin: &self.origin, counted: &counted };
        self.pages.make(&server, request)
    }

    /// What all threads counted, and when: they are all held while it is added up, and no longer.
    fn counted(&self) -> (Metrics, u64) {
        let mut total = Metrics::new(self.script.config.metrics.bounds());
        let threads: Vec<_> = (0..self.metrics.len()).map(|thread| self.metrics(thread)).collect();
        let now_ns = wall_ns();
        for metrics in &threads {
            total.add(metrics);
        }
        (total, now_ns)
    }
}

fn refused(method: &str, status: Status) -> Page {
    let method = if method == "GET" { "GET" } else { "POST" };
    let body = ApiError::of_status(status).openai().bytes;
    Page { handler: "none", method, status, fault: None, content_type: JSON, body }
}
