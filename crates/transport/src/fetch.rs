//! Calls that nobody measures: probes, hooks, scrapes, downloads. Any method, with redirects, TLS, proxies and
//! encodings as measured requests have them, and limits on size and time.

use crate::body;
use crate::cancel::Cancel;
use crate::client::{Client, ClientSettings, OutgoingRequest, Protocol, Reuse};
use crate::connect::ConnectSettings;
use crate::encoding::{self, Decoded};
use crate::legs::{Leg, Script, Step};
use crate::proxy::ProxyChoice;
use crate::redirect::{Redirects, split_url};
use crate::stamp::StampMode;
use crate::stream_end::StreamEnd;
use crate::target::Origin;
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, RequestTag};
use bytes::Bytes;
use std::fmt::Write as _;
use std::time::Duration;
use thiserror::Error;

/// How often somebody is asked whether to go on.
const LOOK_WHETHER_STOPPED: Duration = Duration::from_millis(20);

/// A call to be made.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: &'static str,
    pub origin: Origin,
    /// Path and query.
    pub path: String,
    /// In order; `Host` and `Content-Length` are added.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// For all of it, redirects included.
    pub timeout: Duration,
    /// Bytes of the answer, as sent and as decoded.
    pub size_limit: usize,
    pub follows_redirects: bool,
}

impl Call {
    /// A call to a URL without header fields of its own; `None` when that is no HTTP URL.
    pub fn to(method: &'static str, url: &str, timeout: Duration) -> Option<Self> {
        let (origin, path) = split_url(url)?;
        let (headers, body, size_limit) = (Vec::new(), Bytes::new(), 32 << 20);
        Some(Self { method, origin, path, headers, body, timeout, size_limit, follows_redirects: true })
    }

    fn head(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        // Writing to a text cannot fail.
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            let _ = write!(head, "Host: {}\r\n", self.origin.host_field());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !self.body.is_empty() || self.method != "GET" {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

/// An answer, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    pub reason: String,
    /// The media type without parameters.
    pub media_type: String,
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum FetchError {
    #[error("{0}")]
    Failed(Failure),
    #[error("timed out after {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("no call can be made: {0}")]
    Setup(std::io::Error),
    /// The caller wanted no more.
    #[error("stopped")]
    Stopped,
}

/// Makes calls the way a run's requests travel.
#[derive(Clone)]
pub struct Fetcher {
    connect: ConnectSettings,
}

impl Fetcher {
    pub fn new(connect: ConnectSettings) -> Self {
        Self { connect }
    }

    /// The same, past all proxies.
    #[must_use]
    pub fn without_proxy(&self) -> Self {
        Self::new(ConnectSettings { proxies: ProxyChoice::default(), ..self.connect.clone() })
    }

    /// Makes a call on a runtime of its own and waits for it, unless somebody wants it stopped.
    pub fn call(&self, call: &Call, is_stopped: impl Fn() -> bool) -> Result<Fetched, FetchError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(FetchError::Setup)?;
        runtime.block_on(async {
            let mut calling = std::pin::pin!(self.fetch(call));
            loop {
                match tokio::time::timeout(LOOK_WHETHER_STOPPED, &mut calling).await {
                    Ok(outcome) => return outcome,
                    Err(_) if is_stopped() => return Err(FetchError::Stopped),
                    Err(_) => {}
                }
            }
        })
    }

    /// Makes a call.
    pub async fn fetch(&self, call: &Call) -> Result<Fetched, FetchError> {
        let settings = ClientSettings {
            stamps: StampMode::User,
            connect: self.connect.clone(),
            places: None,
            keepalive: Nanos(0),
            kept_limit: call.size_limit,
            reuse: Reuse::Never,
            stream_end: StreamEnd::NONE,
            protocol: Protocol::Http1,
            detailed: false,
        };
        let client = Client::new(settings, vec![call.origin.clone()], Default::default());
        let out = OutgoingRequest {
            tag: RequestTag::default(),
            intended: MonoNs(0),
            issued: MonoNs(0),
            target: 0,
            head: call.head(),
            body: call.body.clone(),
            timeout: None,
            cancelled: None,
            ends_session: true,
        };
        let cancel = Cancel::default();
        let mut script = Following(call.follows_redirects.then(Redirects::default));
        let sending = client.send(out, &cancel, &mut script);
        match tokio::time::timeout(call.timeout, sending).await {
            Ok(exchange) => fetched(&exchange, call.size_limit),
            Err(_) => Err(FetchError::TimedOut(call.timeout)),
        }
    }
}

/// Follows redirects, or not.
struct Following(Option<Redirects>);

impl Script for Following {
    fn next(&mut self, leg: &Leg, answer: &Exchange) -> Step {
        self.0.as_mut().map_or(Step::End, |redirects| redirects.next(leg, answer))
    }
}

fn fetched(exchange: &Exchange, size_limit: usize) -> Result<Fetched, FetchError> {
    if let Some(failure) = &exchange.failure {
        return Err(FetchError::Failed(failure.clone()));
    }
    let Some(status) = exchange.status else { return Err(FetchError::Failed(Failure::Disconnected)) };
    let Decoded { exchange: plain, failure } = encoding::decode(exchange, size_limit);
    if let Some(failure) = failure {
        return Err(FetchError::Failed(failure));
    }
    Ok(Fetched {
        status,
        reason: body::reason(&plain).into_owned(),
        media_type: body::media_type(&plain),
        body: body::collect(&plain),
    })
}
