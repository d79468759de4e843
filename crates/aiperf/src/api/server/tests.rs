//! Slow clients, and clients that use all connections: over real sockets, with limits short enough for tests.

use super::super::about::About;
use super::super::final_results::FinalResults;
use super::super::guard::Guard;
use super::super::hub::Settings;
use super::*;
use aiperf_types::{LogLevel, Message, RunEvent, WallNs};
use proptest::prelude::*;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Instant;

const SHORT: Duration = Duration::from_millis(100);
/// A limit that no test reaches.
const LONG: Duration = Duration::from_secs(600);
/// How long a test waits before it fails because nothing happens.
const HANGS: Duration = Duration::from_secs(60);
/// More than the buffers of a loopback connection hold.
const LARGE: u64 = 64 << 20;

const PATIENT: ClientLimits =
    ClientLimits { request_time: LONG, reading_time: LONG, connections: 8, ending_time: Duration::ZERO };

fn hub(most_websockets: usize, directory: &std::path::Path) -> Arc<Hub> {
    let about = About::sample();
    let guard = Guard::new("127.0.0.1", "", SocketAddr::from((Ipv4Addr::LOCALHOST, 80)), &[]);
    let settings = Settings { most_websockets, shutdown_delay: Duration::ZERO };
    Arc::new(Hub::new(about, directory.to_owned(), guard, Arc::default(), &settings, mpsc::channel().0))
}

/// A server on its own thread, until it is dropped.
struct Serving {
    address: SocketAddr,
    hub: Arc<Hub>,
    stop: watch::Sender<bool>,
    directory: tempfile::TempDir,
}

impl Serving {
    fn new(limits: ClientLimits, most_websockets: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let hub = hub(most_websockets, directory.path());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, (stop, stopped)) = (listener.local_addr().unwrap(), watch::channel(false));
        let answering = hub.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, answering, stopped, limits));
        });
        Self { address, hub, stop, directory }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(HANGS)).unwrap();
        stream
    }

    fn send(&self, text: &str) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Whether one more client is served.
    fn is_up(&self) -> bool {
        rest(&mut self.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).ends_with("ok")
    }

    /// Waits until one more client is served.
    fn has_room(&self) {
        let began = Instant::now();
        while !self.is_up() {
            assert!(began.elapsed() < HANGS, "no connection became free");
            std::thread::yield_now();
        }
    }

    /// A file of that size that uses no disk space.
    fn large_file(&self) {
        let file = std::fs::File::create(self.directory.path().join("large.jsonl")).unwrap();
        file.set_len(LARGE).unwrap();
        self.hub.finished(FinalResults { results: Some(Value::Null), ..FinalResults::default() });
        self.hub.end();
    }

    fn websocket(&self) -> TcpStream {
        let mut stream = self.send(
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: \
             13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        );
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", head.escape_ascii());
        stream
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}

/// All bytes until the other end closes; it may reset the connection if it did not read everything.
fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    if let Err(error) = stream.read_to_end(&mut all) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "nothing happened");
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[test]
fn a_request_that_never_ends_is_closed() {
    let serving = Serving::new(ClientLimits { request_time: SHORT, ..PATIENT }, 0);
    for begun in ["", "GET /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
        let began = Instant::now();
        let response = rest(&mut serving.send(begun));
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 408"), "{response}");
        assert!(began.elapsed() >= SHORT / 2, "it was closed too early");
    }
    // Sending a little more from time to time does not help.
    let mut stream = serving.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
    let began = Instant::now();
    while stream.write_all(b"x").is_ok() {
        assert!(began.elapsed() < HANGS, "the connection is still open");
        std::thread::sleep(SHORT / 20);
    }
    assert!(serving.is_up());
}

#[test]
fn an_idle_connection_is_closed() {
    let serving = Serving::new(ClientLimits { request_time: SHORT, ..PATIENT }, 0);
    let mut kept = serving.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(rest(&mut kept).ends_with("ok"));
}

#[test]
fn a_response_does_not_wait_for_the_body() {
    let serving = Serving::new(PATIENT, 0);
    for body in ["Content-Length: 1000\r\n\r\nfirst", "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"] {
        let response = rest(&mut serving.send(&format!("POST /api/shutdown HTTP/1.1\r\nHost: localhost\r\n{body}")));
        assert!(response.starts_with("HTTP/1.1 409 ") && response.contains("still running"), "{response}");
    }
}

#[test]
fn a_request_that_is_too_long_is_refused_and_closed() {
    let serving = Serving::new(PATIENT, 0);
    let field = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}", "x".repeat(2 * LONGEST_HEAD));
    let target = format!("GET /{}", "x".repeat(2 * LONGEST_HEAD));
    let fields = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}", "X: x\r\n".repeat(1000));
    for endless in [field, target, fields] {
        let response = rest(&mut serving.send(&endless));
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{response}");
    }
    let body =
        format!("POST /api/shutdown HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", LONGEST_BODY + 1);
    assert!(rest(&mut serving.send(&body)).starts_with("HTTP/1.1 413 "));
    assert!(serving.is_up());
}

#[test]
fn a_connection_past_the_limit_is_closed_until_one_is_free() {
    let serving = Serving::new(ClientLimits { connections: 3, ..PATIENT }, 0);
    let mut taken: Vec<TcpStream> = (0..3).map(|_| serving.connect()).collect();
    assert_eq!(rest(&mut serving.connect()), "");
    taken.pop();
    serving.has_room();
    // The clients that waited lost nothing.
    taken[0].write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    assert!(rest(&mut taken[0]).ends_with("ok"));
}

#[test]
fn a_client_that_does_not_read_a_file_is_disconnected() {
    let serving = Serving::new(ClientLimits { reading_time: SHORT, connections: 1, ..PATIENT }, 0);
    serving.large_file();
    let mut stuck = serving.send("GET /api/results/files/large.jsonl HTTP/1.1\r\nHost: localhost\r\n\r\n");
    serving.has_room();
    assert!((rest(&mut stuck).len() as u64) < LARGE, "it read no more than the buffers held");
}

#[test]
fn a_client_that_reads_slowly_gets_the_whole_file() {
    let serving = Serving::new(ClientLimits { reading_time: 10 * SHORT, ..PATIENT }, 0);
    serving.large_file();
    let mut slow =
        serving.send("GET /api/results/files/large.jsonl HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let (mut got, mut piece) = (0, vec![0; 4 << 20]);
    loop {
        match slow.read(&mut piece).unwrap() {
            0 => break,
            read => got += read as u64,
        }
        std::thread::sleep(SHORT / 20);
    }
    assert!(got > LARGE, "{got}");
}

#[test]
fn a_websocket_that_is_not_read_is_disconnected() {
    let serving = Serving::new(ClientLimits { reading_time: SHORT, ..PATIENT }, 1);
    let mut stuck = serving.websocket();
    let all = br#"{"type":"subscribe","message_types":["*"]}"#;
    stuck.write_all(&[&[0x81, 0x80 | all.len() as u8, 0, 0, 0, 0], all.as_slice()].concat()).unwrap();
    let began = Instant::now();
    let text: Arc<str> = "x".repeat(1 << 20).into();
    // Its slot is free again.
    while serving.hub.join().is_none() {
        assert!(began.elapsed() < HANGS, "its slot is still taken");
        let message = Message { at: WallNs(0), level: LogLevel::Error, text: text.clone() };
        serving.hub.take(&RunEvent::Message(message));
        std::thread::sleep(SHORT / 20);
    }
}

fn header_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "localhost(:[0-9]{1,6})?",
        "https?://(localhost|evil\\.example|\\[::1\\])(:[0-9]{1,6})?",
        "(websocket|Upgrade|13|gzip|zstd|;q=|,| ){0,6}",
        "[0-9]{1,25}",
        "[ -~]{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any target, method and header fields get a response. A request that uses another name for this machine is
    /// refused.
    #[test]
    fn any_request_is_answered(
        method in "GET|HEAD|POST|OPTIONS|PUT|[A-Z]{1,8}",
        path in "/(api|results|files|ws|metrics|shutdown|/|%2e|%|\\.|[!-~]){0,12}",
        fields in proptest::collection::vec(
            ("host|origin|upgrade|connection|sec-websocket-(key|version)|accept-encoding|content-length", header_value()),
            0..8,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let hub = hub(1, std::path::Path::new("/nonexistent"));
        let fields: HeaderMap = fields
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect();
        let method: Method = method.parse().unwrap();
        let head = Head { method: &method, path: &path, authority: None, fields: &fields };
        let own = fields.get(header::HOST).is_some_and(|host| host.as_bytes().starts_with(b"localhost"));
        let status = match handle(&head, IpAddr::V4(Ipv4Addr::LOCALHOST), &hub) {
            Ok(Reply::Response(response) | Reply::Upgrade(response)) | Err(response) => response.into_response(None).status(),
        };
        prop_assert!(own || status == StatusCode::MISDIRECTED_REQUEST, "{status}");
        prop_assert!(!status.is_server_error() || status == StatusCode::SERVICE_UNAVAILABLE, "{status}");
    }
}
