//! The listener and its connections: HTTP/1.1 by hyper, on one thread with a runtime of its own.

use super::encoding::Encoding;
use super::guard::Refused;
use super::hub::Hub;
use super::patient::Patient;
use super::response::{ApiResponse, Payload};
use super::routes::{self, Asked, Handler};
use super::socket::{self, HEARTBEAT};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How long a request may take to arrive, and how long a connection may be idle.
pub(super) const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How long a client may read nothing of a response.
pub(super) const READING_TIME: Duration = Duration::from_secs(10);
/// Bytes of a request before its body.
pub(super) const LONGEST_HEAD: usize = 16 << 10;
/// Bytes of a request's body; no route uses one.
pub(super) const LONGEST_BODY: u64 = 64 << 10;
/// Connections in addition to those of WebSocket clients.
pub(super) const MOST_CONNECTIONS: usize = 128;
/// Pause after the system had no resources for a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits on the time and the connections of clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientLimits {
    pub(super) request_time: Duration,
    pub(super) reading_time: Duration,
    pub(super) connections: usize,
    /// Time for requests in progress when the API ends.
    pub(super) ending_time: Duration,
}

impl ClientLimits {
    pub(super) fn new(ending_time: Duration) -> Self {
        Self { request_time: REQUEST_TIME, reading_time: READING_TIME, connections: MOST_CONNECTIONS, ending_time }
    }
}

/// Serves until `stop` is set. Then requests in progress get a little more time.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    hub: Arc<Hub>,
    stop: watch::Receiver<bool>,
    limits: ClientLimits,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    let mut heartbeats = tokio::time::interval(HEARTBEAT);
    let mut ended = stop.clone();
    loop {
        tokio::select! {
            () = socket::ended(&mut ended) => break,
            _ = heartbeats.tick() => hub.heartbeat(),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                // A connection past the limit is closed, not queued.
                Ok((stream, _)) if connections.len() < limits.connections + hub.most_websockets => {
                    connections.spawn(connection(stream, hub.clone(), stop.clone(), limits));
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(limits.ending_time, all).await;
}

async fn connection(stream: TcpStream, hub: Arc<Hub>, stop: watch::Receiver<bool>, limits: ClientLimits) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    let streams = Arc::new(tokio::sync::Mutex::new(JoinSet::new()));
    let service = service_fn(|request| {
        let (hub, stop, streams) = (hub.clone(), stop.clone(), streams.clone());
        async move { Ok::<_, Infallible>(respond(request, local.ip(), hub, stop, &streams).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request_time)
        // A client may close its half after the request.
        .half_close(true)
        .max_header_size(LONGEST_HEAD)
        .max_buf_size(2 * LONGEST_HEAD)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.reading_time)), service)
        .with_upgrades();
    tokio::pin!(serving);
    let mut ended = stop.clone();
    tokio::select! {
        _ = serving.as_mut() => {}
        () = socket::ended(&mut ended) => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.as_mut().await;
        }
    }
    // A WebSocket outlives its request.
    let mut streams = streams.lock().await;
    while streams.join_next().await.is_some() {}
}

async fn respond(
    mut request: Request<Incoming>,
    to: IpAddr,
    hub: Arc<Hub>,
    stop: watch::Receiver<bool>,
    streams: &tokio::sync::Mutex<JoinSet<()>>,
) -> Response<Payload> {
    let head = Head::of(&request);
    let encoding = head.text(header::ACCEPT_ENCODING).and_then(Encoding::accepted);
    let may_read = head.text(header::ORIGIN).filter(|origin| hub.guard.may_read(origin)).map(str::to_owned);
    let response = match handle(&head, to, &hub) {
        Ok(Reply::Response(response)) => response,
        Ok(Reply::Upgrade(response)) => {
            let upgrade = hyper::upgrade::on(&mut request);
            streams.lock().await.spawn(socket::serve(upgrade, hub.clone(), stop));
            response
        }
        Err(refusal) => refusal,
    };
    let response = match may_read {
        Some(origin) => response.with(header::ACCESS_CONTROL_ALLOW_ORIGIN, &origin),
        None => response.with(HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    };
    response.into_response(encoding)
}

/// The parts of a request that are used.
struct Head<'r> {
    method: &'r Method,
    path: &'r str,
    /// The host of the request target; only requests to proxies have one.
    authority: Option<&'r str>,
    fields: &'r HeaderMap,
}

impl<'r> Head<'r> {
    fn of(request: &'r Request<Incoming>) -> Self {
        let uri = request.uri();
        let authority = uri.authority().map(|authority| authority.as_str());
        Self { method: request.method(), path: uri.path(), authority, fields: request.headers() }
    }

    fn text(&self, name: HeaderName) -> Option<&'r str> {
        self.fields.get(name)?.to_str().ok()
    }
}

enum Reply {
    Response(ApiResponse),
    Upgrade(ApiResponse),
}

/// Handles a request; an error is a response too.
fn handle(head: &Head<'_>, to: IpAddr, hub: &Hub) -> Result<Reply, ApiResponse> {
    let host = head.text(header::HOST);
    let misdirected = |Refused(words)| ApiResponse::refusal(StatusCode::MISDIRECTED_REQUEST, words);
    if head.fields.get_all(header::HOST).iter().count() > 1 {
        return Err(misdirected(Refused("a request names one host".into())));
    }
    hub.guard.host(host, to).map_err(misdirected)?;
    if head.authority.is_some() {
        hub.guard.host(head.authority, to).map_err(misdirected)?;
    }
    let length = head.text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
    if length > LONGEST_BODY {
        let words = format!("a body has at most {LONGEST_BODY} bytes, and none is needed");
        return Err(ApiResponse::refusal(StatusCode::PAYLOAD_TOO_LARGE, words));
    }
    let found = routes::find(head.path);
    let Some(first) = found.first() else {
        let words = format!("nothing at {}; /docs lists what there is", head.path.escape_debug());
        return Err(ApiResponse::refusal(StatusCode::NOT_FOUND, words));
    };
    let allowed = found.iter().map(|(route, _)| route.method.allowed()).collect::<Vec<_>>().join(", ");
    if head.method == Method::OPTIONS {
        return Ok(Reply::Response(options(head, hub, &allowed)));
    }
    let Some((route, rest)) = found.iter().find(|(route, _)| route.method.is(head.method)) else {
        let words = format!("{} takes {allowed}", first.0.path);
        return Err(ApiResponse::refusal(StatusCode::METHOD_NOT_ALLOWED, words).with(header::ALLOW, &allowed));
    };
    let from = || {
        let refused = |Refused(words)| ApiResponse::refusal(StatusCode::FORBIDDEN, words);
        hub.guard.origin(head.text(header::ORIGIN), host).map_err(refused)
    };
    match route.handler {
        Handler::Read(handle) => Ok(Reply::Response(handle(&Asked { hub, rest }))),
        Handler::Act(handle) => {
            from()?;
            Ok(Reply::Response(handle(&Asked { hub, rest })))
        }
        Handler::Socket => {
            from()?;
            Ok(Reply::Upgrade(socket::handshake(head.method, head.fields)?))
        }
    }
}

/// Which methods a page of another origin may use, if any.
fn options(head: &Head<'_>, hub: &Hub, allowed: &str) -> ApiResponse {
    let response = ApiResponse::new(StatusCode::NO_CONTENT, super::response::TEXT, "").with(header::ALLOW, allowed);
    match head.text(header::ORIGIN).filter(|origin| hub.guard.may_read(origin)) {
        Some(_) => response
            .with(header::ACCESS_CONTROL_ALLOW_METHODS, allowed)
            .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type")
            .with(header::ACCESS_CONTROL_MAX_AGE, "600"),
        None => response,
    }
}

#[cfg(test)]
mod tests;
