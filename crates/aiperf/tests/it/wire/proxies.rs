//! Forward proxies: absolute URLs for plain HTTP, tunnels for TLS, and credentials that only the proxy gets.

use crate::bench::{Run, quick};
use crate::wire::kinds::{HTTP1, HTTP2, KINDS, Server, run};
use crate::wire::responses::check_phases;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

const SECRET: &str = "prx-secret-91";
/// `someone:prx-secret-91` in Basic encoding.
const BASIC: &str = "c29tZW9uZTpwcngtc2VjcmV0LTkx";
const ARGS: [&str; 7] = ["--streaming", "--request-count", "6", "--concurrency", "2", "--workers-max", "1"];

/// A minimal proxy that keeps the heads of its requests.
struct Proxy {
    address: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let kept = heads.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let heads = kept.clone();
                // A client that disconnects ends only its own connection.
                std::thread::spawn(move || pass_on(client, &heads));
            }
        });
        Self { address, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Forwards a connection to the server of its first request.
fn pass_on(client: TcpStream, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let mut server: Option<TcpStream> = None;
    while let Some(head) = read_head(&mut reader)? {
        heads.lock().unwrap().push(head.clone());
        let mut words = head.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let authority = target.trim_start_matches("http://").split('/').next().unwrap_or_default();
        let server = match &mut server {
            Some(server) => server,
            None => server.insert(connect(authority, &client)?),
        };
        if method == "CONNECT" {
            (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            io::copy(&mut reader, server)?;
            return server.shutdown(Shutdown::Write);
        }
        server.write_all(head.replacen(&format!("http://{authority}"), "", 1).as_bytes())?;
        let length = |line: &str| line.strip_prefix("Content-Length: ")?.trim().parse::<u64>().ok();
        let body = head.lines().find_map(length).unwrap_or(0);
        io::copy(&mut (&mut reader).take(body), server)?;
    }
    Ok(())
}

/// Connects to a server, and forwards its bytes to the client.
fn connect(authority: &str, client: &TcpStream) -> io::Result<TcpStream> {
    let server = TcpStream::connect(authority)?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || io::copy(&mut from, &mut to).and_then(|_| to.shutdown(Shutdown::Both)));
    Ok(server)
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Runs through a proxy, with the most verbose output.
fn run_through(server: &Server, proxy: &str, also: &[(&str, &str)]) -> Run {
    let verbose = ["--export-http-trace", "-vv"];
    let bench = server.bench().with(&ARGS).with(&verbose).env("AIPERF_HTTP_TRUST_ENV", "true");
    let bench = bench.env("http_proxy", proxy).env("https_proxy", proxy).env("no_proxy", "");
    let run = run(also.iter().fold(bench, |bench, (name, value)| bench.env(name, value)));
    if run.code() == Some(0) {
        run.records().iter().for_each(check_phases);
    }
    run
}

fn files(dir: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => files(&path),
        false => {
            vec![(path.display().to_string(), String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned())]
        }
    };
    entries.flat_map(read).collect()
}

fn assert_no_secret(run: &Run) {
    let printed = [("stdout".to_owned(), run.stdout()), ("stderr".to_owned(), run.stderr())];
    for (place, text) in files(run.dir.path()).into_iter().chain(printed) {
        assert!(!text.contains(SECRET) && !text.contains(BASIC), "{place} contains the proxy's password");
    }
}

#[test]
fn a_proxy_of_plain_http_gets_absolute_urls() {
    for (credentials, line) in [("", None), ("someone:prx-secret-91@", Some(BASIC))] {
        let (server, proxy) = (Server::start(HTTP1, quick()), Proxy::start());
        let run = run_through(&server, &format!("http://{credentials}{}", proxy.address), &[]);
        assert_eq!((run.code(), run.records().len()), (Some(0), 6), "{}", run.stderr());
        let heads = proxy.heads();
        assert_eq!(heads.len(), 6);
        for head in &heads {
            assert!(head.starts_with(&format!("POST {}/v1/chat/completions HTTP/1.1\r\n", server.url())), "{head}");
            assert_eq!(authorization(head), line.map(|basic| format!("Basic {basic}")), "{head}");
        }
        assert_no_secret(&run);
        assert_eq!(server.stop().len(), 6);
    }
}

#[test]
fn a_proxy_gets_tunnel_requests_for_tls_servers() {
    for kind in KINDS.into_iter().filter(|kind| kind.tls) {
        for (credentials, line) in [("", None), ("someone:prx-secret-91@", Some(BASIC))] {
            let (server, proxy) = (Server::start(kind, quick()), Proxy::start());
            let run = run_through(&server, &format!("http://{credentials}{}", proxy.address), &[]);
            assert_eq!((run.code(), run.records().len()), (Some(0), 6), "{}", run.stderr());
            let heads = proxy.heads();
            assert_eq!(heads.len(), if kind.http2 { 1 } else { 2 }, "one for each connection");
            let authority = server.url().replace("https://", "");
            for head in &heads {
                assert!(head.starts_with(&format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n")), "{head}");
                assert_eq!(authorization(head), line.map(|basic| format!("Basic {basic}")), "{head}");
            }
            assert_no_secret(&run);
            assert_eq!(server.stop().len(), 6);
        }
    }
}

fn authorization(head: &str) -> Option<String> {
    head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: ")).map(str::to_owned)
}

#[test]
fn servers_of_no_proxy_are_reached_directly() {
    for kind in KINDS {
        let (server, proxy) = (Server::start(kind, quick()), Proxy::start());
        let run = run_through(&server, &format!("http://{}", proxy.address), &[("no_proxy", "127.0.0.1")]);
        assert_eq!((run.code(), run.records().len()), (Some(0), 6), "{}: {}", kind.name, run.stderr());
        assert!(proxy.heads().is_empty(), "{}", kind.name);
    }
}

#[test]
fn a_proxy_is_not_used_unless_the_environment_is_trusted() {
    let (server, proxy) = (Server::start(HTTP1, quick()), Proxy::start());
    let run = run_through(&server, &proxy.address, &[("AIPERF_HTTP_TRUST_ENV", "false")]);
    assert_eq!(run.code(), Some(0), "{}", run.stderr());
    assert!(proxy.heads().is_empty());
}

#[test]
fn http2_through_a_proxy_of_plain_http_is_refused_before_anything_is_sent() {
    let (server, proxy) = (Server::start(HTTP2, quick()), Proxy::start());
    let run = run_through(&server, &proxy.address, &[]);
    assert_eq!(run.code(), Some(2), "{}", run.stderr());
    assert!(run.stderr().contains("--transport http2") && run.stderr().contains("NO_PROXY"), "{}", run.stderr());
    assert!(proxy.heads().is_empty() && server.stop().is_empty());
}
