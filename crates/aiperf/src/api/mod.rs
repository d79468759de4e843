//! The live API: a run over HTTP and WebSocket while it is on, and its results when it is over.
//!
//! It receives the same events as the screen, and sends nothing to threads that measure. One thread receives events,
//! another one responds, both at low priority.
//!
//! # Layout
//! - [`about`]: what is known before the run starts; [`live`]: the state at this moment, a function of events;
//!   [`final_results`]: the results of the run
//! - [`views`]: these as JSON; `json`: parts of JSON; [`prometheus`]: metrics in Prometheus' text format; [`messages`]: messages to clients
//! - [`guard`]: which requests are answered; [`files`]: which files can be downloaded
//! - [`run`]: the runs that it serves, as a campaign sees them
//! - [`hub`]: takes events and holds the state; [`mailbox`]: the messages that wait for one client
//! - [`routes`]: one file per group of routes, and their table; [`openapi`], `docs`: the table for tools and people;
//!   [`page`]: pages for browsers
//! - [`response`], [`encoding`], [`patient`]: responses, their compression, and clients that do not read them
//! - [`server`], [`socket`]: connections, and those that become WebSockets

mod about;
#[cfg(test)]
mod docs;
mod encoding;
mod files;
mod final_results;
mod guard;
mod hub;
mod json;
mod live;
mod mailbox;
mod messages;
mod openapi;
mod page;
mod patient;
mod prometheus;
mod response;
mod routes;
mod run;
mod server;
mod socket;
mod views;

use about::About;
use aiperf_campaign::consumers::LiveApi;
use aiperf_campaign::{Interest, Subscription, set_lowest_niceness};
use aiperf_plan::redact::Redactor;
use aiperf_plan::{ApiPlan, Plan};
use aiperf_types::Nanos;
use guard::Guard;
use hub::{Hub, Settings};
use run::Runs;
use server::ClientLimits;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often metrics are computed for clients: Prometheus scrapes no more often.
const METRICS_EVERY: Nanos = Nanos::from_millis(1000);
/// How soon a signal is noticed while the API waits for clients.
const LOOK: Duration = Duration::from_millis(20);
/// After a signal, connected clients get this long to close.
const HURRY: Duration = Duration::from_millis(250);
/// After a signal, the last messages get this long to reach clients that read slowly.
const FLUSH: Duration = Duration::from_secs(5);

/// The events that the API subscribes to.
pub(crate) fn interest() -> Interest {
    Interest { progress: true, metrics_every: Some(METRICS_EVERY), ..Interest::default() }
}

/// Why a port could not be bound.
#[derive(Debug)]
pub(crate) struct BindError {
    authority: String,
    source: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "API server cannot bind {}: {}", self.authority, self.source)
    }
}

/// A bound port, before the API answers on it.
pub(crate) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    plan: ApiPlan,
}

impl Bound {
    /// Binds the port.
    pub(crate) fn new(plan: &ApiPlan) -> Result<Self, BindError> {
        let bind = || {
            let listener = TcpListener::bind((plan.host.as_str(), plan.port))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address, plan: plan.clone() })
        };
        bind().map_err(|source| BindError { authority: plan.authority(), source })
    }

    /// The URL to show to users.
    pub(crate) fn url(&self) -> String {
        match self.address.ip().is_unspecified() {
            true => format!("http://localhost:{}", self.address.port()),
            false => format!("http://{}", self.plan.authority()),
        }
    }

    /// Whether other machines can reach it.
    pub(crate) fn is_open(&self) -> bool {
        !self.address.ip().is_loopback()
    }

    /// Starts to answer, with a plan, its events, and the files of a directory.
    pub(crate) fn start(
        self,
        plan: &Plan,
        directory: &Path,
        redactor: Arc<Redactor>,
        events: Subscription,
    ) -> io::Result<Api> {
        let Self { listener, address, plan: api } = self;
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let guard = Guard::new(&api.host, machine.trim(), address, &api.cors_origins);
        let about = About::new(plan, &redactor, env!("CARGO_PKG_VERSION"));
        let settings =
            Settings { most_websockets: api.most_websockets as usize, shutdown_delay: duration(api.shutdown_delay) };
        let (stop_sender, stop_requests) = mpsc::channel();
        let hub = Arc::new(Hub::new(about, directory.to_owned(), guard, redactor.clone(), &settings, stop_sender));
        let (stop, stopped) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let (answering, limits) = (hub.clone(), ClientLimits::new(duration(api.shutdown_timeout)));
        let server = std::thread::Builder::new().name("aiperf-api".into()).spawn(move || {
            let _ = set_lowest_niceness();
            runtime.block_on(server::serve(listener, answering, stopped, limits));
        })?;
        let hearing = hub.clone();
        let listener = std::thread::Builder::new().name("aiperf-api-hear".into()).spawn(move || {
            let _ = set_lowest_niceness();
            events.for_each(|event| hearing.take(&event));
        })?;
        Ok(Api { hub, stop, server, listener, stop_requests, stays: duration(api.stays), redactor })
    }
}

fn duration(of: Nanos) -> Duration {
    Duration::from_nanos(of.0)
}

/// A running API.
pub(crate) struct Api {
    hub: Arc<Hub>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    listener: JoinHandle<()>,
    stop_requests: Receiver<()>,
    stays: Duration,
    redactor: Arc<Redactor>,
}

impl Api {
    /// The consumer that a campaign notifies about its runs.
    pub(crate) fn runs(&self) -> Arc<dyn LiveApi> {
        Arc::new(Runs { hub: self.hub.clone(), redactor: self.redactor.clone() })
    }

    /// All runs are over. No thread emits events any more.
    pub(crate) fn complete(self) -> Staying {
        // The listener takes all events before the run counts as over.
        let _ = self.listener.join();
        self.hub.end();
        Staying {
            hub: self.hub,
            stop: self.stop,
            server: self.server,
            stop_requests: self.stop_requests,
            stays: self.stays,
        }
    }
}

/// An API whose run is over.
pub(crate) struct Staying {
    hub: Arc<Hub>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    stop_requests: Receiver<()>,
    stays: Duration,
}

impl Staying {
    /// How long it stays, so that clients can fetch the results.
    pub(crate) fn stays(&self) -> Duration {
        self.stays
    }

    /// Stays until its time is over, a client stops it or `is_unwanted` holds; then ends.
    pub(crate) fn stay(self, is_unwanted: impl Fn() -> bool) {
        let until = Instant::now() + self.stays;
        while !is_unwanted() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            match self.stop_requests.recv_timeout(LOOK.min(left)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.end(is_unwanted);
    }

    /// Ends after the requests in progress. After a signal it waits for the last messages and little more.
    pub(crate) fn end(self, is_in_a_hurry: impl Fn() -> bool) {
        let began = Instant::now();
        let _ = self.stop.send(true);
        let is_enough = || {
            let limit = if self.hub.is_flushed() { HURRY } else { FLUSH };
            is_in_a_hurry() && began.elapsed() >= limit
        };
        while !self.server.is_finished() && !is_enough() {
            std::thread::sleep(LOOK);
        }
    }
}
