//! A plain client: one connection, one request at a time, nothing clever.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use aiperf_sim::{Sim, SimConfig, SimHandle};
use serde_json::Value;

/// How long a test waits for the next bytes before it fails.
pub(crate) const HANGS: Duration = Duration::from_secs(60);

/// A server whose tokens come at once, unless the test sets another time.
pub(crate) fn quick() -> SimConfig {
    SimConfig { ttft: "0".parse().unwrap(), itl: "0".parse().unwrap(), ..SimConfig::default() }
}

pub(crate) fn serve(config: SimConfig) -> SimHandle {
    Sim::spawn(config).unwrap()
}

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const COMPLETIONS: &str = "/v1/completions";

/// A chat request body with further members.
pub(crate) fn chat(members: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"one two three"}}],{members}}}"#)
}

/// What a client may speak over.
pub(crate) trait Stream: Read + Write + Sized {
    /// The longest wait for a response.
    fn set_patience(&self, time: Duration);
}

impl Stream for TcpStream {
    fn set_patience(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

impl Stream for UnixStream {
    fn set_patience(&self, time: Duration) {
        self.set_read_timeout(Some(time)).unwrap();
    }
}

pub(crate) struct Client<S = TcpStream> {
    socket: BufReader<S>,
}

/// A response, as far as it came.
#[derive(Debug, Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Without the chunked coding.
    pub(crate) body: Vec<u8>,
    /// The body reached its announced end.
    pub(crate) complete: bool,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Client::over(TcpStream::connect(address).unwrap())
    }
}

impl Client<UnixStream> {
    pub(crate) fn connect_unix(path: &Path) -> Self {
        Client::over(UnixStream::connect(path).unwrap())
    }
}

impl<S: Stream> Client<S> {
    pub(crate) fn over(socket: S) -> Self {
        socket.set_patience(HANGS);
        Client { socket: BufReader::new(socket) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).unwrap();
    }

    /// Whether nothing comes for so long.
    pub(crate) fn is_silent(&mut self, time: Duration) -> bool {
        self.socket.get_ref().set_patience(time);
        self.socket.fill_buf().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Response {
        self.send(&request(path, body, "test"));
        self.response().unwrap()
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: sim\r\n\r\n").as_bytes());
        self.response().unwrap()
    }

    /// The next response, complete or not; an error when not even a head came.
    pub(crate) fn response(&mut self) -> std::io::Result<Response> {
        let mut response = Response::default();
        while !response.head.ends_with("\r\n\r\n") {
            if self.socket.read_line(&mut response.head)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        response.status = response.head[9..12].parse().unwrap();
        response.complete = self.body(&response.head, &mut response.body).is_ok();
        Ok(response)
    }

    /// The head of the next response, whose body is left alone.
    pub(crate) fn read_head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.socket.read_line(&mut head).unwrap() > 0, "{head}");
        }
        head
    }

    /// The chunks of the next response.
    pub(crate) fn chunks(&mut self) -> Vec<Vec<u8>> {
        self.read_head();
        let mut chunks = Vec::new();
        loop {
            let mut chunk = Vec::new();
            self.chunk(&mut chunk).unwrap();
            if chunk.is_empty() {
                return chunks;
            }
            chunks.push(chunk);
        }
    }

    fn body(&mut self, head: &str, body: &mut Vec<u8>) -> std::io::Result<()> {
        if let Some(length) = header(head, "content-length") {
            return self.piece(length.parse().unwrap(), body);
        }
        assert_eq!(header(head, "transfer-encoding"), Some("chunked"));
        while self.chunk(body)? > 0 {}
        Ok(())
    }

    /// Appends the next chunk; gives its length.
    pub(crate) fn next_chunk(&mut self, body: &mut Vec<u8>) -> usize {
        self.chunk(body).unwrap()
    }

    fn chunk(&mut self, body: &mut Vec<u8>) -> std::io::Result<usize> {
        let mut size = String::new();
        if self.socket.read_line(&mut size)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        self.piece(size, body)?;
        self.piece(2, &mut Vec::new())?;
        Ok(size)
    }

    fn piece(&mut self, length: usize, into: &mut Vec<u8>) -> std::io::Result<()> {
        let read = (&mut self.socket).take(length as u64).read_to_end(into)?;
        if read == length { Ok(()) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// The bytes of a POST.
pub(crate) fn request(path: &str, body: &str, request_id: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: sim\r\nX-Request-ID: {request_id}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.split_once(": ").filter(|(found, _)| *found == name).map(|(_, value)| value))
}

impl Response {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The data of each event, `[DONE]` included.
    pub(crate) fn data(&self) -> Vec<&str> {
        self.text().split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap_or(event)).collect()
    }

    /// The events that are JSON.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.data().iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    /// The texts of choice 0.
    pub(crate) fn pieces(&self) -> Vec<String> {
        let content = |event: &Value| match &event["choices"][0] {
            choice if choice["index"] != 0 => None,
            choice => choice["delta"]["content"].as_str().or(choice["text"].as_str()).map(str::to_owned),
        };
        self.events().iter().filter_map(content).filter(|text| !text.is_empty()).collect()
    }
}
