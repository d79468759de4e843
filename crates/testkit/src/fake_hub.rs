//! A hub over TLS in its real layout: an API, files that it sends itself, and files on another server.
//!
//! The hub is 127.0.0.1; the other server is localhost.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A file of a repository.
#[derive(Clone)]
pub struct HubFile {
    pub repo: &'static str,
    pub path: &'static str,
    pub bytes: Vec<u8>,
    /// It is on the other server.
    pub is_large: bool,
}

/// Faults of the hub.
#[derive(Default)]
pub struct Faults {
    /// Bytes after which responses of the other server are cut, one per response.
    pub cuts: Vec<usize>,
    /// Responses of the other server have wrong bytes.
    pub is_corrupt: bool,
    /// How many more responses of the other server report an expired URL.
    pub expired: usize,
    /// It never responds.
    pub is_silent: bool,
    /// The response to every request: status and error code.
    pub refusal: Option<(&'static str, &'static str)>,
}

pub struct FakeHub {
    pub endpoint: String,
    pub ca_file: PathBuf,
    pub faults: Arc<Mutex<Faults>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeHub {
    pub fn start(folder: &Path, files: Vec<HubFile>, faults: Faults) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let ca_file = folder.join("ca.pem");
        std::fs::write(&ca_file, certificate.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (faults, requests) = (Arc::new(Mutex::new(faults)), Arc::new(Mutex::new(Vec::new())));
        let site = Arc::new(Site { port, files, faults: faults.clone(), requests: requests.clone() });
        let config = Arc::new(config);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (site, config) = (site.clone(), config.clone());
                std::thread::spawn(move || site.serve(socket, config));
            }
        });
        Self { endpoint: format!("https://127.0.0.1:{port}"), ca_file, faults, requests }
    }

    /// The heads of all requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// Requests for files on the other server.
    pub fn elsewhere(&self) -> Vec<String> {
        self.requests().into_iter().filter(|head| head.starts_with("GET /cdn/")).collect()
    }
}

struct Site {
    port: u16,
    files: Vec<HubFile>,
    faults: Arc<Mutex<Faults>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn serve(&self, socket: TcpStream, config: Arc<ServerConfig>) {
        let Ok(connection) = ServerConnection::new(config) else { return };
        let mut stream = StreamOwned::new(connection, socket);
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        self.requests.lock().unwrap().push(head.clone());
        if self.faults.lock().unwrap().is_silent {
            // Waits until the client closes the connection.
            let _ = stream.read(&mut byte);
            return;
        }
        let (response, cut) = self.respond(&head);
        let _ = stream.write_all(&response[..cut.unwrap_or(response.len()).min(response.len())]);
        if cut.is_none() {
            stream.conn.send_close_notify();
        }
        let _ = stream.flush();
    }

    fn respond(&self, head: &str) -> (Vec<u8>, Option<usize>) {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let mut faults = self.faults.lock().unwrap();
        if let Some((status, code)) = faults.refusal {
            let echoed = head.lines().find_map(|line| line.strip_prefix("Authorization: ")).unwrap_or_default();
            let fields = format!("X-Error-Code: {code}\r\nX-Error-Message: no {echoed}\r\n");
            return (response(status, &fields, b""), None);
        }
        if path.starts_with("/api/models?search=") {
            let found = r#"[{"id":"a/tiny","downloads":5},{"id":"org/tiny","downloads":1234567},{"id":"b/tiny-2"}]"#;
            return (response("200 OK", "", found.as_bytes()), None);
        }
        if let Some(asked) = path.strip_prefix("/api/models/").or_else(|| path.strip_prefix("/api/datasets/")) {
            let (repo, revision) = asked.split_once("/revision/").unwrap_or((asked, "main"));
            let revision = revision.split('?').next().unwrap_or_default();
            let files: Vec<_> = self.files.iter().filter(|file| file.repo == repo).collect();
            if files.is_empty() {
                return (response("404 Not Found", "X-Error-Code: RepoNotFound\r\n", b""), None);
            }
            if revision != "main" && !is_commit(revision) {
                return (response("404 Not Found", "X-Error-Code: RevisionNotFound\r\n", b""), None);
            }
            let names: Vec<_> = files.iter().map(|file| format!(r#"{{"rfilename":"{}"}}"#, file.path)).collect();
            let body = format!(r#"{{"sha":"{}","siblings":[{}]}}"#, commit_of(revision), names.join(","));
            return (response("200 OK", "", body.as_bytes()), None);
        }
        if let Some(tag) = path.strip_prefix("/cdn/") {
            if faults.expired > 0 {
                faults.expired -= 1;
                return (response("403 Forbidden", "", b""), None);
            }
            let file = self.files.iter().find(|file| sha256(&file.bytes) == tag).unwrap();
            let bytes = if faults.is_corrupt { vec![b'x'; file.bytes.len()] } else { file.bytes.clone() };
            let cut = (!faults.cuts.is_empty()).then(|| faults.cuts.remove(0));
            return (ranged(head, &bytes, "ETag: \"of-elsewhere\"\r\n"), cut);
        }
        let asked = path.trim_start_matches('/').trim_start_matches("datasets/").split_once("/resolve/");
        let Some((repo, rest)) = asked else { return (response("404 Not Found", "", b""), None) };
        let (revision, name) = rest.split_once('/').unwrap();
        if revision != "main" && !is_commit(revision) {
            return (response("404 Not Found", "X-Error-Code: RevisionNotFound\r\n", b""), None);
        }
        let Some(file) = self.files.iter().find(|file| file.repo == repo && file.path == name) else {
            return (response("404 Not Found", "X-Error-Code: EntryNotFound\r\n", b""), None);
        };
        let commit = format!("X-Repo-Commit: {}\r\n", commit_of(revision));
        if file.is_large {
            let tag = sha256(&file.bytes);
            let fields = format!(
                "{commit}X-Linked-Etag: \"{tag}\"\r\nX-Linked-Size: {}\r\nLocation: https://localhost:{}/cdn/{tag}\r\n",
                file.bytes.len(),
                self.port
            );
            return (response("302 Found", &fields, b"elsewhere"), None);
        }
        (ranged(head, &file.bytes, &format!("{commit}ETag: \"{}\"\r\n", git_blob(&file.bytes))), None)
    }
}

fn ranged(head: &str, bytes: &[u8], fields: &str) -> Vec<u8> {
    let range = head.lines().find_map(|line| line.strip_prefix("Range: bytes=")).and_then(|it| it.split_once('-'));
    let Some((from, to)) = range else { return response("200 OK", fields, bytes) };
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    if from >= bytes.len() {
        let fields = format!("{fields}Content-Range: bytes */{}\r\n", bytes.len());
        return response("416 Range Not Satisfiable", &fields, b"");
    }
    let to = to.min(bytes.len() - 1);
    let fields = format!("{fields}Content-Range: bytes {from}-{to}/{}\r\n", bytes.len());
    response("206 Partial Content", &fields, &bytes[from..=to])
}

fn response(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(ring::digest::digest(&SHA256, bytes).as_ref())
}

pub fn git_blob(bytes: &[u8]) -> String {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    context.update(format!("blob {}\0", bytes.len()).as_bytes());
    context.update(bytes);
    hex(context.finish().as_ref())
}

/// Every commit exists.
fn is_commit(revision: &str) -> bool {
    revision.len() == COMMIT.len() && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn commit_of(revision: &str) -> &str {
    if is_commit(revision) { revision } else { COMMIT }
}
