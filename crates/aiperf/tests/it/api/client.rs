//! A client that sends exactly the bytes of a test.

use crate::bench::{HANGS, free_port};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

#[derive(Clone, Copy)]
pub(crate) struct Client {
    port: u16,
}

/// The response to a request.
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl ApiResponse {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let field = |line: &'_ str| line.split_once(": ").is_some_and(|(known, _)| known.eq_ignore_ascii_case(name));
        Some(self.head.lines().find(|line| field(line))?.split_once(": ")?.1)
    }
}

impl Client {
    pub(crate) fn of_free_port() -> Self {
        Self { port: free_port() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(HANGS)).unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str) -> ApiResponse {
        self.ask("GET", path, &[])
    }

    /// A request with these header fields.
    pub(crate) fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> ApiResponse {
        let host = format!("localhost:{}", self.port);
        let has_host = fields.iter().any(|(name, _)| *name == "Host");
        let host = [("Host", host.as_str())].into_iter().filter(|_| !has_host);
        let fields: String =
            host.chain(fields.iter().copied()).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        self.send(format!("{method} {path} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n").as_bytes())
            .unwrap_or_else(|| panic!("no answer to {method} {path}"))
    }

    /// Sends any bytes; returns the response, if it is one.
    pub(crate) fn send(&self, bytes: &[u8]) -> Option<ApiResponse> {
        let mut stream = self.connect();
        // The server may have closed the connection already.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let end = all.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = all[end + 4..].to_vec();
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        Some(ApiResponse { status, head, body: if is_chunked { unchunked(&body) } else { body } })
    }
}

fn unchunked(body: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), body);
    loop {
        let end = rest.windows(2).position(|bytes| bytes == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return out;
        }
        out.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

/// A WebSocket, handled frame by frame.
pub(crate) struct Socket {
    stream: TcpStream,
}

/// A frame from the server.
#[derive(Debug)]
pub(crate) enum Received {
    Text(Value),
    Ping,
    /// Code and reason.
    Closed(u16, String),
    /// The connection is gone.
    Gone,
}

impl Socket {
    pub(crate) fn open(client: &Client) -> Self {
        Self::try_open(client, &[]).unwrap()
    }

    /// Opens with more header fields; the status if it is refused.
    pub(crate) fn try_open(client: &Client, fields: &[(&str, &str)]) -> Result<Self, u16> {
        let mut stream = client.connect();
        let fields: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "GET /ws HTTP/1.1\r\nHost: localhost:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: \
             13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n",
            client.port
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            reply.push(byte[0]);
        }
        let reply = String::from_utf8(reply).unwrap();
        let status: u16 = reply.split(' ').nth(1).unwrap().parse().unwrap();
        if status != 101 {
            return Err(status);
        }
        assert!(reply.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{reply}");
        Ok(Self { stream })
    }

    /// Sends a masked frame; the mask is all zeroes.
    pub(crate) fn frame(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.send(&frame);
    }

    /// Sends any bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        // The server may have closed the connection already.
        let _ = self.stream.write_all(bytes);
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.frame(0x81, text.as_bytes());
    }

    pub(crate) fn subscribe(&mut self, kinds: &[&str]) -> Value {
        self.send_text(&serde_json::json!({ "type": "subscribe", "message_types": kinds }).to_string());
        self.text()
    }

    pub(crate) fn receive(&mut self) -> Received {
        let mut head = [0; 2];
        if self.stream.read_exact(&mut head).is_err() {
            return Received::Gone;
        }
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).unwrap();
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).unwrap();
        match head[0] & 0x0f {
            1 => Received::Text(serde_json::from_slice(&payload).unwrap()),
            8 if payload.len() >= 2 => Received::Closed(
                u16::from_be_bytes([payload[0], payload[1]]),
                String::from_utf8(payload[2..].to_vec()).unwrap(),
            ),
            8 => Received::Closed(1005, String::new()),
            9 => Received::Ping,
            other => panic!("a frame of kind {other}"),
        }
    }

    /// The next message.
    pub(crate) fn text(&mut self) -> Value {
        loop {
            match self.receive() {
                Received::Text(value) => return value,
                Received::Ping => {}
                other => panic!("{other:?} instead of a message"),
            }
        }
    }

    /// All messages up to the first one of this kind.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            heard.push(self.text());
            if heard.last().is_some_and(|message| message["message_type"] == kind) {
                return heard;
            }
        }
    }
}
