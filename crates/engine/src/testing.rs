//! Helpers for several tests of this crate.

use crate::sending::hooks::PhaseHooks;
use aiperf_transport::{
    Client, ClientSettings, ConnectSettings, Origin, OutgoingRequest, Outstanding, Protocol, ProxyChoice, Resolution,
    Reuse, SocketOptions, StampMode, StreamEnd,
};
use aiperf_types::{MonoNs, Nanos, PhaseId, RequestTag};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

pub(crate) use aiperf_testkit::plan::plan;

/// A file whose contents a test can read.
#[derive(Clone, Default)]
pub(crate) struct Shown(Arc<Mutex<Vec<u8>>>);

impl Shown {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hooks that log their calls; a phase named `bad` cannot start.
pub(crate) struct Noted(pub(crate) Arc<Mutex<Vec<String>>>);

impl PhaseHooks for Noted {
    fn before(&mut self, phase: &PhaseId) -> Result<(), String> {
        self.0.lock().unwrap().push(format!("before {}", phase.name));
        if &*phase.name == "bad" { Err("no".to_owned()) } else { Ok(()) }
    }

    fn after(&mut self, phase: &PhaseId) {
        self.0.lock().unwrap().push(format!("after {}", phase.name));
    }
}

/// A client of a local server that keeps at most so many bytes of a response.
pub(crate) fn client(port: u16, reuse: Reuse, kept_limit: usize) -> Client {
    let socket = SocketOptions {
        recv_buffer: 1 << 16,
        send_buffer: 1 << 16,
        keep_idle: 60,
        keep_interval: 30,
        keep_count: 1,
        user_timeout_ms: 30_000,
    };
    let settings = ClientSettings {
        stamps: StampMode::Kernel,
        connect: ConnectSettings {
            socket,
            resolution: Resolution::default(),
            tls: Arc::default(),
            proxies: ProxyChoice::default(),
            outstanding: Outstanding::up_to(4),
        },
        places: None,
        keepalive: Nanos::MAX,
        kept_limit,
        budget: None,
        reuse,
        protocol: Protocol::Http1,
        detailed: false,
        connect_timeout: None,
        stream_end: StreamEnd::NONE,
    };
    Client::new(settings, vec![Origin::http("127.0.0.1", port)], Default::default())
}

/// A POST of an empty object to a path.
pub(crate) fn post(path: &str) -> OutgoingRequest {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\n\
         Content-Length: 2\r\n\r\n"
    );
    OutgoingRequest {
        tag: RequestTag { session: 7, ..RequestTag::default() },
        intended: MonoNs(0),
        issued: MonoNs(0),
        target: 0,
        head: head.into(),
        body: "{}".into(),
        timeout: None,
        cancelled: None,
        ends_session: true,
    }
}

/// A complete JSON response.
pub(crate) fn json(body: &str) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length";
    format!("{head}: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A complete stream of chat chunks, one for each text.
pub(crate) fn stream(texts: &[&str]) -> Vec<u8> {
    let chunk = |text: &&str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
    let body = texts.iter().map(chunk).collect::<String>() + "data: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length";
    format!("{head}: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Serves every connection, request by request. `respond` makes the response from the number of the connection and the
/// request, head and body. An empty response is silence.
pub(crate) fn serve(respond: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let respond = Arc::new(respond);
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let respond = respond.clone();
            std::thread::spawn(move || {
                while let Some(request) = read_request(&mut stream) {
                    if stream.write_all(&respond(number, &request)).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(b"\r\n\r\n") {
        (stream.read(&mut byte).ok()? > 0).then_some(())?;
        seen.push(byte[0]);
    }
    let head = String::from_utf8(seen).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap_or("0");
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}
