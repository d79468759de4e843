//! Kubernetes discovery against an API server that speaks TLS.

use aiperf_observe::{Cluster, Discovered, discover};
use aiperf_plan::{DiscoveryMode, MetricsUrl, PodDiscovery};
use aiperf_transport::{ConnectSettings, Fetcher, Outstanding, Proxy, ProxyChoice, Resolution, SocketOptions};
use aiperf_types::{LogLevel, Nanos};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const TOKEN: &str = "eyJhbGciOi.s3cret.c2ln";

/// An API server, the service account of a pod beside it, and the heads of the requests it got.
struct Api {
    port: u16,
    account: tempfile::TempDir,
    requests: Arc<Mutex<Vec<String>>>,
}

/// What the server makes of a request's path: a status and a body. `None`: nothing at all, for good.
type Respond = fn(&str) -> Option<(u16, Value)>;

impl Api {
    fn start(respond: Respond) -> Self {
        let account = tempfile::tempdir().unwrap();
        let tls = certificates(account.path());
        fs::write(account.path().join("token"), format!("{TOKEN}\n")).unwrap();
        fs::write(account.path().join("namespace"), "own").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (tls, seen) = (tls.clone(), seen.clone());
                std::thread::spawn(move || {
                    // A client that goes away, as one does that does not trust the certificate, is no fault here.
                    let _ = serve(StreamOwned::new(ServerConnection::new(tls).unwrap(), socket), respond, &seen);
                });
            }
        });
        Self { port, account, requests }
    }

    fn cluster(&self) -> Cluster {
        let get = |name: &str| match name {
            "KUBERNETES_SERVICE_HOST" => Some("127.0.0.1".to_owned()),
            "KUBERNETES_SERVICE_PORT" => Some(self.port.to_string()),
            _ => None,
        };
        Cluster::of_environment(get, self.account.path()).unwrap()
    }

    fn discover(&self, plan: &PodDiscovery) -> Discovered {
        run(plan, Some(&self.cluster()))
    }

    /// The paths asked for.
    fn paths(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|head| head.split(' ').nth(1).unwrap().to_owned()).collect()
    }
}

/// Makes an authority and a certificate for this host, and writes the authority's where a pod has it.
fn certificates(account: &std::path::Path) -> Arc<ServerConfig> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "cluster authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    fs::write(account.join("ca.crt"), authority.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(vec![own.der().clone()], key).unwrap())
}

fn serve(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    respond: Respond,
    seen: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut head)).unwrap();
        let responded = respond(text.split(' ').nth(1).unwrap());
        seen.lock().unwrap().push(text);
        if let Some((status, body)) = responded {
            let body = body.to_string();
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n")?;
            write!(stream, "Location: https://127.0.0.1:1/\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
            stream.flush()?;
        }
    }
}

fn plan(mode: DiscoveryMode) -> PodDiscovery {
    PodDiscovery { mode, label_selector: None, namespace: None, timeout: Nanos::from_millis(20_000) }
}

/// Discovers the way a run does whose requests go through a proxy that does not answer.
fn run(plan: &PodDiscovery, cluster: Option<&Cluster>) -> Discovered {
    let dead = |_: &_| Some(Proxy { host: "127.0.0.1".to_owned(), port: 1, authorization: None });
    let fetcher = Fetcher::new(ConnectSettings {
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
        proxies: ProxyChoice::by(dead),
        outstanding: Outstanding::up_to(16),
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let discovered = runtime.block_on(discover(plan, cluster, &fetcher));
    for (_, text) in &discovered.notices {
        assert!(!text.contains("s3cret"), "{text}");
    }
    discovered
}

fn pod(ip: &str) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "own"},
        "spec": {"containers": [{"image": "vllm/vllm-openai", "ports": [{"containerPort": 8000}]}]},
        "status": {"podIP": ip},
    })
}

/// Two pages: the second only for calls with the token of the first.
fn two_pages(path: &str) -> Option<(u16, Value)> {
    let (items, next) = match path.split_once("&continue=") {
        None => (json!([pod("10.0.0.9"), pod("fd00::1"), 7]), "a/b=="),
        Some((_, "a%2Fb%3D%3D")) => (json!([pod("10.0.0.10"), pod("10.0.0.9")]), ""),
        Some(_) => return Some((410, json!({}))),
    };
    Some((200, json!({"kind": "PodList", "metadata": {"continue": next}, "items": items})))
}

fn shown(urls: &[MetricsUrl]) -> Vec<String> {
    urls.iter().map(MetricsUrl::shown).collect()
}

/// The one warning that there is, where nothing was found.
fn warning(discovered: &Discovered) -> &str {
    let [(LogLevel::Warning, text)] = &discovered.notices[..] else { panic!("{:?}", discovered.notices) };
    assert_eq!(discovered.urls, []);
    text
}

#[test]
fn the_pods_of_all_pages_are_found_past_any_proxy() {
    let api = Api::start(two_pages);
    let discovered = api.discover(&plan(DiscoveryMode::Auto));
    assert_eq!(
        shown(&discovered.urls),
        ["http://10.0.0.10:8000/metrics", "http://10.0.0.9:8000/metrics", "http://[fd00::1]:8000/metrics"]
    );
    let found = "Kubernetes discovery finds 3 metrics endpoints in namespace 'own'";
    assert_eq!(discovered.notices, [(LogLevel::Info, found.to_owned())]);
    let first = "/api/v1/namespaces/own/pods?fieldSelector=status.phase%3DRunning&limit=250";
    assert_eq!(api.paths(), [first.to_owned(), format!("{first}&continue=a%2Fb%3D%3D")]);
    for head in &*api.requests.lock().unwrap() {
        assert!(head.contains(&format!("\r\nAuthorization: Bearer {TOKEN}\r\n")), "{head}");
    }
}

#[test]
fn the_plan_sets_namespace_and_labels() {
    let api = Api::start(|_| Some((200, json!({"items": []}))));
    let discovered = api.discover(&PodDiscovery {
        label_selector: Some("app=x".to_owned()),
        namespace: Some("*".to_owned()),
        ..plan(DiscoveryMode::Kubernetes)
    });
    let running = "fieldSelector=status.phase%3DRunning&limit=250";
    assert_eq!(api.paths(), [format!("/api/v1/pods?{running}&labelSelector=app%3Dx")]);
    assert!(warning(&discovered).contains("finds no metrics endpoints in all namespaces"));
}

#[test]
fn a_cluster_without_servers_is_a_warning_only_to_who_asked_for_it() {
    let api = Api::start(|_| Some((200, json!({"items": []}))));
    let discovered = api.discover(&plan(DiscoveryMode::Auto));
    assert_eq!((discovered.notices.len(), discovered.notices[0].0), (1, LogLevel::Info));
    warning(&api.discover(&plan(DiscoveryMode::Kubernetes)));
}

#[test]
fn a_disabled_discovery_calls_no_server() {
    let api = Api::start(two_pages);
    assert_eq!(api.discover(&plan(DiscoveryMode::Disabled)), Discovered::default());
    assert!(api.paths().is_empty());
}

#[test]
fn outside_a_cluster_only_who_asked_for_one_is_warned() {
    assert_eq!(run(&plan(DiscoveryMode::Auto), None), Discovered::default());
    assert!(warning(&run(&plan(DiscoveryMode::Kubernetes), None)).contains("KUBERNETES_SERVICE_HOST"));
}

#[test]
fn a_refusal_is_a_warning_with_a_way_out() {
    let forbidden = Api::start(|_| Some((403, json!({"message": format!("no: {TOKEN}")}))));
    let discovered = forbidden.discover(&plan(DiscoveryMode::Auto));
    let text = warning(&discovered);
    assert!(text.contains("(HTTP 403: no: <redacted>)") && text.contains("verbs: [list]"), "{text}");
    let unknown = Api::start(|_| Some((401, json!({"message": "Unauthorized"}))));
    assert!(warning(&unknown.discover(&plan(DiscoveryMode::Auto))).contains("HTTP 401: Unauthorized"));
}

#[test]
fn a_failure_on_a_later_page_leaves_nothing_half_found() {
    let api = Api::start(|path| match path.contains("continue") {
        false => Some((200, json!({"metadata": {"continue": "c"}, "items": [pod("10.0.0.1")]}))),
        true => Some((500, json!({}))),
    });
    assert!(warning(&api.discover(&plan(DiscoveryMode::Auto))).contains("HTTP 500"));
}

#[test]
fn a_list_that_follows_itself_is_given_up() {
    let api = Api::start(|_| Some((200, json!({"metadata": {"continue": "c"}, "items": []}))));
    assert!(warning(&api.discover(&plan(DiscoveryMode::Auto))).contains("does not end"));
    assert_eq!(api.paths().len(), 2);
}

#[test]
fn a_redirect_is_not_followed() {
    let api = Api::start(|_| Some((307, json!({}))));
    assert!(warning(&api.discover(&plan(DiscoveryMode::Auto))).contains("redirects"));
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_no_longer_than_planned() {
    let api = Api::start(|_| None);
    let plan = PodDiscovery { timeout: Nanos::from_millis(200), ..plan(DiscoveryMode::Auto) };
    assert!(warning(&api.discover(&plan)).contains("within 0.2 s; server_metrics.discovery.timeout_seconds"));
}

#[test]
fn a_server_of_another_authority_never_sees_the_token() {
    let (api, other) = (Api::start(two_pages), Api::start(two_pages));
    fs::copy(other.account.path().join("ca.crt"), api.account.path().join("ca.crt")).unwrap();
    let discovered = api.discover(&plan(DiscoveryMode::Auto));
    let text = warning(&discovered);
    assert!(text.contains("authority that is not trusted; the cluster's authorities are those of"), "{text}");
    assert!(api.paths().is_empty());
}

#[test]
fn a_service_account_that_is_not_whole_is_a_warning() {
    for (file, part) in [("token", "automountServiceAccountToken"), ("ca.crt", "authorities"), ("namespace", "'*'")] {
        let api = Api::start(two_pages);
        fs::remove_file(api.account.path().join(file)).unwrap();
        let discovered = api.discover(&plan(DiscoveryMode::Auto));
        assert!(warning(&discovered).contains(part), "{:?}", discovered.notices);
        assert!(api.paths().is_empty());
    }
}
