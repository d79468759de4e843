//! Settings of connections and calls, from the plan.

use crate::connect::{AddressChoice, ConnectSettings, Outstanding, Resolution, SocketOptions};
use crate::fetch::Fetcher;
use crate::origin::Origin;
use crate::proxy::{Proxy, ProxyChoice};
use crate::tls::{TlsSettings, Trust};
use aiperf_plan::{BaseUrl, HttpSettings, IpVersion, Plan, ReuseStrategy, Transport};
use aiperf_types::Nanos;
use std::sync::Arc;

impl From<&BaseUrl> for Origin {
    fn from(url: &BaseUrl) -> Self {
        match url.socket_path() {
            Some(path) => Self::Unix(path.to_owned()),
            None => Self::Http { tls: url.is_tls(), host: url.host().to_owned(), port: url.port() },
        }
    }
}

impl From<IpVersion> for AddressChoice {
    fn from(version: IpVersion) -> Self {
        match version {
            IpVersion::V4 => Self::V4,
            IpVersion::V6 => Self::V6,
            IpVersion::Auto => Self::Both,
        }
    }
}

/// Whose certificates a run accepts.
pub fn trust(http: &HttpSettings) -> Trust {
    match &http.ca_file {
        _ if !http.verify_certificates => Trust::Any,
        Some(file) => Trust::File(file.clone()),
        None => Trust::System,
    }
}

/// How connections are made. TLS is set up at once if a URL needs it, so that a fault shows before anything is sent.
pub fn connect_settings(plan: &Plan) -> Result<ConnectSettings, TlsError> {
    let (endpoint, http) = (&plan.endpoint, &plan.endpoint.http);
    let tls = Arc::new(TlsSettings::new(trust(http), endpoint.transport == Transport::Http2));
    if endpoint.urls.iter().any(BaseUrl::is_tls) {
        tls.config().map_err(|error| TlsError(error.to_string()))?;
    }
    let proxies = http.proxies.clone();
    let choose = move |origin: &Origin| {
        let proxy = proxies.for_url(&BaseUrl::parse(&origin.to_string()).ok()?)?;
        Some(Proxy {
            host: proxy.url().host().to_owned(),
            port: proxy.url().port(),
            authorization: proxy.credentials().map(|credentials| credentials.basic()),
        })
    };
    Ok(ConnectSettings {
        socket: SocketOptions {
            recv_buffer: http.recv_buffer as usize,
            send_buffer: http.send_buffer as usize,
            keep_idle: http.keep_idle,
            keep_interval: http.keep_interval,
            keep_count: http.keep_count,
            user_timeout_ms: http.user_timeout_ms,
        },
        resolution: Resolution {
            addresses: http.ip_version.into(),
            // Without reuse of connections, addresses are not reused either.
            believed: match http.dns_cache_seconds.filter(|_| endpoint.reuse != ReuseStrategy::Never) {
                Some(0) => Some(Nanos::MAX),
                seconds => seconds.map(|seconds| Nanos(u64::from(seconds) * 1_000_000_000)),
            },
        },
        tls,
        proxies: ProxyChoice::by(choose),
        outstanding: Outstanding::up_to(http.connects_outstanding as usize),
    })
}

/// Makes unmeasured calls with the settings of requests, but always over HTTP/1.1.
pub fn fetcher(plan: &Plan) -> Result<Fetcher, TlsError> {
    let mut calls = plan.clone();
    calls.endpoint.transport = Transport::Http;
    Ok(Fetcher::new(connect_settings(&calls)?))
}

/// TLS cannot be set up as the plan wants it.
#[derive(Debug, thiserror::Error)]
#[error("{0}\n  try: SSL_CERT_FILE=<a file of certificates in PEM>, or AIPERF_HTTP_SSL_VERIFY=false to verify nothing")]
pub struct TlsError(String);
