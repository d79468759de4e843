//! Calls that are not measured, over real sockets.

use aiperf_transport::{
    Call, ConnectSettings, FetchError, FetchSession, Fetcher, Origin, Outstanding, ProxyChoice, Resolution,
    SessionSettings, SocketOptions, StampMode,
};
use aiperf_types::Nanos;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// A server that hands each connection to a function; gives its port and how many connections there were.
fn serve(respond: impl Fn(TcpStream) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (count, respond) = (Arc::new(AtomicUsize::new(0)), Arc::new(respond));
    let counted = count.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            counted.fetch_add(1, Relaxed);
            let respond = respond.clone();
            std::thread::spawn(move || respond(connection));
        }
    });
    (port, count)
}

/// Reads requests and gives each the same response.
fn always(text: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync + 'static {
    move |mut connection| {
        let mut buffer = [0; 4096];
        while connection.read(&mut buffer).is_ok_and(|read| read > 0) {
            if connection.write_all(text).is_err() {
                return;
            }
        }
    }
}

fn call(port: u16) -> Call {
    Call {
        method: "GET",
        origin: Origin::http("127.0.0.1", port),
        path: "/metrics".into(),
        headers: Vec::new(),
        body: Default::default(),
        timeout: Duration::from_secs(20),
        size_limit: 1 << 20,
        follows_redirects: true,
    }
}

fn session(silence: Option<Duration>) -> FetchSession {
    let settings = SessionSettings {
        stamps: StampMode::User,
        keepalive: Nanos::from_millis(10_000),
        size_limit: 1 << 20,
        connect_timeout: Some(Duration::from_secs(5)),
        silence,
    };
    let connect = ConnectSettings {
        socket: SocketOptions {
            recv_buffer: 1 << 16,
            send_buffer: 1 << 16,
            keep_idle: 60,
            keep_interval: 30,
            keep_count: 1,
            user_timeout_ms: 30_000,
        },
        resolution: Resolution::default(),
        tls: Arc::default(),
        proxies: ProxyChoice::default(),
        outstanding: Outstanding::up_to(16),
    };
    Fetcher::new(connect).session(settings)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn calls_of_a_session_share_a_connection_and_report_their_times() {
    let (port, connections) = serve(always(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    run(async {
        let session = session(None);
        for _ in 0..3 {
            let fetched = session.fetch(&call(port)).await.unwrap();
            let times = fetched.times;
            assert!(times.start < times.first_byte && times.first_byte <= times.end, "{times:?}");
            assert_eq!(fetched.into_text(), "hi");
        }
    });
    assert_eq!(connections.load(Relaxed), 1);
}

#[test]
fn a_text_is_read_in_the_charset_that_it_declares() {
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=latin-1\r\nContent-Length: 1\r\n\r\n\xe9";
    let (port, _) = serve(always(page));
    assert_eq!(run(session(None).fetch(&call(port))).unwrap().into_text(), "\u{e9}");
}

#[test]
fn a_server_that_falls_silent_within_a_response_is_given_up() {
    let (port, _) = serve(|mut connection| {
        let _ = connection.read(&mut [0; 4096]);
        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf");
        let _ = connection.read(&mut [0; 4096]);
    });
    let silence = Duration::from_millis(50);
    let error = run(session(Some(silence)).fetch(&call(port))).unwrap_err();
    assert!(matches!(error, FetchError::Silent(limit) if limit == silence), "{error}");
}

#[test]
fn a_response_that_is_too_long_keeps_its_head() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n";
    let (port, _) = serve(move |mut connection| {
        let _ = connection.read(&mut [0; 4096]);
        let _ = connection.write_all(head.as_bytes());
        let _ = connection.write_all(&vec![b' '; 9_000_000]);
    });
    let error = run(session(None).fetch(&call(port))).unwrap_err();
    let FetchError::Failed { media_type, .. } = error else { panic!("{error}") };
    assert_eq!(media_type.as_deref(), Some("application/json"));
}

#[test]
fn a_time_that_ran_out_is_shown_to_the_millisecond() {
    let shown = |nanos| FetchError::TimedOut(Duration::from_nanos(nanos)).to_string();
    assert_eq!(shown(4_999_999_897), "timed out after 5 s");
    assert_eq!(shown(1_250_000_000), "timed out after 1.25 s");
    assert_eq!(FetchError::Silent(Duration::from_nanos(999_999_999)).to_string(), "nothing came for 1 s");
}
