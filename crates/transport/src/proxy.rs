//! Forward proxies: plain requests with the whole URL in their first line, and tunnels for TLS.

use crate::connection::Connection;
use crate::framer::Framer;
use crate::origin::Origin;
use crate::stamped_stream::StampedStream;
use std::io::IoSlice;
use std::sync::Arc;

/// The longest response to a request for a tunnel.
const RESPONSE_LIMIT: usize = 16 << 10;

/// Which proxy is used for which server.
#[derive(Clone)]
pub struct ProxyChoice(Arc<Choose>);

type Choose = dyn Fn(&Origin) -> Option<Proxy> + Send + Sync;

impl ProxyChoice {
    pub fn by(choose: impl Fn(&Origin) -> Option<Proxy> + Send + Sync + 'static) -> Self {
        Self(Arc::new(choose))
    }

    pub(crate) fn for_origin(&self, origin: &Origin) -> Option<Proxy> {
        (self.0)(origin)
    }
}

impl Default for ProxyChoice {
    /// No proxy before any.
    fn default() -> Self {
        Self::by(|_| None)
    }
}

/// A proxy between us and a server.
#[derive(Clone)]
pub struct Proxy {
    pub host: String,
    pub port: u16,
    /// The value of `Proxy-Authorization`, a secret.
    pub authorization: Option<String>,
}

impl Proxy {
    /// Host and port as people write them.
    pub(crate) fn address(&self) -> String {
        Origin::http(&self.host, self.port).address()
    }

    fn authorization_line(&self) -> String {
        self.authorization.as_ref().map_or(String::new(), |value| format!("Proxy-Authorization: {value}\r\n"))
    }

    /// A request's head as a proxy wants it: the whole URL, and who asks.
    pub(crate) fn head(&self, head: &[u8], origin: &Origin) -> Vec<u8> {
        let space = memchr::memchr(b' ', head).map_or(0, |at| at + 1);
        let line = memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1);
        let (url, who) = (origin.to_string(), self.authorization_line());
        [&head[..space], url.as_bytes(), &head[space..line], who.as_bytes(), &head[line..]].concat()
    }

    /// Asks for a tunnel to a server; why there is none otherwise.
    pub(crate) async fn open_tunnel(&self, connection: &mut Connection, server: &str) -> Result<(), String> {
        let head = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n{}\r\n", self.authorization_line());
        let mut sent = 0;
        while sent < head.len() {
            let rest = IoSlice::new(&head.as_bytes()[sent..]);
            let wrote = std::future::poll_fn(|cx| connection.poll_write(cx, &[rest])).await;
            sent += wrote.map_err(|error| error.to_string())?;
        }
        // One byte at a time, so that nothing is read of what comes through the tunnel.
        let (mut response, mut framer) = (Vec::new(), Framer::default());
        while framer.head().is_none() && response.len() < RESPONSE_LIMIT {
            let mut byte = [0];
            let read = std::future::poll_fn(|cx| connection.poll_read(cx, &mut byte)).await;
            match read.map_err(|error| error.to_string())?.len {
                0 => return Err("it closed the connection".to_owned()),
                _ => response.push(byte[0]),
            }
            framer.feed(&response, 1).map_err(|error| error.to_string())?;
        }
        match framer.head() {
            Some(head) if (200..300).contains(&head.status) => Ok(()),
            Some(head) => Err(format!("it answered {}", head.status)),
            None => Err("its answer has no end".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_gets_the_whole_url_and_who_asks() {
        let proxy = Proxy { host: "p".into(), port: 1, authorization: Some("Basic eA==".into()) };
        let head = proxy.head(b"POST /v1 HTTP/1.1\r\nHost: h:8\r\n\r\n", &Origin::http("h", 8));
        let wanted = "POST http://h:8/v1 HTTP/1.1\r\nProxy-Authorization: Basic eA==\r\nHost: h:8\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&head), wanted);
    }
}
