//! TLS, by a client of its own.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aiperf_sim::{Certificate, SimConfig, TlsOptions};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::client::{CHAT, COMPLETIONS, Client, Stream, chat, quick, request, serve};
use crate::truth::stamped;

type TlsStream = StreamOwned<ClientConnection, TcpStream>;

impl Stream for TlsStream {
    fn set_patience(&self, time: Duration) {
        self.get_ref().set_read_timeout(Some(time)).unwrap();
    }
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Files { folder: tempfile::tempdir().unwrap() }
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("truth.jsonl")
    }

    fn config(&self, certificate: Certificate) -> SimConfig {
        let tls = TlsOptions { ca_file: Some(self.ca()), certificate, hosts: vec!["sim.example".into()] };
        SimConfig { tls: Some(tls), truth_log: Some(self.log()), ..quick() }
    }

    fn lines(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.log()).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn trusting(ca: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_root_certificates(roots).with_no_client_auth())
}

fn connect(config: &Arc<ClientConfig>, address: SocketAddr, host: &'static str) -> TlsStream {
    let session = ClientConnection::new(config.clone(), ServerName::try_from(host).unwrap()).unwrap();
    StreamOwned::new(session, TcpStream::connect(address).unwrap())
}

#[test]
fn requests_are_served_over_tls_under_every_name() {
    let files = Files::new();
    let server = serve(files.config(Certificate::Good));
    assert!(server.url().starts_with("https://"));
    let config = trusting(&files.ca());
    for host in ["localhost", "127.0.0.1", "::1", "sim.example"] {
        let mut client = Client::over(connect(&config, server.addr, host));
        for _ in 0..2 {
            assert_eq!(client.post(CHAT, &chat(r#""stream":true,"max_tokens":4"#)).pieces().len(), 4, "{host}");
            assert!(client.post(CHAT, &chat(r#""max_tokens":4"#)).complete, "{host}");
        }
    }
}

/// The truth log of two connections with a stream each.
fn truth_of_two_connections() -> Vec<Value> {
    let files = Files::new();
    let server = serve(files.config(Certificate::Good));
    let config = trusting(&files.ca());
    for _ in 0..2 {
        let mut client = Client::over(connect(&config, server.addr, "localhost"));
        client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":3"#), "tls"));
        assert!(client.response().unwrap().complete);
    }
    server.stop().unwrap();
    files.lines()
}

#[test]
fn the_truth_log_records_handshakes_and_brackets_every_event() {
    let lines = stamped(truth_of_two_connections);
    assert_eq!(lines.len(), 2);
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["connection"], number);
        assert_eq!(line["tls"], true);
        assert_eq!(line["resumed"], number == 1, "the second connection uses the ticket of the first");
        let nanoseconds = |member: &str| line[member].as_u64().unwrap();
        assert!(nanoseconds("accepted_ns") <= nanoseconds("handshake_ns"));
        assert!(nanoseconds("received_kernel_ns") <= nanoseconds("received_read_ns"));
        let mut latest = nanoseconds("received_read_ns").max(nanoseconds("handshake_ns"));
        let chunks = line["chunks"].as_array().unwrap();
        assert_eq!(chunks.len(), 5, "role, three tokens, [DONE]");
        for bracket in std::iter::once(&line["head"]).chain(chunks) {
            let (before, after) = (bracket[0].as_u64().unwrap(), bracket[1].as_u64().unwrap());
            assert!(latest <= before && before <= after);
            latest = after;
        }
    }
}

#[test]
fn bad_certificates_are_refused_by_a_client_that_looks() {
    for (certificate, reason) in [
        (Certificate::Expired, "expired"),
        (Certificate::WrongHost, "not valid for name"),
        (Certificate::UnknownCa, "UnknownIssuer"),
    ] {
        let files = Files::new();
        let server = serve(files.config(certificate));
        let mut stream = connect(&trusting(&files.ca()), server.addr, "localhost");
        let refusal = stream.conn.complete_io(&mut stream.sock).unwrap_err().to_string();
        let unknown_ca = certificate == Certificate::UnknownCa;
        assert!(refusal.contains(reason) || unknown_ca && refusal.contains("BadSignature"), "{refusal}");
    }
}

#[test]
fn a_long_request_comes_through() {
    let files = Files::new();
    let server = serve(files.config(Certificate::Good));
    let mut client = Client::over(connect(&trusting(&files.ca()), server.addr, "localhost"));
    let body = format!(r#"{{"prompt":"{}","max_tokens":1}}"#, "word ".repeat(400_000));
    assert_eq!(client.post(COMPLETIONS, &body).json()["usage"]["prompt_tokens"], 400_000);
}

#[test]
fn a_slow_reader_of_encrypted_bytes_gets_everything_in_the_end() {
    let files = Files::new();
    let server = serve(files.config(Certificate::Good));
    let mut client = Client::over(connect(&trusting(&files.ca()), server.addr, "localhost"));
    client.send(&request(CHAT, &chat(r#""stream":true,"max_tokens":20000"#), "slow"));
    std::thread::sleep(Duration::from_millis(300));
    let response = client.response().unwrap();
    assert!(response.complete);
    assert_eq!(response.pieces().len(), 20_000);
}
