//! Scripted servers: what they write, byte for byte, and the record that must come of it.
#![allow(clippy::unwrap_used)]

use aiperf_dataset::Dataset;
use aiperf_engine::Requests;
use aiperf_engine::record::Reader;
use aiperf_plan::{
    Arrival, ArtifactPlan, BaseUrl, DatasetPlan, EndpointPlan, ExportLevel, FileNames, HttpSettings, Length, LogLevel,
    MetricsPlan, PhasePlan, Plan, ReuseStrategy, RunIdentity, RuntimePlan, StopWhen, SyntheticPlan, Timestamps,
    TokenizerPlan, UiKind,
};
use aiperf_tokenize::Tokenizer;
use aiperf_transport::connect::SocketOptions;
use aiperf_transport::{Cancel, CancelReason, Client, ClientSettings, Outgoing, StampMode, Target, body, clock};
use aiperf_types::{EndpointKind, Exchange, Nanos, PhaseId, PhaseKind, RequestTag};
use base64::Engine;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

/// Cases that are not run, with the reason.
const SKIPPED: &[&str] = &[
    "cancel-zero",         // cancellation by plan is not there yet
    "cancel-in-stream",    // likewise
    "cancel-late-success", // likewise
    "latin1",              // charsets other than UTF-8 are not decoded yet
];

/// Cases whose outcome a better reading changes.
const CHANGED: &[(&str, Option<&str>)] = &[
    ("sse-data-error", Some("SSEResponseError")), // an error object in a stream is an error
];

fn plan(port: u16) -> Plan {
    let endpoint = EndpointPlan {
        kind: EndpointKind::Chat,
        urls: vec![BaseUrl::parse(&format!("http://127.0.0.1:{port}")).unwrap()],
        path: None,
        streaming: true,
        api_key: None,
        headers: Vec::new(),
        extra: serde_json::Map::new(),
        timeout_seconds: 0.0,
        legacy_max_tokens: false,
        server_token_count: false,
        per_chunk_usage: false,
        reuse: ReuseStrategy::Pooled,
        http: HttpSettings::default(),
    };
    let isl = Some(Length { mean: 4.0, stddev: 0.0 });
    Plan {
        run: RunIdentity { benchmark_id: "0123456789ab".into(), random_seed: Some(1), cli_command: String::new() },
        models: vec!["m".into()],
        endpoint,
        tokenizer: TokenizerPlan::default(),
        dataset: DatasetPlan::Synthetic(SyntheticPlan { entries: 1, isl, osl: None }),
        phases: vec![PhasePlan {
            name: "profiling".into(),
            kind: PhaseKind::Profiling,
            arrival: Arrival::Concurrency,
            concurrency: Some(1),
            stop: vec![StopWhen::Requests(1)],
            grace: None,
        }],
        metrics: MetricsPlan::default(),
        artifacts: ArtifactPlan { dir: PathBuf::new(), level: ExportLevel::Summary, names: FileNames::new(None) },
        runtime: RuntimePlan {
            workers_max: None,
            timestamps: Timestamps::Auto,
            ui: UiKind::None,
            log_level: LogLevel::Error,
            stats_interval: None,
            record_queue_budget: 1 << 20,
        },
        input_config: Value::Null,
    }
}

/// Serves one connection as the case says, until the client is done.
fn serve(case: &Value) -> (u16, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let writes: Vec<Vec<u8>> = case["server"]["writes_base64"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|text| base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap())
        .collect();
    let closes = case["server"]["after"] == "close";
    let (over, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        read_request(&mut stream);
        for bytes in writes {
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
        if !closes {
            let _ = wait.recv_timeout(Duration::from_secs(10));
        }
    });
    (port, over)
}

fn read_request(stream: &mut TcpStream) {
    let (mut seen, mut buffer) = (Vec::new(), [0u8; 4096]);
    while let Ok(n) = stream.read(&mut buffer)
        && n > 0
    {
        seen.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&seen);
        let Some((head, sent)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        if sent.len() >= length.parse::<usize>().unwrap() {
            return;
        }
    }
}

fn send(plan: &Arc<Plan>, requests: &Requests, timeout: Duration) -> Exchange {
    let settings = ClientSettings {
        stamps: StampMode::Kernel,
        socket: SocketOptions {
            recv_buffer: 1 << 16,
            send_buffer: 1 << 16,
            keep_idle: 60,
            keep_interval: 30,
            keep_count: 1,
            user_timeout_ms: 30_000,
        },
        connection_limit: 1,
        connects_outstanding: 1,
        keepalive: Nanos::MAX,
        kept_limit: 1 << 20,
        never_reuse: false,
    };
    let url = &plan.endpoint.urls[0];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::new(settings, vec![Target::new(url.host(), url.port())], Default::default());
        let body = requests.request(0).body;
        let head = requests.head(0, 1, 2, body.len());
        let now = clock::mono_now();
        let tag = RequestTag::default();
        let out = Outgoing { tag, intended: now, issued: now, target: 0, head, body };
        let cancel = Cancel::default();
        let late = async {
            tokio::time::sleep(timeout).await;
            cancel.cancel(CancelReason::TimedOut);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            exchange = client.send(out, &cancel) => exchange,
            () = late => unreachable!("the request ends when it is cancelled"),
        }
    })
}

#[test]
fn golden_scripted_servers_give_the_records_they_should() {
    let root = std::env::var_os("AIPERF_GOLDEN_DIR").map_or_else(|| PathBuf::from("tests/golden"), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(root.join("endpoints/transport_scenarios.json")) else { return };
    let whole: Value = serde_json::from_str(&text).unwrap();
    let tokenizer = Tokenizer::builtin();
    let mut ran = 0;
    for case in whole["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        if SKIPPED.contains(&id) {
            continue;
        }
        ran += 1;
        let (port, over) = serve(case);
        let plan = Arc::new(plan(port));
        let dataset = Arc::new(Dataset::of(&plan.dataset, &plan.draws(), &tokenizer).unwrap());
        let requests = Arc::new(Requests::new(plan.clone(), dataset, "0.0.0").unwrap());
        let timeout = Duration::from_secs_f64(case["request"]["timeout_s"].as_f64().unwrap());
        let exchange = send(&plan, &requests, timeout);
        let _ = over.send(());
        let name = Arc::from("profiling");
        let phase = PhaseId { index: 0, profiling_index: Some(0), name, kind: PhaseKind::Profiling };
        let (tokenizer, anchor) = (Some(tokenizer.clone()), clock::anchor());
        let reader = Reader { plan, requests, tokenizer, anchor, phases: vec![Arc::new(phase)] };
        let record = reader.read(&exchange, 0);
        check(case, id, &exchange, record.measured.error.as_ref());
        assert!(record.measured.end >= record.measured.start, "{id}");
    }
    println!("transport scenarios: {ran} of {} cases", whole["cases"].as_array().unwrap().len());
}

fn check(case: &Value, id: &str, exchange: &Exchange, error: Option<&aiperf_types::RequestError>) {
    let wanted = &case["expected"];
    assert_eq!(exchange.status.map(u64::from), wanted["status"].as_u64(), "{id}");
    let kind = error.and_then(|error| error.kind.as_deref());
    if let Some((_, changed)) = CHANGED.iter().find(|(changed, _)| *changed == id) {
        assert_eq!(kind, *changed, "{id}");
        return;
    }
    match &wanted["error"] {
        // The reference parses later: an answer without content is then an error there too.
        Value::Null => assert!(matches!(kind, None | Some("InvalidInferenceResultError")), "{id}: {error:?}"),
        wanted => {
            assert_eq!(kind, wanted["type"].as_str(), "{id}: {error:?}");
            assert_eq!(error.and_then(|error| error.code), wanted["code"].as_i64(), "{id}");
            if let Some(message) = wanted["message"].as_str() {
                assert_eq!(error.map(|error| error.message.as_str()), Some(message), "{id}");
            }
        }
    }
    for response in wanted["responses"].as_array().into_iter().flatten() {
        let bytes = body::collect(exchange);
        let said = response["data"].as_str().or(response["text"].as_str()).unwrap_or_default();
        assert!(String::from_utf8_lossy(&bytes).contains(said), "{id}: {said}");
    }
}
