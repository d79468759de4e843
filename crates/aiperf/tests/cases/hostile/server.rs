//! A server that follows the script of a row.

use crate::hostile::table::{STREAM_HEAD, Script, Step, Tls};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Made once: making a key takes milliseconds.
static TLS: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap())
});

/// A connection, with TLS on it or not.
trait Peer: Read + Write {
    fn socket(&self) -> &TcpStream;

    /// Announces the end of the data, if its protocol can do that.
    fn say_goodbye(&mut self) -> io::Result<()>;
}

impl Peer for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn say_goodbye(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Peer for StreamOwned<ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref()
    }

    fn say_goodbye(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }
}

/// Serves from a thread of its own until the test is over; gives the URL.
pub(crate) fn serve(connections: &'static [Script], tls: Tls) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if tls == Tls::None { "http" } else { "https" };
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let script = connections[number.min(connections.len() - 1)];
            let Ok(stream) = stream else { return };
            // The client may go at any step: that ends the connection and nothing else.
            std::thread::spawn(move || match tls {
                Tls::None | Tls::Unspoken => play(stream, script),
                Tls::Spoken => play(StreamOwned::new(ServerConnection::new(TLS.clone()).unwrap(), stream), script),
            });
        }
    });
    url
}

fn play(mut stream: impl Peer, script: Script) -> io::Result<()> {
    stream.socket().set_nodelay(true)?;
    loop {
        for step in script {
            match step {
                Step::Request => read_request(&mut stream)?,
                Step::Send(bytes) => stream.write_all(bytes)?,
                Step::Json(text) => {
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
                    stream.write_all(format!("{head}{}\r\n\r\n{text}", text.len()).as_bytes())?;
                }
                Step::Stream => stream.write_all(STREAM_HEAD.as_bytes())?,
                Step::Chunk(text) => stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())?,
                Step::End => stream.write_all(b"0\r\n\r\n")?,
                Step::Repeat(bytes, times) => repeat(&mut stream, bytes, *times)?,
                Step::Drip(bytes) => {
                    for byte in *bytes {
                        stream.write_all(&[*byte])?;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                Step::Forever(bytes, ms) => loop {
                    stream.write_all(bytes)?;
                    std::thread::sleep(Duration::from_millis(*ms));
                },
                Step::Wait(ms) => std::thread::sleep(Duration::from_millis(*ms)),
                Step::Hold => return hold(&mut stream),
                Step::Close => return Ok(()),
                Step::Goodbye => return stream.say_goodbye(),
                Step::Reset => {
                    let now = nix::libc::linger { l_onoff: 1, l_linger: 0 };
                    return Ok(nix::sys::socket::setsockopt(stream.socket(), nix::sys::socket::sockopt::Linger, &now)?);
                }
            }
        }
    }
}

fn read_request(stream: &mut impl Read) -> io::Result<()> {
    let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let n = stream.read(&mut buffer)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        seen.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap_or("0");
        if body.len() >= length.parse().unwrap_or(0) {
            return Ok(());
        }
    }
}

/// Writes a megabyte at a time.
fn repeat(stream: &mut impl Write, bytes: &[u8], times: usize) -> io::Result<()> {
    let (mut left, at_once) = (times, (1 << 20) / bytes.len() + 1);
    let block = bytes.repeat(at_once);
    while left > 0 {
        let now = left.min(at_once);
        stream.write_all(&block[..now * bytes.len()])?;
        left -= now;
    }
    Ok(())
}

fn hold(stream: &mut impl Read) -> io::Result<()> {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}
