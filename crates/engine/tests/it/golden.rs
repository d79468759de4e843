//! Golden data about requests and their records: the bytes that scripted servers write, and the records that result.

use aiperf_dataset::{Dataset, Making};
use aiperf_dialect::sse;
use aiperf_engine::Requests;
use aiperf_engine::record::Reader;
use aiperf_golden::kinds::endpoints::{CONTEXT_OVERFLOW, HTTP_TRACE, NETWORK_TARGET, SCRIPTED_SERVER};
use aiperf_metrics::{
    CONTEXT_OVERFLOW_PHRASES, Metrics, RecordMetrics, RunTraits, Value as Number, reports_context_overflow,
};
use aiperf_plan::{BaseUrl, Plan};
use aiperf_tokenize::Tokenizer;
use aiperf_transport::{
    Cancel, Client, ClientSettings, ConnectSettings, DeadlineTimer, Origin, OutgoingRequest, Outstanding,
    PlannedCancel, Protocol, ProxyChoice, Redirects, Resolution, Reuse, SocketOptions, StampMode, StreamEnd, body,
    charset, clock, encoding,
};
use aiperf_types::{
    self as types, ContentMark, EndpointKind, Exchange, Failure, Measured, MonoNs, Nanos, PhaseId, PhaseKind,
    RequestError, RequestTag, Timeline,
};
use base64::Engine;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use tokio::sync::Semaphore;

fn writes(case: &Value) -> Vec<Vec<u8>> {
    let decode = |text: &Value| base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap();
    case["server"]["writes_base64"].as_array().into_iter().flatten().map(decode).collect()
}

/// Serves one connection as the case describes, until the client is done.
fn serve(case: &Value) -> (u16, mpsc::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let writes = writes(case);
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

fn send(plan: &Arc<Plan>, requests: &Requests, case: &Value) -> Exchange {
    let timeout = Nanos::from_secs_f64(case["timeout_s"].as_f64().unwrap());
    let after = case["cancel_after_ns"].as_u64().map(Nanos);
    let cancelled = after.map(|after| PlannedCancel { after, send_timeout: timeout });
    let settings = ClientSettings {
        stamps: StampMode::Kernel,
        connect: ConnectSettings {
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
            proxies: ProxyChoice::default(),
            outstanding: Outstanding::up_to(1),
        },
        places: Some(Arc::new(Semaphore::new(1))),
        keepalive: Nanos::MAX,
        kept_limit: 1 << 20,
        budget: None,
        reuse: Reuse::Always,
        protocol: Protocol::Http1,
        detailed: false,
        connect_timeout: None,
        stream_end: StreamEnd {
            ends_in_last: sse::ends_in_done,
            longest_last: sse::LONGEST_LAST,
            search: sse::search_end,
        },
    };
    let url = &plan.endpoint.urls[0];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::new(settings, vec![Origin::http(url.host(), url.port())], Default::default());
        let request = requests.request(0).unwrap();
        let head = requests.head(0, 1, &aiperf_types::CorrelationId::Uuid(2), &request, &request.encoded);
        let body = request.encoded.body.clone();
        let now = clock::mono_now();
        let tag = RequestTag::default();
        let out = OutgoingRequest {
            tag,
            intended: now,
            issued: now,
            target: 0,
            head,
            body,
            timeout: Some(timeout),
            cancelled,
            ends_session: true,
        };
        let timers = client.timers().clone();
        let (cancel, mut redirects) = (Cancel::default(), Redirects::default());
        tokio::select! {
            exchange = client.send(out, &cancel, &mut redirects) => exchange,
            _ = timers.keep_time(DeadlineTimer::new().unwrap()) => unreachable!("time goes on for ever"),
        }
    })
}

/// Reads the exchanges of a run against a local server.
fn reader(port: u16) -> Reader {
    let tokenizer = Tokenizer::builtin();
    let plan = Arc::new(aiperf_testkit::plan::plan(&format!("http://127.0.0.1:{port}")));
    let dataset = Arc::new(Dataset::of(&plan.dataset, Making::new(&plan.draws(), &tokenizer)).unwrap());
    let requests = Arc::new(Requests::new(plan.clone(), dataset, "0.0.0").unwrap());
    let name = Arc::from("profiling");
    let phase = PhaseId { index: 0, profiling_index: Some(0), name, kind: PhaseKind::Profiling };
    let anchor = clock::anchor();
    Reader { plan, requests, tokenizers: Some(tokenizer.into()), anchor, phases: vec![Arc::new(phase)] }
}

#[test]
fn golden_scripted_servers_give_the_records_they_should() {
    SCRIPTED_SERVER.run(
        |_| None,
        |case| {
            let (port, over) = serve(case);
            let reader = reader(port);
            let exchange = send(&reader.plan, &reader.requests, &case["request"]);
            let _ = over.send(());
            let record = reader.read(&exchange, 0);
            check(case, &exchange, record.measured.error.as_ref());
            assert!(record.measured.end >= record.measured.start);
        },
    );
}

/// Whether a response is an error for us and not for the reference: it has an error object among its events
/// (transport.md, 10, row 11).
fn has_error_event(wanted: &Value) -> bool {
    let events = wanted["responses"].as_array().into_iter().flatten().filter_map(|response| response["data"].as_str());
    let mut events = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    wanted["error"].is_null() && events.any(|event| !event["error"].is_null())
}

fn check(case: &Value, exchange: &Exchange, error: Option<&RequestError>) {
    let wanted = &case["expected"];
    // A request cancelled during its response keeps the part that arrived (transport.md, 10, row 13).
    if wanted["error"]["code"] != 499 {
        assert_eq!(exchange.status.map(u64::from), wanted["status"].as_u64());
    }
    let kind = error.and_then(|error| error.kind.as_deref());
    match &wanted["error"] {
        Value::Null if has_error_event(wanted) => assert_eq!(kind, Some("SSEResponseError")),
        // The reference parses later: a response without content is then an error there too.
        Value::Null => assert!(matches!(kind, None | Some("InvalidInferenceResultError")), "{error:?}"),
        wanted => {
            assert_eq!(kind, wanted["type"].as_str(), "{error:?}");
            assert_eq!(error.and_then(|error| error.code), wanted["code"].as_i64());
            if let Some(message) = wanted["message"].as_str() {
                assert_eq!(error.map(|error| error.message.as_str()), Some(message));
            }
        }
    }
    for response in wanted["responses"].as_array().into_iter().flatten() {
        let bytes = body::collect(&encoding::decode(exchange, 1 << 20).exchange);
        let text = response["data"].as_str().or(response["text"].as_str()).unwrap_or_default();
        assert!(charset::text_lossy(exchange, &bytes).contains(text), "{text}");
    }
}

/// The exchange of a trace of the reference. The test does not check its instants, only the values computed from them.
fn exchange_of(trace: &Value) -> Exchange {
    let at = |key: &str| MonoNs(trace[format!("{key}_perf_ns")].as_u64().unwrap_or(0));
    let pair = |from: &str, to: &str| (at(from), at(to));
    let chunks = trace["response_chunks"].as_array().into_iter().flatten();
    let mut reads: Vec<types::Read> =
        chunks.map(|chunk| types::Read { at: MonoNs(chunk[0].as_u64().unwrap()), ..types::Read::default() }).collect();
    if let (Some(last), Some(end)) = (reads.last_mut(), at("response_receive_end").taken()) {
        last.at = end;
    }
    let timeline = Timeline {
        blocked: pair("connection_pool_wait_start", "connection_pool_wait_end"),
        dns: pair("dns_lookup_start", "dns_lookup_end"),
        connect: pair("tcp_connect_start", "tcp_connect_end"),
        reused: at("connection_reused").taken().is_some(),
        send_start: at("request_send_start"),
        send_end: at("request_send_end"),
        writes: trace["request_chunks_count"].as_u64().unwrap_or(0) as u32,
        bytes_sent: trace["request_bytes_total"].as_u64().unwrap_or(0),
        bytes_received: trace["response_bytes_total"].as_u64().unwrap_or(0),
        body_start: at("response_receive_start"),
        body_reads: reads.len() as u32,
        reads,
        ..Timeline::default()
    };
    // A response that began and has no end was cut off.
    let is_unfinished = timeline.body_reads > 0 && at("response_receive_end").taken().is_none();
    let failure = is_unfinished.then_some(Failure::Disconnected);
    Exchange { timeline, failure, ..Exchange::default() }
}

/// Metrics up to the end of a response. If the response has no end, its request failed and has no HTTP metrics at all.
const TO_THE_END: [&str; 3] = ["http_req_receiving", "http_req_duration", "http_req_total"];

#[test]
fn golden_instants_give_the_times_of_http_phases() {
    let reader = reader(1);
    let skip = |case: &Value| {
        let at = |key: &str| case["perf"][key].as_u64();
        let is_early = at("response_receive_start_perf_ns").zip(at("request_send_end_perf_ns"));
        is_early
            .filter(|(arrival, sent)| arrival < sent)
            .map(|_| "the end of sending is taken no later than the first arrival".to_owned())
    };
    let metrics = Metrics::for_run(RunTraits::new(EndpointKind::Chat, true));
    HTTP_TRACE.run(skip, |case| {
        let exchange = exchange_of(&case["perf"]);
        let http = reader.read(&exchange, 0).measured.http;
        // A record with a response: records without one have no HTTP metrics.
        let content = vec![ContentMark { at: MonoNs(2), output: true, reasoning: false }];
        let measured = Measured { start: MonoNs(1), end: MonoNs(2), content, http, ..Measured::default() };
        let mut record = RecordMetrics::default();
        metrics.record(&measured, &mut record);
        let is_unfinished = exchange.failure.is_some();
        let is_compared = |tag: &str| !(is_unfinished && TO_THE_END.contains(&tag));
        let wanted = case["expected"]["metrics_ns"].as_object().unwrap();
        for (tag, wanted) in wanted.iter().filter(|(tag, _)| is_compared(tag)) {
            let found = record.iter().find(|(metric, _)| metric.tag == tag).map(|(_, value)| match value {
                Number::Int(number) => number as f64,
                Number::Float(number) => number,
                Number::List(_) => f64::NAN,
            });
            // Times are in milliseconds, sizes in kilobytes.
            let scale = match tag.as_str() {
                "http_req_data_sent" | "http_req_data_received" => 1024.0,
                "http_req_connection_reused" | "http_req_chunks_sent" | "http_req_chunks_received" => 1.0,
                _ => 1e6,
            };
            let found = found.map(|value| (value * scale).round() as u64);
            assert_eq!(found, wanted.as_u64(), "{tag}");
        }
    });
}

#[test]
fn a_response_without_an_end_is_a_failed_exchange() {
    let perf = json!({
        "request_send_start_perf_ns": 1, "request_send_end_perf_ns": 2, "response_receive_start_perf_ns": 3,
        "response_chunks": [[3, 5], [9, 6]], "response_chunks_count": 2,
    });
    assert!(exchange_of(&perf).failure.is_some());
    let mut ended = perf;
    ended["response_receive_end_perf_ns"] = json!(9);
    assert!(exchange_of(&ended).failure.is_none());
    assert!(exchange_of(&json!({ "request_send_start_perf_ns": 1 })).failure.is_none());
}

#[test]
fn golden_instants_are_those_of_the_trace() {
    let mut reader = reader(1);
    let mut plan = (*reader.plan).clone();
    (plan.artifacts.http_trace, plan.artifacts.records.jsonl) = (true, true);
    reader.plan = Arc::new(plan);
    HTTP_TRACE.run(
        |_| None,
        |case| {
            let exchange = exchange_of(&case["perf"]);
            let trace = reader.read(&exchange, 0).measured.http_trace.unwrap();
            let at = |key: &str| MonoNs(case["perf"][format!("{key}_perf_ns")].as_u64().unwrap_or(0));
            assert_eq!((trace.send_start, trace.send_end), (at("request_send_start"), at("request_send_end")));
            assert_eq!(trace.connect, (at("tcp_connect_start"), at("tcp_connect_end")));
            assert_eq!(trace.dns_lookup, (at("dns_lookup_start"), at("dns_lookup_end")));
            assert_eq!(
                (trace.receive_start, trace.receive_end),
                (at("response_receive_start"), at("response_receive_end"))
            );
            assert_eq!(trace.reused.taken().is_some(), exchange.timeline.reused);
        },
    );
}

#[test]
fn golden_errors_that_say_the_context_was_too_long_are_known() {
    let message = |case: &Value| case["body"].as_str().or(case["message"].as_str()).unwrap_or_default().to_owned();
    CONTEXT_OVERFLOW.run(
        |_| None,
        |case| {
            let message = message(case);
            let is_overflow = reports_context_overflow(&message, CONTEXT_OVERFLOW_PHRASES.iter().copied());
            // Escapes are decoded in every member here; the reference decodes them in one only.
            let is_escaped = message.contains('\\');
            let is_right = case["expected"] == is_overflow || (is_overflow && is_escaped);
            assert!(is_right, "{is_overflow}, not {}", case["expected"]);
        },
    );
}

#[test]
fn golden_urls_say_what_to_connect_to() {
    NETWORK_TARGET.run(
        |_| None,
        |case| {
            let url = BaseUrl::parse(case["url"].as_str().unwrap()).unwrap();
            assert_eq!(json!([url.host(), url.port()]), case["expected"]);
        },
    );
}
