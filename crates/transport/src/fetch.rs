//! Calls that are not measured: probes, hooks, scrapes, downloads. Any method, with redirects, TLS, proxies and
//! encodings as measured requests have them, and limits on size and time.

use crate::body;
use crate::cancel::Cancel;
use crate::charset;
use crate::client::{Client, ClientSettings, OutgoingRequest, Protocol, Reuse};
use crate::connect::ConnectSettings;
use crate::encoding::{self, Decoded};
use crate::legs::{Leg, Script, Step};
use crate::origin::Origin;
use crate::proxy::ProxyChoice;
use crate::redirect::{Redirects, split_url};
use crate::stamp::StampMode;
use crate::stream_end::StreamEnd;
use crate::tls::TlsSettings;
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, RequestTag};
use bytes::Bytes;
use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use thiserror::Error;

/// How often a stop request is looked for.
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
    /// Bytes of the response, as sent and as decoded.
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

/// A response, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    pub reason: String,
    /// The media type without parameters.
    pub media_type: String,
    /// As the media type's parameter names it.
    pub charset: Option<String>,
    /// The header fields, in order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub times: FetchTimes,
}

impl Fetched {
    /// A header field of the response, by name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The body as text, in the charset that it declares; what cannot be read is replaced.
    pub fn into_text(self) -> String {
        match charset::read(self.charset.as_deref(), &self.body) {
            Some(text) => text,
            None => match String::from_utf8(self.body) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
        }
    }
}

/// When a call happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchTimes {
    pub start: MonoNs,
    /// The first byte of the last leg's body arrived; not taken where there was none.
    pub first_byte: MonoNs,
    pub end: MonoNs,
}

/// Why there is no response.
#[derive(Debug, Error)]
pub enum FetchError {
    #[error("{failure}")]
    Failed {
        failure: Failure,
        /// Of the response that had begun.
        media_type: Option<String>,
    },
    #[error("timed out after {} s", seconds(*.0))]
    TimedOut(Duration),
    #[error("nothing came for {} s", seconds(*.0))]
    Silent(Duration),
    #[error("no call can be made: {0}")]
    Setup(std::io::Error),
    /// The caller wanted no more.
    #[error("stopped")]
    Stopped,
}

/// To the millisecond, where there is one: what was left of five seconds is no 4.999999897 s.
fn seconds(time: Duration) -> f64 {
    let exact = time.as_secs_f64();
    if exact < 0.001 { exact } else { (exact * 1e3).round() / 1e3 }
}

impl FetchError {
    /// Whether the same call may do better a moment later: a connection was cut, or nothing came.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Failed { failure, .. } => matches!(
                failure,
                Failure::Disconnected
                    | Failure::Lost { .. }
                    | Failure::ShortBody { .. }
                    | Failure::Framing(_)
                    | Failure::TimedOut
            ),
            Self::TimedOut(_) | Self::Silent(_) => true,
            Self::Setup(_) | Self::Stopped => false,
        }
    }
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

    /// The same, with other settings of TLS.
    #[must_use]
    pub fn with_tls(&self, tls: TlsSettings) -> Self {
        Self::new(ConnectSettings { tls: Arc::new(tls), ..self.connect.clone() })
    }

    /// Makes a call on a runtime of its own and waits for it, unless the user stops it.
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
        self.session(SessionSettings::single(call.size_limit)).fetch(call).await
    }

    /// Makes several calls over connections that are kept.
    pub fn session(&self, settings: SessionSettings) -> FetchSession {
        let SessionSettings { stamps, keepalive, size_limit, connect_timeout, silence } = settings;
        let settings = ClientSettings {
            stamps,
            connect: self.connect.clone(),
            places: None,
            keepalive,
            kept_limit: size_limit,
            budget: None,
            reuse: if keepalive == Nanos::ZERO { Reuse::Never } else { Reuse::Always },
            stream_end: StreamEnd::NONE,
            protocol: Protocol::Http1,
            detailed: false,
            connect_timeout,
        };
        FetchSession { client: Client::new(settings, Vec::new(), Default::default()), silence }
    }
}

/// How the calls of a session are made.
#[derive(Clone, Copy, Debug)]
pub struct SessionSettings {
    pub stamps: StampMode,
    /// How long an idle connection lives; zero: none is used again.
    pub keepalive: Nanos,
    /// Bytes of any response as sent.
    pub size_limit: usize,
    pub connect_timeout: Option<Duration>,
    /// How long nothing may come or go.
    pub silence: Option<Duration>,
}

impl SessionSettings {
    fn single(size_limit: usize) -> Self {
        let (keepalive, connect_timeout, silence) = (Nanos::ZERO, None, None);
        Self { stamps: StampMode::User, keepalive, size_limit, connect_timeout, silence }
    }
}

/// Calls that share connections, on one thread.
pub struct FetchSession {
    client: Client,
    silence: Option<Duration>,
}

impl FetchSession {
    /// Makes a call.
    pub async fn fetch(&self, call: &Call) -> Result<Fetched, FetchError> {
        fetched(&self.exchange(call).await?, call.size_limit)
    }

    /// Makes a call; what came before it failed is in the exchange.
    pub(crate) async fn exchange(&self, call: &Call) -> Result<Exchange, FetchError> {
        let out = OutgoingRequest {
            tag: RequestTag::default(),
            intended: MonoNs(0),
            issued: MonoNs(0),
            target: self.client.target_of(&call.origin),
            head: call.head(),
            body: call.body.clone().into(),
            timeout: None,
            cancelled: None,
            ends_session: true,
        };
        let cancel = Cancel::default();
        let mut script = Following(call.follows_redirects.then(Redirects::default));
        let sending = unless_silent(self.client.send(out, &cancel, &mut script), self.silence);
        match tokio::time::timeout(call.timeout, sending).await {
            Ok(Ok(exchange)) => Ok(exchange),
            Ok(Err(silence)) => Err(FetchError::Silent(silence)),
            Err(_) => Err(FetchError::TimedOut(call.timeout)),
        }
    }
}

/// Runs an exchange that has a task of its own, unless nothing happens to it for too long: whenever it is polled,
/// something came or went.
async fn unless_silent<F: Future>(exchange: F, limit: Option<Duration>) -> Result<F::Output, Duration> {
    let Some(limit) = limit else { return Ok(exchange.await) };
    let mut exchange = pin!(exchange);
    let mut silence = pin!(tokio::time::sleep(limit));
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = exchange.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if silence.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(limit));
        }
        silence.as_mut().reset(tokio::time::Instant::now() + limit);
        silence.as_mut().poll(cx).map(|()| Err(limit))
    })
    .await
}

/// Follows redirects, or not.
struct Following(Option<Redirects<'static>>);

impl Script for Following {
    fn next(&mut self, leg: &Leg, response: &Exchange) -> Step {
        self.0.as_mut().map_or(Step::End, |redirects| redirects.next(leg, response))
    }
}

fn fetched(exchange: &Exchange, size_limit: usize) -> Result<Fetched, FetchError> {
    let media_type = exchange.status.map(|_| body::media_type(exchange));
    let failed = |failure| Err(FetchError::Failed { failure, media_type: media_type.clone() });
    if let Some(failure) = &exchange.failure {
        return failed(failure.clone());
    }
    let Some(status) = exchange.status else { return failed(Failure::Disconnected) };
    let Decoded { exchange: plain, failure } = encoding::decode(exchange, size_limit);
    if let Some(failure) = failure {
        return failed(failure);
    }
    let timeline = &exchange.timeline;
    Ok(Fetched {
        status,
        reason: body::reason(&plain).into_owned(),
        media_type: body::media_type(&plain),
        charset: body::content_parameter(&plain, "charset"),
        headers: body::fields(&plain).collect(),
        body: body::collect(&plain),
        times: FetchTimes { start: timeline.start, first_byte: timeline.body_start, end: timeline.end },
    })
}
