//! Kubernetes discovery: the metrics of pods, found through the API of the cluster that the program runs in.
//!
//! # Layout
//! - `cluster`: the location of the cluster's API, and the program's credentials
//! - `pods`: which pods serve metrics, and at which URLs
//! - `listing`: requests for pods, page by page, and the meaning of a refusal
//! - here: the calls

mod cluster;
mod listing;
mod pods;

pub use cluster::Cluster;

use aiperf_plan::{DiscoveryMode, MetricsUrl, PodDiscovery};
use aiperf_transport::{Call, Fetcher, SessionSettings, StampMode, TlsSettings, Trust};
use aiperf_types::{LogLevel, Nanos};
use cluster::Access;
use listing::Scope;
use pods::Endpoints;
use std::time::Duration;

/// Bytes of a page.
const SIZE_LIMIT: usize = 32 << 20;
/// How long a connection waits for the request of the next page.
const KEEPALIVE: Nanos = Nanos::from_millis(10_000);

/// The result of discovery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovered {
    /// Sorted, without duplicates, ready to use.
    pub urls: Vec<MetricsUrl>,
    pub notices: Vec<(LogLevel, String)>,
}

/// Discovers pods that serve metrics. Every failure is a warning: the run continues with the endpoints it has. Only the
/// cluster's own authorities are trusted, and no proxy is used, whatever the fetcher does otherwise.
pub async fn discover(plan: &PodDiscovery, cluster: Option<&Cluster>, fetcher: &Fetcher) -> Discovered {
    let cluster = match (plan.mode, cluster) {
        (DiscoveryMode::Disabled, _) | (DiscoveryMode::Auto, None) => return Discovered::default(),
        (DiscoveryMode::Kubernetes, None) => {
            return Discovered::nothing(
                "the program does not run in a cluster, as KUBERNETES_SERVICE_HOST is not set; leave \
                 server_metrics.discovery.mode at auto where it may run outside",
            );
        }
        (DiscoveryMode::Auto | DiscoveryMode::Kubernetes, Some(cluster)) => cluster,
    };
    let access = match &cluster.access {
        Ok(access) => access,
        Err(reason) => return Discovered::nothing(reason),
    };
    let scope = match Scope::new(plan.namespace.as_deref(), cluster.namespace.as_deref()) {
        Ok(scope) => scope,
        Err(reason) => return Discovered::nothing(&reason),
    };
    let timeout = Duration::from_nanos(plan.timeout.0);
    let listed = tokio::time::timeout(timeout, listed(plan, access, &scope, fetcher)).await;
    let mut discovered = match listed.unwrap_or_else(|_| Err(listing::timed_out(access, plan.timeout))) {
        Ok(found) => Discovered::of(found, &scope, plan.mode),
        Err(reason) => Discovered::nothing(&reason),
    };
    for (_, text) in &mut discovered.notices {
        *text = access.token.hidden_in(text);
    }
    discovered
}

/// Requests all pages. A part of them would be worse than none: the set of watched pods would change from run to run.
async fn listed(plan: &PodDiscovery, access: &Access, scope: &Scope, fetcher: &Fetcher) -> Result<Endpoints, String> {
    let tls = TlsSettings::new(Trust::File(access.authorities.clone()), false);
    tls.config().map_err(|error| format!("the cluster's authorities cannot be had: {error}"))?;
    let session = fetcher.without_proxy().with_tls(tls).session(SessionSettings {
        stamps: StampMode::User,
        keepalive: KEEPALIVE,
        size_limit: SIZE_LIMIT,
        connect_timeout: None,
        silence: None,
    });
    let label_selector = plan.label_selector.as_deref().filter(|selector| !selector.trim().is_empty());
    let mut found = Endpoints::default();
    let mut token: Option<String> = None;
    loop {
        let call = Call {
            method: "GET",
            origin: access.origin.clone(),
            path: scope.path(label_selector, token.as_deref()),
            headers: vec![
                ("Authorization".to_owned(), access.token.bearer()),
                ("Accept".to_owned(), "application/json".to_owned()),
            ],
            body: Default::default(),
            timeout: Duration::from_nanos(plan.timeout.0),
            size_limit: SIZE_LIMIT,
            // The token is for the API server only.
            follows_redirects: false,
        };
        let response = session.fetch(&call).await.map_err(|error| listing::failure(&error, access, plan.timeout))?;
        if response.status != 200 {
            return Err(listing::refusal(response.status, &response.body, access, scope));
        }
        let next = listing::read_page(&response.body, label_selector.is_some(), &mut found)?;
        if next.is_none() {
            return Ok(found);
        }
        if next == token {
            return Err("the API server's list of pods does not end: a page names itself as the next".to_owned());
        }
        token = next;
    }
}

impl Discovered {
    fn nothing(reason: &str) -> Self {
        let text = format!("Kubernetes discovery finds no metrics endpoints: {reason}");
        Self { urls: Vec::new(), notices: vec![(LogLevel::Warning, text)] }
    }

    fn of(found: Endpoints, scope: &Scope, mode: DiscoveryMode) -> Self {
        let summary = match found.len() {
            // The user asked for it, so expects something.
            0 => (
                if mode == DiscoveryMode::Kubernetes { LogLevel::Warning } else { LogLevel::Info },
                format!(
                    "Kubernetes discovery finds no metrics endpoints in {scope}: running pods are known by {}; \
                     server_metrics.discovery.label_selector finds others",
                    pods::signs()
                ),
            ),
            1 => (LogLevel::Info, format!("Kubernetes discovery finds a metrics endpoint in {scope}")),
            count => (LogLevel::Info, format!("Kubernetes discovery finds {count} metrics endpoints in {scope}")),
        };
        let notices = std::iter::once(summary).chain(found.notices()).collect();
        Self { notices, urls: found.into_urls() }
    }
}

/// Up to `longest` characters of foreign text, escaped for a terminal.
fn shown(text: &str, longest: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(longest) {
        match c {
            '"' | '\'' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}
